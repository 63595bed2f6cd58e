//! What the members of a group tell one another when they make a communicator.
//!
//! A dissemination all-gather (Bruck et al., IEEE TPDS 8(11), 1997): in round k each process sends what it knows to the
//! one 2^k before it and hears what the one 2^k after it knows; ceil(log2 n) rounds.

use std::ffi::CStr;

use isthmus_engine::{ContextId, enter};

use super::Comm;
use crate::constants::{MAX_STRINGTAG_LEN, TAG_UB};
use crate::error::Result;
use crate::fail;
use crate::liveness::check_revoked;
use crate::p2p::internal::{exchange_bytes, recv_bytes, send_bytes};

/// The tag of agreements among all members of a communicator, on its collective context.
pub const TAG: i32 = TAG_UB;

/// The tag of agreements that users tell apart by `tag`, on a collective context too.
pub fn tagged(tag: i32) -> i32 {
    TAG_UB + 1 + tag
}

/// Every member's words, by rank. Called by all members of an intracommunicator, with the same tag.
pub fn gather<const N: usize>(comm: &Comm, context: ContextId, tag: i32, own: [u32; N]) -> Result<Vec<[u32; N]>> {
    // A member alone sends nothing, which would fail.
    check_revoked(&mut enter(), context)?;
    let (size, rank) = (comm.size(), comm.rank());
    let width = N * size_of::<u32>();
    // Blocks of the ranks from ours on.
    let mut known = encode(&own);
    let mut heard = vec![0; width * size as usize];
    let mut distance = 1;
    while distance < size {
        let blocks = distance.min(size - distance) as usize;
        let (dest, source) = ((rank - distance + size) % size, (rank + distance) % size);
        let room = &mut heard[..blocks * width];
        exchange_bytes(comm, context, tag, dest, &known[..blocks * width], source, room)?;
        known.extend_from_slice(room);
        distance *= 2;
    }
    known.rotate_right(width * rank as usize);
    Ok(decode(&known).collect())
}

/// What `root` tells: its `words` replace everyone's, which must be as many. A binomial tree.
pub fn broadcast(comm: &Comm, context: ContextId, tag: i32, root: i32, words: &mut [u32]) -> Result<()> {
    let size = comm.size();
    // Ranks as seen from the root.
    let place = (comm.rank() - root + size) % size;
    let rank_of = |place: i32| (place + root) % size;
    let mut bytes = encode(words);
    let mut bit = 1;
    while bit < size && place & bit == 0 {
        bit *= 2;
    }
    if place != 0 {
        recv_bytes(comm, context, rank_of(place - bit), tag, &mut bytes)?;
    }
    while bit > 1 {
        bit /= 2;
        if place + bit < size {
            send_bytes(comm, context, rank_of(place + bit), tag, &bytes)?;
        }
    }
    for (word, [new]) in words.iter_mut().zip(decode(&bytes)) {
        *word = new;
    }
    Ok(())
}

/// Swap words with a process, which must send as many.
pub fn swap(comm: &Comm, context: ContextId, tag: i32, with: i32, words: &[u32], theirs: &mut [u32]) -> Result<()> {
    let mut bytes = encode(theirs);
    exchange_bytes(comm, context, tag, with, &encode(words), with, &mut bytes)?;
    for (word, [new]) in theirs.iter_mut().zip(decode(&bytes)) {
        *word = new;
    }
    Ok(())
}

fn encode(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn decode<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u32; N]> + '_ {
    let words = |block: &[u8]| {
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_ne_bytes(*bytes);
        }
        words
    };
    bytes.chunks_exact(N * size_of::<u32>()).map(words)
}

/// The tag under which processes meet that named this `stringtag`, and a second opinion on whether they did.
pub fn meeting_tag(stringtag: &CStr) -> Result<(i32, u32)> {
    let name = stringtag.to_bytes();
    if name.len() >= MAX_STRINGTAG_LEN {
        return Err(fail!(
            Arg,
            "stringtag has {} characters, {} are allowed",
            name.len(),
            MAX_STRINGTAG_LEN - 1
        ));
    }
    let tag = fnv(name.iter().copied()) & TAG_UB as u32;
    Ok((tagged(tag as i32), fnv(name.iter().rev().copied())))
}

/// FNV-1a, 32 bits (draft-eastlake-fnv).
pub fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
