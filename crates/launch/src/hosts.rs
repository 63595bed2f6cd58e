//! Which host names mean this machine. No name service is asked.

use crate::failure::{Failure, Result};

/// Fails unless every entry of a comma-separated list (`a,b:4,user@c`) is this machine.
pub fn check_list(list: &str) -> Result<()> {
    list.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .try_for_each(check)
}

/// Fails unless every line of a host file (`name`, `name:4`, `name slots=4`; `#` starts a comment) is this machine.
pub fn check_file(path: &str) -> Result<()> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("cannot read the host file {path}: {error}")))?;
    text.lines()
        .map(|line| line.split('#').next().unwrap_or(""))
        .filter_map(|line| line.split_whitespace().next())
        .try_for_each(check)
}

fn check(entry: &str) -> Result<()> {
    let name = entry.rsplit('@').next().unwrap_or(entry);
    // `name:4` states slots; more than one colon is an IPv6 address.
    let name = match name.split_once(':') {
        Some((host, slots)) if !slots.contains(':') => host,
        _ => name,
    };
    if is_this_machine(name, &isthmus_os::host::name()) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "host '{name}' is another machine, which is not supported yet: leave it out to run all ranks here"
    )))
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

    #[test]
    fn lists() {
        assert_eq!(check_list("localhost:4,me@127.0.0.1"), Ok(()));
        let message = check_list("localhost,far-away.example")
            .expect_err("another machine")
            .message;
        assert!(
            message.contains("far-away.example") && message.contains("not supported yet"),
            "{message}"
        );
    }
}
