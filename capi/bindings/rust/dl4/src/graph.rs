use std::ffi::CString;
use std::os::raw::c_char;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::attrs::{ids, Attrs, Refs};
use crate::call::{c_string, made, shape, Format};
use crate::context::Context;
use crate::error::{check, Code, Error, Result};
use crate::handle::Handle;
use crate::model::Model;
use crate::node::{Node, Place};
use crate::sys;
use crate::tensor::{DType, Tensor};

/// A layer inside one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layer(Place);

/// Keras's functional style: inputs, then layers called on symbolic values. Shapes are checked at the call.
///
/// ```
/// use dl4::{attrs, DType, Graph};
///
/// let g = Graph::new()?;
/// let x = g.input("x", DType::F32, &[-1, 28, 28])?; // -1: free
/// let h = g.add("LSTM", attrs! { units: 64 }, x)?;
/// let y = g.add("Dense", attrs! { units: 10, activation: "softmax", name: "answer" }, h)?;
/// let model = g.build(x, y)?;
/// assert_eq!(g.shape(y)?, [-1, 10]);
///
/// let refused = g.add("Dense", attrs! { unit: 10 }, h).unwrap_err();
/// assert_eq!(refused.attribute(), Some("unit"));
/// # let _ = model;
/// # Ok::<(), dl4::Error>(())
/// ```
///
/// A graph may go to another thread, but is used by one at a time:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<dl4::Graph>();
/// ```
pub struct Graph {
    handle: Handle<sys::dl4_graph>,
    number: u64,
}

// SAFETY: dl4.h, "Graphs": threads: one at a time per graph.
unsafe impl Send for Graph {}

fn count(ids: &[i32]) -> i64 {
    ids.len() as i64
}

// NULL for "".
struct Name(CString);

impl Name {
    fn new(name: &str) -> Result<Name> {
        c_string(name, "name").map(Name)
    }

    fn as_ptr(&self) -> *const c_char {
        if self.0.as_bytes().is_empty() {
            ptr::null()
        } else {
            self.0.as_ptr()
        }
    }
}

impl Graph {
    pub fn new() -> Result<Graph> {
        Graph::in_context(&Context::default())
    }

