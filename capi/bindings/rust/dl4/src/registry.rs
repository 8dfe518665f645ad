//! What the library has, and kinds of your own.

use std::ffi::CString;
use std::ptr;

use crate::attrs::Attrs;
use crate::call::{c_string, made, text};
use crate::context::Context;
use crate::error::{self, Result};
use crate::json::Value;
use crate::sys;
use crate::tensor::Tensor;

pub use crate::call::version;
pub use crate::kind::{add, remove, Category};

// What the library writes is JSON.
pub(crate) fn read(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|e| panic!("libdl4 gave what cannot be read: {}", e))
}

/// How the library was built and what it found.
pub fn build_info() -> Result<Value> {
    // SAFETY: a place for a pointer.
    text(|out| unsafe { sys::dl4_build_info(out) }).map(|t| read(&t))
}

/// `layer`, `activation`, `initializer`, `loss`, `metric`, `optimizer`, ...
pub fn categories() -> Result<Vec<String>> {
    Ok(keys(&describe(None, None)?).into_iter().filter(|key| key != "every_layer").collect())
}

/// The kinds of a category.
///
/// ```
/// assert!(dl4::registry::kinds("layer")?.iter().any(|kind| kind == "Dense"));
/// # Ok::<(), dl4::Error>(())
/// ```
pub fn kinds(category: &str) -> Result<Vec<String>> {
    let all = describe(Some(category), None)?;
    Ok(all.get(category).map_or(Vec::new(), keys))
}

fn keys(object: &Value) -> Vec<String> {
    match object {
        Value::Object(members) => members.iter().map(|(key, _)| key.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Kinds by category and name, with their attributes, inputs, outputs and weights: all, of one category, or one.
///
/// ```
/// let found = dl4::registry::describe(Some("layer"), Some("Dense"))?;
/// let dense = found.get("layer").unwrap().get("Dense").unwrap();
/// assert_eq!(dense.get("weights").unwrap().as_array().unwrap().len(), 4); // of these two with lora_rank alone
/// # Ok::<(), dl4::Error>(())
/// ```
pub fn describe(category: Option<&str>, name: Option<&str>) -> Result<Value> {
    let c_text = |t: Option<&str>, what| t.map(|t| c_string(t, what)).transpose();
    let (category, name) = (c_text(category, "category")?, c_text(name, "name")?);
    let pointer = |t: &Option<CString>| t.as_ref().map_or(ptr::null(), |t| t.as_ptr());
    // SAFETY: NULL or texts that end with a NUL.
    text(|out| unsafe { sys::dl4_registry_json(pointer(&category), pointer(&name), out) }).map(|t| read(&t))
}

/// Refuses the attributes of a kind that the library would refuse, and makes nothing of it.
///
/// ```
/// use dl4::{attrs, registry};
///
/// registry::check("optimizer", "Adam", attrs! { beta_1: 0.5 })?;
/// assert_eq!(registry::check("optimizer", "Adam", attrs! { beta_1: 2 }).unwrap_err().attribute(), Some("beta_1"));
/// # Ok::<(), dl4::Error>(())
/// ```
pub fn check(category: &str, name: &str, attrs: impl Into<Attrs>) -> Result<()> {
    let (category, name, config) = (c_string(category, "category")?, c_string(name, "name")?, attrs.into().options()?);
    // SAFETY: texts that end with a NUL.
    error::check(unsafe { sys::dl4_registry_check(category.as_ptr(), name.as_ptr(), config.as_ptr()) })
}

/// A loss or metric (`category`) of two tensors, without a model: what a trainer would report for them.
///
/// ```
/// use dl4::{attrs, Tensor};
///
/// let (y_true, y_pred) = (Tensor::copy_of(&[0f32, 1.0], &[2, 1])?, Tensor::copy_of(&[0.5f32, 0.5], &[2, 1])?);
/// let loss = dl4::measure("loss", "MeanSquaredError", (), &y_true, &y_pred, None)?;
/// assert_eq!(loss.data::<f32>()?, [0.25]);
/// # Ok::<(), dl4::Error>(())
/// ```
pub fn measure(
    category: &str,
    kind: &str,
    attrs: impl Into<Attrs>,
    y_true: &Tensor<'_>,
    y_pred: &Tensor<'_>,
    weights: Option<&Tensor<'_>>,
) -> Result<Tensor<'static>> {
    let (category, kind, attrs) = (c_string(category, "category")?, c_string(kind, "kind")?, attrs.into().options()?);
    let w = weights.map_or(ptr::null_mut(), |w| w.as_ptr());
    let (c, y, p) = (Context::default().as_ptr(), y_true.as_ptr(), y_pred.as_ptr());
    // SAFETY: live objects or NULL, texts that end with a NUL.
    made(|out| unsafe { sys::dl4_measure(c, category.as_ptr(), kind.as_ptr(), attrs.as_ptr(), y, p, w, out) })
        .map(Tensor::of)
}
