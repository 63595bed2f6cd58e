//! Datatypes made again from the arguments of before share what they describe: programs that make theirs in a loop, where
//! they use them, pay for layout, signature and arguments once.
//!
//! A few are kept, those of few arguments, each until another one takes its place. A kept one holds a share in the
//! datatypes among its arguments, so that their addresses name them.

use std::sync::{Arc, Mutex, PoisonError};

use super::Datatype;
use super::contents::{Argument, Combiner, Definition, Origin};
use crate::counts::{Counts, Width};
use crate::error::Result;

/// Kept at a time.
const KEPT: usize = 32;
/// Numbers and datatypes among the arguments of what is kept.
const LONGEST: usize = 32;
/// Levels of derived datatypes within what is kept.
const DEEPEST: u32 = 3;

/// Arguments, as numbers.
struct ArgumentLists {
    combiner: Combiner,
    width: Width,
    hash: u64,
    length: usize,
    numbers: [i64; LONGEST],
}

struct CachedType {
    arguments: ArgumentLists,
    definition: Definition,
}

static ENTRIES: Mutex<[Option<CachedType>; KEPT]> = Mutex::new([const { None }; KEPT]);

/// What a datatype of these arguments is: as it was before, or as `make` says.
pub(super) fn definition(
    combiner: Combiner,
    width: Width,
    arguments: &[Argument<'_>],
    make: impl FnOnce() -> Result<Definition>,
) -> Result<Definition> {
    let mut asked = ArgumentLists::new(combiner, width);
    if asked.add_all(arguments).is_none() {
        return make();
    }
    let place = (asked.hash >> 32) as usize % KEPT;
    let kept = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)[place]
        .as_ref()
        .filter(|entry| entry.arguments.equal(&asked))
        .map(|entry| entry.definition.clone());
    if let Some(definition) = kept {
        return Ok(definition);
    }
    let definition = make()?;
    if is_small(&definition.origin, DEEPEST) {
        let entry = CachedType {
            arguments: asked,
            definition: definition.clone(),
        };
        // Dropped when the lock is free again.
        let _before = ENTRIES.lock().unwrap_or_else(PoisonError::into_inner)[place].replace(entry);
    }
    Ok(definition)
}

/// Is it of few arguments, and what it is made of, too?
fn is_small(origin: &Origin, levels: u32) -> bool {
    match origin {
        Origin::Named(_) | Origin::Kind(_) => true,
        Origin::Made(recipe) => {
            let parts = recipe.types();
            let length = recipe.numbers() + parts.len();
            levels > 0 && length <= LONGEST && parts.iter().all(|part| is_small(&part.origin, levels - 1))
        }
    }
}

impl ArgumentLists {
    fn new(combiner: Combiner, width: Width) -> Self {
        Self {
            combiner,
            width,
            hash: combiner as u64,
            length: 0,
            numbers: [0; LONGEST],
        }
    }

    /// Add all of these. `None`: there are too many, or one is no datatype.
    fn add_all(&mut self, list: &[Argument<'_>]) -> Option<()> {
        for argument in list {
            match *argument {
                Argument::Integer(value) => self.add([value.into()])?,
                Argument::Integers(values) => self.add(values.iter().map(|value| i64::from(*value)))?,
                Argument::Count(value) | Argument::Address(value) => self.add([value])?,
                Argument::Counts(Counts::Int(values)) | Argument::Addresses(Counts::Int(values)) => {
                    self.add(values.iter().map(|value| i64::from(*value)))?;
                }
                Argument::Counts(Counts::Large(values)) | Argument::Addresses(Counts::Large(values)) => {
                    self.add(values.iter().copied())?;
                }
                Argument::Type(datatype) => self.add([address(datatype)])?,
                Argument::Types(handles) => {
                    for handle in handles {
                        self.add([address(handle.resolve("array_of_types").ok()?)])?;
                    }
                }
            }
        }
        Some(())
    }

    #[inline]
    fn add(&mut self, values: impl IntoIterator<Item = i64>) -> Option<()> {
        /// The golden ratio's, as in Fibonacci hashing.
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        for value in values {
            *self.numbers.get_mut(self.length)? = value;
            self.length += 1;
            self.hash = (self.hash.rotate_left(5) ^ value as u64).wrapping_mul(FACTOR);
        }
        Some(())
    }

    fn equal(&self, other: &Self) -> bool {
        let mine = (self.hash, self.combiner, self.width, &self.numbers[..self.length]);
        mine == (other.hash, other.combiner, other.width, &other.numbers[..other.length])
    }
}

/// The name of a datatype while its type is shared.
fn address(datatype: &Datatype) -> i64 {
    Arc::as_ptr(&datatype.definition.origin).addr() as i64
}

#[cfg(test)]
mod tests {
    use super::super::{Type, type_contiguous, type_create_struct, type_free, type_vector};
    use super::*;
    use crate::handle::Handle;

    const INT: Handle<Datatype> = Handle::from_raw(0x209);
    const DOUBLE: Handle<Datatype> = Handle::from_raw(0x214);

    fn resolve(handle: Handle<Datatype>) -> &'static Datatype {
        handle.resolve("datatype").expect("live")
    }

    fn vector(stride: i64, of: Handle<Datatype>, width: Width) -> Handle<Datatype> {
        type_vector(3, 2, stride, resolve(of), width).expect("a vector")
    }

    fn described(handle: Handle<Datatype>) -> Arc<Type> {
        let described = Arc::clone(&resolve(handle).definition.described);
        type_free(handle).expect("live");
        described
    }

    #[test]
    fn what_is_made_again_is_shared() {
        let made = |stride, of, width| described(vector(stride, of, width));
        // Another thread's datatype may take the place in between.
        let is_shared = || Arc::ptr_eq(&made(71, INT, Width::Int), &made(71, INT, Width::Int));
        assert!((0..1000).any(|_| is_shared()));
        let first = made(71, INT, Width::Int);
        for (stride, of, width) in [(72, INT, Width::Int), (71, DOUBLE, Width::Int), (71, INT, Width::Large)] {
            assert!(!Arc::ptr_eq(&first, &made(stride, of, width)));
        }
    }

    /// A datatype among the arguments that is another one, wherever in memory, is another argument.
    #[test]
    fn parts_are_told_apart() {
        for blocks in 1..200 {
            let part = type_contiguous(blocks, resolve(INT), Width::Int).expect("a row");
            let (lengths, places) = (Counts::Int(&[1, 1]), Counts::Large(&[0, 4096]));
            let made = type_create_struct(2, lengths, places, &[part, part]).expect("a struct");
            assert_eq!(resolve(made).size(), 8 * blocks);
            type_free(part).expect("live");
            type_free(made).expect("live");
        }
    }

    #[test]
    fn many_arguments_are_not_kept() {
        let numbers = [1; LONGEST];
        let all = [Argument::Integers(&numbers), Argument::Integer(0)];
        let fits = |list| {
            ArgumentLists::new(Combiner::Indexed, Width::Int)
                .add_all(list)
                .is_some()
        };
        assert!(fits(&all[..1]) && !fits(&all));
    }
}
