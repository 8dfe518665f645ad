use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};

use crate::attrs::Attrs;
use crate::call::{c_string, need_version, MAX_RANK};
use crate::callback::{self, Failure};
use crate::error::{check, Result};
use crate::sys;
use crate::tensor::{self, slice, slice_mut, DType, Element};

/// A kind of your own: a layer, a loss (with the metric that is its mean) or a metric, added by
/// [`registry::add`](add). Any number of threads may call it at once; `config` is the attribute of that name. An error
/// or panic comes out of the call that asked.
///
/// ```
/// use dl4::{attrs, registry, DType, Failure, Graph, Kind, Session, Source, Target, Tensor};
///
/// struct Double;
/// impl Kind for Double {
///     fn forward(&self, _: &str, src: &[Source], dst: &mut [Option<Target>]) -> Result<(), Failure> {
///         if let Some(y) = &mut dst[0] {
///             for (y, x) in y.data_mut::<f32>()?.iter_mut().zip(src[0].data::<f32>()?) {
///                 *y = 2.0 * x;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// registry::add(registry::Category::Layer, "Double", (), Double)?;
/// let g = Graph::new()?;
/// let x = g.input("x", DType::F32, &[-1])?;
/// let session = Session::new(&g.build(x, g.add("Double", (), x)?)?, ())?;
/// let x = Tensor::copy_of(&[1f32, 2.0], &[2])?;
/// assert_eq!(session.run(&[&x])?[0].data::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), dl4::Error>(())
/// ```
pub trait Kind: Send + Sync + 'static {
    /// Is [`backward`](Kind::backward) there?
    const HAS_BACKWARD: bool = false;

    /// Shapes of `n` outputs and weights, in that order, for sources of these shapes; -1 is free while a graph is
    /// built. By default each has the shape of the last source.
    fn shapes(&self, config: &str, sources: &[&[i64]], n: usize) -> std::result::Result<Vec<Vec<i64>>, Failure> {
        let _ = config;
        Ok(vec![sources.last().map_or_else(Vec::new, |s| s.to_vec()); n])
    }

    /// Computes every element of each target, float32; sources are the inputs, then the weights; of a loss or metric
    /// y_true and y_pred. A target that is not needed is `None`.
    fn forward(
        &self,
        config: &str,
        src: &[Source<'_>],
        dst: &mut [Option<Target<'_>>],
    ) -> std::result::Result<(), Failure>;

    /// Computes every element of the gradients with respect to `src` from those with respect to `dst`.
    fn backward(&self, config: &str, gradient: Gradient<'_, '_>) -> std::result::Result<(), Failure> {
        let _ = (config, gradient);
        Err("this kind has no backward".into())
    }
}

/// What [`Kind::backward`] works on; what is not needed, or not there, is `None`.
pub struct Gradient<'g, 'c> {
    pub src: &'g [Source<'c>],
    pub dst: &'g [Option<Source<'c>>],
    pub diff_dst: &'g [Option<Source<'c>>],
    /// To be computed.
    pub diff_src: &'g mut [Option<Target<'c>>],
}

/// Numbers that a kind reads, where the library computes.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Source<'c>(std::ptr::NonNull<sys::dl4_tensor>, PhantomData<&'c ()>);

/// Numbers that a kind computes, where the library computes.
#[repr(transparent)]
pub struct Target<'c>(std::ptr::NonNull<sys::dl4_tensor>, PhantomData<&'c mut ()>);

impl<'c> Source<'c> {
    pub fn dims(&self) -> &'c [i64] {
        // SAFETY: it lives during the call.
        unsafe { tensor::dims(self.0.as_ptr()) }
    }

    pub fn dtype(&self) -> DType {
        // SAFETY: it lives during the call.
        unsafe { tensor::dtype(self.0.as_ptr()) }
    }

    pub fn data<T: Element>(&self) -> Result<&'c [T]> {
        // SAFETY: it lives during the call, and no one writes it.
        unsafe { tensor::elements(self.0.as_ptr()).map(|(data, n)| slice(data, n)) }
    }
}

impl Target<'_> {
    /// A live one for which the caller answers.
    pub(crate) fn over(tensor: *mut sys::dl4_tensor) -> Option<Self> {
        std::ptr::NonNull::new(tensor).map(|t| Target(t, PhantomData))
    }

    pub fn dims(&self) -> &[i64] {
        // SAFETY: it lives during the call.
        unsafe { tensor::dims(self.0.as_ptr()) }
    }

    pub fn data_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        // SAFETY: it lives during the call, and is no one else's.
        unsafe { tensor::elements(self.0.as_ptr()).map(|(data, n)| slice_mut(data, n)) }
    }
}

/// What a kind of yours is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Category {
    Layer,
    Loss,
    Metric,
}

impl Category {
    fn name(self) -> &'static str {
        match self {
            Category::Layer => "layer",
            Category::Loss => "loss",
            Category::Metric => "metric",
        }
    }
}

