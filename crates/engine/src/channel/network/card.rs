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

/// Can a card hold these addresses of endpoints?
pub(super) fn has_room_for<'a>(addresses: impl Iterator<Item = &'a [u8]>) -> bool {
    KIND + addresses.map(|address| 1 + address.len()).sum::<usize>() <= MAX_NAME
}

/// Addresses, each behind a byte with its length.
fn join<'a>(kind: [u8; KIND], addresses: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut card = kind.to_vec();
    for address in addresses {
        card.push(address.len() as u8);
        card.extend_from_slice(address);
    }
    card
}

/// The address on a rail.
fn part(mut addresses: &[u8], rail: usize) -> Option<&[u8]> {
    for _ in 0..rail {
        let (length, rest) = addresses.split_first()?;
        addresses = rest.get(usize::from(*length)..)?;
    }
    let (length, rest) = addresses.split_first()?;
    rest.get(..usize::from(*length))
}

fn show(kind: &[u8]) -> String {
    let text = kind.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

impl Network {
    /// What this rank shows.
    pub fn card(&self) -> Vec<u8> {
        let addresses = std::iter::once(self.endpoint.name()).chain(self.rails.names());
        join(kind(&self.endpoint.provider()), addresses)
    }

    /// By what a peer is reached; `None`: it has not shown it yet, or is of another kind.
    pub(super) fn address(&self, segment: &Segment, peer: u32) -> Option<Vec<u8>> {
        self.address_on(segment, peer, 0)
    }

    /// The same on a further rail, if both have it.
    pub(super) fn rail_address(&self, segment: &Segment, peer: u32, further: usize) -> Option<Vec<u8>> {
        self.address_on(segment, peer, 1 + further)
    }

    fn address_on(&self, segment: &Segment, peer: u32, rail: usize) -> Option<Vec<u8>> {
        let shown = segment.card(peer)?.name()?;
        let (theirs, addresses) = shown.split_at_checked(KIND)?;
        let is_alike = theirs == kind(&self.endpoint.provider());
        is_alike.then(|| part(addresses, rail).map(<[u8]>::to_vec))?
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
    fn a_card_has_an_address_for_each_rail() {
        let names: [&[u8]; 3] = [&[1; 16], &[2], &[3; 28]];
        let card = join(kind("net"), names.into_iter());
        for (at, name) in names.into_iter().enumerate() {
            assert_eq!(part(&card[KIND..], at), Some(name));
        }
        assert_eq!(part(&card[KIND..], 3), None);
        assert_eq!(part(&card[KIND..card.len() - 1], 2), None, "cut off");
        assert!(has_room_for(names.into_iter()) && !has_room_for([&[1_u8; 28][..]; 3].into_iter()));
    }

    #[test]
    fn kinds_are_told_apart_and_shown() {
        let net = kind("net");
        assert_ne!(net, kind("tcp;ofi_rxm"));
        assert_eq!(show(&net), format!("{} net", version()));
        assert!(show(&kind("verbs;ofi_rxm")).ends_with("verbs;ofi_rxm"));
        assert_eq!(show(&kind(&"x".repeat(99))).len(), KIND);
    }
}
