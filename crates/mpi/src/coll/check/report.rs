//! The disagreement of ranks, in one line.

use std::collections::HashSet;
use std::fmt::Write as _;

use super::round::Whom;
use super::terms::{PeerTerms, Sequence, root};
use crate::error::Error;
use crate::fail;

/// The error of a disagreement. Where the program goes on, one process says it, too: programs often look at no error codes.
#[cold]
pub fn disagreement(whom: &Whom, text: &str) -> Error {
    let comm = &whom.comm;
    let line = format!(
        "ranks disagree in collective call {} on {}: {text}",
        whom.call + 1,
        comm.label()
    );
    let first = comm.group.peer(0);
    let speaks = comm.remote_group().is_none_or(|remote| first < remote.peer(0));
    if speaks && comm.rank() == 0 && comm.errhandler().returns() {
        isthmus_os::process::say(&format!("isthmus: {line}"));
    }
    fail!(NotSame, "{line}")
}

/// `rank 3`, `rank 0 of the other group`.
pub fn rank(whom: &Whom, place: usize) -> String {
    match place.checked_sub(whom.size()) {
        None => format!("rank {place}"),
        Some(remote) => format!("rank {remote} of the other group"),
    }
}

/// `rank 3`, `ranks 0-2 and rank 1 of the other group`.
fn ranks(whom: &Whom, places: &[usize]) -> String {
    let (own, other): (Vec<usize>, Vec<usize>) = places.iter().partition(|place| **place < whom.size());
    let other: Vec<usize> = other.into_iter().map(|place| place - whom.size()).collect();
    let mut text = list(&own);
    if !other.is_empty() {
        let between = if text.is_empty() { "" } else { " and " };
        let _ = write!(text, "{between}{} of the other group", list(&other));
    }
    text
}

/// Ranks in rising order.
pub(crate) fn list(ranks: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let text = |&(first, last): &(usize, usize)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    let runs: Vec<String> = runs.iter().map(text).collect();
    match (ranks, &runs[..]) {
        ([], _) | (_, []) => String::new(),
        ([_], _) => format!("rank {}", runs[0]),
        (_, [only]) => format!("ranks {only}"),
        (_, [first @ .., last]) => format!("ranks {} and {last}", first.join(", ")),
    }
}

/// Lines have an end.
const MOST_KINDS: usize = 6;

/// Is a text, where there is one, the same for all? Else who has which.
pub fn all_alike(whom: &Whom, what: &str, text: impl Fn(usize) -> Option<String>) -> Result<(), String> {
    let mut kinds: Vec<(String, Vec<usize>)> = Vec::new();
    for place in 0..whom.places() {
        let Some(text) = text(place) else { continue };
        match kinds.iter_mut().find(|(other, _)| *other == text) {
            Some((_, places)) => places.push(place),
            None => kinds.push((text, vec![place])),
        }
    }
    if kinds.len() < 2 {
        return Ok(());
    }
    let mut line: Vec<String> = kinds
        .iter()
        .take(MOST_KINDS)
        .map(|(text, places)| format!("{what}{text} on {}", ranks(whom, places)))
        .collect();
    if kinds.len() > MOST_KINDS {
        line.push(format!("and {} more", kinds.len() - MOST_KINDS));
    }
    Err(line.join(", "))
}

/// Do all mean the same?
pub fn terms_alike(whom: &Whom, theirs: &[PeerTerms]) -> Result<(), String> {
    let wrong: Vec<usize> = (0..whom.places()).filter(|place| theirs[*place].is_wrong).collect();
    if !wrong.is_empty() {
        return Err(format!("the arguments are wrong on {}", ranks(whom, &wrong)));
    }
    roots_alike(whom, theirs)?;
    all_alike(whom, "", |place| theirs[place].op.clone())?;
    sequences_alike(whom, theirs)?;
    // Each group shares out by itself.
    let groups = [0..whom.size(), whom.size()..whom.places()];
    for group in groups.into_iter().filter(|group| !group.is_empty()) {
        let first = theirs[group.start].shares;
        let (same, other): (Vec<usize>, Vec<usize>) = group.partition(|place| theirs[*place].shares == first);
        if !other.is_empty() {
            let (same, other) = (ranks(whom, &same), ranks(whom, &other));
            return Err(format!("recvcounts on {same} are not those on {other}"));
        }
    }
    Ok(())
}

/// Does everyone mean the same root?
fn roots_alike(whom: &Whom, theirs: &[PeerTerms]) -> Result<(), String> {
    if theirs.iter().all(|theirs| theirs.root == root::NONE) {
        return Ok(());
    }
    // The rank that each means: is it in the other group, and which; none in particular if it names another of its
    // own group.
    let meant = |place: usize| {
        let is_far = place >= whom.size();
        let own = if is_far { place - whom.size() } else { place };
        match theirs[place].root {
            root::HERE => (is_far, Some(own as u64)),
            root::ELSEWHERE => (is_far, None),
            rank if whom.places() > whom.size() => (!is_far, Some(rank)),
            rank => (false, Some(rank)),
        }
    };
    let groups: HashSet<bool> = (0..whom.places()).map(|place| meant(place).0).collect();
    let ranks: HashSet<u64> = (0..whom.places()).filter_map(|place| meant(place).1).collect();
    let is_inter = whom.places() > whom.size();
    let heres = theirs.iter().filter(|theirs| theirs.root == root::HERE).count();
    if groups.len() == 1 && ranks.len() == 1 && (!is_inter || heres == 1) {
        return Ok(());
    }
    let name = |place: usize| {
        Some(match theirs[place].root {
            root::HERE => "MPI_ROOT".to_owned(),
            root::ELSEWHERE => "MPI_PROC_NULL".to_owned(),
            rank => rank.to_string(),
        })
    };
    match all_alike(whom, "root=", name) {
        // As when all say MPI_PROC_NULL.
        Ok(()) => Err("no rank is the root".to_owned()),
        differ => differ,
    }
}

/// Has everyone the same elements?
fn sequences_alike(whom: &Whom, theirs: &[PeerTerms]) -> Result<(), String> {
    let all = || theirs.iter().filter_map(|theirs| theirs.all.as_ref());
    let Some(first) = all().next() else { return Ok(()) };
    if all().all(|other| other.matches(first)) {
        return Ok(());
    }
    let text = |sequence: &Sequence| {
        let differs_unseen = sequence.text() == first.text() && !sequence.matches(first);
        let unseen = if differs_unseen { " of other elements" } else { "" };
        format!("{}{unseen}", sequence.text())
    };
    let found = all_alike(whom, "", |place| theirs[place].all.as_ref().map(text));
    // Digests that match in pairs alone, because of MPI_PACKED.
    found.and_then(|()| Err("the elements differ".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn ranks_are_listed_in_runs() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[3]), "rank 3");
        assert_eq!(list(&[0, 1, 2]), "ranks 0-2");
        assert_eq!(list(&[0, 2, 3, 4, 7]), "ranks 0, 2-4 and 7");
        assert_eq!(list(&[1, 3]), "ranks 1 and 3");
    }
}
