// A worker thread of workers.test.js: trains with the others, adding up in memory that all of them see.
import { parentPort, workerData } from "node:worker_threads";

import { dataset, dense, trainer } from "./nets.js";

const { rank, size, weights, memory, state } = workerData;
const [bytes, words] = [memory.byteLength / size, new Int32Array(state)];

/** Waits until all are here. */
function meet() {
  const turn = Atomics.load(words, 1);
  if (Atomics.add(words, 0, 1) === size - 1) {
    Atomics.store(words, 0, 0);
    Atomics.add(words, 1, 1);
    Atomics.notify(words, 1);
  } else if (Atomics.wait(words, 1, turn, 20000) === "timed-out") {
    throw new Error("a worker did not come");
  }
}

function reduce(values) {
  const part = (r) => new values.constructor(memory, r * bytes, values.length);
  part(rank).set(values);
  meet();
  for (let i = 0; i < values.length; ++i) {
    let sum = 0;
    for (let r = 0; r < size; ++r) sum += part(r)[i];
    values[i] = sum;
  }
  meet();
}

const model = dense();
for (const { name, data } of weights) model.setWeight(name, data);
const t = trainer(model);
if (size > 1) await t.setWorkers(rank, size, reduce);
const { loss } = await t.fit(dataset(64, { shuffle: false }), { epochs: 3 });
if (size > 1) {
  await t.setWorkers(0, 1, null);
  await t.evaluate(dataset());
}
parentPort.postMessage({ loss, weights: Array.from(model.getWeight("*").data) });
