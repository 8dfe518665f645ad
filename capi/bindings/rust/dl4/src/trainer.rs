use std::cell::RefCell;
use std::os::raw::c_void;
use std::path::Path;
use std::ptr;

use crate::attrs::Attrs;
use crate::call::{bytes, c_path, c_string, made, text, Format};
use crate::callback::{self, Failure};
use crate::cancel::Cancel;
use crate::dataset::Dataset;
use crate::error::{check, Result};
use crate::handle::Handle;
use crate::json::Value;
use crate::model::Model;
use crate::registry;
use crate::sys;
use crate::tensor::{slice, slice_mut, Handles, Tensor};

/// A model being trained. The loss is the first metric everywhere.
///
/// ```
/// use dl4::{attrs, Attrs, DType, Dataset, Fit, Flow, Graph, Tensor, Trainer};
///
/// let g = Graph::new()?;
/// let x = g.input("x", DType::F32, &[-1, 2])?;
/// let y = g.add("Dense", attrs! { units: 1 }, x)?;
/// let model = g.build(x, y)?;
///
/// let x = Tensor::copy_of(&[0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], &[4, 2])?;
/// let y = Tensor::copy_of(&[0f32, 1.0, 2.0, 3.0], &[4, 1])?;
/// let data = Dataset::new(&[&x], &[&y], ())?;
/// let trainer = Trainer::new(&model, attrs! {
///     optimizer: Attrs::kind("SGD", attrs! { learning_rate: 0.1 }), loss: "mse"
/// })?;
/// let history = trainer.fit(&data, Fit::new(attrs! { epochs: 200 }).progress(|p| {
///     Ok(if p.metrics.first() < Some(&1e-4) { Flow::Stop } else { Flow::Continue })
/// }))?;
/// assert!(history.last("loss") < Some(0.05));
/// # Ok::<(), dl4::Error>(())
/// ```
///
/// It may go to another thread, but is used by one at a time:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<dl4::Trainer>();
/// ```
pub struct Trainer {
    handle: Handle<sys::dl4_trainer>,
    names: Vec<String>,
}

// SAFETY: dl4.h, "Training": threads: one at a time per trainer.
unsafe impl Send for Trainer {}

/// What a progress closure is told.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    pub event: Event,
    pub step: i64,
    /// `None` if it is not known.
    pub total: Option<i64>,
    /// At `BatchEnd` and `EpochEnd` the means over the epoch so far, in the order of [`Trainer::metric_names`]; at
    /// `EpochEnd` those of validation follow, if there was one.
    pub metrics: &'a [f64],
}

/// What `step` and `total` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// The first epoch, counted from 0; epochs.
    TrainBegin,
    /// The epoch, counted from 0; epochs.
    EpochBegin,
    /// Batches done in this epoch; batches of an epoch.
    BatchEnd,
    /// Epochs done; epochs.
    EpochEnd,
    /// Epochs done; epochs.
    TrainEnd,
}

/// What a progress closure answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    Continue,
    /// The fit ends and succeeds.
    Stop,
}

type Tell<'a> = dyn FnMut(Progress<'_>) -> std::result::Result<Flow, Failure> + 'a;

/// How [`Trainer::fit`] trains.
#[derive(Default)]
pub struct Fit<'a> {
    options: Attrs,
    validation: Option<&'a Dataset<'a>>,
    cancel: Option<&'a Cancel>,
    progress: Option<Box<Tell<'a>>>,
}

