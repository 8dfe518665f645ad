// Training: progress, exceptions, cancelling, iterators.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Dataset, DL4Error, Tensor } from "dl4";
import { beside } from "dl4/abi";
import { batch, dataset, dense, labels, tick, trainer } from "./nets.js";

test("fit tells its events and gives its history", async () => {
  const [t, events] = [trainer(), []];
  const history = await t.fit(dataset(), { epochs: 2, validation: dataset(16), progress: (e) => void events.push(e) });
  assert.deepEqual(history.epoch, [0, 1]);
  assert.deepEqual(Object.keys(history).sort(), ["accuracy", "epoch", "loss", "val_accuracy", "val_loss"]);
  const told = events.map((e) => e.event);
  const epoch = ["epoch_begin", ...Array(8).fill("batch_end"), "epoch_end"];
  assert.deepEqual(told, ["train_begin", ...epoch, ...epoch, "train_end"]);
  const end = events.filter((e) => e.event === "epoch_end")[1];
  assert.deepEqual(end.metrics.loss, history.loss[1]);
  assert.deepEqual(end.metrics.val_loss, history.val_loss[1]);
});

test("what a callback throws is what the promise fails with, and training goes on after it", async () => {
  const [t, data, mine] = [trainer(), dataset(), new RangeError("mine")];
  const thrower = (event) => (e) => {
    if (e.event === event) throw mine;
  };
  for (const event of ["train_begin", "epoch_begin", "batch_end", "epoch_end", "train_end"]) {
    await assert.rejects(t.fit(data, { progress: thrower(event) }), (e) => e === mine, event);
  }
  for (const thrown of [undefined, null, 0, "text"]) {
    let caught = "nothing";
    await t
      .fit(data, {
        progress: () => {
          throw thrown;
        },
      })
      .catch((e) => (caught = e));
    assert.equal(caught, thrown);
  }
  await assert.rejects(t.fit(data, { progress: async () => {} }), TypeError);
  await assert.rejects(t.fit(data, { progress: () => true }), /expected "continue", "stop" or nothing, got true/);
  const history = await t.fit(data, { epochs: 2 });
  assert.equal(history.loss.length, 2);
});

test("what a generator throws is what fit, evaluate and predict fail with", async () => {
  const [model, mine] = [dense(), new Error("mine")];
  const [t, session] = [trainer(model), model.session()];
  let fails = true;
  const data = Dataset.from(function* () {
    yield { x: batch(), y: labels() };
    if (fails) throw mine;
    yield { x: batch(4), y: labels(4), w: new Float32Array(4).fill(1) };
  });
  const isMine = (e) => e === mine;
  await assert.rejects(t.fit(data), isMine);
  await assert.rejects(t.fit(dataset(), { validation: data }), isMine);
  await assert.rejects(t.evaluate(data), isMine);
  await assert.rejects(session.predict(data), isMine);
  fails = false;
  assert.equal((await t.fit(data, { epochs: 3 })).loss.length, 3);
  assert.deepEqual((await session.predict(data)).shape, [12, 3]);
  const odd = Dataset.from(() => [{ x: [batch(), batch()], y: labels() }]);
  await assert.rejects(t.fit(odd), /expected 1 arrays, got 2/);
  await assert.rejects(t.fit(Dataset.from(() => 5)), TypeError);
  await assert.rejects(t.fit(Dataset.from(() => [{ x: batch() }])), DL4Error);
});

test("stop, learning rate from inside, second fit after a failed one", async () => {
  const t = trainer();
  const rates = [];
  const history = await t.fit(dataset(), {
    epochs: 5,
    progress: ({ event, step }) => {
      if (event === "epoch_begin") t.learningRate = 0.1 / (step + 1);
      if (event === "epoch_end") rates.push(t.learningRate);
      return event === "epoch_end" && step === 2 ? "stop" : undefined;
    },
  });
  assert.equal(history.loss.length, 2);
  assert.deepEqual(
    rates.map((r) => r.toFixed(3)),
    ["0.100", "0.050"],
  );
  await assert.rejects(t.fit(new Dataset({ x: new Tensor([[1, 2]]), y: labels(1) })), DL4Error);
  assert.equal((await t.fit(dataset())).loss.length, 1);
});

