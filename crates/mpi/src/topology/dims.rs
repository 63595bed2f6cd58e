//! `MPI_Dims_create` (MPI-5.0 §8.5.2).

use crate::error::Result;
use crate::fail;

/// No `i32` is a product of more numbers above 1: what is beyond is 1.
const MOST_FACTORS: usize = 30;

/// `MPI_Dims_create`: puts into the entries of `dims` that are 0 the most balanced sizes, in non-increasing order, so that
/// the product of all entries is `nnodes`.
///
/// Balanced is what has the least difference between the largest and the smallest size (Träff, Lübbe, "Specification
/// guideline violations by MPI_Dims_create", EuroMPI 2015); of several such, the one that is first in lexicographic order.
pub fn dims_create(nnodes: i32, dims: &mut [i32]) -> Result<()> {
    if nnodes <= 0 {
        return Err(fail!(Arg, "nnodes={nnodes} is not positive"));
    }
    let mut rest = nnodes as u32;
    for (i, &dim) in dims.iter().enumerate() {
        match dim {
            0 => {}
            1.. if rest.is_multiple_of(dim as u32) => rest /= dim as u32,
            1.. => {
                return Err(fail!(
                    Dims,
                    "dims[{i}]={dim}, but the fixed dims do not divide nnodes={nnodes}"
                ));
            }
            _ => return Err(fail!(Dims, "dims[{i}]={dim} is negative")),
        }
    }
    let free = dims.iter_mut().filter(|dim| **dim == 0);
    let count = free.count();
    if count == 0 && rest != 1 {
        return Err(fail!(
            Dims,
            "the product of dims is {}, but nnodes={nnodes}",
            nnodes as u32 / rest
        ));
    }
    let mut sizes = balanced(rest, count.min(MOST_FACTORS + 1)).into_iter();
    for dim in dims.iter_mut().filter(|dim| **dim == 0) {
        *dim = sizes.next().unwrap_or(1) as i32;
    }
    Ok(())
}

/// The most balanced `count` numbers whose product is `n`, in non-increasing order.
fn balanced(n: u32, count: usize) -> Vec<u32> {
    let mut best = Vec::new();
    let Some(others) = count.checked_sub(1) else {
        return best;
    };
    let search = Search::of(n);
    // The next result must have a smaller difference.
    let mut difference = u32::MAX;
    for &largest in &search.divisors[search.first_at_least_root(n, count)..] {
        loop {
            let least = largest.saturating_sub(difference - 1).max(1);
            if exceeds(least, count, n) {
                // So it is with all larger ones.
                return best;
            }
            let mut found = vec![largest];
            if !search.factor(n / largest, others, least, largest, &mut found) {
                break;
            }
            difference = largest - found[others];
            best = found;
            if difference == 0 {
                return best;
            }
        }
    }
    best
}

struct Search {
    /// In increasing order.
    divisors: Vec<u32>,
    /// In decreasing order.
    primes: Vec<u32>,
}

impl Search {
    fn of(n: u32) -> Self {
        let small = (1..).take_while(|d| d * d <= n).filter(|d| n.is_multiple_of(*d));
        let mut divisors: Vec<u32> = small.flat_map(|d| [d, n / d]).collect();
        divisors.sort_unstable();
        divisors.dedup();
        let mut primes: Vec<u32> = Vec::new();
        for &divisor in &divisors[1..] {
            if !primes.iter().any(|prime| divisor.is_multiple_of(*prime)) {
                primes.push(divisor);
            }
        }
        primes.reverse();
        Self { divisors, primes }
    }

    /// The first divisor that can be the largest of `count` factors of `n`: neither their product nor a prime in it is out
    /// of reach.
    fn first_at_least_root(&self, n: u32, count: usize) -> usize {
        let prime = self.primes.iter().find(|prime| n.is_multiple_of(**prime)).unwrap_or(&1);
        self.divisors
            .partition_point(|divisor| divisor < prime || !reaches(*divisor, count, n))
    }

    /// Add to `found` the first in lexicographic order of the non-increasing sequences of `count` divisors between `least`
    /// and `most` whose product is `n`, if there is any.
    fn factor(&self, n: u32, count: usize, least: u32, most: u32, found: &mut Vec<u32>) -> bool {
        let Some(others) = count.checked_sub(1) else {
            return n == 1;
        };
        for &divisor in &self.divisors[self.first_at_least_root(n, count)..] {
            if divisor > most || exceeds(least, others, n / divisor) {
                return false;
            }
            if divisor >= least && n.is_multiple_of(divisor) {
                found.push(divisor);
                if self.factor(n / divisor, others, least, divisor, found) {
                    return true;
                }
                found.pop();
            }
        }
        false
    }
}

