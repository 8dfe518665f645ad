use std::ptr;

use crate::attrs::Attrs;
use crate::call::{made, shape, Format};
use crate::cancel::Cancel;
use crate::dataset::Dataset;
use crate::error::{check, Result};
use crate::handle::Handle;
use crate::model::Model;
use crate::port::Port;
use crate::sys;
use crate::tensor::{new_tensors, Handles, Tensor};

/// A model made ready to run, with the weights it had at that moment. Immutable: any number of threads may run it at
/// once; clones are the same session.
///
/// ```
/// use dl4::{attrs, DType, Graph, Session, Tensor};
///
/// let g = Graph::new()?;
/// let x = g.input("x", DType::F32, &[-1, 4])?;
/// let y = g.add("Dense", attrs! { units: 3, activation: "softmax" }, x)?;
/// let session = Session::new(&g.build(x, y)?, ())?;
///
/// let numbers = [0.5f32, 0.25, 0.0, 1.0];
/// let row = Tensor::view(&numbers, &[1, 4])?;
/// let new = session.run(&[&row])?;
///
/// let mut mine = [0f32; 3]; // written in place
/// session.run_into(&[&row], &mut [&mut Tensor::over(&mut mine, &[1, 3])?], None)?;
/// assert_eq!(new[0].data::<f32>()?, mine);
/// # Ok::<(), dl4::Error>(())
/// ```
#[derive(Clone)]
pub struct Session {
    handle: Handle<sys::dl4_session>,
    outputs: usize,
}

// SAFETY: dl4.h, "Sessions": threads: any, at once.
unsafe impl Send for Session {}
unsafe impl Sync for Session {}

impl Session {
    /// Options as of `dl4_session_create`: `training`, `gradients`, `cotangents`, `states`, `profile`, `weights`.
    pub fn new(model: &Model, options: impl Into<Attrs>) -> Result<Session> {
        let options = options.into().options()?;
        // SAFETY: live objects.
        let handle = made(|out| unsafe { sys::dl4_session_create(model.as_ptr(), options.as_ptr(), out) })?;
        let outputs = handle.port_count(sys::DL4_OUTPUTS);
        Ok(Session { handle, outputs })
    }

    pub fn inputs(&self) -> Result<Vec<Port>> {
        self.handle.ports(sys::DL4_INPUTS)
    }

    /// Those of gradients included.
    pub fn outputs(&self) -> Result<Vec<Port>> {
        self.handle.ports(sys::DL4_OUTPUTS)
    }

    /// The shape of an output for inputs of these shapes; nothing is run.
    pub fn output_shape(&self, inputs: &[&[i64]], output: usize) -> Result<Vec<i64>> {
        let ranks: Vec<i32> = inputs.iter().map(|dims| dims.len() as i32).collect();
        let all = inputs.concat();
        let (s, n, i) = (self.as_ptr(), ranks.len() as i64, output as i64);
        // SAFETY: a live object, lists as long as it is said.
        shape(|dims, cap, rank| unsafe {
            sys::dl4_session_output_shape(s, ranks.as_ptr(), all.as_ptr(), n, i, dims, cap, rank)
        })
    }

    /// New tensors, in the order of the outputs.
    pub fn run(&self, inputs: &[&Tensor<'_>]) -> Result<Vec<Tensor<'static>>> {
        let (s, from) = (self.as_ptr(), Handles::of(inputs));
        // SAFETY: live objects, lists as long as it is said.
        new_tensors(self.outputs, |out, n| unsafe {
            sys::dl4_session_run(s, from.as_ptr(), from.len(), out, n, ptr::null_mut())
        })
    }

    /// Into tensors of yours, which must have the right shapes and types; on failure they may be half written.
    #[inline]
    pub fn run_into(
        &self,
        inputs: &[&Tensor<'_>],
        outputs: &mut [&mut Tensor<'_>],
        cancel: Option<&Cancel>,
    ) -> Result<()> {
        let from = Handles::of(inputs);
        let mut to = Handles::new(outputs.iter().map(|t| t.as_ptr()));
        // SAFETY: live objects, lists as long as it is said; what is written is borrowed as &mut.
        check(unsafe {
            sys::dl4_session_run(
                self.as_ptr(),
                from.as_ptr(),
                from.len(),
                to.as_mut_ptr(),
                to.len(),
                Cancel::raw(cancel),
            )
        })
    }

    /// Runs over a whole dataset, in order, and joins the outputs along their first axis.
    pub fn predict(&self, data: &Dataset<'_>, cancel: Option<&Cancel>) -> Result<Vec<Tensor<'static>>> {
        let s = self.as_ptr();
        // SAFETY: live objects, a list as long as it is said.
        new_tensors(self.outputs, |out, n| unsafe {
            sys::dl4_session_predict(s, data.as_ptr(), Cancel::raw(cancel), out, n)
        })
    }

    /// The Program and the Plan, with times where the session was made with `profile`.
    pub fn describe(&self, format: Format) -> Result<String> {
        self.handle.describe(format)
    }

    /// For calls of [`sys`](crate::sys).
    #[inline]
    pub fn as_ptr(&self) -> *mut sys::dl4_session {
        self.handle.as_ptr()
    }
}
