//! The pieces of an entry's body.

/// Pieces of a body.
#[derive(Default)]
pub struct Body {
    /// Checks and conversions.
    pub before: String,
    /// Arguments of the typed procedure.
    pub arguments: Vec<String>,
    /// What happens whether it fails or not.
    pub always: String,
    /// Names for what it returns.
    pub results: Vec<String>,
    /// What happens if it succeeds.
    pub after: String,
    /// What happens if it fails, but completed an operation.
    pub report: String,
}
