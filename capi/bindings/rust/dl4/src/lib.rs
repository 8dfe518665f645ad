#![doc = include_str!("../README.md")]

mod attrs;
mod callback;
mod cancel;
mod context;
mod dataset;
mod error;
mod graph;
mod handle;
mod kind;
mod model;
pub mod registry;
mod session;
mod stream;
mod tensor;
mod trainer;

pub use attrs::{Attrs, SharedModel, Value};
pub use cancel::Cancel;
pub use context::{Context, Level};
pub use dataset::{Batch, Dataset};
pub use dl4_sys as sys;
pub use dl4_sys::json;
pub use error::{Code, Error, Failure, Refusal, Result};
pub use graph::{Graph, Layer, Node};
pub use handle::Format;
pub use kind::{Gradient, Kind, Source, Target};
pub use model::{Model, Port, Weight};
pub use registry::{measure, version};
pub use session::Session;
pub use stream::Stream;
pub use tensor::{DType, Element, Tensor, View};
pub use trainer::{Event, Fit, Flow, History, Progress, Sums, Trainer};
