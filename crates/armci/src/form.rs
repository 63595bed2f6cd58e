//! Whether the calls of a thread wait for what they start with other nodes.

use std::cell::Cell;

use isthmus_engine::rma::Scope;

/// When an operation with another node is over locally: its result is there, and its source may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// When its call returns.
    Blocking,
    /// When its scope is finished; with none (the implicit handle) when all with the process is waited for.
    NonBlocking(Option<Scope>),
}

thread_local! {
    /// The form of the calls that this thread makes now. Only operations with other nodes look at it.
    static FORM: Cell<Form> = const { Cell::new(Form::Blocking) };
}

/// That of the call that this thread makes.
pub(crate) fn form() -> Form {
    FORM.get()
}

/// Make calls of a form.
pub(crate) fn with<T>(form: Form, calls: impl FnOnce() -> T) -> T {
    let before = FORM.replace(form);
    let answer = calls();
    FORM.set(before);
    answer
}

/// Make calls whose operations are over locally when they return, whatever the caller's form.
pub fn blocking<T>(calls: impl FnOnce() -> T) -> T {
    with(Form::Blocking, calls)
}
