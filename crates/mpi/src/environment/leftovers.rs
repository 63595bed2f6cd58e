//! What a program leaves behind when MPI ends, where programs are checked: requests that it has not completed, messages that it has not
//! received, objects that it has not freed (MPI-5.0 §11.2.2 asks for the first two).

use std::collections::BTreeMap;

use isthmus_engine::enter;
use isthmus_os::switches::Switch;

use crate::attribute::keyval_of_site;
use crate::check::sites;
use crate::coll::check::{next_tag, report};
use crate::comm::{COMM_WORLD, Comm};
use crate::error::Result;
use crate::handle::{Handle, Object, ObjectKind, decompose};
use crate::ledger;
use crate::p2p::internal::{recv_bytes, send_bytes};
use crate::process::{life, me};
use crate::status::rank_in;
use crate::{liveness, request};

/// Kinds of objects that the program has to free, by their numbers in handles.
const OBJECTS: [(ObjectKind, &str); 7] = [
    (ObjectKind::Comm, "communicator"),
    (ObjectKind::Group, "group"),
    (ObjectKind::Datatype, "datatype"),
    (ObjectKind::Op, "operation"),
    (ObjectKind::Info, "info"),
    (ObjectKind::Win, "window"),
    (ObjectKind::File, "file"),
];

/// As many lines at most of one rank.
const MOST_LINES: usize = 50;

/// At the end of the world model: the first rank says what is left on which ranks. Called by all.
pub(crate) fn tell_first() -> Result<()> {
    if !Switch::Check.is_on() || life().users > 1 || enter().failures() > 0 {
        return Ok(());
    }
    liveness::forgive(gather())
}

/// At the end of a session that is the last use of MPI: what is left on this rank, which has nobody to tell it to.
pub(crate) fn say_own(procedure: &str) {
    if Switch::Check.is_on() && life().users == 1 {
        let rank = me().map_or(0, |me| me.0);
        for line in lines() {
            isthmus_os::process::say(&format!("isthmus: rank {rank}: {procedure}: {line}"));
        }
    }
}

fn gather() -> Result<()> {
    let comm = COMM_WORLD.resolve("comm")?;
    let (context, tag) = (comm.collective_context(), next_tag(comm));
    let own = lines();
    if comm.rank() != 0 {
        let text = own.join("\n");
        send_bytes(comm, context, 0, tag, &text.len().to_ne_bytes())?;
        return send_bytes(comm, context, 0, tag, text.as_bytes());
    }
    let mut by_line: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for line in own {
        by_line.entry(line).or_default().push(0);
    }
    for rank in 1..comm.size() {
        let mut length = [0; size_of::<usize>()];
        recv_bytes(comm, context, rank, tag, &mut length)?;
        let mut text = vec![0; usize::from_ne_bytes(length)];
        recv_bytes(comm, context, rank, tag, &mut text)?;
        for line in String::from_utf8_lossy(&text).lines() {
            by_line.entry(line.to_owned()).or_default().push(rank as usize);
        }
    }
    for (line, ranks) in by_line {
        isthmus_os::process::say(&format!("isthmus: {}: MPI_Finalize: {line}", report::list(&ranks)));
    }
    Ok(())
}

/// The leftovers of this rank, a line each.
fn lines() -> Vec<String> {
    let mut lines = requests();
    lines.extend(messages());
    lines.extend(objects());
    if lines.len() > MOST_LINES {
        let more = lines.len() - MOST_LINES;
        lines.truncate(MOST_LINES);
        lines.push(format!("and {more} lines of this kind"));
    }
    lines
}

/// `2 communicators of MPI_Comm_dup at a.c:12 were not freed`.
fn line(count: usize, noun: &str, place: &str, done: &str) -> String {
    match count {
        1 => format!("1 {noun}{place} was not {done}"),
        _ => format!("{count} {noun}s{place} were not {done}"),
    }
}

fn requests() -> Vec<String> {
    let live = sites::left(|raw| {
        let kind = decompose(raw).0;
        [ObjectKind::Send, ObjectKind::Receive, ObjectKind::Request]
            .iter()
            .any(|one| *one as u32 == kind)
    });
    let mut inside = enter();
    let what = live.into_iter().chain(ledger::left()).map(|(raw, site)| {
        let (noun, done) = request::describe(&mut inside, Handle::from_raw(raw));
        (noun, done, site)
    });
    let mut what: Vec<_> = what.collect();
    drop(inside);
    let freed = sites::freed_early().into_iter();
    what.extend(freed.map(|site| ("receive request", "completed before it was freed", site)));
    by_place(what.into_iter())
}

fn objects() -> Vec<String> {
    let noun_of = |raw: u32| {
        let kind = decompose(raw).0;
        let object = OBJECTS.iter().find(|(one, _)| *one as u32 == kind);
        object.map(|(_, noun)| *noun).or_else(|| keyval_of_site(raw))
    };
    let live = sites::left(|raw| noun_of(raw).is_some()).into_iter();
    by_place(live.filter_map(|(raw, site)| Some((noun_of(raw)?, "freed", site))))
}

/// A line for each kind and place. One line of the program may have several addresses.
fn by_place(live: impl Iterator<Item = (&'static str, &'static str, usize)>) -> Vec<String> {
    let mut sites_of: BTreeMap<_, usize> = BTreeMap::new();
    for what in live {
        *sites_of.entry(what).or_default() += 1;
    }
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for ((noun, done, site), count) in sites_of {
        *counts.entry((noun, done, sites::describe(site))).or_default() += count;
    }
    let text = |((noun, done, place), count)| line(count, noun, &format!(" of {place}"), done);
    counts.into_iter().map(text).collect()
}

/// Messages that have come. Those of all others have, since all have come to the end.
fn messages() -> Vec<String> {
    let mut comms = Vec::new();
    let collect = std::cell::RefCell::new(&mut comms);
    Comm::table().find(|comm| {
        collect.borrow_mut().push((comm.context(), comm.label()));
        false
    });
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    let mut inside = enter();
    for (context, label) in comms {
        for message in inside.unreceived(context) {
            let what = (label.clone(), rank_in(message.source), message.tag, message.bytes);
            *counts.entry(what).or_default() += 1;
        }
    }
    let text = |((comm, source, tag, bytes), count)| {
        let place = format!(" of {bytes} bytes from rank {source} with tag {tag} on {comm}");
        line(count, "message", &place, "received")
    };
    counts.into_iter().map(text).collect()
}
