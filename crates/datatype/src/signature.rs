//! The basic elements of a datatype in order, without displacements (MPI-5.0 §5.1: type signature).

use std::sync::Arc;

use crate::error::Result;
use crate::predefined::{Element, Families, Foreign};

/// A type signature, run-length encoded and shared between the types built from one another.
#[derive(Debug, Clone)]
pub struct Signature {
    parts: Arc<[RepeatedItem]>,
    size: i64,
    /// In external32.
    foreign_size: i64,
    elements: i64,
    families: Families,
}

#[derive(Debug, Clone)]
struct RepeatedItem {
    repeat: i64,
    item: Item,
}

#[derive(Debug, Clone)]
enum Item {
    Basic(Element, Foreign),
    Group(Signature),
}

impl Item {
    fn size(&self) -> i64 {
        match self {
            Self::Basic(element, _) => element.size(),
            Self::Group(signature) => signature.size,
        }
    }

    fn foreign_size(&self) -> i64 {
        match self {
            Self::Basic(element, foreign) => foreign.size(*element),
            Self::Group(signature) => signature.foreign_size,
        }
    }

    fn elements(&self) -> i64 {
        match self {
            Self::Basic(..) => 1,
            Self::Group(signature) => signature.elements,
        }
    }
}

impl Signature {
    /// Of basic elements, which belong to predefined types of these families.
    pub(crate) fn basic(elements: impl IntoIterator<Item = (Element, Foreign)>, families: Families) -> Self {
        let parts = elements.into_iter().map(|(element, foreign)| RepeatedItem {
            repeat: 1,
            item: Item::Basic(element, foreign),
        });
        Self::of(parts, families)
    }

