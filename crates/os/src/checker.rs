//! Is this process run by a checker that sees every access to memory (valgrind)?
//!
//! Programs ask valgrind by an instruction sequence that does nothing on a processor: "The Client Request mechanism" in the
//! manual of Valgrind (<https://valgrind.org/docs/manual/manual-core-adv.html>), whose encoding is part of its interface.

/// `VG_USERREQ__RUNNING_ON_VALGRIND`.
const RUNNING_ON: u64 = 0x1001;

/// Does valgrind run this process, with a tool that keeps a book of memory? Costs a few instructions elsewhere.
pub fn is_present() -> bool {
    ask(RUNNING_ON) != 0 && !std::env::var("LD_PRELOAD").is_ok_and(|libraries| only_counts(&libraries))
}

/// Cachegrind, callgrind and lackey follow instructions, and have no library of their own to replace `malloc`.
fn only_counts(preloaded: &str) -> bool {
    let mut tools = preloaded.split("vgpreload_").skip(1).peekable();
    tools.peek().is_some() && tools.all(|rest| rest.starts_with("core"))
}

/// The answer to a request without arguments; 0 outside.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn ask(request: u64) -> u64 {
    let words = [request, 0, 0, 0, 0, 0];
    let answer: u64;
    // SAFETY: the rotations by 128 bits in all leave rdi as it was, and exchanging rbx with itself changes nothing; valgrind reads the six
    // words and writes rdx.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") words.as_ptr(), inout("rdx") 0_u64 => answer, in("rdi") 0_u64,
            options(nostack)
        );
    }
    answer
}

/// As above.
#[cfg(all(target_arch = "aarch64", not(miri)))]
fn ask(request: u64) -> u64 {
    let words = [request, 0, 0, 0, 0, 0];
    let answer: u64;
    // SAFETY: the rotations by 128 bits in all leave x12 as it was, and x10 or itself is x10; valgrind reads the six words and
    // writes x3.
    unsafe {
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") words.as_ptr(), inout("x3") 0_u64 => answer, inout("x12") 0_u64 => _,
            options(nostack)
        );
    }
    answer
}

/// Miri interprets no assembly.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn ask(_: u64) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preloaded_checker_is_seen() {
        let preloaded = std::env::var("LD_PRELOAD")
            .is_ok_and(|libraries| libraries.contains("vgpreload") && !only_counts(&libraries));
        assert_eq!(is_present(), preloaded);
    }

    #[test]
    fn who_only_counts_is_told_by_its_libraries() {
        assert!(only_counts("/usr/libexec/valgrind/vgpreload_core-amd64-linux.so"));
        assert!(!only_counts(
            "/v/vgpreload_core-amd64-linux.so:/v/vgpreload_memcheck-amd64-linux.so"
        ));
        assert!(!only_counts("/lib/libother.so") && !only_counts(""));
    }
}
