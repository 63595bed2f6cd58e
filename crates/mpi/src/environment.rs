//! Starting and ending MPI, and what a process may ask about itself (MPI-5.0 §9, §11).

use std::sync::OnceLock;

use isthmus_engine::Peer;

/// The calling process, once it has joined its job.
pub fn me() -> Option<Peer> {
    static ME: OnceLock<Peer> = OnceLock::new();
    if let Some(me) = ME.get() {
        return Some(*me);
    }
    if isthmus_engine::state() == isthmus_engine::State::Outside {
        return None;
    }
    Some(*ME.get_or_init(|| Peer(isthmus_engine::enter().world().rank)))
}