    /// `repeat` times each of `pieces`, one after the other.
    pub(crate) fn sequence<'a>(pieces: impl IntoIterator<Item = (i64, &'a Self)>) -> Self {
        let mut families = Families::NONE;
        let parts: Vec<RepeatedItem> = pieces
            .into_iter()
            .filter(|piece| piece.0 > 0)
            .flat_map(|(repeat, piece)| {
                families = families.with(piece.families);
                let opened: Vec<RepeatedItem> = match &*piece.parts {
                    [] => Vec::new(),
                    [only] => vec![RepeatedItem {
                        repeat: repeat * only.repeat,
                        item: only.item.clone(),
                    }],
                    parts if repeat == 1 => parts.to_vec(),
                    _ => vec![RepeatedItem {
                        repeat,
                        item: Item::Group(piece.clone()),
                    }],
                };
                opened
            })
            .collect();
        Self::of(parts.into_iter(), families)
    }

    fn of(pieces: impl Iterator<Item = RepeatedItem>, families: Families) -> Self {
        let mut parts: Vec<RepeatedItem> = Vec::new();
        for piece in pieces {
            if let Some(last) = parts.last_mut()
                && last.item.is_same(&piece.item)
            {
                last.repeat += piece.repeat;
            } else {
                parts.push(piece);
            }
        }
        Self {
            size: parts.iter().map(|part| part.repeat * part.item.size()).sum(),
            foreign_size: parts.iter().map(|part| part.repeat * part.item.foreign_size()).sum(),
            elements: parts.iter().map(|part| part.repeat * part.item.elements()).sum(),
            parts: parts.into(),
            families,
        }
    }

    /// To which families the predefined types belong that it is made of.
    pub fn families(&self) -> Families {
        self.families
    }

    /// Number of basic elements.
    pub fn elements(&self) -> i64 {
        self.elements
    }

    /// Bytes that its elements take in external32.
    pub fn foreign_size(&self) -> i64 {
        self.foreign_size
    }

    /// What all its basic elements are, if they are alike.
    pub fn only_element(&self) -> Option<Element> {
        self.only_run().map(|(element, ..)| element)
    }

    /// If all its basic elements are alike: what they are, and how many.
    pub fn only_run(&self) -> Option<(Element, Foreign, i64)> {
        match &*self.parts {
            [
                RepeatedItem {
                    repeat,
                    item: Item::Basic(element, foreign),
                },
            ] => Some((*element, *foreign, *repeat)),
            _ => None,
        }
    }

    /// Call `visit` for each run of equal basic elements with their number, in order.
    pub fn visit_runs(&self, visit: &mut impl FnMut(Element, Foreign, i64) -> Result<()>) -> Result<()> {
        for part in self.parts.iter() {
            match &part.item {
                Item::Basic(element, foreign) => visit(*element, *foreign, part.repeat)?,
                Item::Group(signature) => {
                    for _ in 0..part.repeat {
                        signature.visit_runs(visit)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A number that tells sequences of basic elements apart, for `repeat` times this one.
    pub fn digest(&self, repeat: i64) -> Digest {
        let parts = self.parts.iter().map(|part| match &part.item {
            Item::Basic(element, _) => Digest::of(*element).repeated(part.repeat),
            Item::Group(signature) => signature.digest(part.repeat),
        });
        parts.fold(Digest::EMPTY, Digest::then).repeated(repeat)
    }

    /// What the first `bytes` bytes of repeated such signatures are made of, in a number of [`Self::BRIEF_BITS`] bits that is the same for
    /// the same sequences, and mostly differs for others; `None` if there is no element, or one is cut.
    pub fn brief(&self, bytes: i64) -> Option<u32> {
        if bytes <= 0 || self.size == 0 {
            return None;
        }
        if let Some(element) = self.only_element() {
            return (bytes % element.size() == 0).then(|| brief_of(element));
        }
        let (whole, rest) = (bytes / self.size, bytes % self.size);
        let mut start = Prefix::default();
        if rest > 0 {
            self.start(rest, &mut start)?;
        }
        match start.only {
            Some(element) if whole == 0 => Some(brief_of(element)),
            _ => {
                let digest = self.digest(whole).then(start.digest);
                Some(Self::SEVERAL | (digest.number() ^ digest.number() >> 32) as u32 & (Self::SEVERAL - 1))
            }
        }
    }

    /// Bits of a [brief](Self::brief) number.
    pub const BRIEF_BITS: u32 = 11;
    /// In a brief number: the elements are not alike.
    const SEVERAL: u32 = 1 << (Self::BRIEF_BITS - 1);

    /// In words, what a [brief](Self::brief) number says.
    pub fn describe_brief(brief: u32) -> &'static str {
        if brief & Self::SEVERAL != 0 {
            return "elements of several types";
        }
        let elements = Element::ALL.iter().find(|element| brief_of(**element) == brief);
        elements.map_or("elements of an unknown type", |element| element.describe())
    }

    /// Add the elements that the first `bytes` bytes hold, fewer than a whole signature does; `None` if one is cut.
    fn start(&self, bytes: i64, prefix: &mut Prefix) -> Option<()> {
        let mut rest = bytes;
        for part in self.parts.iter() {
            let repeat = part.repeat.min(rest / part.item.size().max(1));
            match &part.item {
                Item::Basic(element, _) => prefix.add(*element, repeat),
                Item::Group(signature) => prefix.add_several(signature.digest(repeat), repeat),
            }
            rest -= repeat * part.item.size();
            if rest == 0 {
                return Some(());
            }
            if repeat < part.repeat {
                return match &part.item {
                    Item::Basic(..) => None,
                    Item::Group(signature) => signature.start(rest, prefix),
                };
            }
        }
        None
    }

    /// How many whole basic elements `bytes` bytes of repeated such signatures hold; `None` if one is cut.
    pub fn elements_in(&self, bytes: i64) -> Option<i64> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let mut rest = bytes % self.size;
        let mut elements = bytes / self.size * self.elements;
        for part in self.parts.iter() {
            let size = part.repeat * part.item.size();
            if rest >= size {
                rest -= size;
                elements += part.repeat * part.item.elements();
                continue;
            }
            return match &part.item {
                Item::Basic(element, _) => (rest % element.size() == 0).then(|| elements + rest / element.size()),
                Item::Group(signature) => signature.elements_in(rest).map(|inner| elements + inner),
            };
        }
        Some(elements)
    }

    /// Bytes that the first `elements` basic elements of repeated such signatures take; `None` on overflow, or if there
    /// are none to count.
    pub fn bytes_of(&self, elements: i64) -> Option<i64> {
        if self.elements == 0 {
            return (elements == 0).then_some(0);
        }
        let mut rest = elements % self.elements;
        let mut bytes = (elements / self.elements).checked_mul(self.size)?;
        for part in self.parts.iter() {
            let held = part.repeat * part.item.elements();
            if rest >= held {
                rest -= held;
                bytes = bytes.checked_add(part.repeat * part.item.size())?;
                continue;
            }
            let inner = match &part.item {
                Item::Basic(element, _) => rest * element.size(),
                Item::Group(signature) => signature.bytes_of(rest)?,
            };
            return bytes.checked_add(inner);
        }
        Some(bytes)
    }
}

fn brief_of(element: Element) -> u32 {
    element as u32 + 1
}

/// Elements at the start of a sequence.
struct Prefix {
    digest: Digest,
    /// What all of them are; `None`: there are none, or they differ.
    only: Option<Element>,
}

impl Default for Prefix {
    fn default() -> Self {
        Self {
            digest: Digest::EMPTY,
            only: None,
        }
    }
}

impl Prefix {
    fn add(&mut self, element: Element, repeat: i64) {
        if repeat > 0 {
            let is_first = self.digest == Digest::EMPTY;
            self.only = Some(element).filter(|_| is_first || self.only == Some(element));
            self.digest = self.digest.then(Digest::of(element).repeated(repeat));
        }
    }

    fn add_several(&mut self, digest: Digest, repeat: i64) {
        if repeat > 0 {
            self.only = None;
            self.digest = self.digest.then(digest);
        }
    }
}

/// A polynomial in a fixed number modulo a prime (Rabin and Karp), so that sequences can be joined and repeated without
/// being written out, and it does not matter how they are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    value: u64,
    /// The number to the power of the sequence's length.
    shift: u64,
}

impl Digest {
    /// Of nothing.
    pub const EMPTY: Self = Self { value: 0, shift: 1 };
    const PRIME: u64 = (1 << 61) - 1;
    const BASE: u64 = 0x0b5a_d4ec_eda1_ce2a;

    fn of(element: Element) -> Self {
        Self {
            value: element as u64 + 1,
            shift: Self::BASE,
        }
    }

    /// This sequence, and then that.
    pub fn then(self, next: Self) -> Self {
        Self {
            value: (Self::product(self.value, next.shift) + next.value) % Self::PRIME,
            shift: Self::product(self.shift, next.shift),
        }
    }

    fn repeated(self, times: i64) -> Self {
        let (mut result, mut power, mut left) = (Self::EMPTY, self, times);
        while left > 0 {
            if left % 2 == 1 {
                result = result.then(power);
            }
            power = power.then(power);
            left /= 2;
        }
        result
    }

    fn product(a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(Self::PRIME)) as u64
    }

    /// The number.
    pub fn number(self) -> u64 {
        self.value
    }
}

