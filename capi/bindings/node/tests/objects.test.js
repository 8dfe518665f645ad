// Tensors, graphs, models, sessions.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";

import {
  buildInfo,
  Context,
  Dataset,
  DL4Error,
  Graph,
  initializers,
  layers,
  losses,
  measure,
  Model,
  optimizers,
  registry,
  setSeed,
  Tensor,
  version,
} from "dl4";
import { beside, shares } from "dl4/abi";
import { batch, dataset, dense, numbers, trainer } from "./nets.js";

const refused =
  (code, facts = {}) =>
  (error) => {
    assert.ok(error instanceof DL4Error, error);
    assert.equal(error.code, code, error.message);
    for (const [key, value] of Object.entries(facts)) assert.equal(error[key], value, error.message);
    return true;
  };

test("arrays become tensors by rule", () => {
  const array = Float32Array.of(1, 2, 3, 4);
  const tensor = new Tensor(array, { shape: [2, 2] });
  assert.equal(tensor.data, array);
  assert.deepEqual(tensor.toArray(), [
    [1, 2],
    [3, 4],
  ]);
  assert.deepEqual(new Tensor([[1, 2, 3]]).shape, [1, 3]);
  assert.equal(new Tensor([true, false]).dtype, "bool");
  assert.equal(new Tensor([1n, 2n]).dtype, "int64");
  assert.equal(new Tensor(Int32Array.of(1)).dtype, "int32");
  assert.equal(new Tensor(5).toArray(), 5);
  assert.deepEqual(new Tensor([[], []]).shape, [2, 0]);
  assert.deepEqual([...new Tensor([1, 2], { dtype: "int64" }).data], [1n, 2n]);
  assert.deepEqual([...new Tensor(Float64Array.of(1.5), { dtype: "float32" }).data], [1.5]);
  assert.deepEqual([...new Tensor(BigInt64Array.of(7n), { dtype: "int32" }).data], [7]);
  for (const [value, dtype] of [
    [[1.5], "int32"],
    [[300], "uint8"],
    [[NaN], "int32"],
    [Uint8Array.of(2), "bool"],
    [BigInt64Array.of(2n ** 40n), "int32"],
    [["1"], "float32"],
    [[null], "float32"],
    [[[1], [1, 2]], "float32"],
    [[[1], 2], "float32"],
    [Uint16Array.of(1), undefined],
  ]) {
    assert.throws(() => new Tensor(value, { dtype }), TypeError, String(value));
  }
  assert.throws(() => new Tensor([1, 2], { shape: [3] }), refused("DL4_SHAPE_MISMATCH"));
});

test("runs take tensors, arrays, lists and names, and write in place", async () => {
  const graph = new Graph();
  const [a, b] = ["a", "b"].map((name) => graph.input({ shape: [2], name }));
  const session = graph.build([a, b], layers.Subtract()([a, b])).session();
  const expected = [[4, 4]];
  for (const inputs of [
    [[[5, 6]], [[1, 2]]].map((v) => new Tensor(v)),
    [Float32Array.of(5, 6), Float64Array.of(1, 2)],
    { b: [[1, 2]], a: Int32Array.of(5, 6) },
  ]) {
    assert.deepEqual((await session.run(inputs)).toArray(), expected);
    assert.deepEqual(session.runSync(inputs).toArray(), expected);
  }
  const mine = Tensor.zeros([1, 2]);
  assert.equal(
    session.runSync(
      [
        [5, 6],
        [1, 2],
      ].map((v) => Float32Array.from(v)),
      { into: mine },
    ),
    mine,
  );
  assert.deepEqual([...mine.data], [4, 4]);
  assert.throws(() => session.runSync({ a: [[1, 2]], c: [[1, 2]] }), refused("DL4_NOT_FOUND"));
  assert.throws(() => session.runSync(Float32Array.of(1, 2)), refused("DL4_INVALID_ARGUMENT"));
  assert.throws(
    () => session.runSync([Float32Array.of(1, 2, 3), Float32Array.of(1, 2)]),
    refused("DL4_SHAPE_MISMATCH"),
  );
});

