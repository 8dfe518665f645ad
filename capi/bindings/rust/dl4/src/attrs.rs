use std::ffi::CString;
use std::fmt;

use crate::call::{c_string, made};
use crate::error::{check, Code, Error, Result};
use crate::handle::Handle;
use crate::json;
use crate::node::Node;
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

/// The value of an attribute; made of numbers, texts, arrays of them, [`Attrs`], [`Node`]s, [`Model`](crate::Model)s, `None` (null).
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
pub struct SharedModel(pub(crate) Handle<sys::dl4_model>);

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

    /// As a layer's config; the models among the values go into `refs`.
    pub(crate) fn config(&self, refs: &mut Refs) -> Result<CString> {
        let mut special = Vec::new();
        let text = self.text("", &mut special)?;
        for (key, value) in special {
            match value {
                Special::Model(v) => refs.set_model(&key, &v)?,
                Special::Nodes(_) => return Err(not_plain(&key, "a plain value or a model", "a symbolic value")),
            }
        }
        c_string(text, "json")
    }

    /// As arguments of a call in that graph; the nodes among the values go into `refs`.
    pub(crate) fn arguments(&self, graph: u64, refs: &mut Refs) -> Result<CString> {
        let mut special = Vec::new();
        let text = self.text("", &mut special)?;
        for (key, value) in special {
            match value {
                Special::Nodes(list) => refs.set_nodes(&key, &list, graph)?,
                Special::Model(_) => return Err(not_plain(&key, "a plain value or a symbolic one", "a model")),
            }
        }
        c_string(text, "json")
    }

    /// As options: values that are JSON, all of them.
    pub(crate) fn options(&self) -> Result<CString> {
        let mut special = Vec::new();
        let text = self.text("", &mut special)?;
        match special.first() {
            None => c_string(text, "json"),
            Some((key, Special::Nodes(_))) => Err(not_plain(key, "a plain value", "a symbolic value")),
            Some((key, Special::Model(_))) => Err(not_plain(key, "a plain value", "a model")),
        }
    }

    /// As JSON, but for what is special, with the path to it.
    fn text(&self, path: &str, special: &mut Vec<(String, Special)>) -> Result<String> {
        if let [Item::Json(text)] = self.0.as_slice() {
            return Ok(text.clone()); // the library says what is wrong with it
        }
        let mut members: Vec<(String, String)> = Vec::new();
        for item in &self.0 {
            let new = match item {
                Item::One(key, value) => {
                    forget(special, path, key);
                    vec![(key.clone(), value.text(key, &format!("{}{}", path, key), special)?)]
                }
                Item::Json(text) => match json::Value::parse(text) {
                    Ok(json::Value::Object(new)) => {
                        new.iter().for_each(|(key, _)| forget(special, path, key));
                        new.into_iter().map(|(k, v)| (k, Some(v.to_string()))).collect()
                    }
                    Ok(_) => return Err(not_plain("json", "a JSON object", "another value")),
                    Err(why) => return Err(not_plain("json", "a JSON object", &why)),
                },
            };
            for (key, text) in new {
                members.retain(|(other, _)| *other != key);
                members.extend(text.map(|text| (key, text)));
            }
        }
        let all: Vec<String> =
            members.into_iter().map(|(key, text)| format!("{}:{}", json::Value::String(key), text)).collect();
        Ok(format!("{{{}}}", all.join(",")))
    }
}

/// What text can't hold, by key; made when there is something for it.
#[derive(Default)]
pub(crate) struct Refs(Option<Handle<sys::dl4_refs>>);

impl Refs {
    fn handle(&mut self) -> Result<*mut sys::dl4_refs> {
        if self.0.is_none() {
            // SAFETY: room for one object.
            self.0 = Some(made(|out| unsafe { sys::dl4_refs_create(out) })?);
        }
        Ok(self.as_ptr())
    }