impl Item {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Basic(a, foreign_a), Self::Basic(b, foreign_b)) => (a, foreign_a) == (b, foreign_b),
            (Self::Group(a), Self::Group(b)) => Arc::ptr_eq(&a.parts, &b.parts),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Element, Families, Foreign, Signature};
    use crate::predefined::Family;

    fn basic(elements: &[Element]) -> Signature {
        let elements = elements.iter().map(|element| (*element, Foreign::Same));
        Signature::basic(elements, Families::of(Family::CInteger))
    }

    #[test]
    fn families_are_those_of_all_elements_that_there_are() {
        let of = |family| Signature::basic([(Element::U8, Foreign::Same)], Families::of(family));
        let (byte, letter) = (of(Family::Byte), of(Family::CInteger));
        let both = Signature::sequence([(2, &byte), (1, &letter), (0, &of(Family::Opaque))]);
        let families = Signature::sequence([(3, &both)]).families();
        assert!(!families.all(|family| family == Family::Byte));
        assert!(families.all(|family| matches!(family, Family::Byte | Family::CInteger)));
    }

    #[test]
    fn elements_and_bytes_are_inverse() {
        let pair = basic(&[Element::F64, Element::I32]);
        let many = Signature::sequence([(3, &pair), (2, &basic(&[Element::I16])), (1, &pair)]);
        // f64 i32 f64 i32 f64 i32 i16 i16 f64 i32
        let sizes = [8, 4, 8, 4, 8, 4, 2, 2, 8, 4];
        assert_eq!(many.elements(), 10);
        let mut bytes = 0;
        let mut whole = vec![None; 2 * 52 + 1];
        for n in 0..=20 {
            assert_eq!(many.bytes_of(n), Some(bytes));
            whole[bytes as usize] = Some(n);
            bytes += sizes[n as usize % 10];
        }
        for (bytes, expected) in whole.into_iter().enumerate() {
            assert_eq!(many.elements_in(bytes as i64), expected, "{bytes} bytes");
        }
    }

    #[test]
    fn brief_numbers_are_those_of_the_sequence() {
        let (int, double) = (basic(&[Element::I32]), basic(&[Element::F64]));
        let row = Signature::sequence([(7, &int)]);
        assert_eq!(row.brief(8), int.brief(8));
        assert_eq!((row.brief(0), row.brief(6)), (None, None));
        assert_ne!(int.brief(8), double.brief(8));
        let pair = basic(&[Element::I32, Element::F64]);
        let pairs = Signature::sequence([(5, &pair), (2, &int)]);
        // Two pairs, a pair and its first half, an int alone, a cut double.
        assert_eq!(pairs.brief(24), pair.brief(24));
        assert_eq!(pairs.brief(16), Signature::sequence([(1, &pair), (1, &int)]).brief(16));
        assert_eq!(pairs.brief(4), int.brief(4));
        assert_eq!(pairs.brief(8), None);
        assert_ne!(pairs.brief(12), basic(&[Element::F64, Element::I32]).brief(12));
        // Past the end of one.
        assert_eq!(pairs.brief(72), Signature::sequence([(1, &pairs), (1, &int)]).brief(72));
        for signature in [&int, &double, &pairs] {
            assert!(
                signature
                    .brief(72)
                    .is_some_and(|brief| brief < 1 << Signature::BRIEF_BITS)
            );
        }
        assert_eq!(Signature::describe_brief(int.brief(4).unwrap_or(0)), "32-bit integers");
    }

    #[test]
    fn empty_signatures_hold_nothing() {
        let none = Signature::sequence([(0, &basic(&[Element::I8]))]);
        assert_eq!((none.elements_in(0), none.elements_in(1)), (Some(0), None));
        assert_eq!((none.bytes_of(0), none.bytes_of(1)), (Some(0), None));
    }

    #[test]
    fn digests_depend_on_the_sequence_alone() {
        let (int, double) = (basic(&[Element::I32]), basic(&[Element::F64]));
        let pair = basic(&[Element::I32, Element::F64]);
        let pairs = Signature::sequence([(5, &pair)]);
        let row = Signature::sequence([(7, &int)]);
        assert_eq!(row.digest(6), int.digest(42));
        assert_eq!(pairs.digest(3), pair.digest(15));
        let odd = Signature::sequence([(1, &int), (3, &double), (2, &pairs)]);
        let spelled = Signature::sequence([(1, &int), (2, &double), (1, &double), (10, &pair)]);
        assert_eq!(odd.digest(1), spelled.digest(1));
        assert_ne!(odd.digest(1), odd.digest(2));
        assert_ne!(pair.digest(1), basic(&[Element::F64, Element::I32]).digest(1));
        assert_ne!(int.digest(4), basic(&[Element::U32]).digest(4));
        assert_eq!(int.digest(0), super::Digest::EMPTY);
    }

    #[test]
    fn equal_elements_merge() {
        let int = basic(&[Element::I32]);
        let row = Signature::sequence([(5, &int)]);
        let rows = Signature::sequence([(4, &row), (1, &int)]);
        assert_eq!(rows.parts.len(), 1);
        assert_eq!(rows.elements(), 21);
    }
}
