use std::os::raw::c_void;
use std::ptr;

use crate::attrs::Attrs;
use crate::call::{bytes, made};
use crate::callback::{self, Failure};
use crate::cancel::Cancel;
use crate::error::{check, Code, Error, Result};
use crate::handle::Handle;
use crate::json;
use crate::kind::Target;
use crate::session::Session;
use crate::sys;
use crate::tensor::{new_tensors, Handles, Tensor};

/// A sequence that goes on: what recurrent layers carry from step to step is kept here.
///
/// ```
/// use dl4::{attrs, DType, Graph, Session, Stream, Tensor};
///
/// let g = Graph::new()?;
/// let x = g.input("x", DType::F32, &[-1, -1, 3])?; // [B, T, F]
/// let y = g.add("LSTM", attrs! { units: 2, return_sequences: true }, x)?;
/// let session = Session::new(&g.build(x, y)?, attrs! { states: true })?;
///
/// let steps = [0.1f32, 0.2, 0.3, 0.4, 0.5, 0.6];
/// let mut stream = Stream::new(&session, ())?;
/// let both = stream.run(&[&Tensor::copy_of(&steps, &[1, 2, 3])?])?;
/// stream.reset()?;
/// stream.run(&[&Tensor::copy_of(&steps[..3], &[1, 1, 3])?])?;
/// let second = stream.run(&[&Tensor::copy_of(&steps[3..], &[1, 1, 3])?])?;
/// assert_eq!(second[0].data::<f32>()?, &both[0].data::<f32>()?[2..]);
/// # Ok::<(), dl4::Error>(())
/// ```
pub struct Stream {
    handle: Handle<sys::dl4_stream>,
    outputs: usize,
    batch: usize,
}

