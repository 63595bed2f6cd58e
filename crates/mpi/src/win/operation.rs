//! What accumulates do to the elements of a datatype (MPI-5.0 §12.3.4): a predefined operation, on elements of one predefined type.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use isthmus_engine::layout::{Layout, Level, Span};
use isthmus_engine::rma::{Class, Combine, Operator, RowCombine};

use crate::datatype::{Datatype, Element, Family, NAMED, Named};
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::Object;
use crate::op::{self, Op, Predefined};

/// What the elements of a datatype are.
#[derive(Clone, Copy)]
pub(super) enum Basic {
    /// Alike, of one element.
    One(Element),
    /// Pairs of value and index, as this predefined type has them.
    Pair(&'static Named),
    /// Anything: only bytes are moved.
    Bytes,
}

impl Basic {
    /// Of a datatype.
    #[inline]
    pub fn of(datatype: &Datatype) -> Self {
        match datatype.named() {
            Some(named) => match *named.elements {
                [element] => Self::One(element),
                [_, _] if named.family == Family::Pair => Self::Pair(named),
                _ => Self::Bytes,
            },
            None => Self::of_derived(datatype),
        }
    }

    #[cold]
    fn of_derived(datatype: &Datatype) -> Self {
        let signature = datatype.signature();
        if let Some(element) = signature.only_element() {
            return Self::One(element);
        }
        let pairs = signature.elements() / 2;
        let is_made_of = |named: &&'static Named| {
            named.family == Family::Pair
                && crate::handle::Handle::<Datatype>::from_raw(named.raw)
                    .resolve("datatype")
                    .is_ok_and(|pair| pair.signature().digest(pairs) == signature.digest(1))
        };
        NAMED.iter().find(is_made_of).map_or(Self::Bytes, Self::Pair)
    }

    /// Operations on pairs see pairs in elements that are all alike.
    #[inline]
    fn seen_by(self, which: Predefined) -> Self {
        match (self, which) {
            (Self::One(element), Predefined::Minloc | Predefined::Maxloc) => NAMED
                .iter()
                .find(|named| named.family == Family::Pair && named.elements == [element; 2])
                .map_or(self, Self::Pair),
            _ => self,
        }
    }

    /// Bytes of one, holes included.
    fn width(self) -> u32 {
        match self {
            Self::One(element) => element.size() as u32,
            Self::Pair(named) => width_of_pair(named) as u32,
            Self::Bytes => 1,
        }
    }
}

fn width_of_pair(named: &Named) -> i64 {
    match *named.elements {
        [value, index] => (value.size() as u64).next_multiple_of(index.alignment() as u64) as i64 + index.size(),
        _ => 1,
    }
}

/// Has the pair a hole between its elements?
fn has_hole(named: &Named) -> bool {
    width_of_pair(named) != named.elements.iter().map(|element| element.size()).sum()
}

/// Accumulates take predefined operations only.
#[inline]
pub(super) fn check_predefined_op(op: &Op) -> Result<()> {
    if op.which().is_some() {
        return Ok(());
    }
    Err(fail!(
        Op,
        "op is {}, and accumulates take predefined ones only",
        op.label()
    ))
}

/// Are these elements of a predefined type that lie in a row, and not pairs?
#[inline]
pub(super) fn is_row(datatype: &Datatype) -> bool {
    datatype.named().is_some_and(|named| named.elements.len() == 1)
}

/// What `op` does to elements of `datatype`, as [`combine`] finds out once for each; `None`: the datatype is derived, or of pairs, or `op` is
/// not predefined, or not defined for it.
#[inline(always)] // Half of what a short one costs is calls.
pub(super) fn of_row(op: &Op, datatype: &Datatype) -> Option<&'static RowCombine> {
    const DATATYPES: usize = 256;
    const OPERATIONS: usize = 32;
    const FIRST: usize = Predefined::Sum as usize;
    /// By operation and datatype, once it is known; from a box that is never freed.
    static FOUND: [[AtomicPtr<RowCombine>; DATATYPES]; OPERATIONS] =
        [const { [const { AtomicPtr::new(null_mut()) }; DATATYPES] }; OPERATIONS];
    const {
        let mut at = 0;
        while at < Predefined::ALL.len() {
            let which = Predefined::ALL[at] as usize;
            assert!(FIRST <= which && which - FIRST < OPERATIONS);
            at += 1;
        }
    }
    let (named, which) = (datatype.named()?, op.which()?);
    let found = FOUND[which as usize - FIRST].get((named.raw - Datatype::NULL) as usize)?;
    // SYNC: row-combine
    // SAFETY: null, or from a box that is never freed.
    match unsafe { found.load(Ordering::Acquire).as_ref() } {
        None => find_of_row(op, datatype, found),
        known => known,
    }
}

#[cold]
#[inline(never)]
fn find_of_row(op: &Op, datatype: &Datatype, found: &AtomicPtr<RowCombine>) -> Option<&'static RowCombine> {
    if !is_row(datatype) {
        return None;
    }
    let row = Box::leak(Box::new(RowCombine::of(combine(op, datatype).ok()?)));
    // Another thread's is the same.
    // SYNC: row-combine
    found.store(row, Ordering::Release);
    Some(row)
}

