//! Reading memory that may not be there: the signal ends the reading instead of the process.
//!
//! Copies are one instruction, `rep movsb`, whose registers say at any moment how much is left; a look at one byte is one load. The handler
//! recognises both by their addresses and lets the program go on behind them; every other such signal is passed on to the handler before.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Can mappings whose memory may go away (`SIGBUS`) be copied in this process? Installs the handler at the first call.
///
/// # Errors
/// `ENOSYS`: not on this processor. Otherwise what `sigaction` says.
pub fn ready() -> Result<()> {
    static READY: OnceLock<Result<()>> = OnceLock::new();
    *READY.get_or_init(|| imp::install(libc::SIGBUS))
}

/// Can addresses be looked at where nothing may be mapped (`SIGSEGV`)? Installs the handler at the first call.
///
/// # Errors
/// As for [`ready`].
pub fn ready_to_look() -> Result<()> {
    static READY: OnceLock<Result<()>> = OnceLock::new();
    *READY.get_or_init(|| ready().and_then(|()| imp::install(libc::SIGSEGV)))
}

/// Is the handler of [`ready_to_look`] the one that the program has now?
pub fn still_looks() -> bool {
    imp::is_installed(libc::SIGSEGV)
}

/// Can the byte be read? [`ready_to_look`] must have said so. One load, if it can.
#[inline]
pub fn is_readable(address: usize) -> bool {
    debug_assert!(ready_to_look().is_ok());
    // SAFETY: a load, whose fault is handled.
    unsafe { imp::look(std::ptr::with_exposed_provenance(address)) != 0 }
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

    /// Answers 1, or 0 if there is no such byte.
    #[unsafe(naked)]
    pub unsafe extern "C" fn look(at: *const u8) -> u32 {
        std::arch::naked_asm!("xor eax, eax", "mov cl, byte ptr [rdi]", "mov al, 1", "ret")
    }

    /// An instruction that may meet memory that is not there.
    struct Guarded {
        function: usize,
        /// Where it is in its function.
        at: usize,
        encoded: [u8; 2],
        /// Bytes from there to where the program goes on.
        length: i64,
    }

    impl Guarded {
        fn address(&self) -> usize {
            self.function + self.at
        }

        fn is_as_encoded(&self) -> bool {
            // SAFETY: code can be read.
            let found = unsafe { std::ptr::with_exposed_provenance::<[u8; 2]>(self.address()).read() };
            found == self.encoded
        }
    }

    /// `rep movsb` in [`copy`], and the load in [`look`], with what sets the answer behind it.
    fn guarded() -> [Guarded; 2] {
        [
            Guarded {
                function: copy as *const () as usize,
                at: 3,
                encoded: [0xf3, 0xa4],
                length: 2,
            },
            Guarded {
                function: look as *const () as usize,
                at: 2,
                encoded: [0x8a, 0x0f],
                length: 4,
            },
        ]
    }

    /// The handlers before, of `SIGBUS` and `SIGSEGV`.
    static BEFORE: [OnceLock<libc::sigaction>; 2] = [const { OnceLock::new() }; 2];

    fn before(signal: libc::c_int) -> &'static OnceLock<libc::sigaction> {
        &BEFORE[usize::from(signal == libc::SIGSEGV)]
    }

    pub fn install(signal: libc::c_int) -> Result<()> {
        let call = "sigaction";
        if !guarded().iter().all(Guarded::is_as_encoded) {
            let errno = libc::ENOSYS;
            return Err(Error { call, errno });
        }
        // SAFETY: all-zero structures are valid, and both are ours; the old action is known before the new one can be called for it.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            check(call, libc::sigaction(signal, std::ptr::null(), &mut old))?;
            let _ = before(signal).set(old);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            check(call, libc::sigaction(signal, &action, std::ptr::null_mut())).map(drop)
        }
    }

    pub fn is_installed(signal: libc::c_int) -> bool {
        // SAFETY: an all-zero structure is valid, and the kernel writes to it.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut now) == 0
                && now.sa_sigaction == on_fault as *const () as usize
        }
    }

    extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel hands over a context of this kind; only this thread sees it.
        let next = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] };
        if let Some(guarded) = guarded().iter().find(|guarded| *next == guarded.address() as i64) {
            *next += guarded.length;
            return;
        }
        let Some(before) = before(signal).get() else { return };
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

    pub unsafe fn look(_at: *const u8) -> u32 {
        0
    }

    pub fn is_installed(_signal: libc::c_int) -> bool {
        false
    }

    pub fn install(_signal: libc::c_int) -> Result<()> {
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

    #[test]
    fn a_look_tells_what_can_be_read() {
        ready_to_look().expect("on this processor");
        assert!(still_looks());
        let mapping = beyond_its_end();
        let base = mapping.base().as_ptr().addr();
        for (address, there) in [
            (base, true),
            (base + 4095, true),
            (base + 4096, false),
            (0, false),
            ((&raw const BYTE).addr(), true),
            (usize::MAX / 2, false),
            (usize::MAX, false),
        ] {
            assert_eq!(is_readable(address), there, "{address:#x}");
        }
    }

    static BYTE: u8 = 1;
}
