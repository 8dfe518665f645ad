// Models and sessions.
import { resolve as absolute } from "node:path";

import {
  check,
  content,
  dims,
  dl4,
  DL4Error,
  Handle,
  holding,
  later,
  made,
  memory,
  names,
  shape,
  withAttrs,
} from "./abi.js";
import { cancellable } from "./cancel.js";
import { NAMES, Tensor } from "./tensor.js";
import { Trainer } from "./training.js";

/** Inputs or outputs of a model or session. */
function facts(kind, handle, direction) {
  return names(`${kind}_io_name`, handle, direction).map((name, i) => ({
    name,
    shape: shape(`${kind}_io_shape`, handle, direction, i),
    dtype: NAMES[dl4[`${kind}_io_dtype`](handle, direction, i)],
  }));
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
      await withAttrs(options, (bag) => later("model_load", where, absolute(source), bag, out));
    } else {
      withAttrs(options, (bag) => check(dl4.model_load_memory(where, ...memory(source), bag, out)));
    }
    return new Model(out[0]);
  }

  async save(path) {
    return Handle.during([this], later("model_save", this.handle, absolute(path), null));
  }

  /** The bytes of a file. */
  toBytes() {
    return content(made("model_save_memory", this.handle, null));
  }

  clone() {
    return new Model(made("model_clone", this.handle));
  }

  get inputs() {
    return facts("model", this.handle, 0);
  }

  get outputs() {
    return facts("model", this.handle, 1);
  }

  /** Name, shape, type and whether it is trained, of each. */
  get weights() {
    const { handle } = this;
    return names("model_weight_name", handle).map((name, i) => ({
      name,
      shape: shape("model_weight_shape", handle, i),
      dtype: NAMES[dl4.model_weight_dtype(handle, i)],
      trainable: Boolean(dl4.model_weight_trainable(handle, i)),
    }));
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
    super(withAttrs(options, (bag) => made("session_create", model.handle, bag)));
    this.inputs = facts("session", this.handle, 0);
    this.outputs = facts("session", this.handle, 1);
  }

  #fits(ins) {
    if (!this.#last) return false;
    for (let i = 0; i < ins.length; ++i) {
      const [a, b] = [ins[i].shape, this.#last.ins[i].shape];
      if (a !== b && (a.length !== b.length || a.some((d, k) => d !== b[k]))) return false;
    }
    return true;
  }

  /** New tensors for the outputs. */
  #results(ins) {
    if (ins.length !== this.inputs.length) return []; // the library will say so
    if (this.#fits(ins)) return this.#last.outs.map((out) => out.another());
    const ranks = Int32Array.from(ins, (t) => t.shape.length);
    const all = dims(ins.flatMap((t) => t.shape));
    const { handle } = this;
    const outs = this.outputs.map(({ dtype }, i) =>
      Tensor.zeros(shape("session_output_shape", handle, ranks, all, ins.length, i), dtype),
    );
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
    const outHandles = new BigUint64Array(outs.length);
    for (let i = 0; i < outs.length; ++i) {
      outHandles[i] = into ? outs[i].handle : outs[i].wrap();
      if (!into) ended.push(outHandles[i]);
    }
    return { ins, outs, inHandles, outHandles };
  }

  /**
   * Runs beside the event loop. Inputs are a tensor, a typed array or nested lists, a list of those, or an object of
   * them by name; the outputs are a tensor, or a list of them if there are several. `into`: tensors to be written.
   */
  async run(inputs, { into, signal } = {}) {
    const ended = [];
    try {
      const { ins, outs, inHandles, outHandles } = this.#prepare(inputs, into, ended);
      const args = [this.handle, inHandles, ins.length, outHandles, outs.length];
      await cancellable(signal, (flag) => Handle.during([this, ...ins, ...(into ? outs : [])], later("session_run", ...args, flag)));
      return outs.length === 1 ? outs[0] : outs;
    } finally {
      for (const handle of ended) dl4.release(handle);
    }
  }

  /** The same here and now: for small models and for worker threads. */
  runSync(inputs, { into } = {}) {
    const ended = [];
    try {
      const { ins, outs, inHandles, outHandles } = this.#prepare(inputs, into, ended);
      holding(ins, () => check(dl4.session_run(this.handle, inHandles, ins.length, outHandles, outs.length, null)));
      return outs.length === 1 ? outs[0] : outs;
    } finally {
      for (const handle of ended) dl4.release(handle);
    }
  }

  /** Runs over a dataset, in order; outputs are joined along their first axis. */
  async predict(dataset, { signal } = {}) {
    const out = new BigUint64Array(this.outputs.length);
    await cancellable(signal, (flag) =>
      Handle.during([this, dataset], later("session_predict", this.handle, dataset.handle, flag, out, out.length)),
    );
    const outs = Array.from(out, Tensor.taken);
    return outs.length === 1 ? outs[0] : outs;
  }
}

/** Nested lists of numbers, not a list of inputs. */
function isData(list) {
  let first = list;
  while (Array.isArray(first)) first = first[0];
  return ["number", "bigint", "boolean"].includes(typeof first);
}