test("AbortSignal", async () => {
  const t = trainer();
  const reason = new Error("enough");
  const controller = new AbortController();
  let batches = 0;
  const progress = ({ event }) => {
    if (event === "batch_end" && ++batches === 3) controller.abort(reason);
  };
  const { signal } = controller;
  await assert.rejects(t.fit(dataset(), { epochs: 100, progress, signal }), (e) => e === reason);
  assert.equal(t.get("iterations"), 3);
  const session = dense().session();
  await assert.rejects(session.run(batch(), { signal }), (e) => e === reason);
  await assert.rejects(session.predict(dataset(), { signal }), (e) => e === reason);
  await assert.rejects(t.evaluate(dataset(), { signal }), (e) => e === reason);
  const long = { epochs: 1e6, signal: AbortSignal.timeout(50) };
  if (beside) await assert.rejects(t.fit(dataset(), long), { name: "TimeoutError" });
  assert.equal((await t.fit(dataset(), { resume: true, epochs: 1 })).loss.length >= 1, true);
});

test("where calls fill the event loop, fitting is refused", { skip: beside && "they run beside it" }, async () => {
  await assert.rejects(trainer().fitting(dataset(), { epochs: 1 }).next(), { code: "DL4_UNSUPPORTED" });
});

test("fitting is a sequence of events", { skip: !beside && "calls fill the event loop" }, async () => {
  const t = trainer();
  const losses = [];
  for await (const { event, metrics } of t.fitting(dataset(), { epochs: 3 })) {
    if (event === "epoch_end") losses.push(metrics.loss);
    await tick();
  }
  assert.equal(losses.length, 3);
  let seen = 0;
  for await (const e of t.fitting(dataset(), { epochs: 1e6 })) if (e.event === "batch_end" && ++seen === 5) break;
  assert.ok(t.get("epoch") < 100);
  const failing = async () => {
    for await (const e of t.fitting(dataset(), { epoch: 2 })) assert.fail(e.event);
  };
  await assert.rejects(failing(), { code: "DL4_INVALID_ARGUMENT", attribute: "epoch" });
  assert.equal((await t.fit(dataset())).loss.length, 1);
});

test("steps beside the loop and in it are the same", async () => {
  const models = [dense(), null];
  models[1] = models[0].clone();
  const [a, b] = models.map(trainer);
  for (let i = 0; i < 5; ++i) assert.deepEqual(await a.step(batch(), labels()), b.stepSync(batch(), labels()));
  assert.deepEqual(await a.accumulate(batch(), labels()), b.accumulateSync(batch(), labels()));
  assert.deepEqual(a.gradient("*").data, b.gradient("*").data);
  b.setGradient("*", a.gradient("*"));
  for (const t of [a, b]) t.apply();
  assert.deepEqual(models[0].getWeight("*").data, models[1].getWeight("*").data);
  await assert.rejects(a.step(batch(), labels(4)), { code: "DL4_SHAPE_MISMATCH" });
});

test("two calls at once on one trainer: the second is refused", { skip: !beside && "none are at once" }, async () => {
  const t = trainer();
  const stop = new AbortController();
  let first;
  await new Promise((begun) => (first = t.fit(dataset(), { epochs: 1e6, progress: begun, signal: stop.signal })));
  await assert.rejects(t.fit(dataset()), { code: "DL4_BUSY" });
  assert.throws(() => t.stepSync(batch(), labels()), { code: "DL4_BUSY" });
  stop.abort();
  await assert.rejects(first, { name: "AbortError" });
});
