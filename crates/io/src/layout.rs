//! Where a file system puts the parts of a file, as far as it says so: what aggregators' parts are cut by, how many aggregators there are, and for
//! which pieces.

use crate::systems::{OTHER, OwnWrites, System};

/// Stripes, or blocks, of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a stripe, or of what the file system likes to be given at a time: two ranks that write to one wait for one another.
    pub unit: u64,
    /// Servers that stripes are on in turn; `None`: it does not say, or there is one.
    pub stripes: Option<u64>,
    /// Which pieces ranks write by themselves.
    pub own_writes: OwnWrites,
}

/// Bytes of a page, which no part of an aggregator is smaller than.
pub const PAGE: u64 = 4096;

/// No unit is larger: what says so means something else.
const LARGEST: u64 = 1 << 30;

impl Default for Layout {
    fn default() -> Self {
        Self {
            unit: PAGE,
            stripes: None,
            own_writes: OTHER.own_writes,
        }
    }
}

impl Layout {
    /// Of a file system of this kind that likes blocks of so many bytes (`st_blksize`: a page on local ones, what a message carries on NFS).
    pub fn of_blocks(bytes: u64, system: &System) -> Self {
        let is_good = bytes.is_power_of_two() && (PAGE..=LARGEST).contains(&bytes);
        Self {
            unit: if is_good { bytes } else { PAGE },
            stripes: None,
            own_writes: system.own_writes,
        }
    }

    /// What Lustre's attribute `lustre.lov` says (`struct lov_user_md_v1`, `_v3` and `struct lov_comp_md_v1` of
    /// `lustre/include/uapi/linux/lustre/lustre_user.h`, in the order of the machine's bytes, which is that of x86). Of a file that changes its
    /// layout as it grows, the part with the most stripes.
    pub fn of_lustre(attribute: &[u8]) -> Option<Self> {
        const COMPOSITE: u32 = 0x0bd6_0bd0;
        const ENTRIES: usize = 32;
        const ENTRY: usize = 48;
        if word(attribute, 0)? != COMPOSITE {
            return Self::of_component(attribute);
        }
        let count = usize::from(half(attribute, 14)?);
        let component = |number: usize| {
            let offset = word(attribute, ENTRIES + number * ENTRY + 24)? as usize;
            Self::of_component(attribute.get(offset..)?)
        };
        (0..count).filter_map(component).max_by_key(|layout| layout.stripes)
    }

    fn of_component(bytes: &[u8]) -> Option<Self> {
        const PLAIN: [u32; 2] = [0x0bd1_0bd0, 0x0bd3_0bd0];
        if !PLAIN.contains(&word(bytes, 0)?) {
            return None;
        }
        let (unit, stripes) = (u64::from(word(bytes, 24)?), u64::from(half(bytes, 28)?));
        // All servers, or those of the metadata: how many is not said.
        let stripes = Some(stripes).filter(|stripes| (1..0xffff).contains(stripes));
        (PAGE..=LARGEST).contains(&unit).then_some(Self {
            unit,
            stripes,
            ..Self::default()
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*bytes))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As Lustre has it for a file in stripes.
    pub fn attribute(unit: u32, stripes: u16) -> Vec<u8> {
        let mut bytes = vec![0; 32];
        bytes[..4].copy_from_slice(&0x0bd1_0bd0_u32.to_le_bytes());
        bytes[24..28].copy_from_slice(&unit.to_le_bytes());
        bytes[28..30].copy_from_slice(&stripes.to_le_bytes());
        bytes
    }

    #[test]
    fn stripes_are_read_from_the_attribute() {
        let layout = |unit, stripes| {
            Some(Layout {
                unit,
                stripes,
                ..Layout::default()
            })
        };
        assert_eq!(Layout::of_lustre(&attribute(1 << 20, 4)), layout(1 << 20, Some(4)));
        assert_eq!(Layout::of_lustre(&attribute(1 << 20, 0xffff)), layout(1 << 20, None));
        assert_eq!(Layout::of_lustre(&attribute(3, 4)), None);
        // A first part of one stripe, a second one of eight.
        let parts = [attribute(1 << 16, 1), attribute(1 << 22, 8)];
        let mut composite = vec![0; 32 + 2 * 48];
        composite[..4].copy_from_slice(&0x0bd6_0bd0_u32.to_le_bytes());
        composite[14] = 2;
        for (number, part) in parts.iter().enumerate() {
            let offset = composite.len() as u32;
            composite[32 + 48 * number + 24..][..4].copy_from_slice(&offset.to_le_bytes());
            composite.extend_from_slice(part);
        }
        assert_eq!(Layout::of_lustre(&composite), layout(1 << 22, Some(8)));
        for cut in 0..composite.len() {
            // No part of it makes it read beyond its end.
            let _ = Layout::of_lustre(&composite[..cut]);
        }
        assert_eq!(Layout::of_lustre(&[]), None);
    }

    #[test]
    fn blocks_that_make_no_sense_are_pages() {
        let unit = |bytes| Layout::of_blocks(bytes, &OTHER).unit;
        assert_eq!(
            [0, 512, 4096, 5000, 1 << 20, 1 << 40].map(unit),
            [PAGE, PAGE, 4096, PAGE, 1 << 20, PAGE]
        );
    }
}
