//! libFuzzer around the target that `ISTHMUS_FUZZ_TARGET` names. `cargo xtask fuzz` builds and runs it.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static FEED: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("ISTHMUS_FUZZ_TARGET").expect("ISTHMUS_FUZZ_TARGET names a target");
    if name == "records" {
        return isthmus_engine::adversarial_peer::feed;
    }
    isthmus_fuzz::target(&name).unwrap_or_else(|| panic!("there is no target {name}")).feed
});

fuzz_target!(|data: &[u8]| FEED(data));
