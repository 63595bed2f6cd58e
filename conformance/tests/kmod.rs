//! The kernel module, between this process and children of it. Where it is not loaded nothing is tried, and said: it is tested
//! in a virtual machine (`cargo xtask test --only kmod`).
#![allow(unsafe_code)] // Looks at what children have.

use std::sync::OnceLock;

use isthmus_conformance::transfer::{Child, Pair, Region, own_secret_address};
use isthmus_os::kmod::{Cookie, DEVICE, Device};
use isthmus_transfer::Transfer;
use isthmus_transfer::kmod::{Kmod, Options};

const JOB: [u8; 16] = *b"conformance kits";

fn device() -> Option<&'static Device> {
    static OURS: OnceLock<Option<Device>> = OnceLock::new();
    OURS.get_or_init(|| {
        let device = Device::open(DEVICE, JOB);
        device.map_err(|error| println!("not tried: {error}")).ok()
    })
    .as_ref()
}

struct ByModule {
    child: Child,
    kmod: Kmod,
}

impl Pair for ByModule {
    const OUTLIVES: bool = false;

    fn new(length: u64) -> Self {
        let told = Region::new(4096);
        let at = std::ptr::with_exposed_provenance_mut::<Cookie>(told.address() as usize);
        let child = Child::new(length, |_| {
            let exposed = Device::open(DEVICE, JOB).and_then(|device| {
                let cookie = device.expose();
                // Open until the child ends.
                std::mem::forget(device);
                cookie
            });
            if let Ok(cookie) = exposed {
                // SAFETY: the region is shared with the parent, which waits.
                unsafe { at.write(cookie) };
            }
        });
        // SAFETY: written before the child said that it was ready.
        let cookie = unsafe { at.read() };
        let secret = (child.secret(), own_secret_address());
        let kmod = Kmod::probe(
            device().expect("asked before"),
            cookie,
            secret,
            child.id(),
            Options::default(),
        )
        .expect("a child of ours");
        Self { child, kmod }
    }

    fn length(&self) -> u64 {
        self.child.length()
    }

    fn transfer(&self) -> &dyn Transfer {
        &self.kmod
    }

    fn remote(&self, at: u64) -> u64 {
        self.child.address() + at
    }

    fn view(&self) -> &Region {
        self.child.view()
    }

    fn killer(&self) -> impl FnOnce() + Send + 'static {
        let pid = self.child.id();
        move || {
            let _ = isthmus_os::signal::send(pid, isthmus_os::signal::KILL);
        }
    }
}

macro_rules! where_it_is_loaded {
    ($($check:ident),*) => {
        $(#[test] fn $check() {
            if device().is_some() {
                isthmus_conformance::transfer::$check::<ByModule>();
            }
        })*
    };
}

where_it_is_loaded!(
    every_size,
    every_alignment,
    every_form,
    both_far_apart,
    parts_in_any_order,
    nothing_at_all,
    ranges_beyond_are_refused,
    holes_are_found,
    death_is_an_error
);
