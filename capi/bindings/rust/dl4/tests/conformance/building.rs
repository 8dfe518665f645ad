//! Tensors, graphs, models, sessions.

use dl4::json::Value;
use dl4::{Attrs, Context, DType, Element, Graph, Model, Result, Session, Stream, Tensor};

use crate::{Case, Done, Slot, Step, Stop};

pub(crate) fn dtype(name: &str) -> DType {
    use DType::{Bool, String, BF16, F16, F32, F64, I32, I64, U8};
    let all = [F32, F64, I32, I64, U8, Bool, String, F16, BF16];
    all.into_iter().find(|d| d.to_string() == name).unwrap_or_else(|| panic!("no type of data {}", name))
}

fn tensor(step: Step<'_>) -> Result<Tensor<'static>> {
    fn of<T: Element>(step: Step<'_>, cast: impl Fn(f64) -> T) -> Result<Tensor<'static>> {
        Tensor::from_vec(step.numbers("values").into_iter().map(cast).collect(), &step.dims("shape"))
    }
    match dtype(step.text("dtype")) {
        DType::F32 => of(step, |v| v as f32),
        DType::F64 => of(step, |v| v),
        DType::I32 => of(step, |v| v as i32),
        DType::I64 => of(step, |v| v as i64),
        DType::U8 => of(step, |v| v as u8),
        DType::Bool => of(step, |v| v != 0.0),
        DType::String => Tensor::from_strings(&step.texts("values").collect::<Vec<_>>(), &step.dims("shape")),
        reserved => Tensor::zeros_in(&Context::default(), reserved, &step.dims("shape")),
    }
}

impl Case {
    pub(crate) fn build(&mut self, word: &str, step: Step<'_>) -> Option<Done> {
        let new = match word {
            "tensor" => tensor(step).map(Slot::Tensor),
            "context" => Context::new(step.attrs("options")).map(Slot::Context),
            "graph" => self.new_graph(step).map(Slot::Graph),
            "input" => self.input(step).map(Slot::Node),
            "constant" => self.constant(step).map(Slot::Node),
            "layer" => self.graph(step.text("graph")).layer(step.text("kind"), self.layer_attrs(step)).map(Slot::Layer),
            "call" | "add" => return Some(self.call(word, step)),
            "gradients" => return Some(self.gradients(step)),
            "weight" => self.graph(step.text("graph")).weight(step.text("name")).map(Slot::Node),
            "assign" => {
                let (weight, value) = (*self.node(step.text("node")), *self.node(step.text("from")));
                self.graph(step.text("graph")).assign(weight, value, step.attrs("attrs")).map(Slot::Node)
            }
            "update" => {
                let (to, by) = (self.nodes(step, "of"), self.nodes(step, "by"));
                let graph = self.graph(step.text("graph"));
                let rate = if step.has("learning_rate") { Some(*self.node(step.text("learning_rate"))) } else { None };
                graph.update(self.layer_attrs(step), to, by, rate).map(Slot::Node)
            }
            "after" => {
                let (node, others) = (*self.node(step.text("node")), self.nodes(step, "in"));
                self.graph(step.text("graph")).after(node, others).map(Slot::Node)
            }
            "merge_json" => {
                let text = self.string(step.text("text"));
                return Some(self.graph(step.text("graph")).merge_json(text).map_err(Into::into));
            }
            "build" => {
                let (x, y) = (self.nodes(step, "in"), self.nodes(step, "out"));
                self.graph(step.text("graph")).build(x, y).map(Slot::Model)
            }
            "clone" => self.model(step.text("model")).try_clone().map(Slot::Model),
            "session" => Session::new(self.model(step.text("model")), step.attrs("options")).map(Slot::Session),
            "get_weight" => return Some(self.get_weight(step)),
            "set_weight" | "set_trainable" => return Some(self.set_model(word, step)),
            "run" => return Some(self.run(step)),
            "predict" => return Some(self.predict(step)),
            "stream" => Stream::new(self.session(step.text("session")), step.attrs("options")).map(Slot::Stream),
            "stream_fork" => self.stream(step.text("stream")).fork(step.attrs("options")).map(Slot::Stream),
            "stream_run" | "stream_run_many" | "stream_reset" | "stream_next" => {
                return Some(self.advance(word, step));
            }
            "measure" => self.measure(step).map(Slot::Tensor),
            "load" if step.has("to") => self.load(step).map(Slot::Model),
            _ => return None,
        };
        Some(new.map(|slot| self.put(step.text("to"), slot)).map_err(Into::into))
    }

    fn new_graph(&self, step: Step<'_>) -> Result<Graph> {
        if !step.has("context") {
            return Graph::new();
        }
        match self.slots.get(step.text("context")) {
            Some(Slot::Context(context)) => Graph::in_context(context),
            _ => panic!("no context in {}", step.0),
        }
    }

    fn input(&self, step: Step<'_>) -> Result<dl4::Node> {
        let name = if step.has("name") { step.text("name") } else { "" };
        self.graph(step.text("graph")).input(name, dtype(step.text("dtype")), &step.dims("shape"))
    }

    fn constant(&self, step: Step<'_>) -> Result<dl4::Node> {
        let name = if step.has("name") { step.text("name") } else { "" };
        self.graph(step.text("graph")).constant(name, self.tensor(step.text("tensor")))
    }

    fn layer_attrs(&self, step: Step<'_>) -> Attrs {
        let mut attrs = step.attrs("attrs");
        if step.has("config") {
            attrs = self.config(step.text("config")).clone();
        }
        if step.has("name") {
            attrs = attrs.set("name", step.text("name"));
        }
        for (key, slot) in step.members("models") {
            attrs = attrs.set(key.as_str(), self.model(slot.as_str().expect("a slot")));
        }
        attrs
    }

    fn arguments(&self, step: Step<'_>) -> Attrs {
        let mut arguments = step.attrs("call");
        for (key, slots) in step.members("nodes") {
            let slots = slots.as_array().expect("a list").iter();
            let nodes: Vec<_> = slots.map(|v| v.as_str().map(|slot| *self.node(slot))).collect();
            arguments = arguments.set(key.as_str(), nodes);
        }
        arguments
    }

    fn call(&mut self, word: &str, step: Step<'_>) -> Done {
        let (graph, inputs) = (self.graph(step.text("graph")), self.nodes(step, "in"));
        let outputs = if word == "call" {
            graph.call(*self.layer(step.text("layer")), inputs, self.arguments(step))?
        } else {
            graph.add_with(step.text("kind"), self.layer_attrs(step), inputs, self.arguments(step))?
        };
        self.put_nodes(step, outputs);
        Ok(())
    }

    fn gradients(&mut self, step: Step<'_>) -> Done {
        let (targets, by) = (self.nodes(step, "of"), self.nodes(step, "by"));
        let graph = self.graph(step.text("graph"));
        let given: Vec<_> = self.nodes(step, "output_gradients").into_iter().map(Some).collect();
        let found = graph.gradients(targets, by, step.attrs("attrs"), &given)?;
        self.put_nodes(step, found);
        Ok(())
    }

    fn put_nodes(&mut self, step: Step<'_>, nodes: Vec<dl4::Node>) {
        for (slot, node) in step.texts("to").zip(nodes) {
            self.put(slot, Slot::Node(node));
        }
    }

    fn get_weight(&mut self, step: Step<'_>) -> Done {
        let weight = self.model(step.text("model")).weight(step.text("name"))?;
        self.put(step.text("to"), Slot::Tensor(weight));
        Ok(())
    }

    // Out of its slot for a while, since it changes.
    fn set_model(&mut self, word: &str, step: Step<'_>) -> Done {
        let slot = step.text("model");
        let mut model = match self.slots.remove(slot) {
            Some(Slot::Model(model)) => model,
            _ => panic!("no model in {}", slot),
        };
        let done = if word == "set_weight" {
            model.set_weight(step.text("name"), self.tensor(step.text("tensor")))
        } else {
            model.set_trainable(step.text("name"), step.0.get("value") != Some(&Value::Number(0.0)))
        };
        self.put(slot, Slot::Model(model));
        Ok(done?)
    }

    fn run(&mut self, step: Step<'_>) -> Done {
        let names: Vec<&str> = step.texts(if step.has("into") { "into" } else { "to" }).collect();
        if !step.has("into") {
            let session = self.session(step.text("session"));
            let made = match self.cancel(step) {
                None => session.run(&self.tensors(step, "in"))?,
                // A run that can be cancelled writes into tensors, here of the shapes that the session tells.
                Some(cancel) => self.run_cancellable(step, cancel)?,
            };
            for (name, t) in names.into_iter().zip(made) {
                self.put(name, Slot::Tensor(t));
            }
            return Ok(());
        }
        let mut into: Vec<Tensor<'static>> = Vec::new();
        for name in &names {
            into.push(match self.slots.remove(*name) {
                Some(Slot::Tensor(t)) => t,
                _ => panic!("no tensor in {}", name),
            });
        }
        let done = {
            let inputs = self.tensors(step, "in");
            let mut outputs: Vec<_> = into.iter_mut().collect();
            self.session(step.text("session")).run_into(&inputs, &mut outputs, self.cancel(step))
        };
        for (name, t) in names.into_iter().zip(into) {
            self.put(name, Slot::Tensor(t));
        }
        Ok(done?)
    }

    fn run_cancellable(&self, step: Step<'_>, cancel: &dl4::Cancel) -> Result<Vec<Tensor<'static>>> {
        let (session, inputs) = (self.session(step.text("session")), self.tensors(step, "in"));
        let dims: Vec<&[i64]> = inputs.iter().map(|t| t.dims()).collect();
        let mut made = Vec::new();
        for (i, port) in session.outputs()?.iter().enumerate() {
            made.push(Tensor::zeros_in(&Context::default(), port.dtype, &session.output_shape(&dims, i)?)?);
        }
        session.run_into(&inputs, &mut made.iter_mut().collect::<Vec<_>>(), Some(cancel))?;
        Ok(made)
    }

    fn predict(&mut self, step: Step<'_>) -> Done {
        let data = self.dataset(step.text("dataset"));
        let made = self.session(step.text("session")).predict(data, self.cancel(step))?;
        for (name, t) in step.texts("to").zip(made) {
            self.put(name, Slot::Tensor(t));
        }
        Ok(())
    }

    // Out of their slots for a while, since they change.
    fn advance(&mut self, word: &str, step: Step<'_>) -> Done {
        let many = step.texts("streams").collect::<Vec<_>>();
        let names = if many.is_empty() { vec![step.text("stream")] } else { many };
        let mut streams = Vec::new();
        for name in &names {
            match self.slots.remove(*name) {
                Some(Slot::Stream(stream)) => streams.push(stream),
                _ => panic!("no stream in {}", name),
            }
        }
        let done = self.advanced(word, step, &mut streams);
        for (name, stream) in names.into_iter().zip(streams) {
            self.put(name, Slot::Stream(stream));
        }
        for (name, t) in step.texts("to").zip(done?) {
            self.put(name, Slot::Tensor(t));
        }
        Ok(())
    }

    fn advanced(&self, word: &str, step: Step<'_>, streams: &mut [Stream]) -> std::result::Result<Vec<Tensor<'static>>, Stop> {
        let inputs = self.tensors(step, "in");
        match word {
            "stream_run" => Ok(streams[0].run(&inputs)?),
            "stream_run_many" => {
                let counts = step.has("counts").then(|| step.dims("counts"));
                Ok(Stream::run_many(&mut streams.iter_mut().collect::<Vec<_>>(), counts.as_deref(), &inputs)?)
            }
            "stream_reset" => {
                if step.has("row") {
                    streams[0].reset_row(step.number("row") as i64)?;
                } else {
                    streams[0].reset()?;
                }
                Ok(Vec::new())
            }
            _ => {
                let ids = streams[0].next(&inputs, step.attrs("options"), None)?;
                if ids != step.dims("ids") {
                    return Err(Stop::Differs(format!("{:?}", ids)));
                }
                Ok(Vec::new())
            }
        }
    }

    fn measure(&self, step: Step<'_>) -> Result<Tensor<'static>> {
        let weights = if step.has("weights") { Some(self.tensor(step.text("weights"))) } else { None };
        let (y, p) = (self.tensor(step.text("true")), self.tensor(step.text("pred")));
        dl4::measure(step.text("category"), step.text("kind"), step.attrs("attrs"), y, p, weights)
    }

    fn load(&self, step: Step<'_>) -> Result<Model> {
        if step.has("path") {
            let path = self.folder.join(step.text("path"));
            return Model::load_in(&Context::default(), path, step.attrs("options"));
        }
        Model::from_bytes(self.bytes(step.text("bytes")), step.attrs("options"))
    }
}
