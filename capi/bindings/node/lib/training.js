// Datasets and trainers.
import {
  absolute,
  answering,
  beside,
  callback,
  check,
  constants,
  content,
  decode,
  description,
  dl4,
  DL4Error,
  encode,
  Handle,
  holding,
  made,
  memory,
  none,
  ports,
  optionsText,
  strict,
  takes,
  text,
} from "./abi.js";
import { cancellable } from "./cancel.js";
import { Tensor } from "./tensor.js";

const EVENTS = Object.fromEntries(
  description.constants
    .filter((c) => c.group.startsWith("Events of dl4_progress_fn"))
    .map((c) => [c.value, c.name.slice(4).toLowerCase()]),
);
const { DL4_CONTINUE: CONTINUE, DL4_STOP: STOP } = constants;

/** Tensors of an array or tensor, of a list of those, or of nothing; null in a list stays. */
function tensors(value) {
  if (value === undefined || value === null) return [];
  const several =
    Array.isArray(value) && (!value.length || value.some((v) => typeof v === "object" && !Array.isArray(v)));
  return (several ? value : [value]).map((v) => (v === null ? null : Tensor.as(v)));
}

const handles = (list) => BigUint64Array.from(list, (t) => (t ? t.handle : 0n));
const counted = (list) => [handles(list), list.length];

/** Puts the batches that a function gives into the library's hands. */
function feeder(batches) {
  let iterator;
  let next = -1;
  const put = (value, slots, n, required) => {
    const list = tensors(value);
    if (!list.length && !(n && required)) return;
    if (list.length && list.length !== n) throw new TypeError(`expected ${n} arrays, got ${list.length}`);
    // Copies: the library may keep a batch for longer than this array lives.
    const copies = holding(list, () => list.map((t) => (t ? made("tensor_clone", t.handle) : 0n)));
    encode(slots, "pointer", copies, n);
  };
  return (_, index, x, nx, y, ny, w, nw) =>
    answering(() => {
      if (index !== next) {
        iterator?.return?.(); // of an epoch that ended before its data
        iterator = batches()[Symbol.iterator]();
        for (next = 0; next < index; ++next) iterator.next();
      }
      ++next;
      const { done, value } = iterator.next();
      if (done) return STOP;
      const { x: sources, y: targets, w: weights, ...others } = value;
      none("a batch", others, "x, y, w");
      put(sources, x, nx, true);
      put(targets, y, ny, true);
      put(weights, w, nw, false);
      return CONTINUE;
    });
}

/** Batches of inputs x, targets y and sample weights w, each a tensor or array or a list of them. */
export class Dataset extends Handle {
  #held; // the library sees the arrays' memory, and calls the function that goes with them

  /** Of whole tensors, [B, ...] each; or with `batches`, see from(). */
  constructor({ x, y, w, batches, ...others } = {}, { context = null, ...options } = {}) {
    takes("new Dataset({ x, y, w }, { batch_size, ... })", arguments);
    none("Dataset", others, "x, y, w");
    const where = context && context.handle;
    const held = [x, y, w].map(tensors);
    const give = batches && callback("dl4_batch_fn", held, feeder(batches));
    super(
      batches
        ? made("dataset_from_callback", where, give, null, null, optionsText(options))
        : made("dataset_from_tensors", where, ...held.flatMap(counted), optionsText(options)),
    );
    this.#held = held;
  }

  pin() {
    for (const t of this.#held.flat()) t?.pin();
  }

  /**
   * The config of a layer that has learned from the inputs, which are read once: a vocabulary, limits of bins, mean and
   * variance. `config` has what is not learned.
   */
  async adapt(kind, config = {}, { context = null, signal, ...others } = {}) {
    none("adapt", others, "context, signal");
    const out = new BigUint64Array(1);
    const where = context && context.handle;
    await cancellable(signal, (flag) =>
      Handle.during([context, this], "adapt", where, kind, optionsText(config), this.handle, flag, out),
    );
    return JSON.parse(text(out[0]));
  }

  /** Of batches { x, y, w } that a generator function gives anew for each epoch. */
  static from(batches, options) {
    return new Dataset({ batches }, options);
  }
}

/** A model being trained. Numbers come by the names of `metricNames`. */
export class Trainer extends Handle {
  constructor(model, options) {
    takes("new Trainer(model, options)", arguments);
    super(made("trainer_create", model.handle, optionsText(options)));
    this.metricNames = ports(this.handle, constants.DL4_METRICS).map((port) => port.name);
  }

