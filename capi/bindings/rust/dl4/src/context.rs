use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::attrs::Attrs;
use crate::call::{made, need_version};
use crate::callback;
use crate::error::{check, Result};
use crate::handle::Handle;
use crate::sys;

/// Threads, seed, memory and logger of everything made in it. Most programs never make one: the default is the
/// process's own. Clones are the same context.
///
/// ```
/// use dl4::{attrs, Context, Graph};
///
/// let context = Context::new(attrs! { threads: 1, seed: 42 })?;
/// let graph = Graph::in_context(&context)?;
/// # let _ = graph;
/// # Ok::<(), dl4::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Context(Option<Arc<Inner>>);

struct Inner {
    handle: Handle<sys::dl4_context>,
    loggers: Loggers,
}

// All that were ever set: another thread may be telling the last one something while this one sets the next.
type Loggers = Mutex<Vec<Box<Logger>>>;

// SAFETY: dl4.h, "Context": threads: any, at once.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

type Hear = dyn Fn(Level, &str) + Send + Sync;
struct Logger(Arc<Hear>);

static DEFAULT_LOGGERS: Loggers = Mutex::new(Vec::new());

/// Levels of log messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Trace = sys::DL4_LOG_TRACE as isize,
    Debug = sys::DL4_LOG_DEBUG as isize,
    Info = sys::DL4_LOG_INFO as isize,
    Warning = sys::DL4_LOG_WARNING as isize,
    Error = sys::DL4_LOG_ERROR as isize,
}

impl Context {
    /// Options as of `dl4_context_create`: `threads`, `seed`, `reproducible`, `memory_limit`, ...
    pub fn new(options: impl Into<Attrs>) -> Result<Context> {
        let options = options.into().options()?;
        // SAFETY: a live bag, a place for a pointer.
        let handle = made(|out| unsafe { sys::dl4_context_create(options.as_ptr(), out) })?;
        Ok(Context(Some(Arc::new(Inner { handle, loggers: Loggers::default() }))))
    }

    /// Each graph made from now on draws from the start of that seed's numbers.
    pub fn set_seed(&self, seed: i64) -> Result<()> {
        need_version()?;
        // SAFETY: a live object or NULL.
        check(unsafe { sys::dl4_context_set_seed(self.as_ptr(), seed) })
    }

    /// Hands messages from `min_level` up to `hear`, on the thread whose call they are of, until another logger is set
    /// or the last clone of this context is gone, which also drops it. A panic in it goes on where that call was made.
    pub fn set_logger(&self, min_level: Level, hear: impl Fn(Level, &str) + Send + Sync + 'static) -> Result<()> {
        let logger = Box::new(Logger(Arc::new(hear)));
        let user = &*logger as *const Logger as *mut c_void;
        let loggers = self.0.as_ref().map_or(&DEFAULT_LOGGERS, |inner| &inner.loggers);
        loggers.lock().unwrap_or_else(PoisonError::into_inner).push(logger);
        self.change_logger(min_level, Some(on_message), user)
    }

    /// Silence, as at first.
    pub fn remove_logger(&self) -> Result<()> {
        self.change_logger(Level::Error, None, ptr::null_mut())
    }

    fn change_logger(&self, level: Level, function: sys::dl4_log_fn, user: *mut c_void) -> Result<()> {
        need_version()?;
        // SAFETY: a live object or NULL; a logger lives as long as the context.
        check(unsafe { sys::dl4_context_set_logger(self.as_ptr(), level as i32, function, user) })
    }

    /// Gives back memory that is only kept for speed.
    pub fn trim(&self) -> Result<()> {
        need_version()?;
        // SAFETY: a live object or NULL.
        check(unsafe { sys::dl4_context_trim(self.as_ptr()) })
    }

    /// For calls of [`sys`](crate::sys); NULL is the default context.
    pub fn as_ptr(&self) -> *mut sys::dl4_context {
        self.0.as_ref().map_or(ptr::null_mut(), |inner| inner.handle.as_ptr())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // What was made in the context may outlive this, and must not find a logger that is gone.
        if !self.loggers.get_mut().unwrap_or_else(PoisonError::into_inner).is_empty() {
            // SAFETY: a live object. It fails for no reason that there could be here.
            let e = unsafe { sys::dl4_context_set_logger(self.handle.as_ptr(), 0, None, ptr::null_mut()) };
            drop(Handle::new(e));
        }
    }
}

unsafe extern "C" fn on_message(user: *mut c_void, level: i32, message: *const c_char) {
    callback::quiet(|| {
        let hear = (*(user as *const Logger)).0.clone(); // it may set another logger
        let level = match level {
            sys::DL4_LOG_TRACE => Level::Trace,
            sys::DL4_LOG_DEBUG => Level::Debug,
            sys::DL4_LOG_INFO => Level::Info,
            sys::DL4_LOG_WARNING => Level::Warning,
            _ => Level::Error,
        };
        hear(level, &CStr::from_ptr(message).to_string_lossy());
    });
}
