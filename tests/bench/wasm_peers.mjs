// The WebAssembly module against onnxruntime-web and TensorFlow.js's backend for WebAssembly, in Node.js, one thread:
//   node --conditions=wasm tests/bench/wasm_peers.mjs [--module FOLDER] [--rounds N] [--rows TEXT] [--only SIDE,...]
// FOLDER has dl4.mjs and dl4.wasm, by default those of `tests/platforms/run.sh wasm`. npm installs the peers in
// build/bench/wasm_peers. All sides have the same weights; a call takes arrays of JavaScript and gives such. Outputs
// must agree to 1e-4 first. A round gives each side a turn of some 50 ms of processor time; times are medians of the
// rounds, ratios medians of the rounds' ratios. Then LeNet-5 is trained. The table is Markdown. Ends with 1 where
// outputs differ.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const top = fileURLToPath(new URL("../..", import.meta.url));
const { values: options } = parseArgs({
  options: {
    module: { type: "string", default: join(top, "build/platforms/wasm/build/capi/bindings/node") },
    rounds: { type: "string", default: "15" },
    rows: { type: "string", default: "" },
    only: { type: "string", default: "libdl4,onnxruntime-web,tfjs" },
  },
});
const PEERS = { "onnxruntime-web": "1.30.0", "@tensorflow/tfjs": "4.22.0", "@tensorflow/tfjs-backend-wasm": "4.22.0" };
const work = join(top, "build/bench/wasm_peers");

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(0);
}

// ---- What there is -------------------------------------------------------------------------------------------------

if (!existsSync(join(options.module, "dl4.wasm"))) {
  skip(`${options.module} has no dl4.wasm, which tests/platforms/run.sh wasm makes`);
}
const package_ = join(work, "dl4");
rmSync(package_, { recursive: true, force: true });
mkdirSync(package_, { recursive: true });
for (const name of ["package.json", "lib"]) {
  cpSync(join(top, "capi/bindings/node", name), join(package_, name), { recursive: true });
}
for (const name of ["dl4.mjs", "dl4.wasm"]) cpSync(resolve(options.module, name), join(package_, "lib", name));
const { Graph, layers, Tensor } = await import(pathToFileURL(join(package_, "lib/index.js")));

