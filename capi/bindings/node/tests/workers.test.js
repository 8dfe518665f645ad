// Trainers that add up by a function of JavaScript's train as one does with the whole batch.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Worker } from "node:worker_threads";

import { batch, dense, labels, numbers, trainer } from "./nets.js";

const here = new URL(".", import.meta.url);

async function trained(size) {
  const weights = dense().weights.map(({ name, shape }, i) => {
    const n = shape.reduce((a, b) => a * b, 1);
    return { name, data: numbers(n, i + 1) };
  });
  const [memory, state] = [new SharedArrayBuffer(size << 16), new SharedArrayBuffer(8)];
  const all = Array.from({ length: size }, (_, rank) => {
    return new Worker(new URL("workers.js", here), { workerData: { rank, size, weights, memory, state } });
  });
  return Promise.all(all.map(async (w) => (await once(w, "message"))[0]));
}

test("two worker threads train as one", async () => {
  const [[one], [first, second]] = [await trained(1), await trained(2)];
  assert.deepEqual(first, second);
  first.weights.forEach((w, i) => assert.ok(Math.abs(w - one.weights[i]) < 1e-5, `${i}: ${w} ${one.weights[i]}`));
  first.loss.forEach((l, i) => assert.ok(Math.abs(l - one.loss[i]) < 1e-5));
});

test("what the function throws is what the call fails with", async () => {
  const [t, mine] = [trainer(), new Error("no network")];
  const fails = () => {
    throw mine;
  };
  await assert.rejects(t.setWorkers(0, 2, fails), (e) => e === mine);
  await assert.rejects(
    t.setWorkers(0, 2, async () => {}),
    TypeError,
  );
  await assert.rejects(t.setWorkers(2, 2, fails), { code: "DL4_INVALID_ARGUMENT" });
  await assert.rejects(t.setWorkers(0, 2, null), { code: "DL4_INVALID_ARGUMENT" });
  await t.setWorkers(0, 1, fails); // nothing to add up
  t.stepSync(batch(), labels());
  await t.step(batch(), labels());
});
