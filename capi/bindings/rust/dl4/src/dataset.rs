use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr;

use crate::attrs::Attrs;
use crate::call::{c_string, made, text, Format};
use crate::callback::{self, Failure};
use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::Result;
use crate::handle::Handle;
use crate::sys;
use crate::tensor::{slice_mut, Handles, Tensor};

/// Batches of inputs, targets and sample weights, to train, evaluate or predict on.
///
/// ```
/// use dl4::{attrs, Dataset, Tensor};
///
/// let images = Tensor::zeros::<f32>(&[100, 28, 28])?;
/// let labels = Tensor::zeros::<i32>(&[100])?;
/// let train = Dataset::new(&[&images], &[&labels], attrs! { batch_size: 16 })?;
/// # let _ = train;
/// # Ok::<(), dl4::Error>(())
/// ```
///
/// It reads the tensors where they lie, so they cannot be changed or go away before it:
///
/// ```compile_fail,E0505
/// # use dl4::{Dataset, Tensor};
/// let x = Tensor::zeros::<f32>(&[100, 4]).unwrap();
/// let data = Dataset::new(&[&x], &[], ()).unwrap();
/// drop(x);
/// data.as_ptr();
/// ```
///
/// nor what its closure uses, until the closure is dropped with it:
///
/// ```compile_fail,E0597
/// # use dl4::Dataset;
/// struct Last<'a>(&'a [f32]);
/// impl Drop for Last<'_> {
///     fn drop(&mut self) {
///         println!("{:?}", self.0);
///     }
/// }
/// let (data, values); // dropped in the other order
/// values = vec![1f32];
/// let last = Last(&values);
/// data = Dataset::from_fn(move |_| Ok(Some(last.0).filter(|v| v.is_empty()).map(|_| Default::default())), ());
/// ```
pub struct Dataset<'a> {
    handle: Handle<sys::dl4_dataset>,
    uses: PhantomData<&'a mut ()>,
}

// Says that the closure is dropped here: what it borrows is alive then.
impl Drop for Dataset<'_> {
    fn drop(&mut self) {}
}

// SAFETY: dl4.h, "Datasets": threads: one at a time. What it was made of is Send.
unsafe impl Send for Dataset<'_> {}

/// What a closure gives: one tensor for each input, one for each target, sample weights for as many targets as have
/// them.
#[derive(Debug, Default)]
pub struct Batch<'a> {
    pub x: Vec<Tensor<'a>>,
    pub y: Vec<Tensor<'a>>,
    pub w: Vec<Option<Tensor<'a>>>,
}

impl<'a> Batch<'a> {
    /// Of a model with one input and one target.
    pub fn new(x: Tensor<'a>, y: Tensor<'a>) -> Batch<'a> {
        Batch { x: vec![x], y: vec![y], w: Vec::new() }
    }
}

type Give<'a> = dyn FnMut(i64) -> std::result::Result<Option<Batch<'a>>, Failure> + Send + 'a;

// RefCell: a closure that uses its own dataset is refused, by the library and here.
struct Source<'a>(RefCell<Box<Give<'a>>>);

