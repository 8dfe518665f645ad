//! What leaves a callback of ours goes around the C frames: it waits here, on its thread, for the call to return.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// What a closure or a [`Kind`](crate::Kind) of yours returns when it fails; `?` makes it of any error, and
/// `"text".into()` of text.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(crate) enum Pending {
    Panic(Box<dyn Any + Send>),
    Failure(Failure),
}

// Neither DL4_CONTINUE nor DL4_STOP.
const FAILED: i32 = -1;

thread_local! {
    static WAITING: Cell<bool> = const { Cell::new(false) };
    static PENDING: RefCell<Option<Pending>> = const { RefCell::new(None) };
}

#[inline]
pub(crate) fn waiting() -> bool {
    WAITING.with(Cell::get)
}

pub(crate) fn take() -> Option<Pending> {
    WAITING.with(|w| w.set(false));
    PENDING.try_with(|p| p.borrow_mut().take()).ok().flatten()
}

// A panic is never forgotten for what came after it.
fn put(new: Pending) {
    let old = take();
    let kept = match (old, new) {
        (Some(Pending::Panic(first)), _) => Pending::Panic(first),
        (_, new) => new,
    };
    if PENDING.try_with(|p| *p.borrow_mut() = Some(kept)).is_ok() {
        WAITING.with(|w| w.set(true));
    }
}

/// Runs the body of a callback; its answer, or -1 for a failure or panic, which waits.
pub(crate) fn answer(body: impl FnOnce() -> Result<i32, Failure>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(answer)) => return answer,
        Ok(Err(failure)) => put(Pending::Failure(failure)),
        Err(payload) => put(Pending::Panic(payload)),
    }
    FAILED
}

/// The same of a callback that has no answer.
pub(crate) fn quiet(body: impl FnOnce()) {
    answer(|| {
        body();
        Ok(0)
    });
}

/// A panic from the release of something of yours goes on here, unless there is one already.
pub(crate) fn after_release() {
    if !waiting() {
        return;
    }
    match take() {
        Some(Pending::Panic(payload)) if !std::thread::panicking() => std::panic::resume_unwind(payload),
        Some(failure @ Pending::Failure(_)) => put(failure),
        _ => {}
    }
}
