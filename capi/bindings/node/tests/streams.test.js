// Streams: cut, kept, forked, many at once, ids drawn.
import assert from "node:assert/strict";
import test from "node:test";

import { Graph, layers, Session, Stream, Tensor } from "dl4";

function language() {
  const graph = new Graph();
  const ids = graph.input({ shape: [null], dtype: "int32" });
  const x = layers.Embedding({ input_dim: 7, output_dim: 4 })(ids);
  const y = layers.Dense({ units: 7 })(layers.GRU({ units: 5, return_sequences: true })(x));
  return new Session(graph.build(ids, y), { states: true });
}

const ids = (...rows) => new Tensor(rows, { dtype: "int32" });

test("any cut gives the same numbers", () => {
  const session = language();
  const [one, other] = [new Stream(session), new Stream(session)];
  const whole = one.run(ids([1, 2, 3]));
  other.run(ids([1, 2]));
  const bytes = other.toBytes();
  assert.deepEqual(other.run(ids([3])).data, whole.data.slice(14));
  one.load(bytes);
  assert.deepEqual(one.run(ids([3])).data, whole.data.slice(14));
  one.reset();
  assert.deepEqual(one.run(ids([1, 2, 3])).data, whole.data);
});

test("many streams in one call", () => {
  const session = language();
  const y = Stream.runMany([new Stream(session), new Stream(session)], ids([1, 2], [3, 4]), { steps: [2, 1] });
  assert.deepEqual(y.shape, [2, 2, 7]);
  assert.deepEqual(y.data.slice(21), new Float32Array(7));
  assert.throws(() => Stream.runMany([new Stream(session)], ids([1]), { steps: [1, 2] }), /numbers of steps/);
  assert.throws(() => Stream.runMany([], ids([1])), /at least 1/);
});

test("ids are drawn by the stream's own generator", () => {
  const session = language();
  const [one, same] = [new Stream(session, { seed: 3 }), new Stream(session, { seed: 3 })];
  const options = { temperature: 2, top_k: 5, top_p: 0.9 };
  assert.deepEqual(one.next(ids([1, 2]), options), same.next(ids([1, 2]), options));
  const fork = one.fork();
  assert.deepEqual(fork.next(ids([1])), one.next(ids([1])));
  assert.deepEqual(one.next(ids([1]), { mask: (logits) => logits.fill(-Infinity, 0, 6) }), [6]);
  const refuses = () => {
    throw new RangeError("no grammar");
  };
  assert.throws(() => one.next(ids([1]), { mask: refuses }), RangeError);
  assert.throws(() => one.next(ids([1]), { top_p: 2 }), { code: "DL4_INVALID_ARGUMENT" });
  const [a, b] = [1, 2].map(() => [...new Stream(session, { seed: 5 }).generate([1, 2], { maxNew: 9, temperature: 2 })]);
  assert.equal(a.length, 9);
  assert.deepEqual(a, b);
  const ended = [...new Stream(session, { seed: 5 }).generate([1, 2], { stop: [a[4]], temperature: 2 })];
  assert.deepEqual(ended, a.slice(0, a.indexOf(a[4]) + 1));
});

test("one of the sequences begins again", () => {
  const rows = new Stream(language(), { batch: 2 });
  const first = rows.run(ids([1], [2]));
  rows.reset(1);
  const second = rows.run(ids([1], [2]));
  assert.deepEqual(second.data.slice(7), first.data.slice(7));
  assert.notDeepEqual(second.data.slice(0, 7), first.data.slice(0, 7));
  assert.throws(() => rows.reset(2), { code: "DL4_INVALID_ARGUMENT" });
});
