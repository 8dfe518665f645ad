// Graphs: layers called on symbolic values, and the models made of them.
import {
  check,
  dims,
  dl4,
  given,
  Handle,
  holding,
  made,
  none,
  optionsText,
  registry,
  shape,
  strict,
  takes,
  text,
  withRefs,
} from "./abi.js";
import { Model } from "./model.js";
import { NAMES, NUMBERS, Tensor } from "./tensor.js";

const asList = (value) => (Array.isArray(value) ? value : [value]);

/** A symbolic value of a graph. */
export class Node {
  constructor(graph, id) {
    Object.assign(this, { graph, id });
    Object.defineProperty(this, "isNode", { value: true });
  }

  /** With the batch axis; a free dimension is null. */
  get shape() {
    return shape("node_shape", this.graph.handle, this.id);
  }

  get dtype() {
    return NAMES[given("node_dtype", this.graph.handle, this.id)];
  }

  /** The mask that it carries, or null. */
  get mask() {
    const id = given("graph_add_mask", this.graph.handle, this.id);
    return id < 0 ? null : new Node(this.graph, id);
  }
}

/** Layers that are being called on symbolic values. */
export class Graph extends Handle {
  #layers = new WeakMap();

  constructor({ context = null, ...others } = {}) {
    takes("new Graph({ context })", arguments);
    none("Graph", others, "context");
    super(made("graph_create", context && context.handle));
  }

