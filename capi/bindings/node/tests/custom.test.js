// Kinds of one's own.
import assert from "node:assert/strict";
import { test } from "node:test";

import { addKind, checkKind, Dataset, Graph, layers, measure, removeKind, Tensor } from "dl4";

const mine = new Error("mine");
let fails = false;

addKind("layer", "Scale", {
  weights: ["scale"],
  shape: ([x]) => [x, [x.at(-1)]],
  forward([x, scale], [y], config) {
    if (fails) throw mine;
    assert.equal(config, "here");
    const n = scale.data.length;
    y.data.forEach((_, i) => (y.data[i] = x.data[i] * scale.data[i % n]));
  },
  backward([x, scale], _, [dy], [dx, dscale]) {
    const n = scale.data.length;
    dy.data.forEach((d, i) => {
      if (dx) dx.data[i] = d * scale.data[i % n];
      if (dscale) dscale.data[i % n] += d * x.data[i];
    });
  },
});
addKind("loss", "Cubed", {
  shape: ([, p]) => [p.slice(0, -1)],
  forward([t, p], [loss]) {
    const n = p.shape.at(-1);
    p.data.forEach((v, i) => (loss.data[Math.floor(i / n)] += Math.abs(v - t.data[i]) ** 3));
  },
});

function net() {
  const graph = new Graph();
  const x = graph.input({ shape: [2] });
  const model = graph.build(x, layers.Scale({ config: "here", initializer: "Ones" })(x));
  model.setWeight(model.weights[0].name, [2, 3]);
  return model;
}

test("a layer of one's own runs and trains", async () => {
  const model = net();
  const session = model.session();
  assert.deepEqual(session.runSync([[1, 2]]).toArray(), [[2, 6]]);
  const runs = await Promise.all(Array.from({ length: 10 }, (_, i) => session.run([[i, 1]])));
  runs.forEach((y, i) => assert.deepEqual(y.toArray(), [[2 * i, 3]]));
  const trainer = model.trainer({ optimizer: { class_name: "SGD", config: { learning_rate: 0.1 } }, loss: "mse" });
  const data = new Dataset({ x: new Tensor([[1, 1]]), y: new Tensor([[1, 1]]) });
  const { loss } = await trainer.fit(data, { epochs: 100 });
  assert.ok(loss.at(-1) < 1e-3 && loss[0] > 2, `${loss[0]} ${loss.at(-1)}`);
});

test("what it throws is what the run fails with", async () => {
  const session = net().session();
  fails = true;
  await assert.rejects(session.run([[1, 2]]), (e) => e === mine);
  assert.throws(
    () => session.runSync([[1, 2]]),
    (e) => e === mine,
  );
  fails = false;
  assert.deepEqual(session.runSync([[1, 2]]).toArray(), [[2, 6]]);
});

test("a loss of one's own", () => {
  assert.deepEqual(measure("loss", "Cubed", [[1, 2]], [[2, 4]]).toArray(), 9);
  assert.throws(() => addKind("loss", "Wrong", { speed: 1, forward() {} }), { attribute: "speed" });
});

test("kinds are checked and removed", () => {
  checkKind("optimizer", "Adam", { beta_1: 0.5 });
  assert.throws(() => checkKind("optimizer", "Adam", { beta_1: 2 }), { attribute: "beta_1" });
  addKind("layer", "Gone", { forward() {} });
  checkKind("layer", "Gone");
  removeKind("layer", "Gone");
  assert.throws(() => checkKind("layer", "Gone"), { code: "DL4_UNKNOWN_KIND" });
  assert.throws(() => removeKind("layer", "Gone"), { code: "DL4_UNKNOWN_KIND" });
});
