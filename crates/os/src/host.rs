//! What this machine is called and which boot it runs.

/// The host name (`uname -n`). Never looked up on a network.
pub fn name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as we say.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}
