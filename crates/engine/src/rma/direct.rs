//! Puts and gets on memory of another node by the provider's RMA, where it has some (docs/decisions/0089).
//!
//! The first operation on a region asks its owner for a key; the owner then registers the region with the network, until the
//! region is no more. What cannot be done so is done by calls ([`super::service`]), as is what the network gives up.

use isthmus_transfer::Direction;

use super::execute::What;
use super::flow_id::CompletedBy;
use super::service::Moving;
use super::target::Target;
use super::{region, service};
use crate::engine::Engine;
use crate::types::Peer;
use crate::{Result, enter, tunables};

/// Is an operation of so many bytes better done so than by a call?
#[inline]
pub(super) fn pays(target: &Target, length: u64) -> bool {
    target.is_elsewhere() && overtakes(length)
}

/// May a put or get of so many bytes in a row overtake what was asked of the same process of another node before?
#[inline]
pub fn overtakes(length: u64) -> bool {
    let from = tunables::NETWORK_RMA.get();
    from != 0 && length >= from
}

/// Begin to move the bytes. False: it cannot be done so. Blocks only until the owner has told its key, the first time.
///
/// # Safety
/// The bytes at `here` must be readable, or if they are pulled writable, until the operation is over; those from `at` on must be in the region.
pub(super) unsafe fn moves(
    completed_by: CompletedBy,
    target: &Target,
    at: u64,
    (here, length): (*mut u8, u64),
    direction: Direction,
) -> Result<bool> {
    let Some(key) = target.network_key(|| key_of(target))? else {
        return Ok(false);
    };
    let Peer(peer) = target.peer();
    let mut inside = enter();
    let there = (peer, key, target.base(), at);
    // SAFETY: the caller's promise.
    let Some(place) = (unsafe { inside.engine().start_one_sided(there, (here, length), direction) }) else {
        return Ok(false);
    };
    inside.engine().keep_moving(Moving {
        peer,
        place,
        region: target.id(),
        at,
        here,
        length,
        direction,
        flows: completed_by.numbers(),
    });
    Ok(true)
}

/// Ask the owner.
fn key_of(target: &Target) -> Result<Option<u64>> {
    let answer = service::ask_for_key(target.peer(), What::Expose, target.id())?;
    Ok(answer.and_then(|bytes| Some(u64::from_ne_bytes(bytes.try_into().ok()?))))
}

impl Engine {
    /// The key by which peers on other nodes reach a region of this process; empty: they cannot.
    pub(super) fn expose_region(&mut self, id: u32) -> Vec<u8> {
        let key =
            region::own_key(id).filter(|key| key.length() != 0 && key.length() != u64::MAX && !key.is_on_device());
        let exposed = key.zip(self.channels.network_mut()).and_then(|(key, network)| {
            let base = std::ptr::with_exposed_provenance_mut(key.base() as usize);
            // SAFETY: the region's owner keeps its bytes until it is deregistered, which withdraws this.
            unsafe { network.expose_region(id, base, key.length()) }
        });
        exposed.map_or_else(Vec::new, |key| key.to_ne_bytes().to_vec())
    }

    /// # Safety
    /// As for [`moves`].
    unsafe fn start_one_sided(
        &mut self,
        there: (u32, u64, u64, u64),
        here: (*mut u8, u64),
        direction: Direction,
    ) -> Option<usize> {
        let segment = self.segment;
        // SAFETY: the caller's promise.
        unsafe {
            self.channels
                .network_mut()?
                .start_one_sided(segment, there, here, direction)
        }
    }

    pub(super) fn one_sided_over(&mut self, at: usize) -> Option<bool> {
        self.channels
            .network_mut()
            .map_or(Some(false), |network| network.one_sided_over(at))
    }
}

/// A region is no more. Not to be called inside the engine.
pub(super) fn withdraw(id: u32) {
    if !super::home().is_ok_and(|home| home.segment.nodes() > 1) {
        return;
    }
    if let Some(network) = enter().engine().channels.network_mut() {
        network.withdraw_region(id);
    }
}
