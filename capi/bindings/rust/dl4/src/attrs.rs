use std::ffi::CString;
use std::fmt;

use crate::error::{check, Code, Error, Result};
use crate::graph::Node;
use crate::handle::{c_string, made, Handle};
use crate::json;
use crate::model::Model;
use crate::sys;

/// Attributes of a layer, options of a call, call arguments: named values, which the library checks where they are
/// used.
///
/// ```
/// use dl4::{attrs, Attrs};
///
/// let dense = attrs! { units: 8, activation: "relu", name: "hidden" };
/// let conv = Attrs::new().set("filters", 16).set("kernel_size", [3, 3]);
/// let adam = attrs! { optimizer: Attrs::kind("Adam", attrs! { learning_rate: 0.01 }), loss: "mse" };
/// let from_keras = Attrs::json(r#"{"units": 8, "kernel_initializer": {"class_name": "Zeros", "config": {}}}"#);
/// # let _ = (dense, conv, adam, from_keras);
/// ```
///
/// Where a call takes attributes, `()` stands for none.
#[derive(Clone, Debug, Default)]
pub struct Attrs(Vec<Item>);

#[derive(Clone, Debug)]
enum Item {
    One(String, Value),
    Json(String),
}

/// The value of an attribute; made of numbers, texts, arrays of them, [`Attrs`], [`Node`]s, [`Model`]s, `None` (null).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Strs(Vec<String>),
    Attrs(Attrs),
    /// Plain values of any kind.
    List(Vec<Value>),
    /// Symbolic values, `None` for one that is not given.
    Nodes(Vec<Option<Node>>),
    Model(SharedModel),
    Json(json::Value),
}

/// A model among attributes: a layer that shares its weights.
#[derive(Clone)]
pub struct SharedModel(Handle<sys::dl4_model>);

// SAFETY: the library reads it, which dl4.h allows from any thread ("Models": readers at once).
unsafe impl Send for SharedModel {}
unsafe impl Sync for SharedModel {}

impl fmt::Debug for SharedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedModel")
    }
}

/// [`Attrs`] from keys and values: `attrs! { units: 8, activation: "relu" }`.
#[macro_export]
macro_rules! attrs {
    ($($key:ident : $value:expr),* $(,)?) => {
        $crate::Attrs::new()$(.set(stringify!($key), $value))*
    };
}

impl Attrs {
    pub fn new() -> Attrs {
        Attrs::default()
    }

    /// With another value; setting a key again replaces its value.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl Into<Value>) -> Attrs {
        self.0.push(Item::One(key.into(), value.into()));
        self
    }

    /// Of a JSON object; a Keras layer's config is valid text here. It is read where the attributes are used.
    pub fn json(text: impl Into<String>) -> Attrs {
        Attrs::new().merge_json(text)
    }

    /// With every key of a JSON object.
    #[must_use]
    pub fn merge_json(mut self, text: impl Into<String>) -> Attrs {
        self.0.push(Item::Json(text.into()));
        self
    }

    /// A kind with settings, as the value of an attribute: an optimizer, an initializer, a loss.
    pub fn kind(class_name: &str, config: impl Into<Attrs>) -> Attrs {
        Attrs::new().set("class_name", class_name).set("config", config.into())
    }

    pub(crate) fn bag(&self) -> Result<Handle<sys::dl4_attrs>> {
        // SAFETY: out is a place for a pointer.
        let bag = made(|out| unsafe { sys::dl4_attrs_create(out) })?;
        for item in &self.0 {
            match item {
                Item::One(key, value) => value.put(&bag, key)?,
                Item::Json(text) => merge(&bag, text)?,
            }
        }
        Ok(bag)
    }

    fn plain(&self) -> Result<json::Value> {
        let mut members: Vec<(String, json::Value)> = Vec::new();
        for item in &self.0 {
            let new = match item {
                Item::One(key, value) => vec![(key.clone(), value.plain(key)?)],
                Item::Json(text) => match json::Value::parse(text) {
                    Ok(json::Value::Object(new)) => new,
                    Ok(_) => return Err(not_plain("json", "a JSON object", "another value")),
                    Err(why) => return Err(not_plain("json", "a JSON object", &why)),
                },
            };
            members.retain(|(key, _)| new.iter().all(|(other, _)| key != other));
            members.extend(new);
        }
        Ok(json::Value::Object(members))
    }
}

fn not_plain(key: &str, expected: &str, got: &str) -> Error {
    Error::refused(Code::InvalidArgument, key, expected, got)
}

fn merge(bag: &Handle<sys::dl4_attrs>, text: &str) -> Result<()> {
    let text = c_string(text, "json")?;
    // SAFETY: a live bag, text that ends with a NUL.
    check(unsafe { sys::dl4_attrs_merge_json(bag.as_ptr(), text.as_ptr()) })
}

