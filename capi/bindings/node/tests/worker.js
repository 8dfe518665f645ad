// A worker thread of torture.test.js: trains, answers, then trains on while it is ended.
import { parentPort, workerData } from "node:worker_threads";

import { setSeed } from "dl4";
import { batch, dataset, dense, trainer } from "./nets.js";

const model = dense();
const weights = model.weights.map((w, i) => [w.name, w.shape, i]);
for (const [name, shape] of weights) {
  model.setWeight(name, new Float32Array(shape.reduce((n, d) => n * d, 1)).fill(0.1));
}
setSeed(1);
const t = trainer(model);
const { loss } = await t.fit(dataset(64, { shuffle: false }), { epochs: 3, progress: workerData % 2 ? () => {} : undefined });
const out = await model.predict(batch());
parentPort.postMessage({ loss, out: [...out.data] });
await t.fit(dataset(4096), { epochs: 20 }); // terminate() waits for it
