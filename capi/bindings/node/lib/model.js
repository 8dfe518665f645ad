// Models and sessions.
import {
  absolute,
  check,
  content,
  dims,
  dl4,
  DL4Error,
  given,
  Handle,
  holding,
  made,
  memory,
  none,
  optionsText,
  ports,
  shape,
  strict,
  takes,
} from "./abi.js";
import { cancellable } from "./cancel.js";
import { NAMES, NUMBERS, Tensor } from "./tensor.js";
import { Trainer } from "./training.js";

/** Inputs, outputs or weights of a model or session. */
const facts = (handle, which) => ports(handle, which).map((port) => ({ ...port, dtype: NAMES[port.dtype] }));

/** A list of one is that one. */
const only = (outs) => (outs.length === 1 ? outs[0] : outs);

/** The outputs of a run: in the tensors that were there for them, or in new ones of the library's. */
function results(outs, handles) {
  outs?.forEach((out, i) => out.written(handles[i]));
  return only(outs ?? Array.from(handles, Tensor.taken));
}

/** An architecture and its weights. */
export class Model extends Handle {
  get isModel() {
    return true;
  }

  /** Of a file, or of the bytes of one. */
  static async load(source, { context = null, ...options } = {}) {
    const out = new BigUint64Array(1);
    const where = context && context.handle;
    if (typeof source === "string") {
      await Handle.during([], "model_load", where, absolute(source), optionsText(options), out);
    } else {
      const [bytes, size] = memory(source);
      const file = new Handle(made("tensor_create", null, NUMBERS.uint8, 1, dims([size])));
      check(dl4.tensor_copy_in(file.handle, bytes, size));
      check(dl4.model_load_bytes(where, file.handle, optionsText(options), out));
      file.close();
    }
    return new Model(out[0]);
  }

  async save(path) {
    return Handle.during([this], "model_save", this.handle, absolute(path), null);
  }

  /** The bytes of a file. */
  toBytes() {
    return content(made("model_save_bytes", this.handle, null));
  }

  clone() {
    return new Model(made("model_clone", this.handle));
  }

  get inputs() {
    return facts(this.handle, 0);
  }

  get outputs() {
    return facts(this.handle, 1);
  }

  /** Name, shape, type and whether it is trained, of each. */
  get weights() {
    const { handle } = this;
    return facts(handle, 2).map((w) => ({ ...w, trainable: Boolean(given("model_get_trainable", handle, w.name)) }));
  }

  /** A copy of a weight; "*" is all trainable ones in a row. */
  getWeight(name) {
    return Tensor.taken(made("model_get_weight", this.handle, name));
  }

  setWeight(name, value) {
    const found = this.weights.find((w) => w.name === name);
    const tensor = Tensor.as(value, found);
    holding([tensor], () => check(dl4.model_set_weight(this.handle, name, tensor.handle)));
  }

  /** Of a layer's weights, of one, or with "*" of all. */
  setTrainable(name, yes) {
    check(dl4.model_set_trainable(this.handle, name, Number(yes)));
  }

  session(options) {
    return new Session(this, options);
  }

  trainer(options) {
    return new Trainer(this, options);
  }

  /** A run with the weights of now, on arrays or tensors. For many runs make a session. */
  async predict(inputs, options) {
    const session = this.session();
    try {
      return await session.run(inputs, options);
    } finally {
      session.close();
    }
  }
}

/** A model made ready to run, with the weights it had then. */
export class Session extends Handle {
  #last = null; // forms of the inputs of the last run with new outputs, and of these: later ones are like them

  constructor(model, options) {
    takes("new Session(model, options)", arguments);
    super(made("session_create", model.handle, optionsText(options)));
    this.inputs = facts(this.handle, 0);
    this.outputs = facts(this.handle, 1);
  }

