//! The connection to the launcher: what this process tells it, and hears from it.

use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use isthmus_os::{poll, process, socket};

use crate::membership::control::{self, ToLauncher, ToRank};
use crate::types::Peer;
use crate::warning::{self, Warning};
use crate::{Error, Result};

/// The lifeline's descriptor, for the fork hook and for threads that are not inside; -1: none.
pub(super) static LIFELINE: AtomicI32 = AtomicI32::new(-1);
/// Tell the launcher something. Does not block.
pub(crate) fn tell(message: &ToLauncher) {
    if let Some(lifeline) = lifeline() {
        // A launcher that is gone is noticed by the next wait.
        let _ = socket::send(&lifeline, &message.encode(), None);
    }
}

/// Tell the launcher that this process has no way any more to a rank of another node, which is to count as failed on this one.
pub(crate) fn tell_of_loss(rank: u32, why: &str) {
    tell(&ToLauncher::Lost {
        rank,
        message: why.to_owned(),
    });
}

/// Our own launcher has started the job: it passes on what ranks on several nodes have to `agree` or `revoke`.
pub(super) static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Is there somebody who passes on what ranks of several nodes have to do together after a failure?
pub(crate) fn check_arbiter(what: &'static str) -> Result<()> {
    match IS_OURS.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Error::NoArbiter { what }),
    }
}

/// What the launcher has said since the last call. Does not block.
pub(crate) fn heard() -> Vec<ToRank> {
    let mut said = Vec::new();
    let Some(lifeline) = lifeline() else { return said };
    let mut packet = [0; control::MAX_PACKET];
    while poll::readable(&[lifeline.as_fd()], Some(Duration::ZERO)) == Ok(vec![true])
        && let Ok(socket::Received::Packet(length, _)) = socket::receive(&lifeline, &mut packet)
    {
        said.extend(ToRank::decode(&packet[..length]));
    }
    said
}

/// The connection to the launcher, whoever is inside the engine.
fn lifeline() -> Option<ManuallyDrop<OwnedFd>> {
    let descriptor = LIFELINE.load(Ordering::Relaxed);
    // SAFETY: it is open, and stays so: the engine owns it, and is never dropped. A child made by `fork` has none here.
    (descriptor >= 0).then(|| ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

/// End the job with `code`; `message`, if not empty, is one line for the user. Does not return; waits up to 2 s for the
/// launcher to end us. Whatever other threads do, and wherever the calling one is.
pub fn abort(code: i32, message: &str) -> ! {
    end_job(lifeline().as_deref(), code, &[], message)
}

/// As [`abort`], of these members of the job only, where its launcher can do that: the calling process must be one of them.
pub fn abort_members(code: i32, members: &[Peer], message: &str) -> ! {
    let members: Vec<u32> = members.iter().map(|member| member.0).collect();
    end_job(lifeline().as_deref(), code, &members, message)
}

pub(crate) fn end_job(lifeline: Option<&OwnedFd>, code: i32, members: &[u32], message: &str) -> ! {
    // What the program has printed belongs to its user, and the launcher may end us before we can say it.
    process::flush_streams();
    let told = lifeline.is_some_and(|lifeline| {
        let packet = ToLauncher::Abort {
            code,
            members: members.to_vec(),
            message: message.to_owned(),
        }
        .encode();
        // The launcher ends us; if it cannot, we end by ourselves.
        socket::send(lifeline, &packet, None).is_ok()
            && socket::set_receive_limit(lifeline, Duration::from_secs(2)).is_ok()
            && socket::receive(lifeline, &mut [0; control::MAX_PACKET]).is_ok()
    });
    if !told && !message.is_empty() {
        process::say(message);
    }
    process::exit_now(i32::from(control::exit_code(code)))
}

/// A rank whose launcher is gone ends: nobody could end it otherwise.
pub(crate) fn check_lifeline(lifeline: Option<&OwnedFd>, me: u32) {
    if let Some(lifeline) = lifeline
        && socket::is_closed(lifeline)
    {
        let line = format!("isthmus: rank {me}: mpiexec is gone; ending, as all ranks of this node");
        warning::warn(Warning::LauncherGone, &line);
        process::exit_now(1);
    }
}
