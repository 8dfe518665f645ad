use std::path::Path;

use crate::attrs::{self, Attrs, SharedModel};
use crate::call::{bytes, c_path, c_string, made, text, Format};
use crate::context::Context;
use crate::error::{check, Result};
use crate::handle::Handle;
use crate::json::Value;
use crate::port::Port;
use crate::sys;
use crate::tensor::{DType, Handles, Tensor};

/// An architecture and its weights. A file is one safetensors file.
///
/// ```
/// use dl4::{attrs, DType, Graph, Model};
///
/// let g = Graph::new()?;
/// let x = g.input("x", DType::F32, &[-1, 4])?;
/// let y = g.add("Dense", attrs! { units: 3 }, x)?;
/// let model = g.build(x, y)?;
/// let again = Model::from_bytes(&model.to_bytes()?, ())?;
/// let kernel = &again.weights()?[0];
/// assert_eq!((kernel.name.as_str(), kernel.shape.as_slice()), ("dense/kernel", &[4, 3][..]));
/// # Ok::<(), dl4::Error>(())
/// ```
pub struct Model(pub(crate) Handle<sys::dl4_model>);

// SAFETY: dl4.h, "Models": readers at once; what writes takes &mut, or is refused as busy by the library.
unsafe impl Send for Model {}
unsafe impl Sync for Model {}

/// A weight of a model, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// `layer/weight`
    pub name: String,
    pub shape: Vec<i64>,
    pub dtype: DType,
    /// Do gradients change it in training?
    pub trainable: bool,
}

impl Model {
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        Model::load_in(&Context::default(), path, ())
    }

    /// Options as of `dl4_model_load`: `verify`, `external_data`.
    pub fn load_in(context: &Context, path: impl AsRef<Path>, options: impl Into<Attrs>) -> Result<Model> {
        let (path, options) = (c_path(path.as_ref())?, options.into().options()?);
        // SAFETY: live objects or NULL, text that ends with a NUL.
        made(|out| unsafe { sys::dl4_model_load(context.as_ptr(), path.as_ptr(), options.as_ptr(), out) }).map(Model)
    }

    /// Of the bytes of a file.
    pub fn from_bytes(file: &[u8], options: impl Into<Attrs>) -> Result<Model> {
        Model::from_bytes_in(&Context::default(), file, options)
    }

    pub fn from_bytes_in(context: &Context, file: &[u8], options: impl Into<Attrs>) -> Result<Model> {
        let (options, file) = (options.into().options()?, Tensor::copy_of(file, &[file.len() as i64])?);
        // SAFETY: live objects or NULL.
        made(|out| unsafe { sys::dl4_model_load_bytes(context.as_ptr(), file.as_ptr(), options.as_ptr(), out) })
            .map(Model)
    }

    /// Atomically: the file is at any instant the complete old or the complete new one.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_model_save(self.as_ptr(), path.as_ptr(), std::ptr::null()) })
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // SAFETY: a live object.
        bytes(|out| unsafe { sys::dl4_model_save_bytes(self.as_ptr(), std::ptr::null(), out) })
    }

    /// A copy with weights of its own.
    pub fn try_clone(&self) -> Result<Model> {
        // SAFETY: a live object.
        made(|out| unsafe { sys::dl4_model_clone(self.as_ptr(), out) }).map(Model)
    }

    pub fn inputs(&self) -> Result<Vec<Port>> {
        self.0.ports(sys::DL4_INPUTS)
    }

    pub fn outputs(&self) -> Result<Vec<Port>> {
        self.0.ports(sys::DL4_OUTPUTS)
    }

    /// In the order of Keras's `model.weights`.
    pub fn weights(&self) -> Result<Vec<Weight>> {
        let weight = |port: Port| {
            let (name, mut trainable) = (c_string(port.name.as_str(), "name")?, 0);
            // SAFETY: a live object, text that ends with a NUL.
            check(unsafe { sys::dl4_model_get_trainable(self.as_ptr(), name.as_ptr(), &mut trainable) })?;
            Ok(Weight { name: port.name, shape: port.shape, dtype: port.dtype, trainable: trainable != 0 })
        };
        self.0.ports(sys::DL4_WEIGHTS)?.into_iter().map(weight).collect()
    }

    /// A copy of a weight; "*" is one flat block of all trainable ones.
    pub fn weight(&self, name: &str) -> Result<Tensor<'static>> {
        let name = c_string(name, "name")?;
        // SAFETY: a live object, text that ends with a NUL.
        made(|out| unsafe { sys::dl4_model_get_weight(self.as_ptr(), name.as_ptr(), out) }).map(Tensor::of)
    }

    /// Sets a weight to a copy; "*" sets all trainable ones from one flat block. Sessions keep what they have.
    pub fn set_weight(&mut self, name: &str, value: &Tensor<'_>) -> Result<()> {
        let name = c_string(name, "name")?;
        // SAFETY: live objects, text that ends with a NUL.
        check(unsafe { sys::dl4_model_set_weight(self.as_ptr(), name.as_ptr(), value.as_ptr()) })
    }

    /// Whether training changes a layer's weights, one weight, or with "*" all.
    pub fn set_trainable(&mut self, name: &str, trainable: bool) -> Result<()> {
        let name = c_string(name, "name")?;
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_model_set_trainable(self.as_ptr(), name.as_ptr(), trainable.into()) })
    }

    /// Compares gradients with differences of the outputs: a check of layers of your own. What is in the object that it
    /// gives stands at `dl4_model_check_gradients` in `dl4.h`.
    pub fn check_gradients(&self, inputs: &[&Tensor<'_>], options: impl Into<Attrs>) -> Result<Value> {
        let (options, list) = (options.into().options()?, Handles::of(inputs));
        // SAFETY: live objects, a list as long as it is said.
        let found = text(|out| unsafe {
            sys::dl4_model_check_gradients(self.as_ptr(), list.as_ptr(), list.len(), options.as_ptr(), out)
        })?;
        Ok(crate::registry::read(&found))
    }

    /// A summary in Keras's style, the architecture as JSON, or a drawing.
    pub fn describe(&self, format: Format) -> Result<String> {
        self.0.describe(format)
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_model {
        self.0.as_ptr()
    }
}

impl From<&Model> for attrs::Value {
    fn from(model: &Model) -> attrs::Value {
        attrs::Value::Model(SharedModel(model.0.clone()))
    }
}
