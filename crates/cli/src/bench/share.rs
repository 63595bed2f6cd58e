//! The time that one experiment may take, and what of it one of its launches gets.

use std::time::{Duration, Instant};

/// Until when an experiment may run.
#[derive(Debug, Clone, Copy)]
pub struct Share(Option<Instant>);

impl Share {
    /// As long as it takes.
    pub const UNLIMITED: Self = Self(None);

    /// Until then.
    pub fn until(then: Instant) -> Self {
        Self(Some(then))
    }

    /// When the next of so many launches must end, if those that come after it are to have as long.
    pub fn of_launch(self, left: usize) -> Option<Instant> {
        let (then, now) = (self.0?, Instant::now());
        Some(now + then.saturating_duration_since(now) / left.max(1) as u32)
    }

    /// Whether something that takes so long ends within it.
    pub fn fits(self, takes: Duration) -> bool {
        self.0.is_none_or(|then| Instant::now() + takes <= then)
    }

    /// When it ends.
    pub fn end(self) -> Option<Instant> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn launches_have_equal_parts() {
        let (now, share) = (Instant::now(), Share::until(Instant::now() + 4 * LONG));
        let part = share.of_launch(4).map(|end| end - now);
        assert!(part.is_some_and(|part| part >= LONG && part < 2 * LONG), "{part:?}");
        assert!(share.fits(3 * LONG) && !share.fits(5 * LONG));
    }

    #[test]
    fn a_share_that_is_used_up_has_room_for_nothing() {
        let share = Share::until(Instant::now());
        assert!(!share.fits(Duration::from_millis(1)) && share.of_launch(2).is_some_and(|end| end <= Instant::now()));
        assert!(Share::UNLIMITED.fits(LONG) && Share::UNLIMITED.of_launch(1).is_none());
    }
}
