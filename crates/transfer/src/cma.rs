//! Single copies by Cross Memory Attach: `process_vm_readv` straight out of the peer's buffer.
//!
//! Source: "Intra-node MPI communication with Cross Memory Attach" (XSEDE'14). Whether it is allowed depends on uid,
//! capabilities, Yama, seccomp and namespaces; nothing but trying tells, so [`Cma::probe`] tries.

use isthmus_os::{Error, process_vm};

/// A peer whose memory we may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cma {
    pid: u32,
}

/// Why a peer's memory cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The kernel refused.
    #[error("{0}")]
    Os(#[from] Error),
    /// The process with that id is somebody else (another pid namespace, or a recycled id).
    #[error("process {0} is not the peer: different pid namespaces?")]
    Stranger(u32),
}

/// A pull that stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted {
    /// Bytes that did arrive, from the beginning.
    pub done: usize,
    /// Why no more.
    pub error: Error,
}

impl Cma {
    /// Read the peer's secret where it says that its own copy lies: the same bytes prove identity and permission.
    /// Blocks no longer than one copy of 16 bytes.
    pub fn probe(pid: u32, secret: [u64; 2], secret_address: u64) -> Result<Self, Refusal> {
        let mut found = [0u64; 2];
        let length = size_of_val(&found);
        // SAFETY: `found` is ours and as long as we say.
        let copied = unsafe { process_vm::read(pid, secret_address, found.as_mut_ptr().cast(), length) }?;
        if copied == length && found == secret {
            Ok(Self { pid })
        } else {
            Err(Refusal::Stranger(pid))
        }
    }

    /// Copy `length` bytes from `remote` in the peer to `local`. Blocks for as long as the copy takes; the peer does
    /// nothing.
    ///
    /// # Safety
    /// `local` must be writable for `length` bytes.
    pub unsafe fn pull(&self, remote: u64, local: *mut u8, length: usize) -> Result<(), Interrupted> {
        let mut done = 0;
        while done < length {
            // SAFETY: the rest of the caller's buffer.
            let copied = unsafe {
                process_vm::read(
                    self.pid,
                    remote.wrapping_add(done as u64),
                    local.add(done),
                    length - done,
                )
            };
            match copied {
                Ok(0) => {
                    return Err(Interrupted {
                        done,
                        error: Error {
                            call: "process_vm_readv",
                            errno: 14,
                        },
                    });
                }
                Ok(copied) => done += copied,
                Err(error) => return Err(Interrupted { done, error }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_itself_and_knows_strangers() {
        let secret = [0x0123_4567_89ab_cdef, 42];
        let me = isthmus_os::process::id();
        let cma = Cma::probe(me, secret, secret.as_ptr() as u64).expect("a process may read itself");
        assert_eq!(
            Cma::probe(me, [1, 2], secret.as_ptr() as u64),
            Err(Refusal::Stranger(me))
        );
        let source: Vec<u8> = (0..100_000u32).map(|i| i as u8).collect();
        let mut copy = vec![0; source.len()];
        // SAFETY: `copy` is as long as we say.
        unsafe { cma.pull(source.as_ptr() as u64, copy.as_mut_ptr(), copy.len()) }.expect("copied");
        assert_eq!(source, copy);
    }

    #[test]
    fn a_bad_address_is_an_error_that_says_how_far_it_got() {
        let cma = Cma {
            pid: isthmus_os::process::id(),
        };
        let mut copy = [0u8; 8];
        // SAFETY: `copy` is as long as we say.
        let result = unsafe { cma.pull(8, copy.as_mut_ptr(), copy.len()) };
        assert_eq!(result.map_err(|stopped| stopped.done), Err(0));
    }
}