/// Is `base` to the power of `exponent` at least `n`?
fn reaches(base: u32, exponent: usize, n: u32) -> bool {
    power(base, exponent) >= u64::from(n)
}

/// Is `base` to the power of `exponent` more than `n`?
fn exceeds(base: u32, exponent: usize, n: u32) -> bool {
    power(base, exponent) > u64::from(n)
}

fn power(base: u32, exponent: usize) -> u64 {
    u64::from(base).saturating_pow(exponent as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Class;

    /// Of all non-increasing sequences, the best by definition.
    fn naive(n: u32, count: usize) -> Vec<u32> {
        fn all(n: u32, count: usize, most: u32, prefix: &mut Vec<u32>, out: &mut Vec<Vec<u32>>) {
            if count == 0 {
                if n == 1 {
                    out.push(prefix.clone());
                }
                return;
            }
            for d in (1..=n.min(most)).filter(|d| n.is_multiple_of(*d)) {
                prefix.push(d);
                all(n / d, count - 1, d, prefix, out);
                prefix.pop();
            }
        }
        let mut sequences = Vec::new();
        all(n, count, n, &mut Vec::new(), &mut sequences);
        let key = |s: &Vec<u32>| (s[0] - s[count - 1], s.clone());
        sequences.into_iter().min_by_key(key).unwrap()
    }

    fn created(nnodes: i32, dims: &[i32]) -> Result<Vec<i32>> {
        let mut dims = dims.to_vec();
        dims_create(nnodes, &mut dims).map(|()| dims)
    }

    fn class(nnodes: i32, dims: &[i32]) -> i32 {
        created(nnodes, dims).unwrap_err().code()
    }

    #[test]
    fn as_in_the_standard() {
        assert_eq!(created(6, &[0, 0]), Ok(vec![3, 2]));
        assert_eq!(created(7, &[0, 0]), Ok(vec![7, 1]));
        assert_eq!(created(6, &[0, 3, 0]), Ok(vec![2, 3, 1]));
        assert_eq!(class(7, &[0, 3, 0]), Class::Dims as i32);
        assert_eq!(created(1, &[]), Ok(vec![]));
    }

    #[test]
    fn small_numbers_are_balanced() {
        for n in 1..=720 {
            for count in 1..=5 {
                assert_eq!(balanced(n, count), naive(n, count), "{n} by {count}");
            }
        }
    }

    #[test]
    fn the_worst_numbers_take_no_time() {
        let start = std::time::Instant::now();
        // Those with the most divisors and with the most factors, and the largest prime.
        for n in [
            735_134_400,
            1_396_755_360,
            2_095_133_040,
            1 << 30,
            1_162_261_467,
            i32::MAX,
        ] {
            for count in (1..=40).chain([100_000]) {
                let dims = created(n, &vec![0; count]).unwrap();
                assert!(dims.is_sorted_by(|a, b| a >= b));
                assert_eq!(dims.iter().map(|dim| i64::from(*dim)).product::<i64>(), i64::from(n));
            }
        }
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(class(0, &[0]), Class::Arg as i32);
        assert_eq!(class(-4, &[0, 0]), Class::Arg as i32);
        assert_eq!(class(2, &[]), Class::Dims as i32);
        assert_eq!(class(4, &[0, -1]), Class::Dims as i32);
        assert_eq!(class(8, &[2, 2]), Class::Dims as i32);
        assert_eq!(class(8, &[i32::MAX, i32::MAX]), Class::Dims as i32);
        assert_eq!(created(8, &[2, 4]), Ok(vec![2, 4]));
    }

    proptest! {
        #[test]
        fn fixed_dims_stay(nnodes in 1..5000_i32, fixed in proptest::collection::vec(0..7_i32, 0..6)) {
            let product: i32 = fixed.iter().filter(|dim| **dim > 0).product();
            let free = fixed.iter().filter(|dim| **dim == 0).count();
            let possible = nnodes % product == 0 && (free > 0 || nnodes == product);
            match created(nnodes, &fixed) {
                Err(error) => {
                    prop_assert!(!possible);
                    prop_assert_eq!(error.code(), Class::Dims as i32);
                }
                Ok(dims) => {
                    prop_assert!(possible);
                    prop_assert_eq!(dims.iter().product::<i32>(), nnodes);
                    prop_assert!(fixed.iter().zip(&dims).all(|(fixed, dim)| *fixed == 0 || fixed == dim));
                    let chosen = fixed.iter().zip(&dims).filter(|(fixed, _)| **fixed == 0).map(|(_, dim)| *dim as u32);
                    let chosen: Vec<u32> = chosen.collect();
                    if free > 0 {
                        prop_assert_eq!(chosen, naive((nnodes / product) as u32, free));
                    }
                }
            }
        }
    }
}
