//! The profile: rules that hold for few numbers of ranks, as they were fitted to certain machines. They are data in the form of users' rules,
//! which `isthmus tune` writes for other machines; users' rules precede them.

use std::sync::OnceLock;

use super::overrides::Overrides;

/// Why an algorithm of the profile is chosen.
pub const WHY: &str = "measured, profiles/default.rules";

const TEXT: &str = include_str!("../../profiles/default.rules");

/// Its rules.
#[inline]
pub fn rules() -> &'static Overrides {
    static RULES: OnceLock<Overrides> = OnceLock::new();
    RULES.get_or_init(|| {
        Overrides::parse(TEXT).unwrap_or_else(|error| unreachable!("a test reads the profile: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_read() {
        rules();
        let lines = TEXT
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim());
        assert!(lines.filter(|line| !line.is_empty()).all(|line| line.ends_with('?')));
    }
}