test("memory that was transferred is refused", () => {
  const tensor = batch();
  const session = dense().session();
  session.runSync(tensor);
  structuredClone(tensor.data.buffer, { transfer: [tensor.data.buffer] });
  assert.throws(() => session.runSync(tensor), DL4Error);
  assert.throws(() => tensor.wrap(), DL4Error);
});

test("memory that a call beside the event loop sees stays", { skip: !beside && "none is" }, async () => {
  const session = dense().session();
  const [input, into] = [batch(), session.runSync(batch())];
  const expected = Array.from(into.data);
  into.data.fill(0);
  const ways = [(b) => structuredClone(b, { transfer: [b] }), (b) => new MessageChannel().port1.postMessage(b, [b])];
  if (ArrayBuffer.prototype.transfer) ways.push((b) => b.transfer(), (b) => b.transferToFixedLength());
  const run = session.run(input, { into });
  const data = dataset();
  const fit = trainer().fit(data, { epochs: 2 });
  for (const way of ways) {
    for (const { buffer } of [input.data, into.data]) {
      try {
        way(buffer);
      } catch (error) {
        assert.ok(error instanceof DL4Error || error.name === "DataCloneError", error);
      }
      assert.notEqual(buffer.byteLength, 0);
    }
  }
  await run;
  assert.deepEqual(Array.from(into.data), expected);
  const result = await session.run(input);
  assert.equal(structuredClone(result.data.buffer, { transfer: [result.data.buffer] }).byteLength, expected.length * 4);
  await fit;
});

test("an array of a resizable buffer is refused", (t) => {
  if (!("resizable" in ArrayBuffer.prototype)) return t.skip("not in this Node.js");
  const data = new Float32Array(new ArrayBuffer(16, { maxByteLength: 32 }));
  assert.throws(() => new Tensor(data).handle, refused("DL4_INVALID_ARGUMENT"));
});

test("calls beside the event loop wait for their turn", async () => {
  const session = dense().session();
  const input = batch();
  const expected = session.runSync(input).toArray();
  const answers = await Promise.all(Array.from({ length: 2000 }, () => session.run(input)));
  for (const answer of answers) assert.deepEqual(answer.toArray(), expected);
});

test("a closed object throws, closing twice does not", async () => {
  const [model, data] = [dense(), dataset()];
  const objects = [new Context(), new Graph(), model.session(), trainer(model), data, model.clone(), batch()];
  for (const o of objects) {
    o.close();
    o.close();
    assert.throws(() => o.handle, refused("DL4_INVALID_ARGUMENT"), o.constructor.name);
  }
  await assert.rejects(objects[2].run(batch()), DL4Error);
  await assert.rejects(objects[3].fit(dataset()), DL4Error);
  assert.throws(() => objects[1].input(), DL4Error);
  model.close();
  await assert.rejects(model.save(path.join(os.tmpdir(), "never")), DL4Error);
});

test("layers come from the registry", () => {
  assert.ok(Object.keys(layers).length > 100 && "Dense" in layers && !("Dens" in layers));
  assert.throws(() => layers.Dens, refused("DL4_UNKNOWN_KIND", { did_you_mean: "Dense" }));
  assert.throws(() => layers.Dense({ units: 2 })([[1, 2]]), TypeError);
  const graph = new Graph();
  const x = graph.input({ shape: [null, 3], dtype: "float32" });
  assert.deepEqual(x.shape, [null, null, 3]);
  const [sequence, h, c] = layers.LSTM({ units: 4, return_sequences: true, return_state: true })(x);
  assert.deepEqual(
    [sequence.shape, h.shape],
    [
      [null, null, 4],
      [null, 4],
    ],
  );
  const both = layers.Bidirectional({ layer: layers.LSTM({ units: 2 }), merge_mode: "sum" })(sequence);
  const next = layers.LSTM({ units: 4 })(sequence, { initial_state: [h, c] });
  const y = layers.Add()([layers.Dense({ units: 4 })(both), next]);
  assert.deepEqual(y.shape, [null, 4]);
  const shared = layers.Dense({ units: 4, kernel_initializer: initializers.Ones() });
  assert.equal(graph.build(x, [shared(y), shared(next)]).weights.filter((w) => w.shape.length === 2).length, 10);
  assert.equal(layers.Masking()(x).mask.dtype, "bool");
  assert.equal(x.mask, null);
  for (const attrs of [{ units: NaN }, { units: () => 1 }, { units: 1n }]) {
    assert.throws(() => layers.Dense(attrs)(x), TypeError);
  }
  assert.throws(
    () => layers.Dense({ units: 1, name: "here", unit: 1 })(x),
    refused("DL4_INVALID_ARGUMENT", { layer: "here", attribute: "unit", did_you_mean: "units" }),
  );
});

