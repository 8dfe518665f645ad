// What a run of the article's dense net takes in microseconds: the least of many rounds.   node tests/speed.js
import { Graph, layers, Tensor } from "dl4";
import { dl4 } from "dl4/abi";

const graph = new Graph();
const x = graph.input({ shape: [784] });
const h = layers.Dense({ units: 128, activation: "relu" })(x);
const session = graph.build(x, layers.Dense({ units: 10, activation: "softmax" })(h)).session();
const data = new Float32Array(784).fill(0.5);
const [a, b] = [new Tensor(data, { shape: [1, 784] }), Tensor.zeros([1, 10])];
const handles = [a, b].map((t) => BigUint64Array.of(t.handle));

async function least(what, run, calls) {
  let best = Infinity;
  for (let round = 0; round < 30; ++round) {
    const start = process.hrtime.bigint();
    await run(calls);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / calls / 1000);
  }
  console.log(`${what}\t${best.toFixed(2)}`);
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
  "tensors used again",
  (n) => {
    for (let i = 0; i < n; ++i) session.runSync(a, { into: b });
  },
  20000,
);
await least(
  "arrays in and out",
  (n) => {
    for (let i = 0; i < n; ++i) session.runSync(data).data;
  },
  5000,
);
await least(
  "asynchronous, tensors used again",
  async (n) => {
    for (let i = 0; i < n; ++i) await session.run(a, { into: b });
  },
  500,
);
await least(
  "asynchronous, arrays in and out",
  async (n) => {
    for (let i = 0; i < n; ++i) await session.run(data);
  },
  500,
);
