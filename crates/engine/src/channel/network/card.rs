//! What a rank shows of itself to those on other nodes: which library and provider it sends by, and its address there.

use isthmus_fabric::FRAME;
use isthmus_shm::Segment;
use isthmus_shm::card::MAX_NAME;

use super::{Network, frame};

/// Bytes of the first part; zeros fill it up.
const KIND: usize = 32;

/// What ranks and launchers on different nodes must have in common: the library's version, and the form and length of its frames.
pub fn version() -> String {
    format!("{}.{}.{}", env!("CARGO_PKG_VERSION"), frame::FORMAT, FRAME >> 10)
}

/// Two understand each other if they are of one kind: the same version of this library, and the same provider of libfabric.
fn kind(provider: &str) -> [u8; KIND] {
    let text = format!("{} {provider}", version());
    let mut kind = [0; KIND];
    let length = text.len().min(KIND);
    kind[..length].copy_from_slice(&text.as_bytes()[..length]);
    kind
}

/// Can a card hold this address of an endpoint?
pub(super) fn has_room_for(address: &[u8]) -> bool {
    KIND + address.len() <= MAX_NAME
}

fn show(kind: &[u8]) -> String {
    let text = kind.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

impl Network {
    /// What this rank shows.
    pub fn card(&self) -> Vec<u8> {
        [&kind(&self.endpoint.provider())[..], self.endpoint.name()].concat()
    }

    /// By what a peer is reached; `None`: it has not shown it yet, or is of another kind.
    pub(super) fn address(&self, segment: &Segment, peer: u32) -> Option<Vec<u8>> {
        let shown = segment.card(peer)?.name()?;
        let (theirs, address) = shown.split_at_checked(KIND)?;
        (theirs == kind(&self.endpoint.provider())).then(|| address.to_vec())
    }

    /// A peer of another kind that something is for, and a sentence that says so.
    pub(super) fn stranger(&self, segment: &Segment, me: u32) -> Option<(u32, String)> {
        let own = kind(&self.endpoint.provider());
        self.linked.iter().find_map(|&peer| {
            let link = self.links[peer as usize].as_ref()?;
            if link.to.is_some() || link.lost {
                return None;
            }
            let shown = segment.card(peer)?.name()?;
            let theirs = shown.get(..KIND).unwrap_or(&shown);
            (theirs != own).then(|| {
                let sentence = format!(
                    "isthmus: rank {me} on host {} sends by Isthmus and libfabric's provider \"{}\", rank {peer} by \"{}\": install the same versions \
                     on all hosts, and set ISTHMUS_FABRIC and FI_PROVIDER alike",
                    isthmus_os::host::name(),
                    show(&own),
                    show(theirs),
                );
                (peer, sentence)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart_and_shown() {
        let net = kind("net");
        assert_ne!(net, kind("tcp;ofi_rxm"));
        assert_eq!(show(&net), format!("{} net", version()));
        assert!(show(&kind("verbs;ofi_rxm")).ends_with("verbs;ofi_rxm"));
        assert_eq!(show(&kind(&"x".repeat(99))).len(), KIND);
    }
}
