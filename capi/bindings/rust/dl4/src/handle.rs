use std::ptr::NonNull;

use crate::callback;
use crate::sys;

/// A counted reference to an object of the library.
#[repr(transparent)]
pub(crate) struct Handle<T>(NonNull<T>);

impl<T> Handle<T> {
    pub(crate) fn new(owned: *mut T) -> Option<Handle<T>> {
        NonNull::new(owned).map(Handle)
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }

    pub(crate) fn into_raw(self) -> *mut T {
        let raw = self.as_ptr();
        std::mem::forget(self);
        raw
    }
}

/// Another reference to the same object: for types whose calls may come from any thread at once.
impl<T> Clone for Handle<T> {
    fn clone(&self) -> Handle<T> {
        // SAFETY: a live object.
        unsafe { sys::dl4_retain(self.as_ptr() as *mut _) };
        Handle(self.0)
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: the reference is ours.
        unsafe { sys::dl4_release(self.as_ptr() as *mut _) };
        callback::after_release();
    }
}