/// Adds a kind of your own, used by its name as any other, until [`remove`]. Options as of `dl4_registry_add`:
/// `doc`, `outputs`, `weights`. Adding a name again replaces it for what is made from then on.
pub fn add<K: Kind>(category: Category, name: &str, options: impl Into<Attrs>, kind: K) -> Result<()> {
    need_version()?;
    let (name, options) = (c_string(name, "name")?, options.into().options()?);
    let category = c_string(category.name(), "category")?;
    let backward: sys::dl4_backward_fn = if K::HAS_BACKWARD { Some(on_backward::<K>) } else { None };
    let user = Box::into_raw(Box::new(kind));
    // SAFETY: live objects; the kind lives until the library releases it, or on failure until here.
    check(unsafe {
        sys::dl4_registry_add(
            category.as_ptr(),
            name.as_ptr(),
            options.as_ptr(),
            Some(on_shape::<K>),
            Some(on_forward::<K>),
            backward,
            user as *mut c_void,
            Some(free::<K>),
        )
    })
    .map_err(|e| {
        drop(unsafe { Box::from_raw(user) });
        e
    })
}

/// Removes a kind that [`add`] added. Models that have it work on.
pub fn remove(category: Category, name: &str) -> Result<()> {
    let (category, name) = (c_string(category.name(), "category")?, c_string(name, "name")?);
    // SAFETY: texts that end with a NUL.
    check(unsafe { sys::dl4_registry_remove(category.as_ptr(), name.as_ptr()) })
}

unsafe extern "C" fn free<K: Kind>(user: *mut c_void) {
    callback::quiet(|| drop(Box::from_raw(user as *mut K)));
}

unsafe fn text<'c>(config: *const c_char) -> std::result::Result<&'c str, Failure> {
    Ok(CStr::from_ptr(config).to_str()?)
}

unsafe extern "C" fn on_shape<K: Kind>(
    user: *mut c_void,
    config: *const c_char,
    ranks: *const i32,
    dims: *const i64,
    n_src: i64,
    out_ranks: *mut i32,
    out_dims: *mut i64,
    n_out: i64,
) -> i32 {
    callback::answer(|| {
        let mut at = dims;
        let mut sources = Vec::new();
        for &rank in slice(ranks, n_src as usize) {
            sources.push(slice(at, rank as usize));
            at = at.add(rank as usize);
        }
        let n = n_out as usize;
        let shapes = (*(user as *const K)).shapes(text(config)?, &sources, n)?;
        if shapes.len() != n || shapes.iter().any(|s| s.len() > MAX_RANK) {
            return Err(format!("expected {} shapes of rank {} at most, got {:?}", n, MAX_RANK, shapes).into());
        }
        for (i, s) in shapes.iter().enumerate() {
            *out_ranks.add(i) = s.len() as i32;
            slice_mut(out_dims.add(i * MAX_RANK), s.len()).copy_from_slice(s);
        }
        Ok(0)
    })
}

// NULL is None: both types are a pointer that is never NULL.
unsafe fn given<'c, 'g>(list: *const *mut sys::dl4_tensor, n: i64) -> &'g [Option<Source<'c>>] {
    slice(list as *const Option<Source<'c>>, n as usize)
}

// A list of its own: what a kind does to it is not done to the library's.
unsafe fn targets<'c>(list: *const *mut sys::dl4_tensor, n: i64) -> Vec<Option<Target<'c>>> {
    slice(list as *const Option<Source<'c>>, n as usize).iter().map(|t| t.map(|s| Target(s.0, PhantomData))).collect()
}

unsafe extern "C" fn on_forward<K: Kind>(
    user: *mut c_void,
    config: *const c_char,
    src: *const *mut sys::dl4_tensor,
    n_src: i64,
    dst: *const *mut sys::dl4_tensor,
    n_dst: i64,
) -> i32 {
    callback::answer(|| {
        let src = slice(src as *const Source<'_>, n_src as usize);
        (*(user as *const K)).forward(text(config)?, src, &mut targets(dst, n_dst))?;
        Ok(0)
    })
}

unsafe extern "C" fn on_backward<K: Kind>(
    user: *mut c_void,
    config: *const c_char,
    src: *const *mut sys::dl4_tensor,
    n_src: i64,
    dst: *const *mut sys::dl4_tensor,
    diff_dst: *const *mut sys::dl4_tensor,
    n_dst: i64,
    diff_src: *const *mut sys::dl4_tensor,
) -> i32 {
    callback::answer(|| {
        let gradient = Gradient {
            src: slice(src as *const Source<'_>, n_src as usize),
            dst: given(dst, n_dst),
            diff_dst: given(diff_dst, n_dst),
            diff_src: &mut targets(diff_src, n_src),
        };
        (*(user as *const K)).backward(text(config)?, gradient)?;
        Ok(0)
    })
}
