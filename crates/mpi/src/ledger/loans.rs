//! Buffers of the origin that operations on windows have, until they are complete there: what is put stays as it is, what is fetched is nobody
//! else's (MPI-5.0 §12.3). Operations are completed by a flush, by the end of their epoch, or by their request.

use std::cell::RefCell;

use super::{Buffers, Given, Held, Holder, Use, ledger, pieces};
use crate::check::sites;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;

/// Numbers of loans have this bit, which handles have not.
const LOAN: u32 = 1 << 31;
/// Loans of all windows; what comes beyond is not compared.
const MOST: usize = 1 << 14;

/// A buffer that an operation on a window has.
pub(super) struct Loan {
    /// Or the operation's request.
    pub(super) number: u32,
    /// The window's handle.
    win: u32,
    target: usize,
}

thread_local! {
    /// The loans of a call of this thread whose request is to have them.
    static COLLECTED: RefCell<Option<Vec<Loan>>> = const { RefCell::new(None) };
}

/// An operation on `target` of the window with the handle `win` has these buffers; `None`: there are too many. What is fetched must be told to have
/// [arrived](arrived).
///
/// # Errors
/// Another operation under way has them.
#[cold]
pub(crate) fn lend(win: u32, target: usize, buffers: &[Given<'_>]) -> Result<Option<u32>> {
    let mut ledger = ledger();
    let ledger = ledger.get_or_insert_default();
    let buffers: Buffers = buffers.iter().map(Held::new).collect();
    ledger.claim(&buffers)?;
    if ledger.loans.len() >= MOST {
        return Ok(None);
    }
    ledger.lent = ledger.lent.wrapping_add(1);
    let number = ledger.lent | LOAN;
    let mut holder = Holder::new(buffers, sites::here());
    ledger.begin(&mut holder, number);
    ledger.holders.insert(number, holder);
    let loan = Loan { number, win, target };
    COLLECTED.with_borrow_mut(|collected| collected.as_mut().unwrap_or(&mut ledger.loans).push(loan));
    Ok(Some(number))
}

/// What the operation fetches is there: it stays as it is from now on.
#[cold]
pub(crate) fn arrived(number: u32) {
    if let Some(ledger) = &mut *ledger()
        && let Some(holder) = ledger.holders.get_mut(&number)
    {
        for held in holder.buffers.iter_mut().filter(|held| held.does == Use::Receives) {
            held.sum = held.pieces.as_deref().and_then(pieces::sum);
        }
    }
}

/// The operation has failed: it has no buffers any more.
#[cold]
pub(crate) fn withdraw(number: u32) {
    if let Some(ledger) = &mut *ledger() {
        ledger.stop(number);
    }
}

/// The operations on these targets of the window are complete at the origin.
///
/// # Errors
/// A buffer of theirs has been changed.
#[cold]
pub(crate) fn give_back(win: u32, is_over: impl Fn(usize) -> bool) -> Result<()> {
    let mut ledger = ledger();
    let Some(ledger) = &mut *ledger else { return Ok(()) };
    let mut changed = Ok(());
    let over = |loan: &mut Loan| loan.win == win && is_over(loan.target);
    let over: Vec<Loan> = ledger.loans.extract_if(.., over).collect();
    for loan in over {
        let Some((holder, _)) = ledger.stop(loan.number) else {
            continue;
        };
        if let Some(held) = holder.changed() {
            changed = changed.and(Err(fail!(
                Buffer,
                "the program has changed the buffer of {} elements of {} that {} {}, before the operation was complete",
                held.count,
                held.datatype.label(),
                sites::describe(holder.site),
                match held.does {
                    Use::Sends => "sends",
                    Use::Receives => "has fetched",
                }
            )));
        }
    }
    changed
}

/// Make an operation on a window that is complete, with all its buffers, when `operate` returns.
pub(crate) fn during(operate: impl FnOnce() -> Result<()>) -> Result<()> {
    COLLECTED.set(Some(Vec::new()));
    let done = operate();
    let loans = COLLECTED.take().unwrap_or_default();
    if let Some(ledger) = &mut *ledger() {
        for loan in loans {
            ledger.stop(loan.number);
        }
    }
    done
}

/// Start an operation on a window whose request has its buffers, until it is complete, or the operation is by a flush or by the end of its epoch.
pub(crate) fn by_request<Q>(start: impl FnOnce() -> Result<Handle<Q>>) -> Result<Handle<Q>> {
    COLLECTED.set(Some(Vec::new()));
    let started = start();
    let loans = COLLECTED.take().unwrap_or_default();
    let mut ledger = ledger();
    let Some(ledger) = &mut *ledger else { return started };
    let mut buffers = Buffers::new();
    for loan in loans {
        let Some((holder, _)) = ledger.stop(loan.number) else {
            continue;
        };
        buffers.extend(holder.buffers);
        if let Ok(request) = &started {
            let number = request.raw();
            ledger.loans.push(Loan { number, ..loan });
        }
    }
    if let Ok(request) = &started {
        let request = request.raw();
        for (held, pieces) in buffers.iter().filter_map(|held| Some((held, held.pieces.as_ref()?))) {
            ledger.pieces.add(pieces, held.does, request);
        }
        ledger.add(request, buffers);
        if let Some(holder) = ledger.holders.get_mut(&request) {
            holder.is_active = true;
        }
    }
    started
}