impl<'a> Fit<'a> {
    /// Options as of `dl4_trainer_fit`: `epochs`, `initial_epoch`, `validation_split`, `callbacks`, ...
    pub fn new(options: impl Into<Attrs>) -> Fit<'a> {
        Fit { options: options.into(), ..Fit::default() }
    }

    /// Measures after each epoch on these data.
    #[must_use]
    pub fn validation(mut self, data: &'a Dataset<'a>) -> Fit<'a> {
        self.validation = Some(data);
        self
    }

    #[must_use]
    pub fn cancel(mut self, cancel: &'a Cancel) -> Fit<'a> {
        self.cancel = Some(cancel);
        self
    }

    /// Is told of every batch and epoch, on this thread. Its error or panic ends the fit and comes out of it. Inside,
    /// [`Trainer::get`], [`set`](Trainer::set) and [`save`](Trainer::save) of the same trainer are allowed.
    #[must_use]
    pub fn progress(mut self, tell: impl FnMut(Progress<'_>) -> std::result::Result<Flow, Failure> + 'a) -> Fit<'a> {
        self.progress = Some(Box::new(tell));
        self
    }
}

/// Metrics by name, a number for each epoch; `val_` before those of validation.
#[derive(Clone, Debug, PartialEq)]
pub struct History(Vec<(String, Vec<f64>)>);

impl History {
    pub fn get(&self, name: &str) -> Option<&[f64]> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, values)| values.as_slice())
    }

    /// Of the last epoch.
    pub fn last(&self, name: &str) -> Option<f64> {
        self.get(name)?.last().copied()
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    fn read(text: &str) -> History {
        let found = registry::read(text);
        let numbers =
            |list: &Value| list.as_array().unwrap_or_default().iter().map(|v| v.as_f64().unwrap_or(f64::NAN)).collect();
        let members = found.as_object().unwrap_or_default();
        History(members.iter().map(|(name, list)| (name.clone(), numbers(list))).collect())
    }
}

