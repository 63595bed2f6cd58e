//! What several algorithms that reduce begin with: partial results of all ranks become whole ones of a part each.

pub mod halving;
pub mod ring;
