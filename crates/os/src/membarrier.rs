//! Asymmetric fences (`membarrier(2)`): the rare side pays, the frequent side does not.

const CMD_GLOBAL_EXPEDITED: libc::c_int = 1 << 1;
const CMD_REGISTER_GLOBAL_EXPEDITED: libc::c_int = 1 << 2;

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes no pointers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Let [`fence_everyone`] of other processes order this one, until the next `exec`. False if the kernel cannot.
/// Cheap while the process has one thread; it takes 10 ms with more.
pub fn register() -> bool {
    membarrier(CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// Act as a full fence in every running thread of every registered process (one or two hundred ns). False if the
/// kernel cannot, or a filter of system calls does not let this process: others may be registered all the same.
pub fn fence_everyone() -> bool {
    membarrier(CMD_GLOBAL_EXPEDITED)
}
