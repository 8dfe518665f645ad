use std::error::Error as StdError;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_char;

use crate::callback::{self, Failure, Pending};
use crate::handle::Handle;
use crate::json::Value;
use crate::sys;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// What the library, or this crate for it, refused.
    Library(Box<Refusal>),
    /// What a closure or a [`Kind`](crate::Kind) of yours returned. (A panic in one goes on where the call was made.)
    Callback(Failure),
}

/// What was refused: the fields that the message has, one by one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Refusal {
    pub code: Code,
    /// One line for people: who, what was expected, what came.
    pub message: String,
    /// The C function.
    pub function: Option<String>,
    pub layer: Option<String>,
    /// A key among the attributes or options.
    pub attribute: Option<String>,
    pub argument: Option<String>,
    pub expected: Option<String>,
    pub got: Option<String>,
    pub did_you_mean: Option<String>,
}

macro_rules! codes {
    ($($(#[$about:meta])* $name:ident = $number:ident),* $(,)?) => {
        /// The kinds of errors.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[$about])* $name),* }

        impl Code {
            // A code that a newer library has is Internal, as dl4.h says.
            fn of(number: i32) -> Code {
                match number {
                    $(sys::$number => Code::$name,)*
                    _ => Code::Internal,
                }
            }
        }
    };
}

codes! {
    /// A bug in the library: please report.
    #[default]
    Internal = DL4_INTERNAL,
    /// An allocation failed, or the context's `memory_limit` would be passed.
    OutOfMemory = DL4_OUT_OF_MEMORY,
    /// A value, attribute or call that cannot be right.
    InvalidArgument = DL4_INVALID_ARGUMENT,
    /// No layer, loss, ... of that name; the message says which is nearest.
    UnknownKind = DL4_UNKNOWN_KIND,
    /// No weight, file, key, ... of that name.
    NotFound = DL4_NOT_FOUND,
    /// By [`Cancel::trigger`](crate::Cancel::trigger).
    Cancelled = DL4_CANCELLED,
    /// Shapes or types of data that do not fit.
    ShapeMismatch = DL4_SHAPE_MISMATCH,
    /// Valid, but not in this version or build.
    Unsupported = DL4_UNSUPPORTED,
    /// The system refused to read or write.
    Io = DL4_IO,
    /// Not a model, truncated or damaged.
    CorruptFile = DL4_CORRUPT_FILE,
    /// Made by, or for, another version of the library.
    Version = DL4_VERSION,
    /// In use by another thread, or by the caller of this callback.
    Busy = DL4_BUSY,
    /// A callback of yours reported failure.
    CallbackFailed = DL4_CALLBACK_FAILED,
    /// NaN or infinity met by the `nan_guard`.
    Numeric = DL4_NUMERIC,
}

impl Error {
    pub fn code(&self) -> Code {
        match self {
            Error::Library(refusal) => refusal.code,
            Error::Callback(_) => Code::CallbackFailed,
        }
    }

    /// What was refused; `None` of an error of a closure of yours.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Library(refusal) => Some(refusal),
            Error::Callback(_) => None,
        }
    }

    /// The layer that refused.
    pub fn layer(&self) -> Option<&str> {
        self.refusal()?.layer.as_deref()
    }

    /// The key that was refused.
    pub fn attribute(&self) -> Option<&str> {
        self.refusal()?.attribute.as_deref()
    }

    pub fn expected(&self) -> Option<&str> {
        self.refusal()?.expected.as_deref()
    }

    pub fn got(&self) -> Option<&str> {
        self.refusal()?.got.as_deref()
    }

    /// What this crate refuses by itself.
    pub(crate) fn refused(code: Code, argument: &str, expected: impl Into<String>, got: impl Into<String>) -> Error {
        let (expected, got) = (expected.into(), got.into());
        Error::Library(Box::new(Refusal {
            code,
            message: format!("\"{}\": expected {}, got {}", argument, expected, got),
            argument: Some(argument.into()),
            expected: Some(expected),
            got: Some(got),
            ..Refusal::default()
        }))
    }

    // An error of this crate that went through a closure is itself again.
    fn of_failure(failure: Failure) -> Error {
        match failure.downcast::<Error>() {
            Ok(error) => *error,
            Err(other) => Error::Callback(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Library(refusal) => f.write_str(&refusal.message),
            Error::Callback(failure) => failure.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Library(_) => None,
            Error::Callback(failure) => failure.source(),
        }
    }
}

/// What a call returned, with what a callback of ours left while it ran.
#[inline]
pub(crate) fn check(e: *mut sys::dl4_error) -> Result<()> {
    if e.is_null() && !callback::waiting() {
        return Ok(());
    }
    settle(Handle::new(e))
}

#[cold]
fn settle(e: Option<Handle<sys::dl4_error>>) -> Result<()> {
    let pending = callback::take();
    if let Some(Pending::Panic(payload)) = pending {
        drop(e);
        std::panic::resume_unwind(payload);
    }
    let refusal = match e {
        Some(e) => read(&e),
        None => return Ok(()),
    };
    match pending {
        Some(Pending::Failure(failure)) if refusal.code == Code::CallbackFailed => Err(Error::of_failure(failure)),
        _ => Err(Error::Library(Box::new(refusal))),
    }
}

fn read(e: &Handle<sys::dl4_error>) -> Refusal {
    // SAFETY: the handle is an error, and its texts live as long as it.
    let (code, message, detail) = unsafe {
        let e = e.as_ptr();
        (Code::of(sys::dl4_error_code(e)), string(sys::dl4_error_message(e)), string(sys::dl4_error_detail(e)))
    };
    let detail = Value::parse(&detail).unwrap_or(Value::Null);
    let field = |key: &str| detail.get(key).and_then(Value::as_str).map(String::from);
    Refusal {
        code,
        message,
        function: field("function"),
        layer: field("layer"),
        attribute: field("attribute"),
        argument: field("argument"),
        expected: field("expected"),
        got: field("got"),
        did_you_mean: field("did_you_mean"),
    }
}

/// A copy of text of the library's, "" for NULL.
///
/// # Safety
/// `text` is NULL or ends with a NUL.
pub(crate) unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}