    fn set_model(&mut self, key: &str, model: &SharedModel) -> Result<()> {
        let key = c_string(key, "key")?;
        let refs = self.handle()?;
        // SAFETY: live objects, a text that ends with a NUL.
        check(unsafe { sys::dl4_refs_set_model(refs, key.as_ptr(), model.0.as_ptr()) })
    }

    fn set_nodes(&mut self, key: &str, nodes: &[Option<Node>], graph: u64) -> Result<()> {
        let ids = ids(nodes, graph, key)?;
        let key = c_string(key, "key")?;
        let refs = self.handle()?;
        // SAFETY: a live object, a text that ends with a NUL, a list as long as it is said.
        check(unsafe { sys::dl4_refs_set_nodes(refs, key.as_ptr(), ids.as_ptr(), ids.len() as i64) })
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::dl4_refs {
        self.0.as_ref().map_or(std::ptr::null_mut(), |handle| handle.as_ptr())
    }
}

/// The numbers of nodes of that graph, -1 for one that is not given.
pub(crate) fn ids(nodes: &[Option<Node>], graph: u64, key: &str) -> Result<Vec<i32>> {
    nodes.iter().map(|n| n.map_or(Ok(-1), |n| n.0.within(graph, key))).collect()
}

/// What is no JSON.
enum Special {
    Nodes(Vec<Option<Node>>),
    Model(SharedModel),
}

fn forget(special: &mut Vec<(String, Special)>, path: &str, key: &str) {
    let (at, inside) = (format!("{}{}", path, key), format!("{}{}/", path, key));
    special.retain(|(other, _)| *other != at && !other.starts_with(&inside));
}

fn not_plain(key: &str, expected: &str, got: &str) -> Error {
    Error::refused(Code::InvalidArgument, key, expected, got)
}

impl Value {
    /// As JSON; nothing of what is special, which stands at the path.
    fn text(&self, key: &str, path: &str, special: &mut Vec<(String, Special)>) -> Result<Option<String>> {
        Ok(Some(match self {
            Value::Attrs(v) => v.text(&format!("{}/", path), special)?,
            Value::Nodes(v) => {
                special.push((path.into(), Special::Nodes(v.clone())));
                return Ok(None);
            }
            Value::Model(v) => {
                special.push((path.into(), Special::Model(v.clone())));
                return Ok(None);
            }
            plain => plain.plain(key)?,
        }))
    }

    fn plain(&self, key: &str) -> Result<String> {
        fn list<T>(values: &[T], text: impl Fn(&T) -> Result<String>) -> Result<String> {
            let all = values.iter().map(text).collect::<Result<Vec<_>>>()?;
            Ok(format!("[{}]", all.join(",")))
        }
        let float = |v: &f64| match v.is_finite() {
            true => Ok(json::Value::Number(*v).to_string()),
            false => Err(not_plain(key, "a finite number", &v.to_string())),
        };
        let text = |v: &String| json::Value::String(v.clone()).to_string();
        Ok(match self {
            Value::Null => "null".into(),
            Value::Bool(v) => v.to_string(),
            Value::Int(v) => v.to_string(),
            Value::Float(v) => float(v)?,
            Value::Str(v) => text(v),
            Value::Ints(v) => list(v, |v| Ok(v.to_string()))?,
            Value::Floats(v) => list(v, float)?,
            Value::Strs(v) => list(v, |v| Ok(text(v)))?,
            Value::List(v) => list(v, |v| v.plain(key))?,
            Value::Json(v) => v.to_string(),
            Value::Attrs(v) => {
                let mut special = Vec::new();
                let text = v.text("", &mut special)?;
                match special.first() {
                    None => text,
                    Some((_, Special::Nodes(_))) => {
                        return Err(not_plain(key, "plain values in a list", "a symbolic value"))
                    }
                    Some((_, Special::Model(_))) => return Err(not_plain(key, "plain values in a list", "a model")),
                }
            }
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
