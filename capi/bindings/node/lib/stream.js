// Streams: a session that is run step by step.
import {
  answering,
  callback,
  check,
  content,
  decode,
  dl4,
  DL4Error,
  Handle,
  holding,
  made,
  memory,
  none,
  optionsText,
  strict,
  takes,
} from "./abi.js";
import { Tensor } from "./tensor.js";

/** A list of tensors for inputs: a tensor, a typed array or nested lists, or a list of those. */
function given(session, inputs) {
  const several = Array.isArray(inputs) && session.inputs.length > 1;
  const list = several || (Array.isArray(inputs) && inputs[0] instanceof Tensor) ? inputs : [inputs];
  return list.map((value, i) => Tensor.as(value, session.inputs[i]));
}

const handles = (list) => BigUint64Array.from(list, (t) => t.handle);
const results = (out) => (out.length === 1 ? Tensor.taken(out[0]) : Array.from(out, Tensor.taken));

/** A sequence that goes on: what a session with `states: true` carries from step to step is kept here. */
export class Stream extends Handle {
  #session;
  #outputs;
  #batch;

  /** Options: batch, seed. */
  constructor(session, options = {}, handle = null) {
    if (typeof handle !== "bigint") takes("new Stream(session, options)", arguments);
    super(handle ?? made("stream_create", session.handle, optionsText(options)));
    this.#session = session;
    this.#outputs = dl4.port_count(this.handle, 1);
    this.#batch = options.batch ?? 1;
  }

  /** The next steps, here and now: a tensor, or a list of them if the model has several outputs. */
  run(inputs) {
    const ins = given(this.#session, inputs);
    const out = new BigUint64Array(this.#outputs);
    holding(ins, () => check(dl4.stream_run(this.handle, handles(ins), ins.length, out, out.length, null)));
    return results(out);
  }

  /**
   * The next steps of many streams of one session in one call, which is faster than a call for each. Row i of the inputs
   * and outputs is that of streams[i], which takes steps[i] of the steps; without `steps` all of them.
   */
  static runMany(streams, inputs, { steps = null, ...others } = {}) {
    none("runMany", others, "steps");
    if (!streams.length) throw new DL4Error("runMany: expected at least 1 stream, got 0");
    if (steps && steps.length !== streams.length)
      throw new DL4Error(`runMany: expected ${streams.length} numbers of steps, got ${steps.length}`);
    const ins = given(streams[0].#session, inputs);
    const out = new BigUint64Array(streams[0].#outputs);
    const counts = steps && BigInt64Array.from(steps, BigInt);
    holding([ins, streams], () =>
      check(dl4.stream_run_many(handles(streams), streams.length, counts, handles(ins), ins.length, out, out.length, null)),
    );
    return results(out);
  }

  /**
   * The next steps, and the id that follows in each sequence, drawn from the model's logits. Options: temperature,
   * top_k, top_p, stop, from_logits; mask(logits, vocabulary) changes the Float32Array in place: what is -Infinity is not
   * drawn.
   */
  next(inputs, { mask = null, ...options } = {}) {
    const ins = given(this.#session, inputs);
    const ids = new BigInt64Array(this.#batch);
    const change = (_, logits) =>
      answering(() => {
        const values = new Float32Array(Number(dl4.tensor_bytes(logits)) / 4);
        check(dl4.tensor_copy_out(logits, values, values.byteLength));
        mask(values, Number(decode(dl4.tensor_dims(logits), "int64_t", 2)[1]));
        check(dl4.tensor_copy_in(logits, values, values.byteLength));
        return 0;
      });
    const fn = mask && callback("dl4_logits_fn", change, change);
    const text = optionsText(options);
    holding([ins, change], () =>
      check(dl4.stream_next(this.handle, handles(ins), ins.length, text, fn, null, ids, ids.length, null)),
    );
    return Array.from(ids, Number);
  }

  /** Draws ids one after the other behind those of a prompt; it ends after one of `stop`, or after maxNew. */
  *generate(ids, { maxNew = Infinity, stop = [], ...options } = {}) {
    if (this.#batch !== 1) throw new DL4Error(`generate: expected a stream of batch 1, got ${this.#batch}`);
    const [{ dtype }] = this.#session.inputs;
    for (let n = 0, next = Array.from(ids); n < maxNew; ++n) {
      const values = dtype === "int64" ? next.map(BigInt) : next;
      next = this.next(new Tensor([values], { dtype }), { ...options, stop });
      yield next[0];
      if (stop.includes(next[0])) return;
    }
  }

  /** A second stream that goes on from here. Options: seed. */
  fork(options = null) {
    const handle = made("stream_fork", this.handle, optionsText(options));
    return new Stream(this.#session, { batch: this.#batch }, handle);
  }

  /** Back to the beginning: all sequences, or one of them. */
  reset(row = null) {
    check(row === null ? dl4.stream_reset(this.handle) : dl4.stream_reset_row(this.handle, row));
  }

  /** Where it stands, for load(). */
  toBytes() {
    return content(made("stream_save_bytes", this.handle));
  }

  load(bytes) {
    check(dl4.stream_load_bytes(this.handle, ...memory(bytes)));
  }
}
strict(
  Stream,
  "run(inputs)",
  "runMany(streams, inputs, { steps })",
  "next(inputs, { mask, temperature, ... })",
  "generate(ids, { maxNew, stop, temperature, ... })",
  "fork(options)",
  "reset(row)",
  "toBytes()",
  "load(bytes)",
);
