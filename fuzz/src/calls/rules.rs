//! Calls that are left out, or restricted, because the standard lets it end the process or wait forever.

/// Functions that are never called, and why.
const EXCLUDED: &[(&str, &str)] = &[
    ("MPI_Abort", "ends the process"),
    ("MPI_Finalize", "ends MPI: nothing after it would be looked at"),
    (
        "MPI_Comm_disconnect",
        "waits for receives that were freed while pending",
    ),
    ("MPI_Comm_accept", "waits for another job"),
    ("MPI_Comm_connect", "waits for another job"),
    ("MPI_Comm_join", "talks on whatever descriptor the number names"),
    ("MPI_Comm_spawn", "starts processes"),
    ("MPI_Comm_spawn_multiple", "starts processes"),
    (
        "MPI_Comm_call_errhandler",
        "calls MPI_ERRORS_ARE_FATAL where that is what a communicator has inherited",
    ),
];

/// They wait for a message that nobody else could send or receive: not called with ranks that exist.
const BLOCKING: &[&str] = &[
    "MPI_Mprobe",
    "MPI_Probe",
    "MPI_Recv",
    "MPI_Rsend",
    "MPI_Send",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Ssend",
];

/// They wait for requests: called with complete ones.
const WAITING: &[&str] = &["MPI_Wait", "MPI_Waitall", "MPI_Waitany", "MPI_Waitsome"];

/// They wait until every message is delivered: called when all have been received.
const SETTLING: &[&str] = &[
    "MPI_Buffer_detach",
    "MPI_Buffer_flush",
    "MPI_Comm_detach_buffer",
    "MPI_Comm_flush_buffer",
    "MPI_Comm_free",
    "MPI_Session_detach_buffer",
    "MPI_Session_finalize",
    "MPI_Session_flush_buffer",
];

fn is_one(name: &str, list: &[&str]) -> bool {
    list.contains(&name.strip_suffix("_c").unwrap_or(name))
}

/// Why it is never called, if it is not.
pub fn excluded(name: &str) -> Option<&'static str> {
    let row = EXCLUDED.iter().find(|(excluded, _)| *excluded == name);
    row.map(|(_, reason)| *reason)
}

/// Does it wait for a message?
pub fn waits_for_a_message(name: &str) -> bool {
    is_one(name, BLOCKING)
}

/// Does it wait for requests?
pub fn waits_for_requests(name: &str) -> bool {
    is_one(name, WAITING)
}

/// Does it wait for all that was ever sent?
pub fn waits_for_everything(name: &str) -> bool {
    is_one(name, SETTLING)
}

#[cfg(test)]
mod tests {
    use super::super::functions::FUNCTIONS;
    use super::*;

    #[test]
    fn rules_are_about_functions() {
        let excluded = EXCLUDED.iter().map(|(name, _)| name);
        for name in excluded.chain(BLOCKING).chain(WAITING).chain(SETTLING) {
            assert!(FUNCTIONS.iter().any(|function| function.name == *name), "{name}");
        }
    }
}
