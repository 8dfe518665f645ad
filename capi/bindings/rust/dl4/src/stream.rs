use std::ptr;

use crate::attrs::Attrs;
use crate::call::{bytes, made};
use crate::cancel::Cancel;
use crate::error::{check, Result};
use crate::handle::Handle;
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
}

// SAFETY: dl4.h, "Streams": threads: one at a time per stream.
unsafe impl Send for Stream {}

impl Stream {
    /// At the beginning of a sequence; the session is one with `states: true`. Options as of `dl4_stream_create`:
    /// `batch`.
    pub fn new(session: &Session, options: impl Into<Attrs>) -> Result<Stream> {
        let options = options.into().options()?;
        // SAFETY: live objects.
        let handle = made(|out| unsafe { sys::dl4_stream_create(session.as_ptr(), options.as_ptr(), out) })?;
        let outputs = handle.port_count(sys::DL4_OUTPUTS);
        Ok(Stream { handle, outputs })
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

    /// Where it stands.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: a live object.
        bytes(|out| unsafe { sys::dl4_stream_save_memory(self.as_ptr(), out) })
    }

    /// Goes on where another stream of the same model and batch stood.
    pub fn load_bytes(&mut self, stood: &[u8]) -> Result<()> {
        let (data, n) = (stood.as_ptr() as *const _, stood.len() as i64);
        // SAFETY: a live object, as many bytes as it is said.
        check(unsafe { sys::dl4_stream_load_memory(self.as_ptr(), data, n) })
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_stream {
        self.handle.as_ptr()
    }
}
