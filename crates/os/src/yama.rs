//! The Yama security module, which can restrict who may read whose memory.

use std::fs;

/// `kernel.yama.ptrace_scope`: 0 same user, 1 descendants or whom the target named, 2 administrators, 3 nobody.
/// `None`: the kernel is without Yama, which is as 0.
pub fn scope() -> Option<u32> {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
        .ok()?
        .trim()
        .parse()
        .ok()
}
