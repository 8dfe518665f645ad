// Garbage collection, concurrency, worker threads, the end of the process.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import v8 from "node:v8";
import vm from "node:vm";
import { Worker } from "node:worker_threads";

import { Context, Dataset, Graph, Tensor } from "dl4";
import { beside, Handle, shares } from "dl4/abi";
import { batch, dataset, dense, labels, tick, trainer } from "./nets.js";

v8.setFlagsFromString("--expose-gc");
const gc = vm.runInNewContext("gc");
const here = new URL(".", import.meta.url);

async function collect() {
  for (let i = 0; i < 3; ++i) {
    gc();
    await tick();
  }
}

test("10,000 objects, let go of in any order, leave nothing", async () => {
  const context = new Context({ threads: 1 });
  const makers = [
    () => new Graph({ context }),
    () => dense({ context }),
    () => dense({ context }).session(),
    () => dataset(16),
    () => trainer(dense({ context })),
    () => Dataset.from(function* () {}),
    () => new Context({ threads: 1 }),
    batch,
  ];
  const round = async () => {
    const kept = [];
    for (let i = 0; i < 2500; ++i) {
      const made = makers[(i * 7919) % makers.length]();
      assert.ok(made.handle);
      kept.splice((i * 104729) % (kept.length + 1), 0, made);
      if (i % 3 === 0) kept.splice((i * 7919) % kept.length, 1)[0].close();
      if (i % 50 === 49) kept.length = kept.length >> 1;
      if (i % 500 === 499) await collect();
    }
    kept.length = 0;
    await collect();
    return process.memoryUsage().rss;
  };
  await round(); // what is kept for speed, and koffi's and V8's own pools
  const before = await round();
  await round();
  const after = await round();
  assert.ok(after - before < 12e6, `memory grew by ${after - before} bytes`);
});

test("runs in a loop leave nothing, also without a turn of the event loop", async () => {
  const session = dense().session();
  const x = batch(256).data;
  const run = () => {
    for (let i = 0; i < 20000; ++i) session.runSync(x);
    return process.memoryUsage().rss;
  };
  run();
  const before = run();
  assert.ok(run() - before < 30e6);
});

test("100,000 tensors that are dropped give their memory back", { skip: !shares && "modules keep it" }, async () => {
  const before = process.memoryUsage().rss;
  let kept = Array.from({ length: 100000 }, () => Tensor.zeros([4096]));
  assert.ok(kept.every((t) => t.handle));
  kept = null;
  for (let i = 0; i < 20 && process.memoryUsage().rss - before > 400e6; ++i) {
    await collect();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const grown = process.memoryUsage().rss - before;
  assert.ok(grown < 400e6, `memory grew by ${grown} bytes`);
});

test("a session outlives what it was made of", async () => {
  const session = dense({ context: new Context({ threads: 1 }) }).session();
  await collect();
  const expected = session.runSync(batch());
  await collect();
  assert.deepEqual(session.runSync(batch()).data, expected.data);
});

test("a dataset keeps the arrays that the library sees", async () => {
  const t = trainer();
  const make = () => new Dataset({ x: batch(4096), y: labels(4096) }, { batch_size: 512, shuffle: false });
  const data = make();
  const first = (await t.evaluate(data)).loss;
  for (let i = 0; i < 5; ++i) {
    await collect();
    Array.from({ length: 50 }, () => new Float32Array(16384).fill(NaN));
  }
  assert.equal((await t.evaluate(data)).loss, first);
});

test("one session, 200 runs at once, and the event loop turns", async () => {
  const session = dense({ hidden: 2048 }).session();
  const x = batch(512);
  const expected = session.runSync(x).data;
  let ticks = 0;
  const timer = setInterval(() => ++ticks, 1);
  const all = await Promise.all(Array.from({ length: 200 }, () => session.run(x)));
  clearInterval(timer);
  for (const out of all) assert.deepEqual(out.data, expected);
  assert.ok(ticks > 3, `the event loop turned ${ticks} times`);
});

test("what is closed during a call ends after it", async () => {
  const [model, x] = [dense({ hidden: 512 }), batch(256)];
  const session = model.session();
  const expected = session.runSync(x).data;
  const runs = Array.from({ length: 20 }, () => session.run(x));
  for (const o of [session, model, x]) o.close();
  for (const out of await Promise.all(runs)) assert.deepEqual(out.data, expected);
  assert.throws(() => session.handle);
  const [t, data] = [trainer(), Dataset.from(() => [{ x: batch(), y: labels() }])];
  const fit = t.fit(data, { epochs: 50, progress: () => {} });
  for (const o of [t, data]) o.close();
  await collect();
  assert.equal((await fit).loss.length, 50);
  assert.ok(t instanceof Handle);
});

test("worker threads train and run, and may be ended in mid-fit", async () => {
  for (let round = 0; round < 6; ++round) {
    const workers = Array.from({ length: 4 }, () => new Worker(new URL("worker.js", here), { workerData: round }));
    const answers = await Promise.all(workers.map(async (w) => (await once(w, "message"))[0]));
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    await Promise.all(workers.map((w) => w.terminate()));
  }
  assert.equal((await trainer().fit(dataset())).loss.length, 1);
});

for (const [how, code] of [
  ["process.exit(7)", 7],
  ["process.exitCode = 7", 7],
  ['setTimeout(() => { throw new Error("mine"); }, 20)', 1],
  ["trainer().fit(dataset(), { epochs: 1e7, progress: () => {} }); setTimeout(() => process.exit(7), 50)", 7],
  ["trainer().fit(dataset(), { epochs: 1e7 }); setTimeout(() => process.exit(7), 50)", 7],
]) {
  const skip = !beside && how.includes("1e7") && "calls fill the event loop";
  test(`the process ends while objects live: ${how.slice(0, 60)}`, { skip }, async () => {
    const program = `
      import { dataset, dense, trainer, batch } from "./nets.js";
      globalThis.kept = [dense(), trainer(), dataset(), dense().session(), batch().handle];
      ${how}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: here, stdio: "ignore" });
    const timer = setTimeout(() => child.kill("SIGKILL"), 20000);
    const [exit, signal] = await once(child, "exit");
    clearTimeout(timer);
    assert.deepEqual([exit, signal], [code, null]);
  });
}