/// What workers sum, in the library's memory.
#[derive(Debug)]
pub enum Sums<'a> {
    F32(&'a mut [f32]),
    I32(&'a mut [i32]),
}

type Reduce = dyn FnMut(Sums<'_>) -> std::result::Result<(), Failure> + Send;

type OnBatch = unsafe extern "C" fn(
    *mut sys::dl4_trainer,
    *const *mut sys::dl4_tensor,
    i64,
    *const *mut sys::dl4_tensor,
    i64,
    *const *mut sys::dl4_tensor,
    i64,
    *mut f64,
    i64,
    *mut i64,
) -> *mut sys::dl4_error;

impl Trainer {
    /// Options as of `dl4_trainer_create`: `optimizer`, `loss`, `metrics`, ... The model is kept alive.
    pub fn new(model: &Model, options: impl Into<Attrs>) -> Result<Trainer> {
        let options = options.into().options()?;
        // SAFETY: live objects.
        let handle = made(|out| unsafe { sys::dl4_trainer_create(model.as_ptr(), options.as_ptr(), out) })?;
        let names = handle.ports(sys::DL4_METRICS)?.into_iter().map(|port| port.name).collect();
        Ok(Trainer { handle, names })
    }

    /// The loss first.
    pub fn metric_names(&self) -> &[String] {
        &self.names
    }

    /// Trains on one batch and gives its metrics.
    pub fn step(&self, x: &[&Tensor<'_>], y: &[&Tensor<'_>], w: &[Option<&Tensor<'_>>]) -> Result<Vec<f64>> {
        self.on_batch(sys::dl4_trainer_step, x, y, w)
    }

    /// Adds the gradients of one batch to those kept, and changes no weight.
    pub fn accumulate(&self, x: &[&Tensor<'_>], y: &[&Tensor<'_>], w: &[Option<&Tensor<'_>>]) -> Result<Vec<f64>> {
        self.on_batch(sys::dl4_trainer_accumulate, x, y, w)
    }

    fn on_batch(
        &self,
        function: OnBatch,
        x: &[&Tensor<'_>],
        y: &[&Tensor<'_>],
        w: &[Option<&Tensor<'_>>],
    ) -> Result<Vec<f64>> {
        let (x, y, w, t) = (Handles::of(x), Handles::of(y), Handles::optional(w), self.as_ptr());
        // SAFETY: live objects, lists as long as it is said.
        self.metrics(|to, cap, n| unsafe {
            function(t, x.as_ptr(), x.len(), y.as_ptr(), y.len(), w.as_ptr(), w.len(), to, cap, n)
        })
    }

    fn metrics(&self, call: impl FnOnce(*mut f64, i64, *mut i64) -> *mut sys::dl4_error) -> Result<Vec<f64>> {
        let (mut values, mut n) = (vec![0.0; self.names.len()], 0);
        check(call(values.as_mut_ptr(), values.len() as i64, &mut n))?;
        values.truncate(n as usize);
        Ok(values)
    }

    /// Updates the weights by the mean of the gradients accumulated.
    pub fn apply(&self) -> Result<()> {
        // SAFETY: a live object.
        check(unsafe { sys::dl4_trainer_apply(self.as_ptr()) })
    }

    /// A copy of the mean gradient of a weight; "*" is one flat block of all.
    pub fn gradient(&self, weight: &str) -> Result<Tensor<'static>> {
        let weight = c_string(weight, "weight")?;
        // SAFETY: a live object, text that ends with a NUL.
        made(|out| unsafe { sys::dl4_trainer_get_gradient(self.as_ptr(), weight.as_ptr(), out) }).map(Tensor::of)
    }

    pub fn set_gradient(&self, weight: &str, value: &Tensor<'_>) -> Result<()> {
        let weight = c_string(weight, "weight")?;
        // SAFETY: live objects, text that ends with a NUL.
        check(unsafe { sys::dl4_trainer_set_gradient(self.as_ptr(), weight.as_ptr(), value.as_ptr()) })
    }

    pub fn add_gradient(&self, weight: &str, value: &Tensor<'_>) -> Result<()> {
        let weight = c_string(weight, "weight")?;
        // SAFETY: live objects, text that ends with a NUL.
        check(unsafe { sys::dl4_trainer_add_gradient(self.as_ptr(), weight.as_ptr(), value.as_ptr()) })
    }

    /// Forgets the gradients accumulated.
    pub fn zero_gradients(&self) -> Result<()> {
        // SAFETY: a live object.
        check(unsafe { sys::dl4_trainer_zero_gradients(self.as_ptr()) })
    }

    /// Trains for some epochs.
    pub fn fit(&self, train: &Dataset<'_>, how: Fit<'_>) -> Result<History> {
        let options = how.options.options()?;
        let validation = how.validation.map_or(ptr::null_mut(), Dataset::as_ptr);
        let progress = how.progress.map(RefCell::new);
        let (function, user): (sys::dl4_progress_fn, _) = match &progress {
            Some(tell) => (Some(on_progress), tell as *const RefCell<Box<Tell<'_>>> as *mut c_void),
            None => (None, ptr::null_mut()),
        };
        // SAFETY: live objects; the closure lives until the call returns.
        let history = text(|out| unsafe {
            sys::dl4_trainer_fit(
                self.as_ptr(),
                train.as_ptr(),
                validation,
                options.as_ptr(),
                function,
                user,
                Cancel::raw(how.cancel),
                out,
            )
        })?;
        Ok(History::read(&history))
    }

    /// Loss and metrics over a whole dataset, as in inference.
    pub fn evaluate(&self, data: &Dataset<'_>, cancel: Option<&Cancel>) -> Result<Vec<f64>> {
        let t = self.as_ptr();
        // SAFETY: live objects, room for cap.
        self.metrics(|to, cap, n| unsafe {
            sys::dl4_trainer_evaluate(t, data.as_ptr(), Cancel::raw(cancel), to, cap, n)
        })
    }

    /// `learning_rate`, `iterations`, `epoch` or `batch`.
    pub fn get(&self, key: &str) -> Result<f64> {
        let (key, mut out) = (c_string(key, "key")?, 0.0);
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_trainer_get_number(self.as_ptr(), key.as_ptr(), &mut out) })?;
        Ok(out)
    }

    /// `learning_rate`, `epoch` or `batch`.
    pub fn set(&self, key: &str, value: f64) -> Result<()> {
        let key = c_string(key, "key")?;
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_trainer_set_number(self.as_ptr(), key.as_ptr(), value) })
    }

    /// Trains with `size - 1` other workers from now on, as `dl4_trainer_set_workers` says: each makes this call, with its
    /// rank, then the same calls at the same time. The closure sums in place over all workers, to the same bits on each;
    /// its error or panic comes out of the call under way.
    pub fn set_workers(
        &self,
        rank: i64,
        size: i64,
        reduce: impl FnMut(Sums<'_>) -> std::result::Result<(), Failure> + Send + 'static,
    ) -> Result<()> {
        unsafe extern "C" fn free(user: *mut c_void) {
            callback::quiet(|| drop(Box::from_raw(user as *mut RefCell<Box<Reduce>>)));
        }
        let reduce = Box::new(RefCell::new(Box::new(reduce) as Box<Reduce>));
        let user = &*reduce as *const RefCell<Box<Reduce>> as *mut c_void;
        // SAFETY: the closure lives until the library releases it; where this fails it does not, and ends here.
        check(unsafe { sys::dl4_trainer_set_workers(self.as_ptr(), rank, size, Some(on_reduce), user, Some(free)) })?;
        let _ = Box::into_raw(reduce);
        Ok(())
    }

    /// Trains without other workers again.
    pub fn leave_workers(&self) -> Result<()> {
        // SAFETY: a live object.
        check(unsafe { sys::dl4_trainer_set_workers(self.as_ptr(), 0, 1, None, ptr::null_mut(), None) })
    }

    /// A checkpoint: model, optimizer, counters, random state, place in the epoch.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_trainer_save(self.as_ptr(), path.as_ptr()) })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: a live object.
        bytes(|out| unsafe { sys::dl4_trainer_save_bytes(self.as_ptr(), out) })
    }

    /// What follows is bit for bit what would have followed the save.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_trainer_load(self.as_ptr(), path.as_ptr()) })
    }

    pub fn load_bytes(&self, checkpoint: &[u8]) -> Result<()> {
        let (data, n) = (checkpoint.as_ptr() as *const c_void, checkpoint.len() as i64);
        // SAFETY: a live object, as many bytes as it is said.
        check(unsafe { sys::dl4_trainer_load_bytes(self.as_ptr(), data, n) })
    }

    pub fn describe(&self, format: Format) -> Result<String> {
        self.handle.describe(format)
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_trainer {
        self.handle.as_ptr()
    }
}

unsafe extern "C" fn on_reduce(user: *mut c_void, values: *mut c_void, n: i64, dtype: i32) -> i32 {
    callback::answer(|| {
        let sums = match dtype {
            sys::DL4_FLOAT32 => Sums::F32(slice_mut(values as *mut f32, n as usize)),
            _ => Sums::I32(slice_mut(values as *mut i32, n as usize)),
        };
        ((*(user as *const RefCell<Box<Reduce>>)).borrow_mut())(sums)?;
        Ok(sys::DL4_CONTINUE)
    })
}

unsafe extern "C" fn on_progress(
    user: *mut c_void,
    event: i32,
    step: i64,
    total: i64,
    metrics: *const f64,
    n: i64,
) -> i32 {
    callback::answer(|| {
        let event = match event {
            sys::DL4_TRAIN_BEGIN => Event::TrainBegin,
            sys::DL4_EPOCH_BEGIN => Event::EpochBegin,
            sys::DL4_BATCH_END => Event::BatchEnd,
            sys::DL4_EPOCH_END => Event::EpochEnd,
            sys::DL4_TRAIN_END => Event::TrainEnd,
            _ => return Ok(sys::DL4_CONTINUE), // of a newer library
        };
        let total = Some(total).filter(|&t| t >= 0);
        let progress = Progress { event, step, total, metrics: slice(metrics, n as usize) };
        let tell = &*(user as *const RefCell<Box<Tell<'_>>>);
        Ok(match (tell.borrow_mut())(progress)? {
            Flow::Continue => sys::DL4_CONTINUE,
            Flow::Stop => sys::DL4_STOP,
        })
    })
}