const version = (name) => {
  const file = join(work, "node_modules", name, "package.json");
  return existsSync(file) ? JSON.parse(readFileSync(file)).version : null;
};
if (Object.entries(PEERS).some(([name, wanted]) => version(name) !== wanted)) {
  if (!existsSync(join(work, "package.json"))) writeFileSync(join(work, "package.json"), '{ "private": true }\n');
  const words = ["install", "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  words.push(...Object.entries(PEERS).map(([name, wanted]) => `${name}@${wanted}`));
  try {
    execFileSync("npm", words, { cwd: work, stdio: "inherit" });
  } catch (e) {
    skip(`npm does not install the peers: ${e.message}`);
  }
}
const require = createRequire(join(work, "package.json"));
const ort = require("onnxruntime-web");
ort.env.wasm.numThreads = 1;
const tf = require("@tensorflow/tfjs");
const { setWasmPaths, setThreadsCount } = require("@tensorflow/tfjs-backend-wasm");
setWasmPaths(`${join(work, "node_modules/@tensorflow/tfjs-backend-wasm/dist")}/`);
setThreadsCount(1);
await tf.setBackend("wasm");
if (!(await tf.env().getAsync("WASM_HAS_SIMD_SUPPORT"))) skip("Node.js has no vectors in WebAssembly");

// ---- Models, those of rows.cpp -------------------------------------------------------------------------------------

const relu = { activation: "relu" };
const softmax = { activation: "softmax" };

// Of TensorFlow.js the fused operations, which are faster than its layers.
const dense = (x, w, name, activation = "linear") =>
  tf.fused.matMul({ a: x, b: w[`${name}/kernel`], bias: w[`${name}/bias`], activation });
const conv = (x, w, name, pad) =>
  tf.fused.conv2d({ x, filter: w[`${name}/kernel`], bias: w[`${name}/bias`], strides: 1, pad, activation: "relu" });
const pool = (x) => tf.maxPool(x, 2, 2, "valid");
function lenet(x, w) {
  const seen = pool(conv(pool(conv(x, w, "conv1", "same")), w, "conv2", "valid"));
  const flat = tf.reshape(seen, [-1, 400]);
  return dense(dense(dense(flat, w, "dense1", "relu"), w, "dense2", "relu"), w, "out");
}
function lstm(x, w, units) {
  let h = tf.zeros([x.shape[0], units]);
  let c = h;
  for (const step of tf.unstack(x, 1)) {
    const sums = tf.add(tf.matMul(h, w["lstm/recurrent_kernel"]), dense(step, w, "lstm"));
    const [i, f, g, o] = tf.split(sums, 4, 1);
    c = tf.add(tf.mul(tf.sigmoid(f), c), tf.mul(tf.sigmoid(i), tf.tanh(g)));
    h = tf.mul(tf.sigmoid(o), tf.tanh(c));
  }
  return h;
}

const ROWS = {
  "LeNet-5 B1": {
    inputs: { x: [1, 28, 28, 1] },
    build([x]) {
      const window = { kernel_size: 5, ...relu };
      const conv1 = layers.Conv2D({ filters: 6, padding: "same", ...window, name: "conv1" })(x);
      const conv2 = layers.Conv2D({ filters: 16, ...window, name: "conv2" })(layers.MaxPooling2D()(conv1));
      const flat = layers.Flatten()(layers.MaxPooling2D()(conv2));
      const dense1 = layers.Dense({ units: 120, ...relu, name: "dense1" })(flat);
      const dense2 = layers.Dense({ units: 84, ...relu, name: "dense2" })(dense1);
      return [layers.Dense({ units: 10, ...softmax, name: "out" })(dense2)];
    },
    tensorflow: ([x], w) => [tf.softmax(lenet(x, w))],
  },
  "article lstm B1": {
    inputs: { x: [1, 3, 32] },
    build: ([x]) => [layers.Dense({ units: 2, name: "out" })(layers.LSTM({ units: 8, name: "lstm" })(x))],
    tensorflow: ([x], w) => [dense(lstm(x, w, 8), w, "out")],
  },
  "article attention B1": {
    inputs: { query: [1, 16, 32], key: [1, 1, 32], value: [1, 1, 32] },
    build(inputs) {
      const [q, k, v] = inputs.map((x, i) => layers.Dense({ units: 4, name: "qkv"[i] })(x));
      const score = layers.MatMul({ transpose_b: true })([q, k]);
      const attention = layers.Softmax()(score);
      return [score, attention, layers.MatMul()([attention, v])];
    },
    tensorflow(inputs, w) {
      const [q, k, v] = inputs.map((x, i) => {
        const flat = dense(tf.reshape(x, [-1, 32]), w, "qkv"[i]);
        return tf.reshape(flat, [1, -1, 4]);
      });
      const score = tf.matMul(q, k, false, true);
      const attention = tf.softmax(score);
      return [score, attention, tf.matMul(attention, v)];
    },
  },
};

let state = 7;
const numbers = (n) =>
  Float32Array.from({ length: n }, () => (state = (state * 48271) % 2147483647) / 1073741823.5 - 1);
const size = (shape) => shape.reduce((n, d) => n * d, 1);

/** The sides of a row: functions that give the outputs as arrays. */
async function sides({ inputs, build, tensorflow }) {
  const graph = new Graph();
  const shapes = Object.values(inputs);
  const nodes = Object.entries(inputs).map(([name, shape]) => graph.input({ shape: shape.slice(1), name }));
  const model = graph.build(nodes, build(nodes));
  const arrays = shapes.map((shape) => numbers(size(shape)));

  const session = model.session();
  const given = arrays.map((a, i) => new Tensor(a, { shape: shapes[i] }));
  const into = [session.runSync(given)].flat();
  const own = () => {
    session.runSync(given, { into });
    return into.map((t) => t.data);
  };

  const file = join(work, "model.onnx");
  await model.save(file);
  const other = await ort.InferenceSession.create(new Uint8Array(readFileSync(file)), { executionProviders: ["wasm"] });
  const feeds = Object.fromEntries(
    Object.keys(inputs).map((name, i) => [other.inputNames[i], new ort.Tensor("float32", arrays[i], shapes[i])]),
  );
  const onnx = async () => {
    const found = await other.run(feeds);
    return other.outputNames.map((name) => found[name].data);
  };

  const weights = Object.fromEntries(
    model.weights.map(({ name }) => {
      const { data, shape } = model.getWeight(name);
      return [name, tf.tensor(data, shape)];
    }),
  );
  const js = () =>
    tf.tidy(() =>
      tensorflow(
        arrays.map((a, i) => tf.tensor(a, shapes[i])),
        weights,
      ).map((t) => t.dataSync()),
    );
  return { libdl4: own, "onnxruntime-web": onnx, tfjs: js };
}

// ---- Timing --------------------------------------------------------------------------------------------------------

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const micros = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

async function turn(side, calls) {
  const start = micros();
  if (side.constructor.name === "AsyncFunction") for (let i = 0; i < calls; ++i) await side();
  else for (let i = 0; i < calls; ++i) side();
  return (micros() - start) / calls;
}

function compare(name, wanted, found) {
  wanted.forEach((array, k) =>
    array.forEach((v, i) => {
      if (Math.abs(v - found[k][i]) <= 1e-4) return;
      console.log(`${name}: output ${k} at ${i} is ${found[k][i]}, libdl4's ${v}`);
      process.exit(1);
    }),
  );
}

const table = [];
for (const [row, what] of Object.entries(ROWS)) {
  if (!row.includes(options.rows)) continue;
  const all = await sides(what);
  const wanted = all.libdl4().map((a) => a.slice());
  for (const [name, side] of Object.entries(all)) compare(`${row}, ${name}`, wanted, await side());
  const timed = Object.entries(all).filter(([name]) => options.only.split(",").includes(name));
  const calls = {};
  for (const [name, side] of timed) {
    await turn(side, 3000); // until its code is compiled
    calls[name] = Math.max(1, Math.round(50000 / (await turn(side, 300))));
  }
  const rounds = [];
  for (let i = 0; i < Number(options.rounds); ++i) {
    const round = {};
    for (const [name, side] of timed) round[name] = await turn(side, calls[name]);
    rounds.push(round);
  }
  const us = timed.map(([name]) => median(rounds.map((r) => r[name])).toPrecision(3));
  const ratios = timed.slice(1).map(([name]) => median(rounds.map((r) => r[name] / r.libdl4)).toFixed(2));
  table.push([row, ...us, ...ratios]);
}

// ---- Training ------------------------------------------------------------------------------------------------------

async function training() {
  const { build } = ROWS["LeNet-5 B1"];
  const graph = new Graph();
  const x = graph.input({ shape: [28, 28, 1] });
  const model = graph.build(x, build([x])[0]);
  const images = numbers(32 * 784);
  const labels = Int32Array.from({ length: 32 }, (_, i) => i % 10);
  const weights = Object.fromEntries(
    model.weights.map(({ name }) => {
      const { data, shape } = model.getWeight(name);
      return [name, tf.variable(tf.tensor(data, shape))];
    }),
  );
  const trainer = model.trainer({ optimizer: "adam", loss: "sparse_categorical_crossentropy" });
  const batch = [new Tensor(images, { shape: [32, 28, 28, 1] }), new Tensor(labels, { shape: [32, 1] })];
  const losses = [];
  for (let i = 0; i < 50; ++i) losses.push((await trainer.step(...batch)).loss);
  const start = micros();
  for (let i = 0; i < 50; ++i) losses.push((await trainer.step(...batch)).loss);
  const ms = ((micros() - start) / 50000).toPrecision(3);
  const [first, last] = [losses[0], losses.at(-1)].map((loss) => loss.toFixed(3));
  console.log(`\nLeNet-5 B32, a training step: libdl4 ${ms} ms, loss from ${first} to ${last} in 100 steps`);
  try {
    tf.train.adam().minimize(() => {
      const logits = tf.logSoftmax(lenet(tf.tensor(images, [32, 28, 28, 1]), weights));
      return tf.neg(tf.mean(tf.sum(tf.mul(logits, tf.oneHot(tf.tensor1d(labels, "int32"), 10)), 1)));
    });
    console.log("TensorFlow.js trains it too");
  } catch (e) {
    console.log(`TensorFlow.js throws: ${e.message}`);
  }
}

const names = options.only.split(",");
const head = ["row", ...names.map((n) => `${n}, us`), ...names.slice(1).map((n) => `${n} / ${names[0]}`)];
const machine = `${cpus()[0].model}, Node.js ${process.versions.node}, load average ${loadavg()[0].toFixed(2)}`;
console.log(
  `${machine}; ${Object.entries(PEERS)
    .map((peer) => peer.join(" "))
    .join(", ")}\n`,
);
for (const line of [head, ["---", ...head.slice(1).map(() => "--:")], ...table]) console.log(`| ${line.join(" | ")} |`);
await training();
