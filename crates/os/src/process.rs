//! This process and its relations.

use std::os::unix::fs::MetadataExt;

/// Process id, as this process's own pid namespace shows it.
pub fn id() -> u32 {
    std::process::id()
}

/// A process, told apart from those that had its number before or have it in another namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its number here.
    pub pid: u32,
    /// When it began, in the kernel's ticks.
    pub started: u64,
    /// The inode of its namespace of processes.
    pub namespace: u64,
}

/// Of the process that `pid` names now. `None`: there is none, or it cannot be looked at.
pub fn identity_of(pid: u32) -> Option<Identity> {
    let namespace = std::fs::metadata(format!("/proc/{pid}/ns/pid")).ok()?.ino();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The 22nd field of proc_pid_stat(5); the name in parentheses, the second one, may hold anything.
    let started = stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?.parse().ok()?;
    Some(Identity {
        pid,
        started,
        namespace,
    })
}

/// Has that process memory at that address that it may read? `None`: the kernel does not say.
pub fn is_mapped(pid: u32, address: u64) -> Option<bool> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    Some(maps.lines().any(|line| holds(line, address) == Some(true)))
}

/// Does a line of a list of mappings hold the address, readable?
fn holds(line: &str, address: u64) -> Option<bool> {
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(from)?..number(to)?).contains(&address) && rest.starts_with('r'))
}

/// Let `pid` and its descendants read this process's memory where Yama restricts `process_vm_readv` to relatives
/// (`ptrace_scope` 1). Harmless, and ignored, elsewhere.
pub fn allow_tracing_by(pid: u32) {
    // SAFETY: prctl with integer arguments.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(pid), 0, 0, 0) };
}

/// The parent of this process.
pub fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

/// The file that this code was loaded from: a library, or the program. `None` if the loader does not tell.
pub fn own_file() -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: an all-zero Dl_info is a valid out parameter.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    let address = own_file as fn() -> Option<std::path::PathBuf> as *const libc::c_void;
    // SAFETY: any address may be asked for, and there is room for the answer.
    let known = unsafe { libc::dladdr(address, &raw mut found) } != 0;
    if !known || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name ends with a zero and stays as long as the file is loaded, which it is: we run from it.
    let name = unsafe { std::ffi::CStr::from_ptr(found.dli_fname) };
    std::fs::canonicalize(std::ffi::OsStr::from_bytes(name.to_bytes())).ok()
}

/// Whether the descriptor `number` is open, and a socket.
pub fn is_socket(number: i32) -> bool {
    // SAFETY: an all-zero stat is a valid out parameter; any number may be asked about.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        libc::fstat(number, &raw mut about) == 0 && about.st_mode & libc::S_IFMT == libc::S_IFSOCK
    }
}

/// A descriptor that was handed to this process by number, as launchers do in its environment. `None` if it is no socket: then the
/// number is somebody else's. From now on it is closed where programs are started.
pub fn inherited_socket(number: i32) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: fcntl with integer arguments on an open descriptor.
    if !is_socket(number) || unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return None;
    }
    // SAFETY: it is open, and whoever handed it over did so for the caller.
    Some(unsafe { std::os::fd::OwnedFd::from_raw_fd(number) })
}

/// A number of the calling thread that no other live thread has. Never 0.
#[inline]
pub fn thread() -> usize {
    // SAFETY: pthread_self has no preconditions.
    unsafe { libc::pthread_self() as usize }
}

/// Threads of this process, as the kernel counts them.
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, |tasks| tasks.count())
}

/// Call `hook` in every child made by `fork`, before `fork` returns there.
pub fn on_fork_in_child(hook: extern "C" fn()) {
    // SAFETY: the hook is a plain function, which is never unloaded.
    unsafe { libc::pthread_atfork(None, None, Some(hook)) };
}

/// Call these around every `fork`: in the parent before it, in the parent after it, and in the child.
pub fn on_fork(before: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: the hooks are plain functions, which are never unloaded.
    unsafe { libc::pthread_atfork(Some(before), Some(parent), Some(child)) };
}

/// Call `hook` with the exit code when the process exits normally (`on_exit(3)`).
pub fn on_exit(hook: extern "C" fn(i32)) {
    unsafe extern "C" {
        fn on_exit(hook: extern "C" fn(libc::c_int, *mut libc::c_void), argument: *mut libc::c_void) -> libc::c_int;
    }
    extern "C" fn call(code: libc::c_int, hook: *mut libc::c_void) {
        // SAFETY: it is the function that was given to `on_exit`.
        let hook = unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn(i32)>(hook) };
        hook(code);
    }
    // SAFETY: both functions are never unloaded.
    unsafe { on_exit(call, hook as *mut libc::c_void) };
}

/// From now on writing to a pipe that nobody reads any more ends this process, quietly, as it does every tool that prints.
/// Rust programs begin with an error instead.
pub fn end_with_broken_pipes() {
    // SAFETY: the default action is no handler of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// From now on output that cannot be written (a full disk) is said in a line that begins with `program`, and ends the process
/// with 1. Rust programs panic instead.
pub fn end_where_output_fails(program: &'static str) {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>();
        match text.and_then(|text| text.strip_prefix("failed printing to stdout: ")) {
            Some(why) => {
                say(&format!("{program}: cannot write the output: {why}"));
                exit_now(1);
            }
            None => before(panic),
        }
    }));
}

/// Close a descriptor by number. Only for the fork hook, where its owner is another process's memory.
pub fn close_raw(descriptor: i32) {
    // SAFETY: close takes no pointers; the number belongs to the caller.
    unsafe { libc::close(descriptor) };
}

/// One line on standard error, in one write, so that it stays whole among the lines of other ranks.
pub fn say(line: &str) {
    use std::io::Write;
    // There is nobody to tell if this fails.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Write out what the C library's streams still hold (`fflush`). Blocks as long as writing takes.
pub fn flush_streams() {
    // SAFETY: a null stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// End the process at once with `code`: no destructors, no exit handlers.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit does not return.
    unsafe { libc::_exit(code) }
}