type Mask<'m> = &'m mut dyn FnMut(&mut Target<'_>) -> std::result::Result<(), Failure>;

// SAFETY: dl4.h, "Streams": threads: one at a time per stream.
unsafe impl Send for Stream {}

impl Stream {
    /// At the beginning of a sequence; the session is one with `states: true`. Options as of `dl4_stream_create`:
    /// `batch`, `seed`.
    pub fn new(session: &Session, options: impl Into<Attrs>) -> Result<Stream> {
        let options = options.into().options()?;
        // SAFETY: live objects.
        let handle = made(|out| unsafe { sys::dl4_stream_create(session.as_ptr(), options.as_ptr(), out) })?;
        let outputs = handle.port_count(sys::DL4_OUTPUTS);
        let text = options.to_string_lossy();
        let given = json::Value::parse(&text).ok().and_then(|all| all.get("batch").and_then(json::Value::as_f64));
        Ok(Stream { handle, outputs, batch: given.map_or(1, |b| b as usize) })
    }

    /// A second stream that goes on from here. Options as of `dl4_stream_fork`: `seed`.
    pub fn fork(&self, options: impl Into<Attrs>) -> Result<Stream> {
        let options = options.into().options()?;
        // SAFETY: live objects.
        let handle = made(|out| unsafe { sys::dl4_stream_fork(self.as_ptr(), options.as_ptr(), out) })?;
        Ok(Stream { handle, outputs: self.outputs, batch: self.batch })
    }

    /// The next steps of many streams of one session, faster than a call for each: row i of the inputs and outputs is
    /// that of `streams[i]`, which takes `steps[i]` of the steps.
    pub fn run_many(
        streams: &mut [&mut Stream],
        steps: Option<&[i64]>,
        inputs: &[&Tensor<'_>],
    ) -> Result<Vec<Tensor<'static>>> {
        if let Some(given) = steps.filter(|s| s.len() != streams.len()) {
            let (expected, got) = (format!("{} numbers", streams.len()), given.len().to_string());
            return Err(Error::refused(Code::InvalidArgument, "steps", &expected, got));
        }
        let all: Vec<_> = streams.iter().map(|s| s.as_ptr()).collect();
        let (n, from) = (all.len() as i64, Handles::of(inputs));
        let counts = steps.map_or(ptr::null(), |s| s.as_ptr());
        // SAFETY: live objects, lists as long as it is said.
        new_tensors(streams.first().map_or(0, |s| s.outputs), |out, m| unsafe {
            let (list, null) = (all.as_ptr(), ptr::null_mut());
            sys::dl4_stream_run_many(list as *const _, n, counts, from.as_ptr(), from.len(), out, m, null)
        })
    }

    /// The next steps, and the id that follows in each sequence, drawn from the model's logits. Options as of
    /// `dl4_stream_next`: `temperature`, `top_k`, `top_p`, `stop`, `from_logits`. The mask may change the logits of V
    /// ids: one of -infinity is not drawn.
    pub fn next(
        &mut self,
        inputs: &[&Tensor<'_>],
        options: impl Into<Attrs>,
        mut mask: Option<Mask<'_>>,
    ) -> Result<Vec<i64>> {
        let (options, from) = (options.into().options()?, Handles::of(inputs));
        let mut ids = vec![0; self.batch];
        let function: sys::dl4_logits_fn = if mask.is_some() { Some(on_logits) } else { None };
        // SAFETY: live objects, lists as long as it is said; the mask lives as long as the call.
        check(unsafe {
            sys::dl4_stream_next(
                self.as_ptr(),
                from.as_ptr(),
                from.len(),
                options.as_ptr(),
                function,
                &mut mask as *mut Option<Mask<'_>> as *mut c_void,
                ids.as_mut_ptr(),
                ids.len() as i64,
                ptr::null_mut(),
            )
        })?;
        Ok(ids)
    }

    /// The next steps, at least one: new tensors, in the order of the model's outputs. On failure the stream is where
    /// it was.
    pub fn run(&mut self, inputs: &[&Tensor<'_>]) -> Result<Vec<Tensor<'static>>> {
        let (s, from) = (self.as_ptr(), Handles::of(inputs));
        // SAFETY: live objects, lists as long as it is said.
        new_tensors(self.outputs, |out, n| unsafe {
            sys::dl4_stream_run(s, from.as_ptr(), from.len(), out, n, ptr::null_mut())
        })
    }

    /// The same into tensors of yours.
    pub fn run_into(
        &mut self,
        inputs: &[&Tensor<'_>],
        outputs: &mut [&mut Tensor<'_>],
        cancel: Option<&Cancel>,
    ) -> Result<()> {
        let (s, from) = (self.as_ptr(), Handles::of(inputs));
        let mut to = Handles::new(outputs.iter().map(|t| t.as_ptr()));
        // SAFETY: live objects, lists as long as it is said; what is written is borrowed as &mut.
        check(unsafe {
            sys::dl4_stream_run(s, from.as_ptr(), from.len(), to.as_mut_ptr(), to.len(), Cancel::raw(cancel))
        })
    }

    /// Back to the beginning of a sequence.
    pub fn reset(&mut self) -> Result<()> {
        // SAFETY: a live object.
        check(unsafe { sys::dl4_stream_reset(self.as_ptr()) })
    }

    /// The same of one of its sequences.
    pub fn reset_row(&mut self, row: i64) -> Result<()> {
        // SAFETY: a live object.
        check(unsafe { sys::dl4_stream_reset_row(self.as_ptr(), row) })
    }

    /// Where it stands.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: a live object.
        bytes(|out| unsafe { sys::dl4_stream_save_bytes(self.as_ptr(), out) })
    }

    /// Goes on where another stream of the same model and batch stood.
    pub fn load_bytes(&mut self, stood: &[u8]) -> Result<()> {
        let (data, n) = (stood.as_ptr() as *const _, stood.len() as i64);
        // SAFETY: a live object, as many bytes as it is said.
        check(unsafe { sys::dl4_stream_load_bytes(self.as_ptr(), data, n) })
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_stream {
        self.handle.as_ptr()
    }
}

unsafe extern "C" fn on_logits(user: *mut c_void, logits: *mut sys::dl4_tensor) -> i32 {
    callback::answer(|| {
        if let Some(mask) = &mut *(user as *mut Option<Mask<'_>>) {
            mask(&mut Target::over(logits).ok_or("no logits")?)?;
        }
        Ok(0)
    })
}