  #named(values, prefix = "") {
    return Object.fromEntries(this.metricNames.slice(0, values.length).map((name, i) => [prefix + name, values[i]]));
  }

  #batch(x, y, w) {
    const parts = [x, y, w].map(tensors);
    const metrics = new Float64Array(this.metricNames.length);
    return { parts, metrics, args: [this.handle, ...parts.flatMap(counted), metrics, metrics.length, null] };
  }

  async #later(name, x, y, w) {
    const { parts, metrics, args } = this.#batch(x, y, w);
    await Handle.during([this, ...parts.flat()], name, ...args);
    return this.#named(metrics);
  }

  #now(name, x, y, w) {
    const { parts, metrics, args } = this.#batch(x, y, w);
    holding(parts, () => check(dl4[name](...args)));
    return this.#named(metrics);
  }

  /** Trains on one batch, beside the event loop; its metrics. */
  step(x, y, w) {
    return this.#later("trainer_step", x, y, w);
  }

  stepSync(x, y, w) {
    return this.#now("trainer_step", x, y, w);
  }

  /** Adds the gradients of one batch to those kept. */
  accumulate(x, y, w) {
    return this.#later("trainer_accumulate", x, y, w);
  }

  accumulateSync(x, y, w) {
    return this.#now("trainer_accumulate", x, y, w);
  }

  /** Updates the weights by the mean of the gradients accumulated. */
  apply() {
    check(dl4.trainer_apply(this.handle));
  }

  /** The mean gradient accumulated, of one weight or with "*" of all in a row. */
  gradient(weight) {
    return Tensor.taken(made("trainer_get_gradient", this.handle, weight));
  }

  setGradient(weight, value) {
    const tensor = Tensor.as(value);
    holding([tensor], () => check(dl4.trainer_set_gradient(this.handle, weight, tensor.handle)));
  }

  addGradient(weight, value) {
    const tensor = Tensor.as(value);
    holding([tensor], () => check(dl4.trainer_add_gradient(this.handle, weight, tensor.handle)));
  }

  zeroGradients() {
    check(dl4.trainer_zero_gradients(this.handle));
  }

  #teller(progress) {
    return (_, event, step, total, metrics, n) =>
      answering(() => {
        const values = n ? decode(metrics, "double", n) : [];
        const half = this.metricNames.length;
        const told = { ...this.#named(values.slice(0, half)), ...this.#named(values.slice(half), "val_") };
        const answer = progress({ event: EVENTS[event], step, total, metrics: told });
        if (typeof answer?.then === "function") throw new TypeError("progress: expected a function that is not async");
        if (answer !== undefined && answer !== "continue" && answer !== "stop")
          throw new TypeError(`progress: expected "continue", "stop" or nothing, got ${answer}`);
        return answer === "stop" ? STOP : CONTINUE;
      });
  }

  /**
   * Trains for some epochs, beside the event loop; the history. `progress` is told each event, and may answer "continue" or "stop";
   * what it throws is what the promise fails with.
   */
  async fit(train, { validation = null, progress, signal, ...options } = {}) {
    const out = new BigUint64Array(1);
    const tell = progress ? this.#teller(progress) : null;
    const both = [train.handle, validation && validation.handle];
    await cancellable(signal, (flag) =>
      Handle.during(
        [this, train, validation],
        "trainer_fit",
        this.handle,
        ...both,
        optionsText(options),
        tell,
        null,
        flag,
        out,
      ),
    );
    return JSON.parse(text(out[0]));
  }

  /** fit() as a sequence of its events; leaving the loop stops the training. Its result is the history. */
  async *fitting(train, options) {
    if (!beside) {
      throw new DL4Error("fitting: calls fill the event loop here; expected fit() with progress", "DL4_UNSUPPORTED");
    }
    const queue = [];
    let [wake, done, left] = [() => {}, false, false];
    const progress = (event) => {
      queue.push(event);
      wake();
      return left ? "stop" : undefined;
    };
    if (options?.progress) throw new TypeError("fitting: its events are what progress is told; expected fit() with it");
    const fit = this.fit(train, { ...options, progress }).finally(() => {
      done = true;
      wake();
    });
    fit.catch(() => {}); // it is awaited below
    try {
      for (;;) {
        while (queue.length) yield queue.shift();
        if (done) return await fit;
        await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      left = true;
      await fit;
    }
  }

  /** Loss and metrics over a dataset. */
  async evaluate(dataset, { signal, ...others } = {}) {
    none("evaluate", others, "signal");
    const metrics = new Float64Array(this.metricNames.length);
    const args = [this.handle, dataset.handle];
    await cancellable(signal, (flag) =>
      Handle.during([this, dataset], "trainer_evaluate", ...args, flag, metrics, metrics.length, null),
    );
    return this.#named(metrics);
  }

  /** "learning_rate", "iterations", "epoch", "batch" */
  get(key) {
    const out = new Float64Array(1);
    check(dl4.trainer_get_number(this.handle, key, out));
    return out[0];
  }

  set(key, value) {
    check(dl4.trainer_set_number(this.handle, key, value));
  }

  get learningRate() {
    return this.get("learning_rate");
  }

  set learningRate(value) {
    this.set("learning_rate", value);
  }

  /**
   * Trains with size - 1 other workers from now on: each makes this call, with its rank, then the same calls at the same
   * time. reduce(array) sums a Float32Array or Int32Array in place over all of them, to the same bits on each; what it
   * throws is what the call under way fails with. It is a plain function that waits, as by Atomics.wait(), so that workers
   * are processes or worker threads. null: alone again.
   */
  async setWorkers(rank, size, reduce) {
    const sums = (_, values, n, dtype) =>
      answering(() => {
        const [type, Numbers] = dtype === constants.DL4_FLOAT32 ? ["float", Float32Array] : ["int32_t", Int32Array];
        const array = Numbers.from(decode(values, type, n));
        const answer = reduce(array);
        if (typeof answer?.then === "function") throw new TypeError("reduce: expected a function that is not async");
        encode(values, type, array, n);
        return CONTINUE;
      });
    const fn = reduce ? callback("dl4_reduce_fn", this, sums) : null;
    await Handle.during([this], "trainer_set_workers", this.handle, rank, size, fn, null, null);
  }

  /** Saves a checkpoint to a file. */
  async save(path) {
    return Handle.during([this], "trainer_save", this.handle, absolute(path));
  }

  /** A checkpoint as the bytes of a file. */
  toBytes() {
    return content(made("trainer_save_bytes", this.handle));
  }

  /** Loads a checkpoint from a file, or from the bytes of one. */
  async load(source) {
    if (typeof source === "string") {
      await Handle.during([this], "trainer_load", this.handle, absolute(source));
    } else {
      check(dl4.trainer_load_bytes(this.handle, ...memory(source)));
    }
  }
}
strict(Dataset, "from(batches, { batch_size, ... })", "adapt(kind, config, { context, signal })");
strict(
  Trainer,
  "step(x, y, w)",
  "stepSync(x, y, w)",
  "accumulate(x, y, w)",
  "accumulateSync(x, y, w)",
  "apply()",
  "gradient(weight)",
  "setGradient(weight, value)",
  "addGradient(weight, value)",
  "zeroGradients()",
  "fit(train, { epochs, validation, progress, signal, ... })",
  "fitting(train, { epochs, validation, signal, ... })",
  "evaluate(dataset, { signal })",
  "get(key)",
  "set(key, value)",
  "setWorkers(rank, size, reduce)",
  "save(path)",
  "toBytes()",
  "load(source)",
);
