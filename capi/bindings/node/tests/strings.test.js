// Tensors of strings, and layers that learn from them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Dataset, DL4Error, Graph, layers, Tensor } from "dl4";

const vocabulary = ["red", "green"];

function lookup(...shape) {
  const graph = new Graph();
  const x = graph.input({ shape, dtype: "string", name: "x" });
  const ids = layers.StringLookup({ vocabulary })(x);
  return graph.build(x, [ids, layers.StringLookup({ vocabulary, invert: true })(ids)]).session();
}

test("strings in and out: lists, a flat list in the input's shape, by name, here and beside the event loop", async () => {
  const session = lookup(1);
  assert.deepEqual([session.inputs[0].dtype, session.outputs[1].dtype], ["string", "string"]);
  const colours = ["green", "", "red"];
  for (const input of [colours, colours.map((c) => [c]), { x: colours }, new Tensor(colours, { shape: [3, 1] })]) {
    for (const [ids, names] of [await session.run(input), session.runSync(input)]) {
      assert.deepEqual([ids.dtype, ids.toArray()], ["int64", [[2n], [0n], [1n]]]);
      assert.deepEqual([names.dtype, names.toArray()], ["string", [["green"], ["[UNK]"], ["red"]]]);
    }
  }
  const [ids] = await lookup().run(["red"]);
  assert.deepEqual(ids.toArray(), [1n]);
});

test("bytes that are no UTF-8 come back as they are", async () => {
  const graph = new Graph();
  const x = graph.input({ shape: [2], dtype: "string" });
  const session = graph.build(x, layers.Reshape({ target_shape: [2, 1] })(x)).session();
  const wrong = Uint8Array.of(0xff, 0x00);
  const given = new Tensor([["b\0é\ufeff", wrong]], { dtype: "string" });
  assert.deepEqual((await session.run(given)).toArray(), [[["b\0é\ufeff"], [wrong]]]);
  const many = Array.from({ length: 5000 }, (_, i) => [`a longer text, number ${i}`, ""]);
  assert.deepEqual((await session.run(many)).data, Object.freeze(many.flat()));
});

test("what is no string, or no number, is refused", async () => {
  assert.throws(() => new Tensor(["a", 1]), /TypeError: expected strings, got number/);
  assert.throws(() => new Tensor([1, "a"]), /TypeError: expected float32, got "a"/);
  assert.throws(() => new Tensor(["a"], { dtype: "int32" }), /TypeError: expected int32, got "a"/);
  assert.throws(() => new Tensor([1], { dtype: "string" }), /TypeError: expected strings, got number/);
  assert.throws(() => new Tensor(["a", null]), /TypeError: expected numbers or strings, got null/);
  assert.throws(() => new Tensor(["a", null], { dtype: "string" }), /TypeError: expected strings, got null/);
  assert.throws(() => new Tensor(new Float32Array(1), { dtype: "string" }), /TypeError: expected strings, got numbers/);
  assert.throws(() => new Tensor([["a"], ["b", "c"]]), /lists of one length/);
  assert.throws(() => new Tensor(["a"], { shape: [2] }), { code: "DL4_SHAPE_MISMATCH" });
  assert.throws(() => new Tensor(["\ud800"]).handle, /TypeError: expected text, got half a character in string 0/);
  assert.throws(() => Tensor.zeros([1], "string"), /TypeError: zeros: expected a dtype of float32/);
  const session = lookup(1);
  await assert.rejects(session.run([[1]]), /TypeError: expected strings, got number/);
  await assert.rejects(session.run(new Tensor([[1]])), { code: "DL4_SHAPE_MISMATCH" });
  const text = new Tensor([["red"]]);
  const into = [new Tensor([[0n]]), new Tensor([["x"]])];
  await assert.rejects(session.run(text, { into }), DL4Error);
});

test("adapt learns a vocabulary, of batches that a function gives too", async () => {
  const texts = ["good film", "bad film", "good"];
  const data = new Dataset({ x: new Tensor(texts, { shape: [3, 1] }) }, { batch_size: 2 });
  const given = { output_sequence_length: 3 };
  const learned = await data.adapt("TextVectorization", given);
  assert.deepEqual(learned.vocabulary.slice(-3).sort(), ["bad", "film", "good"]);
  const batches = Dataset.from(() => texts.map((text) => ({ x: new Tensor([[text]]) })));
  assert.deepEqual(await batches.adapt("TextVectorization", given), learned);

  const graph = new Graph();
  const x = graph.input({ shape: [1], dtype: "string" });
  const session = graph.build(x, layers.TextVectorization(learned)(x)).session();
  assert.deepEqual((await session.run(["film", "no film"])).shape, [2, 3]);
  await assert.rejects(data.adapt("Dense", { units: 1 }), { code: "DL4_UNSUPPORTED" });
  await assert.rejects(data.adapt("StringLookup", {}, { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(data.adapt("StringLookup", {}, { sginal: null }), /TypeError: .*sginal/);
  const failing = Dataset.from(function* () {
    yield { x: new Tensor([["a"]]) };
    throw new RangeError("no more");
  });
  await assert.rejects(failing.adapt("StringLookup"), RangeError);
});
