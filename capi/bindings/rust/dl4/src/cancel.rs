use std::ptr;

use crate::call::made;
use crate::error::Result;
use crate::handle::Handle;
use crate::sys;

/// A flag that stops long work, from any thread. Clones are the same flag; once triggered it stays so.
///
/// ```
/// let cancel = dl4::Cancel::new()?;
/// let other = cancel.clone();
/// std::thread::spawn(move || other.trigger()).join().unwrap();
/// assert!(cancel.triggered());
/// # Ok::<(), dl4::Error>(())
/// ```
#[derive(Clone)]
pub struct Cancel(Handle<sys::dl4_cancel>);

// SAFETY: dl4.h, "Cancel": threads: any, at once.
unsafe impl Send for Cancel {}
unsafe impl Sync for Cancel {}

impl Cancel {
    pub fn new() -> Result<Cancel> {
        // SAFETY: out is a place for a pointer.
        Ok(Cancel(made(|out| unsafe { sys::dl4_cancel_create(out) })?))
    }

    /// Asks everything that was given this flag to stop soon. Legal in a signal handler.
    pub fn trigger(&self) {
        // SAFETY: a live object.
        unsafe { sys::dl4_cancel_trigger(self.0.as_ptr()) }
    }

    pub fn triggered(&self) -> bool {
        // SAFETY: a live object.
        unsafe { sys::dl4_cancel_triggered(self.0.as_ptr()) != 0 }
    }

    pub(crate) fn raw(cancel: Option<&Cancel>) -> *mut sys::dl4_cancel {
        cancel.map_or(ptr::null_mut(), |c| c.0.as_ptr())
    }
}