  #fits(ins) {
    if (!this.#last) return false;
    for (let i = 0; i < ins.length; ++i) {
      const [a, b] = [ins[i].shape, this.#last.ins[i].shape];
      if (a !== b && (a.length !== b.length || a.some((d, k) => d !== b[k]))) return false;
    }
    return true;
  }

  /** New tensors for the outputs; null if the library makes them: of strings, or of shapes that a run decides. */
  #results(ins) {
    if (this.outputs.some(({ dtype }) => dtype === "string")) return null;
    if (ins.length !== this.inputs.length) return []; // the library will say so
    if (this.#fits(ins)) return this.#last.outs.map((out) => out.another());
    const ranks = Int32Array.from(ins, (t) => t.shape.length);
    const all = dims(ins.flatMap((t) => t.shape));
    const { handle } = this;
    let outs;
    try {
      outs = this.outputs.map(({ dtype }, i) =>
        Tensor.zeros(shape("session_output_shape", handle, ranks, all, ins.length, i), dtype),
      );
    } catch (e) {
      if (e.code !== "DL4_UNSUPPORTED") throw e;
      return null;
    }
    this.#last = { ins: ins.map((t) => t.form()), outs: outs.map((t) => t.form()) };
    return outs;
  }

  /** Inputs as a list. */
  #list(inputs) {
    if (inputs instanceof Tensor || ArrayBuffer.isView(inputs)) return [inputs];
    if (Array.isArray(inputs)) return isData(inputs) ? [inputs] : inputs;
    if (typeof inputs !== "object" || inputs === null) return [inputs];
    const unknown = Object.keys(inputs).find((name) => !this.inputs.some((i) => i.name === name));
    if (unknown !== undefined) throw new DL4Error(`there is no input "${unknown}"`, "DL4_NOT_FOUND");
    return this.inputs.filter((i) => i.name in inputs).map((i) => inputs[i.name]);
  }

  #input(value, i) {
    const like = ArrayBuffer.isView(value) && this.#last?.ins[i]?.of(value);
    return like || Tensor.as(value, this.inputs[i]);
  }

  /** The tensors of a run and its arguments; handles that end with it go into `ended`. */
  #prepare(inputs, into, ended) {
    const given = this.#list(inputs);
    const inHandles = new BigUint64Array(given.length);
    const ins = given.map((value, i) => {
      if (value instanceof Tensor) {
        inHandles[i] = value.handle;
        return value;
      }
      const tensor = this.#input(value, i);
      ended.push((inHandles[i] = tensor.wrap()));
      return tensor;
    });
    const outs = into ? (Array.isArray(into) ? into : [into]) : this.#results(ins);
    const outHandles = new BigUint64Array(outs?.length ?? this.outputs.length);
    for (let i = 0; i < (outs?.length ?? 0); ++i) {
      outHandles[i] = into ? outs[i].handle : outs[i].wrap();
      if (!into) ended.push(outHandles[i]);
    }
    return { ins, outs, inHandles, outHandles };
  }

  /**
   * Runs beside the event loop. Inputs are a tensor, a typed array or nested lists, a list of those, or an object of
   * them by name; the outputs are a tensor, or a list of them if there are several. `into`: tensors to be written.
   */
  async run(inputs, { into, signal, ...others } = {}) {
    none("run", others, "into, signal");
    const ended = [];
    try {
      const { ins, outs, inHandles, outHandles } = this.#prepare(inputs, into, ended);
      const args = [this.handle, inHandles, ins.length, outHandles, outHandles.length];
      await cancellable(signal, (flag) => Handle.during([this, ...ins, ...(into ? outs : [])], "session_run", ...args, flag));
      return results(outs, outHandles);
    } finally {
      for (const handle of ended) dl4.release(handle);
    }
  }

  /** The same here and now: for small models and for worker threads. */
  runSync(inputs, { into, ...others } = {}) {
    none("runSync", others, "into");
    const ended = [];
    try {
      const { ins, outs, inHandles, outHandles } = this.#prepare(inputs, into, ended);
      holding(ins, () => check(dl4.session_run(this.handle, inHandles, ins.length, outHandles, outHandles.length, null)));
      return results(outs, outHandles);
    } finally {
      for (const handle of ended) dl4.release(handle);
    }
  }

  /** Runs over a dataset, in order; outputs are joined along their first axis. */
  async predict(dataset, { signal, ...others } = {}) {
    none("predict", others, "signal");
    const out = new BigUint64Array(this.outputs.length);
    await cancellable(signal, (flag) =>
      Handle.during([this, dataset], "session_predict", this.handle, dataset.handle, flag, out, out.length),
    );
    const outs = Array.from(out, Tensor.taken);
    return only(outs);
  }
}

strict(
  Model,
  "load(source, { context, ... })",
  "save(path)",
  "toBytes()",
  "clone()",
  "getWeight(name)",
  "setWeight(name, value)",
  "setTrainable(name, yes)",
  "session(options)",
  "trainer(options)",
  "predict(inputs, { into, signal })",
);
strict(Session, "run(inputs, { into, signal })", "runSync(inputs, { into })", "predict(dataset, { signal })");

/** Nested lists of numbers or strings, not a list of inputs. */
function isData(list) {
  let first = list;
  while (Array.isArray(first)) first = first[0];
  return ["number", "bigint", "boolean", "string"].includes(typeof first);
}
