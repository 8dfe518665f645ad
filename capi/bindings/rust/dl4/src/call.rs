//! What calls of the library have in common.

use std::ffi::CString;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{check, Code, Error, Refusal, Result};
use crate::handle::Handle;
use crate::sys;

/// The library's version, `1.2.3`.
pub fn version() -> String {
    // SAFETY: a call without arguments.
    let n = unsafe { sys::dl4_version() };
    format!("{}.{}.{}", n / 1_000_000, n / 1000 % 1000, n % 1000)
}

/// Refuses a library of another major version; the first call of every kind of object asks.
pub(crate) fn need_version() -> Result<()> {
    static KNOWN: AtomicBool = AtomicBool::new(false);
    if KNOWN.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: it is the same in every version.
    let number = unsafe { sys::dl4_version() };
    if number / 1_000_000 != sys::DL4_VERSION_MAJOR {
        let (expected, got) = (sys::DL4_VERSION_MAJOR.to_string(), version());
        return Err(Error::Library(Box::new(Refusal {
            code: Code::Version,
            message: format!("this crate is made for version {} of libdl4, found {}", expected, got),
            expected: Some(expected),
            got: Some(got),
            ..Refusal::default()
        })));
    }
    KNOWN.store(true, Ordering::Relaxed);
    Ok(())
}

/// What a function gives through its last parameter.
pub(crate) fn made<T>(call: impl FnOnce(*mut *mut T) -> *mut sys::dl4_error) -> Result<Handle<T>> {
    need_version()?;
    let mut out = ptr::null_mut();
    let e = call(&mut out);
    let out = Handle::new(out); // released if a panic goes on
    check(e)?;
    Ok(out.expect("libdl4 gave an object"))
}

/// The bytes of a blob that a function gives.
pub(crate) fn bytes(call: impl FnOnce(*mut *mut sys::dl4_blob) -> *mut sys::dl4_error) -> Result<Vec<u8>> {
    let blob = made(call)?;
    // SAFETY: a blob is that many bytes, and lives here.
    Ok(unsafe {
        let size = sys::dl4_blob_size(blob.as_ptr()) as usize;
        std::slice::from_raw_parts(sys::dl4_blob_data(blob.as_ptr()) as *const u8, size).to_vec()
    })
}

pub(crate) fn text(call: impl FnOnce(*mut *mut sys::dl4_blob) -> *mut sys::dl4_error) -> Result<String> {
    let bytes = bytes(call)?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Text as C takes it.
pub(crate) fn c_string(text: impl Into<Vec<u8>>, argument: &str) -> Result<CString> {
    CString::new(text).map_err(|e| {
        let got = format!("one at byte {}", e.nul_position());
        Error::refused(Code::InvalidArgument, argument, "text without a NUL", got)
    })
}

pub(crate) fn c_path(path: &std::path::Path) -> Result<CString> {
    use std::os::unix::ffi::OsStrExt;
    c_string(path.as_os_str().as_bytes(), "path")
}

pub(crate) const MAX_RANK: usize = sys::DL4_MAX_RANK as usize;

/// A shape that a function gives with its rank.
pub(crate) fn shape(call: impl FnOnce(*mut i64, i64, *mut i32) -> *mut sys::dl4_error) -> Result<Vec<i64>> {
    let (mut dims, mut rank) = ([0; MAX_RANK], 0);
    check(call(dims.as_mut_ptr(), MAX_RANK as i64, &mut rank))?;
    Ok(dims[..rank as usize].to_vec())
}

/// How an object is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    Json = sys::DL4_FORMAT_JSON as isize,
    /// For people.
    Text = sys::DL4_FORMAT_TEXT as isize,
    /// A drawing for Graphviz.
    Dot = sys::DL4_FORMAT_DOT as isize,
}

impl<T> Handle<T> {
    /// As text for people, JSON or DOT.
    pub(crate) fn describe(&self, format: Format) -> Result<String> {
        // SAFETY: a live object.
        text(|out| unsafe { sys::dl4_describe(self.as_ptr() as *const _, format as i32, out) })
    }
}