test("nodes of another graph are refused", () => {
  const [graph, other] = [new Graph(), new Graph()];
  const [x, y] = [graph, other].map((g) => g.input({ shape: [2] }));
  const dense = layers.Dense({ units: 1, name: "d" });
  const h = dense(x);
  const kernel = graph.weight("d/kernel");
  for (const wrong of [y, null, 3]) {
    assert.throws(() => graph.build(x, wrong), TypeError);
    assert.throws(() => graph.call(dense, [wrong]), TypeError);
    assert.throws(() => graph.gradients(wrong, kernel), TypeError);
    assert.throws(() => graph.gradients(h, [kernel, wrong], { sum: true }), TypeError);
    assert.throws(() => graph.gradients(h, kernel, { sum: true }, [h, h]), TypeError);
    assert.throws(() => graph.gradients(h, kernel, { sum: h }), TypeError);
    assert.throws(() => graph.assign(kernel, wrong), TypeError);
    assert.throws(() => graph.update({ optimizer: "sgd" }, kernel, wrong), TypeError);
    assert.throws(() => graph.after(h, [wrong]), TypeError);
  }
});

test("models: weights, files, clones, nesting", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "dl4-"));
  const model = dense();
  model.setWeight("y/bias", Float64Array.of(1, 2, 3));
  assert.deepEqual([...model.getWeight("y/bias").data], [1, 2, 3]);
  assert.deepEqual(model.weights.at(-1), { name: "y/bias", shape: [3], dtype: "float32", trainable: true });
  assert.deepEqual(model.inputs, [{ name: "x", shape: [null, 4], dtype: "float32" }]);
  assert.throws(() => model.setWeight("y/bias", [1, 2]), refused("DL4_SHAPE_MISMATCH"));
  const file = path.join(folder, "модель.safetensors");
  await model.save(file);
  const bytes = model.toBytes();
  assert.deepEqual(new Uint8Array(fs.readFileSync(file)), new Uint8Array(bytes));
  const expected = (await model.predict(batch())).data;
  for (const again of [
    await Model.load(file),
    await Model.load(bytes),
    await Model.load(bytes.slice().buffer),
    model.clone(),
  ]) {
    assert.deepEqual((await again.predict(batch())).data, expected);
  }
  await assert.rejects(Model.load(path.join(folder, "none")), refused("DL4_NOT_FOUND"));
  const graph = new Graph();
  const x = graph.input({ shape: [4] });
  const outer = graph.build(x, layers.Functional({ model, name: "inner" })(x));
  assert.equal(outer.weights.at(-1).name, "inner/y/bias");
  model.setTrainable("*", false);
  assert.ok(outer.weights.every((w) => !w.trainable));
  assert.match(model.describe(), /Total params/);
  assert.match(model.describe("dot"), /digraph/);
  fs.rmSync(folder, { recursive: true });
});