/// What `op` does to the elements of `datatype`.
#[inline]
pub(super) fn combine(op: &Op, datatype: &Datatype) -> Result<Combine> {
    let Some(which) = op.which() else {
        return Err(fail!(
            Op,
            "op is {}, and accumulates take predefined ones only",
            op.label()
        ));
    };
    let basic = Basic::of(datatype).seen_by(which);
    let operator = match which {
        Predefined::Replace | Predefined::NoOp => {
            let operator = match which {
                Predefined::Replace => Operator::Replace,
                _ => Operator::NoOp,
            };
            return Combine::of(Class::Opaque, basic.width(), operator)
                .ok_or_else(|| fail!(Type, "an accumulate of elements of {} bytes", basic.width()));
        }
        Predefined::Sum => Operator::Sum,
        Predefined::Min => Operator::Minimum,
        Predefined::Max => Operator::Maximum,
        Predefined::Prod => Operator::Product,
        Predefined::Band => Operator::And,
        Predefined::Bor => Operator::Or,
        Predefined::Bxor => Operator::Xor,
        _ => Operator::Other,
    };
    let undefined = || undefined(op, datatype);
    // Of a derived datatype, too, it is the predefined types that count: bytes are no integers.
    if !datatype
        .signature()
        .families()
        .all(|family| which.is_defined_for(family))
    {
        return Err(undefined());
    }
    let (kernel, class, number) = match (datatype.named(), basic) {
        (Some(named), Basic::One(element)) => {
            let kernel = op::find_kernel(which, named).ok_or_else(undefined)?;
            (kernel, class_of(element), op::number_of(which, element))
        }
        (None, Basic::One(element)) => {
            let kernel = op::find_kernel_of(which, element).ok_or_else(undefined)?;
            (kernel, class_of(element), op::number_of(which, element))
        }
        (_, Basic::Pair(named)) => {
            let kernel = op::find_kernel(which, named).ok_or_else(undefined)?;
            (kernel, Class::Opaque, op::number_of_pair(which, named))
        }
        _ => return Err(undefined()),
    };
    // SAFETY: the kernel is the number's.
    unsafe { Combine::with(class, basic.width(), operator, number, kernel) }.ok_or_else(undefined)
}

#[cold]
fn undefined(op: &Op, datatype: &Datatype) -> Error {
    fail!(Op, "op={} is not defined for {}", op.label(), datatype.label())
}

fn class_of(element: Element) -> Class {
    match element {
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => Class::Signed,
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => Class::Unsigned,
        Element::F32 | Element::F64 => Class::Float,
        Element::C32 | Element::C64 => Class::Complex,
        _ => Class::Opaque,
    }
}

/// Where `count` elements of a datatype lie, as accumulates see them: pairs with the holes between their elements.
///
/// # Errors
/// A derived datatype has the elements of such pairs elsewhere than the pair has them.
pub(super) fn with_elements(
    datatype: &Datatype,
    base: u64,
    count: i64,
    f: impl FnOnce(&Layout<'_>) -> Result<()>,
) -> Result<()> {
    match datatype.named() {
        Some(named) if named.family == Family::Pair && has_hole(named) => {
            let levels = [Level {
                count: count as u64,
                stride: datatype.extent(),
            }];
            f(&Layout::strided(base, width_of_pair(named) as u64, &levels))
        }
        Some(_) => datatype.with_places(base, count, f),
        None => match Basic::of(datatype) {
            Basic::Pair(named) if has_hole(named) => {
                let spans = datatype.with_places(base, count, |layout| whole_pairs(layout, named, datatype))?;
                f(&Layout::Spans(&spans))
            }
            _ => datatype.with_places(base, count, f),
        },
    }
}

/// The pairs of a derived datatype, with their holes.
#[cold]
fn whole_pairs(layout: &Layout<'_>, named: &Named, datatype: &Datatype) -> Result<Vec<Span>> {
    let width = width_of_pair(named) as u64;
    let [value, index] = named.elements else {
        unreachable!("a pair has two elements")
    };
    let (value, index) = (value.size() as u64, index.size() as u64);
    let mut left = layout.length() / (value + index);
    let mut cursor = layout.cursor(0);
    let mut spans: Vec<Span> = Vec::new();
    while left > 0 {
        let first = cursor.block();
        if first.length >= value {
            cursor.advance(value);
        }
        let second = cursor.block();
        if first.length < value || second.length < index || second.address != first.address + width - index {
            return Err(fail!(
                UnsupportedOperation,
                "an accumulate on {}, whose elements do not lie as those of {}",
                datatype.label(),
                named.name
            ));
        }
        cursor.advance(index);
        left -= 1;
        match spans.last_mut() {
            Some(last) if last.address + last.length == first.address => last.length += width,
            _ => spans.push(Span {
                address: first.address,
                length: width,
            }),
        }
    }
    Ok(spans)
}
