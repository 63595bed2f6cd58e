//! The counters of all ranks when MPI ends, as `mpiexec --stats` asks for them.

use isthmus_engine::{counters, enter, tunables};

use crate::coll::check::next_tag;
use crate::comm::COMM_WORLD;
use crate::error::Result;
use crate::liveness;
use crate::p2p::internal::{recv_bytes, send_bytes};
use crate::process::life;

/// So many ranks have a column each; of more there are the least and the most.
const COLUMNS: usize = 16;

/// At the end of the world model: the first rank says what all ranks counted. Called by all, and all have the same setting.
pub(crate) fn tell() -> Result<()> {
    if tunables::STATS.get() == 0 || life().users > 1 || enter().failures() > 0 {
        return Ok(());
    }
    liveness::forgive(gather())
}

fn gather() -> Result<()> {
    const WORD: usize = size_of::<u64>();
    let comm = COMM_WORLD.resolve("comm")?;
    let (context, tag) = (comm.collective_context(), next_tag(comm));
    // Before any of this is counted, too.
    let own: Vec<u64> = counters::TABLE.iter().map(|counter| counter.get()).collect();
    if comm.rank() != 0 {
        let bytes: Vec<u8> = own.iter().flat_map(|value| value.to_ne_bytes()).collect();
        return send_bytes(comm, context, 0, tag, &bytes);
    }
    let mut ranks = vec![own];
    for rank in 1..comm.size() {
        let mut bytes = vec![0; counters::TABLE.len() * WORD];
        recv_bytes(comm, context, rank, tag, &mut bytes)?;
        let words = bytes.chunks_exact(WORD);
        ranks.push(
            words
                .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
                .collect(),
        );
    }
    let names: Vec<&str> = counters::TABLE.iter().map(|counter| counter.name).collect();
    for line in table(&names, &ranks) {
        isthmus_os::process::say(&line);
    }
    Ok(())
}

/// A line for each counter that any rank has counted with: its sum, and what each rank counted.
fn table(names: &[&str], ranks: &[Vec<u64>]) -> Vec<String> {
    let few = ranks.len() <= COLUMNS;
    let mut rows = vec![["isthmus: counter".to_owned(), "all".to_owned()].to_vec()];
    match few {
        true => rows[0].extend((0..ranks.len()).map(|rank| format!("rank {rank}"))),
        false => rows[0].extend(["least", "most", "rank with most"].map(str::to_owned)),
    }
    for (index, name) in names.iter().enumerate() {
        let values: Vec<u64> = ranks.iter().map(|counted| counted[index]).collect();
        let sum: u64 = values.iter().fold(0, |sum, value| sum.saturating_add(*value));
        if sum == 0 {
            continue;
        }
        let mut row = vec![format!("isthmus: {name}"), sum.to_string()];
        if few {
            row.extend(values.iter().map(u64::to_string));
        } else {
            let most = values.iter().copied().max().unwrap_or(0);
            let least = values.iter().copied().min().unwrap_or(0);
            let rank = values.iter().position(|value| *value == most).unwrap_or(0);
            row.extend([least.to_string(), most.to_string(), rank.to_string()]);
        }
        rows.push(row);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            line += &format!("  {cell:>0$}", *width);
        }
        line
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_counted_is_left_out() {
        let lines = table(&["eager_sent", "sleeps", "wakes"], &[vec![10, 0, 2], vec![5, 0, 300]]);
        assert_eq!(
            lines,
            [
                "isthmus: counter     all  rank 0  rank 1",
                "isthmus: eager_sent   15      10       5",
                "isthmus: wakes       302       2     300",
            ]
        );
    }

    #[test]
    fn many_ranks_are_least_and_most() {
        let ranks: Vec<Vec<u64>> = (0..20).map(|rank| vec![rank]).collect();
        let lines = table(&["sleeps"], &ranks);
        assert_eq!(
            lines[1].split_whitespace().collect::<Vec<_>>(),
            ["isthmus:", "sleeps", "190", "0", "19", "19"]
        );
    }
}