impl<'a> Dataset<'a> {
    /// Of whole tensors [B, ...] with the same B. Options as of `dl4_dataset_from_tensors`: `batch_size`, `shuffle`,
    /// `seed`, `drop_remainder`.
    pub fn new(x: &[&'a Tensor<'_>], y: &[&'a Tensor<'_>], options: impl Into<Attrs>) -> Result<Dataset<'a>> {
        Dataset::weighted(x, y, &[], options)
    }

    /// The same with sample weights, one tensor or `None` for each target.
    pub fn weighted(
        x: &[&'a Tensor<'_>],
        y: &[&'a Tensor<'_>],
        w: &[Option<&'a Tensor<'_>>],
        options: impl Into<Attrs>,
    ) -> Result<Dataset<'a>> {
        Dataset::of_handles(&Handles::of(x), &Handles::of(y), &Handles::optional(w), &options.into())
    }

    /// Of whole tensors that it keeps.
    pub fn owned(
        x: Vec<Tensor<'a>>,
        y: Vec<Tensor<'a>>,
        w: Vec<Option<Tensor<'a>>>,
        options: impl Into<Attrs>,
    ) -> Result<Dataset<'a>> {
        let handles = |list: &[Tensor<'a>]| Handles::new(list.iter().map(Tensor::as_ptr));
        let weights = Handles::new(w.iter().map(|t| t.as_ref().map_or(ptr::null_mut(), Tensor::as_ptr)));
        Dataset::of_handles(&handles(&x), &handles(&y), &weights, &options.into())
    }

    fn of_handles(x: &Handles, y: &Handles, w: &Handles, options: &Attrs) -> Result<Dataset<'a>> {
        let (options, c) = (options.options()?, Context::default().as_ptr());
        // SAFETY: live objects, lists as long as it is said.
        made(|out| unsafe {
            sys::dl4_dataset_from_tensors(
                c,
                x.as_ptr(),
                x.len(),
                y.as_ptr(),
                y.len(),
                w.as_ptr(),
                w.len(),
                options.as_ptr(),
                out,
            )
        })
        .map(|handle| Dataset { handle, uses: PhantomData })
    }

    /// Of batches that a closure gives: number `index`, counted from 0 in each epoch; `None` ends the epoch. Its error
    /// or panic comes out of the call that asked. Options as of `dl4_dataset_from_callback`: `steps`.
    pub fn from_fn(
        give: impl FnMut(i64) -> std::result::Result<Option<Batch<'a>>, Failure> + Send + 'a,
        options: impl Into<Attrs>,
    ) -> Result<Dataset<'a>> {
        unsafe extern "C" fn free(user: *mut c_void) {
            callback::quiet(|| drop(Box::from_raw(user as *mut Source<'_>)));
        }
        let options = options.into().options()?;
        let user = Box::into_raw(Box::new(Source(RefCell::new(Box::new(give)))));
        let c = Context::default().as_ptr();
        // SAFETY: the source lives until the library releases it; on failure it does not, and it is ours again.
        made(|out| unsafe {
            sys::dl4_dataset_from_callback(c, Some(ask), user as *mut c_void, Some(free), options.as_ptr(), out)
        })
        .map(|handle| Dataset { handle, uses: PhantomData })
        .map_err(|e| {
            drop(unsafe { Box::from_raw(user) });
            e
        })
    }

    /// Of the batches of an iterator, which `epoch` makes anew for each epoch.
    ///
    /// ```
    /// use dl4::{Batch, Dataset, Tensor};
    ///
    /// let rows: Vec<[f32; 2]> = vec![[0.0, 1.0], [1.0, 0.0]];
    /// let data = Dataset::from_iterators(
    ///     || rows.iter().map(|row| {
    ///         Ok(Batch::new(Tensor::copy_of(row, &[1, 2])?, Tensor::copy_of(&[row[0]], &[1, 1])?))
    ///     }),
    ///     (),
    /// )?;
    /// # let _ = data;
    /// # Ok::<(), dl4::Error>(())
    /// ```
    pub fn from_iterators<I>(mut epoch: impl FnMut() -> I + Send + 'a, options: impl Into<Attrs>) -> Result<Dataset<'a>>
    where
        I: Iterator<Item = std::result::Result<Batch<'a>, Failure>> + Send + 'a,
    {
        let mut at: Option<I> = None;
        let give = move |index| {
            if index == 0 {
                at = Some(epoch());
            }
            at.as_mut().and_then(Iterator::next).transpose()
        };
        Dataset::from_fn(give, options)
    }

    /// The attributes of a layer of that kind which has learned from the inputs, read once: a vocabulary, limits of bins,
    /// mean and variance. `config` has the attributes that are not learned.
    ///
    /// ```
    /// use dl4::{attrs, DType, Dataset, Graph, Session, Tensor};
    ///
    /// let texts = Tensor::from_strings(&["red", "blue", "red"], &[3, 1])?;
    /// let learned = Dataset::new(&[&texts], &[], ())?.adapt("StringLookup", (), None)?;
    /// let g = Graph::new()?;
    /// let x = g.input("x", DType::String, &[-1, 1])?;
    /// let model = g.build(x, g.add("StringLookup", learned, x)?)?;
    /// assert_eq!(Session::new(&model, ())?.run(&[&texts])?[0].data::<i64>()?, [1, 2, 1]);
    /// # Ok::<(), dl4::Error>(())
    /// ```
    pub fn adapt(&self, kind: &str, config: impl Into<Attrs>, cancel: Option<&Cancel>) -> Result<Attrs> {
        let (kind, config, c) = (c_string(kind, "kind")?, config.into().options()?, Context::default().as_ptr());
        let flag = Cancel::raw(cancel);
        // SAFETY: live objects or NULL, texts that end with a NUL.
        text(|out| unsafe { sys::dl4_adapt(c, kind.as_ptr(), config.as_ptr(), self.as_ptr(), flag, out) })
            .map(Attrs::json)
    }

    pub fn describe(&self, format: Format) -> Result<String> {
        self.handle.describe(format)
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_dataset {
        self.handle.as_ptr()
    }
}

unsafe extern "C" fn ask(
    user: *mut c_void,
    index: i64,
    x: *mut *mut sys::dl4_tensor,
    nx: i64,
    y: *mut *mut sys::dl4_tensor,
    ny: i64,
    w: *mut *mut sys::dl4_tensor,
    nw: i64,
) -> i32 {
    callback::answer(|| {
        let source = &*(user as *const Source<'_>);
        let mut give = source.0.try_borrow_mut().map_err(|_| "a dataset's closure used its own dataset")?;
        let batch = match give(index)? {
            Some(batch) => batch,
            None => return Ok(sys::DL4_STOP),
        };
        let parts = [("inputs", batch.x.len(), nx), ("targets", batch.y.len(), ny), ("weights", batch.w.len(), nw)];
        for (what, got, expected) in parts {
            if got > expected as usize {
                return Err(format!("batch {}: expected {} {}, got {}", index, expected, what, got).into());
            }
        }
        // What is not given stays NULL; the library says so where it needs it.
        fill(x, nx, batch.x.into_iter().map(Some));
        fill(y, ny, batch.y.into_iter().map(Some));
        fill(w, nw, batch.w.into_iter());
        Ok(sys::DL4_CONTINUE)
    })
}

unsafe fn fill<'a>(slots: *mut *mut sys::dl4_tensor, n: i64, list: impl Iterator<Item = Option<Tensor<'a>>>) {
    for (slot, t) in slice_mut(slots, n as usize).iter_mut().zip(list) {
        *slot = t.map_or(ptr::null_mut(), Tensor::into_raw);
    }
}
