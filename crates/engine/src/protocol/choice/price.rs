//! What a single copy by the kernel costs beside copies of our own.

use std::sync::OnceLock;

use isthmus_transfer::{Shape, cma, mapped};

use crate::tunables;

/// How many times as long as one of ours a copy by the kernel takes. Probed at first use, which takes some 200 us.
pub fn single_copy_price() -> f64 {
    static PRICE: OnceLock<f64> = OnceLock::new();
    *PRICE.get_or_init(|| {
        let shape = Shape::contiguous(256 << 10);
        cma::facts().cost(shape).as_secs_f64() / mapped::facts().cost(shape).as_secs_f64()
    })
}

/// Does a single copy by the kernel take less time than two through shared memory? What it replaces is a copy in and a copy out, which
/// overlap: its price was 1.8 to 2.6 where single copies won, and 5 where they lost (docs/decisions/0028).
pub fn single_copies_pay() -> bool {
    single_copy_price() * 100.0 <= tunables::SINGLE_COPY_MAX_COST.get() as f64
}

/// Does a single copy by the kernel take less time than two of more bytes than the caches hold? Each of these waits for memory. Single copies
/// won where they were priced at 3.9 to 5.6 (docs/decisions/0028); from which on they lose was not measured.
pub fn single_copies_pay_beyond_caches() -> bool {
    single_copy_price() * 100.0 <= 2.0 * tunables::SINGLE_COPY_MAX_COST.get() as f64
}
