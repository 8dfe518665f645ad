// Prints what a run costs, in microseconds: the least of many rounds.   node tests/speed.js
import { Graph, layers, Tensor } from "dl4";
import { dl4 } from "dl4/abi";

const graph = new Graph();
const x = graph.input({ shape: [4] });
const h = layers.Dense({ units: 8, activation: "relu" })(x);
const session = graph.build(x, layers.Dense({ units: 3, activation: "softmax" })(h)).session();
const data = Float32Array.of(1, 2, 3, 4);
const [a, b] = [new Tensor(data, { shape: [1, 4] }), Tensor.zeros([1, 3])];
const handles = [a, b].map((t) => BigUint64Array.of(t.handle));

async function least(what, run, calls) {
  let best = Infinity;
  for (let round = 0; round < 30; ++round) {
    const start = process.hrtime.bigint();
    await run(calls);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / calls / 1000);
  }
  console.log(`${what.padEnd(34)} ${best.toFixed(2)} us`);
}

const { handle } = session;
await least(
  "dl4_session_run by koffi",
  (n) => {
    for (let i = 0; i < n; ++i) dl4.session_run(handle, handles[0], 1, handles[1], 1, null);
  },
  20000,
);
await least(
  "runSync, tensors used again",
  (n) => {
    for (let i = 0; i < n; ++i) session.runSync(a, { into: b });
  },
  20000,
);
await least(
  "runSync, arrays in and out",
  (n) => {
    for (let i = 0; i < n; ++i) session.runSync(data).data;
  },
  5000,
);
await least(
  "run, tensors used again",
  async (n) => {
    for (let i = 0; i < n; ++i) await session.run(a, { into: b });
  },
  500,
);
await least(
  "run, arrays in and out",
  async (n) => {
    for (let i = 0; i < n; ++i) await session.run(data);
  },
  500,
);
