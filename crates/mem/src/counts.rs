//! Counts of queries about memory, copies, kernels and exports.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts since this process began.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counters behind [`Counts`].
        pub(crate) struct Counters {
            $(pub $name: AtomicU64,)*
        }

        pub(crate) static COUNTS: Counters = Counters {
            $($name: AtomicU64::new(0),)*
        };

        /// Read them all.
        pub fn counts() -> Counts {
            Counts {
                $($name: COUNTS.$name.load(Ordering::Relaxed),)*
            }
        }
    };
}

counts! {
    /// Questions to the driver about an address.
    queries,
    /// Copies from a device to host memory.
    copies_to_host,
    /// Bytes of these.
    bytes_to_host,
    /// Copies from host memory to a device.
    copies_to_device,
    /// Bytes of these.
    bytes_to_device,
    /// Copies between memory of devices.
    copies_on_device,
    /// Bytes of these.
    bytes_on_device,
    /// Kernels that combined, gathered or scattered.
    kernels,
    /// Allocations exported to other processes.
    exports,
    /// Exports of other processes mapped.
    opens,
    /// Mappings of these closed again.
    closes,
    /// Calls of the driver that failed.
    failures,
}

/// One more of it.
#[inline]
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