test("seeds, measures, facts of the library", () => {
  const first = [1, 2].map(() => {
    setSeed(5);
    return dense().getWeight("*").data;
  });
  assert.deepEqual(first[0], first[1]);
  const context = new Context({ threads: 4 });
  context.seed = 5;
  context.trim();
  assert.deepEqual(dense({ context }).getWeight("*").data, first[0]);
  const loss = measure("loss", "MeanSquaredError", [[1, 2]], [[1, 4]]);
  assert.deepEqual(loss.toArray(), 2);
  assert.deepEqual(measure("loss", "Huber", [[1, 2]], [[1, 4]], { delta: 1, reduction: "none" }).toArray(), [0.75]);
  assert.match(version, /^1\.\d+\.\d+$/);
  assert.equal(buildInfo().version, version);
  assert.equal(buildInfo().threads, beside ? "many" : "one");
  assert.ok(registry("optimizer").optimizer.Adam.attributes.length > 5);
  assert.deepEqual(optimizers.Adam({ learning_rate: 0.1 }), { class_name: "Adam", config: { learning_rate: 0.1 } });
  assert.equal(losses.Huber().class_name, "Huber");
});

test("a library of another version is refused", { skip: !shares && "there is no library to load" }, (t) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "dl4-"));
  const [source, library] = ["other.c", "libother.so"].map((f) => path.join(folder, f));
  fs.writeFileSync(
    source,
    "int dl4_version(void) { return 2003004; }",
  );
  const made = spawnSync("cc", ["-shared", "-fPIC", "-o", library, source]);
  if (made.status !== 0) return t.skip("no C compiler");
  const run = (file) =>
    spawnSync(process.execPath, ["-e", 'import("dl4").catch((e) => console.log(e.message))'], {
      env: { ...process.env, DL4_LIBRARY: file },
      cwd: new URL(".", import.meta.url),
      encoding: "utf8",
    }).stdout;
  assert.match(run(library), /version 1 of libdl4, found 2\.3\.4/);
  assert.match(run(path.join(folder, "none.so")), /cannot load .*none\.so.*DL4_LIBRARY/);
  fs.rmSync(folder, { recursive: true });
});

test("without a shared library the module computes", { skip: !shares && "it does already" }, () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "dl4-"));
  const own = (name) => new URL(`../${name}`, import.meta.url);
  for (const name of ["lib", "package.json"]) fs.cpSync(own(name), path.join(folder, name), { recursive: true });
  fs.symlinkSync(own("node_modules"), path.join(folder, "node_modules"));
  const native = path.join(folder, "lib/native.js");
  fs.writeFileSync(native, fs.readFileSync(native, "utf8").replace("libdl4.so.1", "libdl4-none.so"));
  fs.rmSync(path.join(folder, "lib/dl4.mjs"), { force: true });
  const run = (env) => {
    const program = 'import("dl4/abi").catch((e) => console.log(e.message))';
    const said = spawnSync(process.execPath, ["-e", program], { env, cwd: folder, encoding: "utf8" });
    return said.stdout + said.stderr;
  };
  const { DL4_LIBRARY: named, ...env } = process.env;
  assert.match(run(env), /^cannot load libdl4-none\.so/); // the package has no module
  fs.writeFileSync(path.join(folder, "lib/wasm.js"), "export const func = () => () => 3e6;");
  assert.match(run({ ...env, DL4_LIBRARY: "/none/libdl4.so" }), /^cannot load \/none\/libdl4\.so/);
  assert.match(run(env), /found 3\.0\.0[^]*cannot load libdl4-none\.so.*WebAssembly, with one thread, computes/);
  fs.rmSync(folder, { recursive: true });
});

test("examples run", () => {
  const run = (name) =>
    execFileSync(process.execPath, [name], { encoding: "utf8", cwd: new URL("../examples", import.meta.url) });
  assert.match(run("xor.js"), /0 xor 1 = 1\n/);
  const accuracy = Number(/test accuracy (\d\.\d+)/.exec(run("fashion.js"))[1]);
  assert.ok(accuracy > 0.8, `accuracy ${accuracy}`);
});

test("gradients of a session", () => {
  const graph = new Graph();
  const x = graph.input({ shape: [2], name: "x" });
  const session = graph.build(x, layers.Square()(x)).session({ gradients: ["x"] });
  assert.deepEqual(session.outputs.map((o) => o.name).at(-1), "gradient of x");
  assert.deepEqual(session.runSync(Float32Array.of(1, 3))[1].toArray(), [[2, 6]]);
  assert.equal(numbers(3).length, 3);
});
