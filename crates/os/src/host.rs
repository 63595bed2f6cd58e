//! What this machine is called and which boot it runs.

/// The host name (`uname -n`). Never looked up on a network.
pub fn name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is as long as we say.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len()) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// What two processes have in common that reach each other's abstract sockets, and so can hand each other memory: the boot of their kernel and the
/// network namespace. Containers may have one name and not this, or the other way round. Where `/proc` does not tell, the host's name.
pub fn sharing_domain() -> String {
    use std::os::unix::fs::MetadataExt;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    let network = std::fs::metadata("/proc/self/ns/net");
    match (boot, network) {
        (Ok(boot), Ok(network)) => format!("{}-{:x}-{:x}", boot.trim_end(), network.dev(), network.ino()),
        _ => format!("host-{}", name()),
    }
}
