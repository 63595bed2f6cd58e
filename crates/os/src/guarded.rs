//! Copying from and to mappings whose memory may go away: the signal (`SIGBUS`) ends the copy instead of the process.
//!
//! The copy is one instruction, `rep movsb`, whose registers say at any moment how much is left. The handler recognises it
//! by its address and lets the program go on behind it; every other `SIGBUS` is passed on to the handler before.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Can mappings be copied under guard in this process? Installs the handler at the first call.
///
/// # Errors
/// `ENOSYS`: not on this processor. Otherwise what `sigaction` says.
pub fn ready() -> Result<()> {
    static READY: OnceLock<Result<()>> = OnceLock::new();
    *READY.get_or_init(imp::install)
}

/// Copy `length` bytes, or as many as there are. Returns how many were copied. [`ready`] must have said so.
///
/// # Safety
/// Both ranges must be mapped, readable and writable, and not overlap; memory behind them may be missing.
pub unsafe fn copy(from: *const u8, to: *mut u8, length: usize) -> usize {
    debug_assert!(ready().is_ok());
    // SAFETY: the caller's promise.
    length - unsafe { imp::copy(to, from, length) }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use super::{Error, OnceLock, Result};
    use crate::error::check;

    /// Answers how many bytes are left.
    #[unsafe(naked)]
    pub unsafe extern "C" fn copy(to: *mut u8, from: *const u8, length: usize) -> usize {
        std::arch::naked_asm!("mov rcx, rdx", "rep movsb", "mov rax, rcx", "ret")
    }

    /// Where `rep movsb` is in [`copy`], and how it is encoded.
    const AT: usize = 3;
    const ENCODED: [u8; 2] = [0xf3, 0xa4];

    /// The handler of the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    fn instruction() -> usize {
        copy as *const () as usize + AT
    }

    pub fn install() -> Result<()> {
        let call = "sigaction(SIGBUS)";
        // SAFETY: code can be read; an all-zero sigaction is a valid out parameter.
        let (found, mut before) = unsafe {
            let code = std::ptr::with_exposed_provenance::<[u8; 2]>(instruction());
            (code.read(), std::mem::zeroed::<libc::sigaction>())
        };
        if found != ENCODED {
            let errno = libc::ENOSYS;
            return Err(Error { call, errno });
        }
        // SAFETY: both structures are ours; the old action is known before the new one can be called for it.
        unsafe {
            check(call, libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut before))?;
            let _ = BEFORE.set(before);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            check(call, libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut())).map(drop)
        }
    }

    extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel hands over a context of this kind; only this thread sees it.
        let next = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] };
        if *next == instruction() as i64 {
            *next += ENCODED.len() as i64;
            return;
        }
        let Some(before) = BEFORE.get() else { return };
        // SAFETY: a handler that somebody installed for this signal, called as the kernel would.
        unsafe {
            match before.sa_sigaction {
                // The access is repeated, and meets the old action; what was sent by a process is sent again.
                libc::SIG_DFL | libc::SIG_IGN => {
                    libc::sigaction(signal, before, std::ptr::null_mut());
                    if (*info).si_code <= 0 {
                        libc::raise(signal);
                    }
                }
                handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(handler);
                    handler(signal, info, context);
                }
                handler => {
                    let handler: extern "C" fn(libc::c_int) = std::mem::transmute(handler);
                    handler(signal);
                }
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    use super::{Error, Result};

    pub unsafe fn copy(_to: *mut u8, _from: *const u8, length: usize) -> usize {
        length
    }

    pub fn install() -> Result<()> {
        Err(Error {
            call: "guarded copy",
            errno: libc::ENOSYS,
        })
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::{memfd, mmap::Mapping};

    /// A file of one page, mapped as four.
    fn beyond_its_end() -> Mapping {
        let fd = memfd::create(c"short").expect("memfd");
        memfd::reserve(&fd, 0, 4096).expect("memory");
        Mapping::shared(&fd, 4 * 4096).expect("addresses")
    }

    #[test]
    fn what_is_there_is_copied_and_counted() {
        ready().expect("on this processor");
        let mapping = beyond_its_end();
        let base = mapping.base().as_ptr();
        let mut here = vec![7u8; 4 * 4096];
        // SAFETY: both ranges are mapped and as long; the mapping has memory behind its first page.
        unsafe {
            assert_eq!(copy(here.as_ptr(), base, 5000), 4096, "to");
            assert_eq!(base.add(4095).read(), 7);
            here.fill(0);
            assert_eq!(copy(base.add(1000), here.as_mut_ptr(), 10_000), 3096, "from");
            assert!(here[..3096].iter().all(|&byte| byte == 7) && here[3096] == 0);
            assert_eq!(copy(base.add(4096), here.as_mut_ptr(), 10), 0);
            assert_eq!(copy(base, here.as_mut_ptr(), 0), 0);
            assert_eq!(copy(base, here.as_mut_ptr(), 4096), 4096);
        }
    }
}