impl Value {
    fn put(&self, bag: &Handle<sys::dl4_attrs>, key: &str) -> Result<()> {
        let (a, name) = (bag.as_ptr(), c_string(key, "key")?);
        let key_ptr = name.as_ptr();
        // SAFETY: a live bag, texts that end with a NUL, lists as long as it is said.
        check(unsafe {
            match self {
                Value::Bool(v) => sys::dl4_attrs_set_bool(a, key_ptr, i32::from(*v)),
                Value::Int(v) => sys::dl4_attrs_set_i64(a, key_ptr, *v),
                Value::Float(v) => sys::dl4_attrs_set_f64(a, key_ptr, *v),
                Value::Str(v) => {
                    let v = c_string(v.as_str(), key)?;
                    sys::dl4_attrs_set_str(a, key_ptr, v.as_ptr())
                }
                Value::Ints(v) => sys::dl4_attrs_set_i64s(a, key_ptr, v.as_ptr(), v.len() as i64),
                Value::Floats(v) => sys::dl4_attrs_set_f64s(a, key_ptr, v.as_ptr(), v.len() as i64),
                Value::Strs(v) => {
                    let texts = v.iter().map(|s| c_string(s.as_str(), key)).collect::<Result<Vec<CString>>>()?;
                    let list: Vec<_> = texts.iter().map(|s| s.as_ptr()).collect();
                    sys::dl4_attrs_set_strs(a, key_ptr, list.as_ptr(), list.len() as i64)
                }
                Value::Attrs(v) => {
                    let inner = v.bag()?;
                    sys::dl4_attrs_set_attrs(a, key_ptr, inner.as_ptr())
                }
                Value::Nodes(v) => {
                    let list: Vec<i32> = v.iter().map(|n| n.map_or(-1, |n| n.0)).collect();
                    sys::dl4_attrs_set_nodes(a, key_ptr, list.as_ptr(), list.len() as i64)
                }
                Value::Model(v) => sys::dl4_attrs_set_model(a, key_ptr, v.0.as_ptr()),
                Value::Null | Value::List(_) | Value::Json(_) => {
                    let one = json::Value::Object(vec![(key.into(), self.plain(key)?)]);
                    return merge(bag, &one.to_string());
                }
            }
        })
    }

    fn plain(&self, key: &str) -> Result<json::Value> {
        use json::Value as Json;
        Ok(match self {
            Value::Null => Json::Null,
            Value::Bool(v) => Json::Bool(*v),
            Value::Int(v) if v.unsigned_abs() <= 1 << 53 => Json::Number(*v as f64),
            Value::Int(v) => return Err(not_plain(key, "at most 2^53 in a list", &v.to_string())),
            Value::Float(v) if v.is_finite() => Json::Number(*v),
            Value::Float(v) => return Err(not_plain(key, "a finite number in a list", &v.to_string())),
            Value::Str(v) => Json::String(v.clone()),
            Value::Ints(v) => Json::Array(v.iter().map(|v| Value::Int(*v).plain(key)).collect::<Result<Vec<_>>>()?),
            Value::Floats(v) => Json::Array(v.iter().map(|v| Value::Float(*v).plain(key)).collect::<Result<Vec<_>>>()?),
            Value::Strs(v) => Json::Array(v.iter().map(|v| Json::String(v.clone())).collect()),
            Value::Attrs(v) => v.plain()?,
            Value::List(v) => Json::Array(v.iter().map(|v| v.plain(key)).collect::<Result<Vec<_>>>()?),
            Value::Json(v) => v.clone(),
            Value::Nodes(_) => return Err(not_plain(key, "plain values in a list", "a symbolic value")),
            Value::Model(_) => return Err(not_plain(key, "plain values in a list", "a model")),
        })
    }
}

impl From<()> for Attrs {
    fn from(_: ()) -> Attrs {
        Attrs::new()
    }
}

impl From<&Attrs> for Attrs {
    fn from(a: &Attrs) -> Attrs {
        a.clone()
    }
}

macro_rules! values {
    ($($from:ty, $v:ident => $to:expr;)*) => {
        $(impl From<$from> for Value {
            fn from($v: $from) -> Value {
                $to
            }
        })*
    };
}

values! {
    bool, v => Value::Bool(v);
    i32, v => Value::Int(v.into());
    i64, v => Value::Int(v);
    u32, v => Value::Int(v.into());
    usize, v => Value::Int(v as i64);
    f32, v => Value::Float(v.into());
    f64, v => Value::Float(v);
    &str, v => Value::Str(v.into());
    String, v => Value::Str(v);
    &[i64], v => Value::Ints(v.into());
    Vec<i64>, v => Value::Ints(v);
    &[f64], v => Value::Floats(v.into());
    Vec<f64>, v => Value::Floats(v);
    Vec<String>, v => Value::Strs(v);
    Vec<&str>, v => Value::Strs(v.into_iter().map(String::from).collect());
    Vec<Value>, v => Value::List(v);
    Vec<Attrs>, v => Value::List(v.into_iter().map(Value::Attrs).collect());
    Attrs, v => Value::Attrs(v);
    Node, v => Value::Nodes(vec![Some(v)]);
    Vec<Node>, v => Value::Nodes(v.into_iter().map(Some).collect());
    Vec<Option<Node>>, v => Value::Nodes(v);
    &Model, v => Value::Model(SharedModel(v.0.clone()));
    json::Value, v => Value::Json(v);
}

macro_rules! arrays {
    ($($of:ty, $v:ident => $to:expr;)*) => {
        $(impl<const N: usize> From<[$of; N]> for Value {
            fn from($v: [$of; N]) -> Value {
                $to
            }
        })*
    };
}

arrays! {
    i32, v => Value::Ints(v.iter().map(|&v| v.into()).collect());
    i64, v => Value::Ints(v.into());
    f64, v => Value::Floats(v.into());
    &str, v => Value::Strs(v.iter().map(|&v| v.into()).collect());
    Value, v => Value::List(v.into());
    Attrs, v => Value::List(v.into_iter().map(Value::Attrs).collect());
    Node, v => Value::Nodes(v.iter().copied().map(Some).collect());
}

/// `None` is null.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(v: Option<T>) -> Value {
        v.map_or(Value::Null, Into::into)
    }
}