    pub fn in_context(context: &Context) -> Result<Graph> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        // SAFETY: a live object or NULL.
        made(|out| unsafe { sys::dl4_graph_create(context.as_ptr(), out) }).map(|handle| Graph { handle, number })
    }

    fn node(&self, id: i32) -> Node {
        Node(Place { id, graph: self.number })
    }

    fn nodes(&self, ids: Vec<i32>) -> Vec<Node> {
        ids.into_iter().map(|id| self.node(id)).collect()
    }

    fn id(&self, node: Node) -> Result<i32> {
        node.0.within(self.number, "node")
    }

    fn ids(&self, nodes: impl AsRef<[Node]>) -> Result<Vec<i32>> {
        nodes.as_ref().iter().map(|&n| self.id(n)).collect()
    }

    /// An input; `dims` has the batch axis, -1 is free. The name "" is Keras's automatic one.
    pub fn input(&self, name: &str, dtype: DType, dims: &[i64]) -> Result<Node> {
        let (name, rank, mut out) = (Name::new(name)?, dims.len() as i32, -1);
        // SAFETY: a live object, NULL or text that ends with a NUL, dims as many as it is said.
        check(unsafe {
            sys::dl4_graph_add_input(self.as_ptr(), name.as_ptr(), dtype as i32, rank, dims.as_ptr(), &mut out)
        })?;
        Ok(self.node(out))
    }

    /// A value that never changes: a copy of `value`. The name "" is an automatic one.
    pub fn constant(&self, name: &str, value: &Tensor<'_>) -> Result<Node> {
        let (name, mut out) = (Name::new(name)?, -1);
        // SAFETY: live objects, NULL or text that ends with a NUL.
        check(unsafe { sys::dl4_graph_add_constant(self.as_ptr(), name.as_ptr(), value.as_ptr(), &mut out) })?;
        Ok(self.node(out))
    }

    /// A layer called once: its output, or the first of them. Its name is the attribute `name`.
    pub fn add(&self, kind: &str, attrs: impl Into<Attrs>, inputs: impl AsRef<[Node]>) -> Result<Node> {
        self.add_first(kind, &attrs.into(), inputs, &Attrs::new())
    }

    /// A layer called once with arguments, those of Keras's call (`mask`, `initial_state`, `training`): all its
    /// outputs.
    pub fn add_with(
        &self,
        kind: &str,
        attrs: impl Into<Attrs>,
        inputs: impl AsRef<[Node]>,
        arguments: impl Into<Attrs>,
    ) -> Result<Vec<Node>> {
        let first = self.add_first(kind, &attrs.into(), inputs, &arguments.into())?;
        self.outputs(first)
    }

    fn add_first(&self, kind: &str, attrs: &Attrs, inputs: impl AsRef<[Node]>, arguments: &Attrs) -> Result<Node> {
        let (kind, mut refs) = (c_string(kind, "kind")?, Refs::default());
        let (config, call) = (attrs.config(&mut refs)?, arguments.arguments(self.number, &mut refs)?);
        let (inputs, mut out) = (self.ids(inputs)?, -1);
        // SAFETY: live objects, text that ends with a NUL, inputs as many as it is said, room for one output.
        check(unsafe {
            let (a, c, r) = (config.as_ptr(), call.as_ptr(), refs.as_ptr());
            let (from, n) = (inputs.as_ptr(), count(&inputs));
            sys::dl4_graph_add(self.as_ptr(), kind.as_ptr(), ptr::null(), a, c, r, from, n, &mut out, 1)
        })?;
        Ok(self.node(out))
    }

    /// A layer to be called, more than once if wanted: its calls share its weights.
    pub fn layer(&self, kind: &str, attrs: impl Into<Attrs>) -> Result<Layer> {
        let (kind, mut refs, mut out) = (c_string(kind, "kind")?, Refs::default(), -1);
        let config = attrs.into().config(&mut refs)?;
        // SAFETY: live objects, text that ends with a NUL.
        check(unsafe {
            let (config, refs) = (config.as_ptr(), refs.as_ptr());
            sys::dl4_graph_add_layer(self.as_ptr(), kind.as_ptr(), ptr::null(), config, refs, &mut out)
        })?;
        Ok(Layer(Place { id: out, graph: self.number }))
    }

    /// All outputs of a layer for these inputs; arguments as of [`add_with`](Graph::add_with).
    pub fn call(&self, layer: Layer, inputs: impl AsRef<[Node]>, arguments: impl Into<Attrs>) -> Result<Vec<Node>> {
        let (layer, inputs) = (layer.0.within(self.number, "layer")?, self.ids(inputs)?);
        let (mut refs, mut out) = (Refs::default(), -1);
        let call = arguments.into().arguments(self.number, &mut refs)?;
        // SAFETY: live objects, text that ends with a NUL, inputs as many as it is said, room for one output.
        check(unsafe {
            let (call, refs, from, n) = (call.as_ptr(), refs.as_ptr(), inputs.as_ptr(), count(&inputs));
            sys::dl4_graph_call(self.as_ptr(), layer, call, refs, from, n, &mut out, 1)
        })?;
        self.outputs(self.node(out))
    }

    /// The value of a weight, `<layer>/<weight>`, of a layer that has been called: what it holds where this stands
    /// among the assignments. Of a layer `judge` that is a model it is `judge/dense/kernel`.
    pub fn weight(&self, name: &str) -> Result<Node> {
        let (name, mut out) = (c_string(name, "name")?, -1);
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_graph_add_weight(self.as_ptr(), name.as_ptr(), &mut out) })?;
        Ok(self.node(out))
    }

    /// The gradients of targets with respect to each node of `by`, which may be differentiated again. Attributes are
    /// `sum` and `unconnected`; `output_gradients` has one for each target, `None` for ones, or is empty.
    pub fn gradients(
        &self,
        targets: impl AsRef<[Node]>,
        by: impl AsRef<[Node]>,
        attrs: impl Into<Attrs>,
        output_gradients: &[Option<Node>],
    ) -> Result<Vec<Node>> {
        let config = attrs.into().options()?;
        let (y, x) = (self.ids(targets)?, self.ids(by)?);
        let given = ids(output_gradients, self.number, "output_gradients")?;
        if !given.is_empty() && given.len() != y.len() {
            let (expected, got) = (format!("{}, one for each target", y.len()), given.len().to_string());
            return Err(Error::refused(Code::InvalidArgument, "output_gradients", &expected, &got));
        }
        let mut out = vec![-1; x.len()];
        // SAFETY: live objects, lists as long as it is said, room for as many as `by`.
        check(unsafe {
            let (g, c, dy) =
                (self.as_ptr(), config.as_ptr(), if given.is_empty() { ptr::null() } else { given.as_ptr() });
            let (n, to) = (count(&x), out.as_mut_ptr());
            sys::dl4_graph_add_gradients(g, c, y.as_ptr(), count(&y), dy, x.as_ptr(), n, to, n)
        })?;
        Ok(self.nodes(out))
    }

    /// Sets a weight, a node of [`weight`](Graph::weight) or of a layer Weight, to a value in each run: the new value.
    /// The attribute `operation` may be "assign_add" or "assign_sub".
    pub fn assign(&self, weight: Node, value: Node, attrs: impl Into<Attrs>) -> Result<Node> {
        let (config, mut out) = (attrs.into().options()?, -1);
        let (weight, value) = (self.id(weight)?, self.id(value)?);
        // SAFETY: live objects.
        check(unsafe { sys::dl4_graph_add_assign(self.as_ptr(), config.as_ptr(), weight, value, &mut out) })?;
        Ok(self.node(out))
    }

    /// One update of the attribute `optimizer` in each run, of weights by as many gradients: the number of updates so
    /// far. `learning_rate` is a node in place of the optimizer's own.
    pub fn update(
        &self,
        attrs: impl Into<Attrs>,
        weights: impl AsRef<[Node]>,
        gradients: impl AsRef<[Node]>,
        learning_rate: Option<Node>,
    ) -> Result<Node> {
        let (config, mut out) = (attrs.into().options()?, -1);
        let rate = learning_rate.map_or(Ok(-1), |node| self.id(node))?;
        let (to, by) = (self.ids(weights)?, self.ids(gradients)?);
        // SAFETY: live objects, lists as long as it is said.
        check(unsafe {
            let (g, c) = (self.as_ptr(), config.as_ptr());
            let (to, n, by, m) = (to.as_ptr(), count(&to), by.as_ptr(), count(&by));
            sys::dl4_graph_add_update(g, ptr::null(), c, rate, to, n, by, m, &mut out)
        })?;
        Ok(self.node(out))
    }

    /// The value of a node, in a model that makes the assignments `others` too.
    pub fn after(&self, node: Node, others: impl AsRef<[Node]>) -> Result<Node> {
        let (node, others, mut out) = (self.id(node)?, self.ids(others)?, -1);
        // SAFETY: a live object, a list as long as it is said.
        check(unsafe { sys::dl4_graph_add_after(self.as_ptr(), node, others.as_ptr(), count(&others), &mut out) })?;
        Ok(self.node(out))
    }

    /// All outputs of the call that gave a node, itself included.
    pub fn outputs(&self, node: Node) -> Result<Vec<Node>> {
        let (node, mut n) = (self.id(node)?, 0);
        // SAFETY: a live object; no room, so nothing is written but the count.
        check(unsafe { sys::dl4_node_outputs(self.as_ptr(), node, ptr::null_mut(), 0, &mut n) })?;
        let mut all = vec![-1; n as usize];
        // SAFETY: room for n.
        check(unsafe { sys::dl4_node_outputs(self.as_ptr(), node, all.as_mut_ptr(), n, &mut n) })?;
        Ok(self.nodes(all))
    }

    /// Everything of an architecture in JSON, as [`describe`](Graph::describe) gives it, for
    /// [`build_merged`](Graph::build_merged).
    pub fn merge_json(&self, architecture: &str) -> Result<()> {
        let text = c_string(architecture, "json")?;
        // SAFETY: a live object, text that ends with a NUL.
        check(unsafe { sys::dl4_graph_add_json(self.as_ptr(), text.as_ptr()) })
    }

    /// -1 is free.
    pub fn shape(&self, node: Node) -> Result<Vec<i64>> {
        let node = self.id(node)?;
        // SAFETY: a live object, room for cap.
        shape(|dims, cap, rank| unsafe { sys::dl4_node_shape(self.as_ptr(), node, dims, cap, rank) })
    }

    pub fn dtype(&self, node: Node) -> Result<DType> {
        let (node, mut out) = (self.id(node)?, 0);
        // SAFETY: a live object.
        check(unsafe { sys::dl4_node_dtype(self.as_ptr(), node, &mut out) })?;
        Ok(DType::of(out))
    }

    /// The mask that a node carries.
    pub fn mask(&self, node: Node) -> Result<Option<Node>> {
        let (node, mut out) = (self.id(node)?, -1);
        // SAFETY: a live object.
        check(unsafe { sys::dl4_graph_add_mask(self.as_ptr(), node, &mut out) })?;
        Ok(Some(out).filter(|&n| n >= 0).map(|n| self.node(n)))
    }

    /// A model of what lies between, its weights with their first values. The graph may go on.
    pub fn build(&self, inputs: impl AsRef<[Node]>, outputs: impl AsRef<[Node]>) -> Result<Model> {
        let (x, y) = (self.ids(inputs)?, self.ids(outputs)?);
        // SAFETY: a live object, lists as long as it is said.
        made(|out| unsafe { sys::dl4_graph_build(self.as_ptr(), x.as_ptr(), count(&x), y.as_ptr(), count(&y), out) })
            .map(Model)
    }

    /// The model of what [`merge_json`](Graph::merge_json) added.
    pub fn build_merged(&self) -> Result<Model> {
        let none: [Node; 0] = [];
        self.build(none, none)
    }

    pub fn describe(&self, format: Format) -> Result<String> {
        self.handle.describe(format)
    }

    /// For calls of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::dl4_graph {
        self.handle.as_ptr()
    }
}