  /** The numbers of nodes of this graph. */
  #ids(nodes) {
    return Int32Array.from(asList(nodes), (n) => {
      if (n?.graph !== this) throw new TypeError("expected a symbolic value of this graph, or a list of them");
      return n.id;
    });
  }

  /** An input of a shape without the batch axis, or of a whole `batch_shape`; null is free. */
  input({ shape = [], batch_shape = [null, ...shape], dtype = "float32", name = null, ...others } = {}) {
    none("input", others, "shape, batch_shape, dtype, name");
    const { handle } = this;
    return new Node(
      this,
      given("graph_add_input", handle, name, NUMBERS[dtype] ?? 0, batch_shape.length, dims(batch_shape)),
    );
  }

  /** A value that never changes. */
  constant(value, { name = null, dtype, ...others } = {}) {
    none("constant", others, "name, dtype");
    const tensor = Tensor.as(value, { dtype });
    return holding([tensor], () => new Node(this, given("graph_add_constant", this.handle, name, tensor.handle)));
  }

  /** Everything of an architecture in JSON; then build() without arguments. */
  mergeJSON(json) {
    check(dl4.graph_add_json(this.handle, typeof json === "string" ? json : JSON.stringify(json)));
  }

  /** The number of a layer in this graph, which is added when it is first called. */
  idOf(layer) {
    let id = this.#layers.get(layer);
    if (id === undefined) {
      const { name = null, ...rest } = layer.config;
      id = withRefs(rest, (config, refs) =>
        given("graph_add_layer", this.handle, layer.class_name, name, config, refs),
      );
      this.#layers.set(layer, id);
    }
    return id;
  }

  /** Calls a layer on values; all its outputs. */
  call(layer, inputs, args = {}) {
    const ids = this.#ids(inputs);
    const first = new Int32Array(1);
    const id = this.idOf(layer);
    const make = (call, refs) => check(dl4.graph_call(this.handle, id, call, refs, ids, ids.length, first, 1));
    withRefs(args, make);
    const count = new BigInt64Array(1);
    check(dl4.node_outputs(this.handle, first[0], null, 0, count));
    const all = new Int32Array(Number(count[0]));
    check(dl4.node_outputs(this.handle, first[0], all, all.length, count));
    return Array.from(all.subarray(0, Number(count[0])), (n) => new Node(this, n));
  }

  /** The value of a weight, "<layer>/<weight>": what it holds where this stands among the assignments. */
  weight(name) {
    return new Node(this, given("graph_add_weight", this.handle, name));
  }

  /**
   * The gradients of targets by each node of `by`, which may be differentiated again. outputGradients: one for each
   * target, null for ones.
   */
  gradients(targets, by, config = {}, outputGradients = null) {
    const [of, to] = [targets, by].map((nodes) => this.#ids(nodes));
    const dy = outputGradients && Int32Array.from(asList(outputGradients), (n) => (n === null ? -1 : this.#ids(n)[0]));
    if (dy && dy.length !== of.length) throw new TypeError(`expected ${of.length} outputGradients, got ${dy.length}`);
    const out = new Int32Array(to.length);
    const text = optionsText(config);
    check(dl4.graph_add_gradients(this.handle, text, of, of.length, dy, to, to.length, out, out.length));
    return Array.from(out, (n) => new Node(this, n));
  }

  /** Sets a weight, a node of weight() or of a layer Weight, in each run; the new value. */
  assign(weight, value, config = {}) {
    const [to, from] = this.#ids([weight, value]);
    return new Node(this, given("graph_add_assign", this.handle, optionsText(config), to, from));
  }

  /**
   * One update of config.optimizer in each run, of weights by as many gradients; the number of updates so far.
   * learningRate: a node in place of the optimizer's own.
   */
  update({ name = null, ...config }, weights, gradients, learningRate = null) {
    const [to, by] = [weights, gradients].map((nodes) => this.#ids(nodes));
    const rate = learningRate === null ? -1 : this.#ids(learningRate)[0];
    const text = optionsText(config);
    return new Node(
      this,
      given("graph_add_update", this.handle, name, text, rate, to, to.length, by, by.length),
    );
  }

  /** The value of a node, in a model that makes the assignments `others` too. */
  after(node, others) {
    const [[id], ids] = [node, others].map((nodes) => this.#ids(nodes));
    return new Node(this, given("graph_add_after", this.handle, id, ids, ids.length));
  }

  /** The model between inputs and outputs. */
  build(inputs = [], outputs = []) {
    const [ins, outs] = [inputs, outputs].map((nodes) => this.#ids(nodes));
    return new Model(made("graph_build", this.handle, ins, ins.length, outs, outs.length));
  }
}

strict(
  Graph,
  "input({ shape, batch_shape, dtype, name })",
  "constant(value, { name, dtype })",
  "mergeJSON(json)",
  "idOf(layer)",
  "call(layer, inputs, args)",
  "weight(name)",
  "gradients(targets, by, config, outputGradients)",
  "assign(weight, value, config)",
  "update({ name, optimizer, ... }, weights, gradients, learningRate)",
  "after(node, others)",
  "build(inputs, outputs)",
);

/** A layer to be called on a value or a list of them, with call arguments; its weights are shared by its calls. */
function layer(class_name, config = {}) {
  const call = (inputs, args, ...more) => {
    takes(`${class_name}(config)(inputs, args)`, [inputs, args, ...more]);
    const list = asList(inputs);
    if (!list[0]?.isNode) throw new TypeError(`${class_name}: expected a symbolic value or a list of them`);
    const outputs = list[0].graph.call(call, list, args);
    return outputs.length === 1 ? outputs[0] : outputs;
  };
  const toJSON = () => ({ class_name, config });
  return Object.assign(call, { class_name, config, toJSON });
}

/** An object that has the kinds of a category as functions, as the registry lists them. */
function kinds(category, make) {
  let all = null; // read when it is first needed
  const list = () => (all ??= new Set(Object.keys(registry(category)[category])));
  return new Proxy(
    {},
    {
      get: (_, name) => {
        if (typeof name === "symbol" || name === "then") return undefined;
        if (!list().has(name)) {
          registry(category, name); // throws, and says which is nearest, unless it was added since
          all = null;
        }
        return (...args) => {
          takes(`${name}(config)`, args);
          return make(name, ...args);
        };
      },
      has: (_, name) => list().has(name),
      ownKeys: () => [...list()],
      getOwnPropertyDescriptor: (_, name) => (list().has(name) ? { enumerable: true, configurable: true } : undefined),
    },
  );
}

/** layers.Dense({ units: 8 })(x) */
export const layers = kinds("layer", layer);

const settings = (category) => kinds(category, (class_name, config = {}) => ({ class_name, config }));
export const optimizers = settings("optimizer");
export const losses = settings("loss");
export const metrics = settings("metric");
export const initializers = settings("initializer");
export const regularizers = settings("regularizer");
export const constraints = settings("constraint");
export const schedules = settings("schedule");
export const callbacks = settings("callback");

/** A loss or metric of two tensors; `weights` are those of the samples. */
export function measure(category, kind, yTrue, yPred, { weights = null, context = null, ...attrs } = {}) {
  takes("measure(category, kind, yTrue, yPred, { weights, context, ... })", arguments);
  const tensors = [yTrue, yPred, weights].map((v) => v && Tensor.as(v));
  const where = context && context.handle;
  const given = optionsText(attrs);
  const call = () => made("measure", where, category, kind, given, ...tensors.map((t) => t && t.handle));
  return holding(tensors, () => Tensor.taken(call()));
}

/** Threads, seed and memory of what is made in it. */
export class Context extends Handle {
  constructor(options) {
    takes("new Context(options)", arguments);
    super(made("context_create", optionsText(options)));
  }

  set seed(value) {
    check(dl4.context_set_seed(this.handle, value));
  }

  /** Gives back memory that is only kept for speed. */
  trim() {
    check(dl4.context_trim(this.handle));
  }
}

strict(Context, "trim()");

/** The seed of the default context, which is that of graphs made from now on. */
export function setSeed(seed) {
  takes("setSeed(seed)", arguments);
  check(dl4.context_set_seed(null, seed));
}

/** How the library was built and what it found. */
export function buildInfo() {
  takes("buildInfo()", arguments);
  return JSON.parse(text(made("build_info")));
}
