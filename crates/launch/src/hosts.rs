//! Which host names mean this machine. No name service is asked.

/// Does this name mean the machine that we run on?
pub fn is_here(name: &str) -> bool {
    is_this_machine(name, &isthmus_os::host::name())
}

fn is_this_machine(name: &str, own: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or("").to_ascii_lowercase();
    let loopback = name.starts_with("127.") && name.parse::<std::net::Ipv4Addr>().is_ok();
    // Either may be fully qualified; two qualified names must agree to the end.
    let named =
        name.eq_ignore_ascii_case(own) || (short(name) == short(own) && !(name.contains('.') && own.contains('.')));
    loopback || name == "::1" || matches!(short(name).as_str(), "localhost") || named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names() {
        for name in [
            "localhost",
            "LOCALHOST",
            "localhost.localdomain",
            "127.0.0.1",
            "127.0.1.1",
            "::1",
            "n1",
            "n1.site",
        ] {
            assert!(is_this_machine(name, "n1"), "{name}");
        }
        assert!(is_this_machine("n1", "n1.site"));
        for name in ["n2", "n11", "10.0.0.1", "127.example"] {
            assert!(!is_this_machine(name, "n1"), "{name}");
        }
        assert!(!is_this_machine("n1.there", "n1.here"));
    }
}
