// No argument is ignored: those too many and options that nothing takes are refused.
import assert from "node:assert/strict";
import { test } from "node:test";

import * as dl4 from "dl4";
import { batch, dataset, dense, labels, trainer } from "./nets.js";

const { addKind, buildInfo, Context, Dataset, Graph, layers, losses, measure, Model, optimizers, registry } = dl4;
const { Session, setSeed, Stream, Tensor, Trainer } = dl4;

/** A call throws, or its promise fails with, a TypeError of these words. */
async function refused(call, words) {
  const said = async () => call();
  await assert.rejects(said, (error) => {
    assert.ok(error instanceof TypeError, `${call}: ${error}`);
    assert.match(error.message, words, String(call));
    return true;
  });
}

test("what a third argument of fit() was meant to be, its refusal shows", async () => {
  const t = trainer(dense());
  const { signal } = new AbortController();
  const form = /expected fit\(train, \{ epochs, validation, progress, signal, \.\.\. \}\), got 3 arguments/;
  await refused(() => t.fit(dataset(), { epochs: 1 }, { signal }), form);
  await t.fit(dataset(), { epochs: 1, signal });
});

test("each function refuses more arguments than it has", async () => {
  const nine = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const internal = { Tensor: ["form", "of", "another", "as", "taken", "wrap", "written", "make", "pin"], Dataset: ["pin"] };
  for (const type of [Context, Dataset, Graph, Model, Session, Stream, Tensor, Trainer]) {
    if (type !== Model) await refused(() => new type(...nine), /got 9 arguments/); // which graphs and files make
    for (const where of [type, type.prototype]) {
      for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(where))) {
        if (typeof value !== "function" || name === "constructor" || internal[type.name]?.includes(name)) continue;
        await refused(() => value.call({}, ...nine), /got 9 arguments/);
      }
    }
  }
  for (const f of [addKind, buildInfo, measure, registry, setSeed]) {
    await refused(() => f(...nine.slice(0, 2), {}, ...nine), /got 12 arguments/);
  }
  await refused(() => layers.Dense({ units: 1 }, { name: "d" }), /Dense\(config\), got 2 arguments/);
  await refused(() => optimizers.Adam({}, 0.1), /Adam\(config\), got 2 arguments/);
  const x = new Graph().input({ shape: [2] });
  await refused(() => layers.Dense({ units: 1 })(x, {}, { training: true }), /got 3 arguments/);
});

test("each function refuses options that it does not have", async () => {
  const model = dense();
  const [session, t, data] = [model.session(), trainer(model), dataset()];
  const [x, y] = [batch(), labels()];
  const typo = { sginal: null };
  for (const [call, known] of [
    [() => new Graph({ contxt: null }), "context"],
    [() => new Graph().input({ sahpe: [2] }), "shape, batch_shape, dtype, name"],
    [() => new Graph().constant([1], { dytpe: "int32" }), "name, dtype"],
    [() => new Tensor([1], { sahpe: [1] }), "shape, dtype"],
    [() => new Dataset({ x, y, weights: y }), "x, y, w"],
    [() => session.run(x, typo), "into, signal"],
    [() => session.runSync(x, typo), "into"],
    [() => session.predict(data, typo), "signal"],
    [() => model.predict(x, typo), "into, signal"],
    [() => t.evaluate(data, typo), "signal"],
    [() => Stream.runMany([], x, { step: [1] }), "steps"],
    [() => t.fit(Dataset.from(() => [{ x, y, weights: y }])), "x, y, w"],
  ]) {
    await refused(call, new RegExp(`expected options of ${known}, got "|a batch: expected options of ${known}, got "`));
  }
  await refused(async () => {
    for await (const _ of t.fitting(data, { progress() {} }));
  }, /expected fit\(\) with it/);
});

test("the library refuses the options that go to it", () => {
  const model = dense();
  const [x, y] = [batch(), labels()];
  for (const call of [
    () => new Context({ thread: 1 }),
    () => model.session({ profil: true }),
    () => model.trainer({ los: "mse" }),
    () => new Dataset({ x, y }, { batchsize: 2 }),
    () => measure("loss", "MeanSquaredError", x, x, { reducion: "sum" }),
    () => new Stream(model.session({ states: true }), { bacth: 1 }),
    () => layers.Dense({ unit: 1 })(new Graph().input({ shape: [2] })),
    () => addKind("layer", "Odd", { shape: (s) => s, forward() {}, weighs: [] }),
    () => new Graph().update({ optimiser: losses.MeanSquaredError() }, [], []),
  ]) {
    assert.throws(call, (error) => error instanceof dl4.DL4Error && /"\w+"/.test(error.message), String(call));
  }
});
