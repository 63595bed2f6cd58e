//! What `ISTHMUS_CHECK=1` looks for in windows, beside what is always refused: fences whose assertions differ, and buffers at the origin that change
//! or overlap. Conflicting accesses: `record.rs`.

use std::sync::atomic::Ordering;

use super::Win;
use super::control::MemberPart;
use super::epoch::Mode;
use crate::constants::{MODE_NOPRECEDE, MODE_NOSUCCEED};
use crate::datatype::Type;
use crate::error::Result;
use crate::fail;
use crate::handle::Object;
use crate::ledger::{Given, loans, types};
use crate::process::me;

/// What a barrier of all members of a window is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BarrierRound {
    /// A fence, with its assertions.
    Fence(i32),
    /// The end of the window.
    Free,
    /// Nothing that the program calls.
    Inner,
}

/// What all must say alike (MPI-5.0 §12.5.5).
const ALIKE: i32 = MODE_NOPRECEDE | MODE_NOSUCCEED;
const FREE: u32 = 1 << 30;
const INNER: u32 = 1 << 29;

impl BarrierRound {
    fn word(self) -> u32 {
        match self {
            Self::Fence(assert) => (assert & ALIKE) as u32,
            Self::Free => FREE,
            Self::Inner => INNER,
        }
    }
}

fn describe(word: u32) -> String {
    let said = |bit: i32, name| if word & bit as u32 != 0 { name } else { "" };
    match word {
        FREE => "MPI_Win_free".to_owned(),
        INNER => "the end of MPI_Win_fence".to_owned(),
        _ => format!(
            "MPI_Win_fence{}{}",
            said(MODE_NOPRECEDE, " with MPI_MODE_NOPRECEDE"),
            said(MODE_NOSUCCEED, " with MPI_MODE_NOSUCCEED")
        ),
    }
}

/// A fence that says that nothing was done since the last one, where something was.
pub(super) fn fence(win: &Win, assert: i32) -> Result<()> {
    if assert & MODE_NOPRECEDE != 0 && win.epochs.mode() == Mode::Fence && win.is_checked {
        return Err(fail!(
            RmaSync,
            "MPI_Win_fence with MPI_MODE_NOPRECEDE on {}, where rank {} has accessed others since the last fence",
            win.label(),
            win.rank()
        ));
    }
    Ok(())
}

impl Win {
    /// Are the elements at the origin those at the target, which are as many bytes?
    #[inline]
    pub(super) fn check_types(&self, here: &Type, there: &Type, bytes: i64) -> Result<()> {
        if self.is_checked && !types::are_alike(here, there, bytes) {
            return Err(fail!(
                Type,
                "{bytes} bytes are elements of {} at the origin, and of {} at the target",
                here.label(),
                there.label()
            ));
        }
        Ok(())
    }

    /// An operation that is about to begin has these buffers; what comes of it is told to [`Self::has_begun`].
    #[inline]
    pub(super) fn lend<const N: usize>(&self, target: usize, buffers: [Option<Given<'_>>; N]) -> Result<Option<u32>> {
        if !self.is_checked {
            return Ok(None);
        }
        let buffers: Vec<_> = buffers.into_iter().flatten().collect();
        loans::lend(self.handle().raw(), target, &buffers)
    }

    /// The operation has begun, or failed to, and then has no buffers. One that fetches is waited for here: its results stay as they are from then on.
    #[inline]
    pub(super) fn has_begun(&self, loan: Option<u32>, target: usize, fetches: bool, begun: Result<()>) -> Result<()> {
        let Some(loan) = loan else { return begun };
        let results = begun.and_then(|()| match fetches {
            true => Ok(self.flow.flush_local(|| self.peer(target))?),
            false => Ok(()),
        });
        match &results {
            Ok(()) if fetches => loans::arrived(loan),
            Ok(()) => {}
            Err(_) => loans::withdraw(loan),
        }
        results
    }

    /// Operations on these targets are complete at the origin.
    ///
    /// # Errors
    /// The program has changed a buffer of theirs before.
    #[inline]
    pub(super) fn end_loans(&self, is_over: impl Fn(usize) -> bool) -> Result<()> {
        if self.is_checked {
            return loans::give_back(self.handle().raw(), is_over);
        }
        Ok(())
    }
}

/// Show which call this process makes, before other members can see that it has reached barrier round `turn`.
pub(super) fn announce(win: &Win, turn: u32, round: BarrierRound) {
    if win.is_checked {
        win.own.part.barrier_round(turn).store(round.word(), Ordering::Relaxed);
    }
}

/// A member, and the call by which it has reached a barrier round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberRound {
    member: u32,
    word: u32,
}

impl MemberRound {
    /// As it is told.
    pub const BYTES: usize = 8;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        (u64::from(self.member) << 32 | u64::from(self.word)).to_ne_bytes()
    }

    pub fn of(bytes: &[u8; Self::BYTES]) -> Self {
        let both = u64::from_ne_bytes(*bytes);
        Self {
            member: (both >> 32) as u32,
            word: both as u32,
        }
    }
}

/// The calls by which members have reached barrier round `turn`: that of the first, and one that differs. No member is ahead by more than a round.
pub(super) fn rounds(members: impl Iterator<Item = (usize, MemberPart)>, turn: u32) -> Vec<MemberRound> {
    let mut all = members.map(|(member, part)| MemberRound {
        member: member as u32,
        word: part.barrier_round(turn).load(Ordering::Relaxed),
    });
    let first = all.next();
    let other = all.find(|other| first.is_some_and(|first| first.word != other.word));
    first.into_iter().chain(other).collect()
}

/// Have all members reached barrier round `turn` by the same call? To be asked once they have reached it.
///
/// # Errors
/// They have not; all members get this error.
pub(super) fn compare(win: &Win, turn: u32) -> Result<()> {
    if !win.is_checked {
        return Ok(());
    }
    let here = (0..win.size).filter_map(|member| Some((member, win.part(member)?)));
    let mut all = rounds(here, turn);
    let is_told = all.first().is_some_and(|own| own.word != INNER);
    if let Some(away) = win.away.as_ref().filter(|_| is_told) {
        for leader in away.others() {
            all.extend(win.rounds_away(leader, turn)?);
        }
    }
    let other = all.iter().find(|other| other.word != all[0].word);
    match other {
        Some(other) => Err(fail!(
            RmaSync,
            "ranks disagree on {}: {} on rank {}, {} on rank {}",
            win.label(),
            describe(all[0].word),
            all[0].member,
            describe(other.word),
            other.member
        )),
        None => Ok(()),
    }
}

/// What the program ends with: windows in which it has an epoch open, as long as they are not freed.
pub fn say_what_is_open() {
    let rank = me().map_or(0, |me| me.0);
    let tell = |win: &Win| {
        let mode = win.epochs.mode();
        if win.is_checked && !matches!(mode, Mode::None | Mode::Fenced | Mode::Fence) {
            isthmus_os::process::say(&format!(
                "isthmus: rank {rank}: MPI_Finalize: {} was not freed, where {}",
                win.label(),
                mode.describe()
            ));
        }
        false
    };
    Win::table().find(tell);
}
