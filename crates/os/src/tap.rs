//! A network interface whose frames a process reads and writes (tap).

use std::fs::{File, OpenOptions};
use std::io::Result;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Make an interface of this name, in this process' network namespace: each read gives one Ethernet frame that was sent to it, each
/// write lets it receive one. Reads do not block. It goes when the file is closed.
///
/// # Errors
/// The process may not (`CAP_NET_ADMIN`), the name is taken or too long, or the kernel has no tun (`/dev/net/tun`).
pub fn open(name: &str) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")?;
    // SAFETY: zero is a value of the structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request is whole, and the descriptor one of the tun device.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } {
        0 => Ok(file),
        _ => Err(std::io::Error::last_os_error()),
    }
}
