//! The same type map said in other words: one for receiving what another datatype sends, and ones that must come to the
//! same canonical form.

use crate::recipe::{BASICS, Recipe};
use crate::type_map::TypeMap;

/// Choices that follow from a number.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// Less than `sides` (Marsaglia's xorshift).
    pub fn roll(&mut self, sides: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % sides as u64) as i64
    }
}

/// Elements of these basic types in this order, none of which overlap, with holes, in any order in memory.
pub fn arrange(elements: &[usize], dice: &mut Dice) -> Recipe {
    let alike = elements.iter().all(|element| *element == elements[0]);
    match elements {
        [] => Recipe::Struct(Vec::new()),
        [only] => Recipe::Basic(*only),
        [first, ..] if alike => row(*first, elements.len() as i64, dice),
        _ => {
            let half = 1 + dice.roll(elements.len() as i64 - 1) as usize;
            let halves = [&elements[..half], &elements[half..]].map(|part| arrange(part, dice));
            let bounds = halves.each_ref().map(|part| TypeMap::of(part).true_bounds());
            // The second may come to lie below the first.
            let gap = dice.roll(9);
            let second = match dice.roll(2) {
                0 => bounds[0].1 + gap - bounds[1].0,
                _ => bounds[0].0 - gap - bounds[1].1,
            };
            let [a, b] = halves;
            Recipe::Struct(vec![(1, 0, a), (1, second, b)])
        }
    }
}

/// `count` elements of a basic type.
fn row(basic: usize, count: i64, dice: &mut Dice) -> Recipe {
    let one = || Box::new(Recipe::Basic(basic));
    let size = BASICS[basic].number.size;
    let divisor = (2..=count).find(|d| count % d == 0).unwrap_or(1);
    let others = count / divisor;
    match dice.roll(6) {
        0 => Recipe::Contiguous(count, one()),
        1 => Recipe::Vector(others, divisor, -divisor - dice.roll(3), one()),
        2 => Recipe::Hvector(divisor, others, others * size + dice.roll(9), one()),
        3 => {
            let turn = dice.roll(count);
            let places = (0..count).map(|i| (i + turn) % count * 2 - count);
            Recipe::IndexedBlock(1, places.collect(), one())
        }
        4 => {
            let step = others * size + dice.roll(5);
            Recipe::HindexedBlock(others, (0..divisor).map(|i| -i * step).collect(), one())
        }
        _ => {
            let before = 1 + dice.roll(2);
            let dims = vec![(divisor + before, divisor, before), (others + 1, others, dice.roll(2))];
            Recipe::Subarray(dims, true, one())
        }
    }
}

/// Another way to make the same, by rules under which the canonical form must not change.
pub fn paraphrase(recipe: &Recipe, dice: &mut Dice) -> Recipe {
    let of = |old: &Recipe| TypeMap::of(old).extent();
    match recipe {
        Recipe::Basic(_) if dice.roll(2) == 0 => Recipe::Contiguous(1, Box::new(recipe.clone())),
        Recipe::Basic(_) => recipe.clone(),
        Recipe::Dup(old) => paraphrase(old, dice),
        Recipe::Contiguous(n, old) => {
            let (extent, new) = (of(old), Box::new(paraphrase(old, dice)));
            match dice.roll(6) {
                0 => Recipe::Vector(*n, 1, 1, new),
                1 => Recipe::Vector(1, *n, -7, new),
                2 => Recipe::Hvector(*n, 1, extent, new),
                3 => Recipe::IndexedBlock(1, (0..*n).collect(), new),
                4 => Recipe::Struct((0..*n).map(|i| (1, i * extent, (*new).clone())).collect()),
                _ => Recipe::Hindexed(vec![(0, 99), (*n, 0)], new),
            }
        }
        Recipe::Vector(n, l, s, old) => {
            let (extent, new) = (of(old), Box::new(paraphrase(old, dice)));
            match dice.roll(3) {
                0 => Recipe::Hvector(*n, *l, s * extent, new),
                1 => Recipe::Indexed((0..*n).map(|i| (*l, i * s)).collect(), new),
                _ => Recipe::HindexedBlock(*l, (0..*n).map(|i| i * s * extent).collect(), new),
            }
        }
        Recipe::Hvector(n, l, s, old) => {
            let new = Box::new(paraphrase(old, dice));
            match dice.roll(2) {
                0 => Recipe::HindexedBlock(*l, (0..*n).map(|i| i * s).collect(), new),
                _ => Recipe::Struct((0..*n).map(|i| (*l, i * s, (*new).clone())).collect()),
            }
        }
        Recipe::Indexed(list, old) => {
            let extent = of(old);
            let blocks = list.iter().map(|(length, at)| (*length, at * extent));
            Recipe::Hindexed(blocks.collect(), Box::new(paraphrase(old, dice)))
        }
        Recipe::Hindexed(list, old) => {
            let blocks = list.iter().map(|(length, at)| (*length, *at, paraphrase(old, dice)));
            Recipe::Struct(blocks.collect())
        }
        Recipe::IndexedBlock(l, list, old) => {
            let blocks = list.iter().map(|at| (*l, *at));
            Recipe::Indexed(blocks.collect(), Box::new(paraphrase(old, dice)))
        }
        Recipe::HindexedBlock(l, list, old) => {
            let blocks = list.iter().map(|at| (*l, *at));
            Recipe::Hindexed(blocks.collect(), Box::new(paraphrase(old, dice)))
        }
        Recipe::Struct(list) => {
            let blocks = list.iter().map(|(n, at, old)| (*n, *at, paraphrase(old, dice)));
            Recipe::Struct(blocks.collect())
        }
        Recipe::Subarray(dims, c_order, old) => {
            let mut fastest_first = dims.clone();
            if *c_order {
                fastest_first.reverse();
            }
            let (mut stride, mut first) = (of(old), 0);
            let mut new = paraphrase(old, dice);
            for (size, subsize, start) in fastest_first {
                new = Recipe::Hvector(subsize, 1, stride, Box::new(new));
                first += start * stride;
                stride *= size;
            }
            Recipe::Resized(0, stride, Box::new(Recipe::Hindexed(vec![(1, first)], Box::new(new))))
        }
        Recipe::Darray(dims, rank, c_order, old) => {
            Recipe::Darray(dims.clone(), *rank, *c_order, Box::new(paraphrase(old, dice)))
        }
        Recipe::Resized(lb, extent, old) => {
            let new = Recipe::Resized(lb - 3, extent + 5, Box::new(paraphrase(old, dice)));
            Recipe::Resized(*lb, *extent, Box::new(new))
        }
    }
}
