//! How accesses to files go, as `isthmus info --protocols` says.

use isthmus_io::hints::Hints;
use isthmus_io::systems::{OTHER, SYSTEMS};
use isthmus_io::two_phase::{DENSE, GROWING_PART, LONG_READ, usual_aggregators};
use isthmus_io::{OFFLOADED, independent};

use crate::show;

/// The rows: which access, and how it is made, in a job of so many ranks on this node.
pub(super) fn rows(ranks: u32) -> Vec<Vec<String>> {
    let hints = Hints::default();
    let read = show::bytes(LONG_READ);
    let buffer = show::bytes(hints.cb_buffer);
    let row = |access: String, how: String| vec![access, how];
    vec![
        row("of one rank, in a row".to_owned(), "pread, pwrite".to_owned()),
        row(
            format!("of one rank, pieces below {}", show::bytes(independent::LONG)),
            format!(
                "reads with what lies between, if that is at most {} times as much, {} at a time; writes piece by piece",
                independent::WORTH - 1,
                show::bytes(hints.read_buffer)
            ),
        ),
        row(
            format!("of all ranks, reads of pieces of {read} and more, or apart"),
            "each rank its own".to_owned(),
        ),
        row(
            format!(
                "of all ranks, writes of pieces of {} and more, or apart",
                write_limits()
            ),
            "each rank its own".to_owned(),
        ),
        row(
            "of all ranks, shorter pieces in turn".to_owned(),
            format!(
                "reads each rank its own with what lies between, if that is at most {} times as much; others through {} of {ranks} ranks, where a file grows one for each {} of the access (cb_nodes, or stripes of the file), {buffer} at a time (cb_buffer_size)",
                DENSE - 1,
                usual_aggregators(ranks as usize, 1),
                show::bytes(GROWING_PART)
            ),
        ),
        row(
            format!("non-blocking, of one rank, from {} on", show::bytes(OFFLOADED)),
            "by a thread, while the program computes".to_owned(),
        ),
        row(
            "in atomic mode, or on NFS".to_owned(),
            "each rank its own, its bytes locked (fcntl)".to_owned(),
        ),
    ]
}

/// From which length on pieces are each rank's own to write: on most file systems, and on those that differ.
fn write_limits() -> String {
    let (usual, mut limits) = (OTHER.own_writes, show::bytes(OTHER.own_writes.inside));
    for system in SYSTEMS.iter().filter(|system| system.own_writes != usual) {
        let own = system.own_writes;
        let (inside, growing) = (show::bytes(own.inside), show::bytes(own.growing));
        limits += &format!(", {}: {inside}, {growing} where the file grows", system.name);
    }
    limits
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_number_of_aggregators_is_told() {
        let rows = super::rows(8);
        assert!(rows.iter().any(|row| row[1].contains("through 2 of 8 ranks")));
        let long = format!("pieces of {}", super::show::bytes(super::LONG_READ));
        assert!(rows.iter().any(|row| row[0].contains(&long)));
        assert!(
            rows.iter()
                .any(|row| row[0].contains("ext4: 8K, 64K where the file grows"))
        );
    }
}
