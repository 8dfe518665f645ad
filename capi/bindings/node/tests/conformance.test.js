// Runs ../../conformance.json through the objects of the binding.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";

import { Context, Dataset, DL4Error, Graph, layers, measure, Model, registry, Stream, Tensor } from "dl4";
import { constants } from "dl4/abi";

const file = new URL("../../conformance.json", import.meta.url);
const { cases } = JSON.parse(fs.readFileSync(process.env.DL4_CONFORMANCE ?? file, "utf8"));
const root = fs.mkdtempSync(path.join(os.tmpdir(), "dl4-"));
after(() => fs.rmSync(root, { recursive: true }));

function close(got, expected, tolerance = 1e-5) {
  assert.equal(got.length, expected.length);
  expected.forEach((e, i) => {
    const g = Number(got[i]);
    assert.ok(Math.abs(g - e) <= tolerance * Math.max(1, Math.abs(e)), `number ${i}: expected ${e}, got ${g}`);
  });
}

function closeByName(got, expected = {}) {
  for (const [name, value] of Object.entries(expected)) close([got[name]].flat(), [value].flat());
}

const free = (shape) => shape.map((d) => (d < 0 ? null : d));

/** One case: a method for each kind of step. */
class Case {
  constructor(name) {
    this.folder = path.join(root, String(cases.findIndex((c) => c.name === name)));
    fs.mkdirSync(this.folder);
    this.slots = new Map();
  }

  of = (name) => {
    assert.ok(this.slots.has(name), `nothing in ${name}`);
    return this.slots.get(name);
  };
  all = (names) => names?.map(this.of);
  put = (names, values) => [names].flat().forEach((name, i) => this.slots.set(name, [values].flat()[i]));
  path = (s) => path.join(this.folder, s.path);
  maybe = (name) => (name === undefined ? undefined : this.of(name));

  tensor = (s) => {
    const values = s.dtype === "int64" ? s.values.map(BigInt) : s.dtype === "bool" ? s.values.map(Boolean) : s.values;
    this.put(s.to, new Tensor(values, { shape: s.shape, dtype: s.dtype }));
  };
  expect = (s) => {
    const tensor = this.of(s.tensor);
    assert.deepEqual([tensor.dtype, [...tensor.shape]], [s.dtype, s.shape]);
    if (s.dtype === "string") assert.deepEqual([...tensor.data], s.values);
    else close(tensor.data, s.values, s.tolerance);
  };
  same = (s) => {
    const [a, b] = this.all(s.tensors);
    assert.deepEqual([a.dtype, a.shape, a.data], [b.dtype, b.shape, b.data]);
  };

  context = (s) => this.put(s.to, new Context(s.options));
  graph = (s) => this.put(s.to, new Graph({ context: this.maybe(s.context) }));
  input = (s) => this.put(s.to, this.of(s.graph).input({ batch_shape: s.shape, dtype: s.dtype, name: s.name }));
  constant = (s) => this.put(s.to, this.of(s.graph).constant(this.of(s.tensor), { name: s.name }));
  layer = (s) => {
    const models = Object.fromEntries(Object.entries(s.models ?? {}).map(([key, slot]) => [key, this.of(slot)]));
    const layer = layers[s.kind]({ ...s.attrs, ...this.maybe(s.config), ...models, ...(s.name && { name: s.name }) });
    this.of(s.graph).idOf(layer);
    if (s.do === "layer") this.put(s.to, layer);
    return layer;
  };
  args = (s) => {
    const nodes = Object.entries(s.nodes ?? {}).map(([key, list]) => [key, list.map((n) => n && this.of(n))]);
    return { ...s.call, ...Object.fromEntries(nodes) };
  };
  call = (s, layer = this.of(s.layer)) => {
    const outs = this.of(s.graph).call(layer, this.all(s.in), this.args(s));
    this.put(s.to, outs.slice(0, s.to.length));
  };
  add = (s) => this.call(s, this.layer(s));
  weight = (s) => this.put(s.to, this.of(s.graph).weight(s.name));
  gradients = (s) =>
    this.put(s.to, this.of(s.graph).gradients(this.all(s.of), this.all(s.by), s.attrs, this.all(s.output_gradients)));
  assign = (s) => this.put(s.to, this.of(s.graph).assign(this.of(s.node), this.of(s.from), s.attrs));
  update = (s) => {
    const config = { ...s.attrs, ...(s.name && { name: s.name }) };
    this.put(s.to, this.of(s.graph).update(config, this.all(s.of), this.all(s.by), this.maybe(s.learning_rate)));
  };
  after = (s) => this.put(s.to, this.of(s.graph).after(this.of(s.node), this.all(s.in)));
  merge_json = (s) => this.of(s.graph).mergeJSON(this.of(s.text));
  shape = (s) => assert.deepEqual(this.of(s.node).shape, free(s.shape));
  mask = (s) => this.put(s.to, this.of(s.node).mask);
  build = (s) => this.put(s.to, this.of(s.graph).build(this.all(s.in), this.all(s.out)));

  weights = (s) =>
    assert.deepEqual(
      this.of(s.model).weights.map((w) => w.name),
      s.names,
    );
  get_weight = (s) => this.put(s.to, this.of(s.model).getWeight(s.name));
  set_weight = (s) => this.of(s.model).setWeight(s.name, this.of(s.tensor));
  set_trainable = (s) => this.of(s.model).setTrainable(s.name, s.value);
  clone = (s) => this.put(s.to, this.of(s.model).clone());
  session = (s) => this.put(s.to, this.of(s.model).session(s.options));
  run = async (s) => {
    const into = this.all(s.into);
    const outs = await this.of(s.session).run(this.all(s.in), { into, signal: this.maybe(s.cancel)?.signal });
    if (s.to) this.put(s.to, outs);
  };
  predict = async (s) => {
    this.put(s.to, await this.of(s.session).predict(this.of(s.dataset), { signal: this.maybe(s.cancel)?.signal }));
  };
  stream = (s) => this.put(s.to, new Stream(this.of(s.session), s.options));
  stream_run = (s) => this.put(s.to, this.of(s.stream).run(this.all(s.in)));
  stream_run_many = (s) =>
    this.put(s.to, Stream.runMany(this.all(s.streams), this.all(s.in), { steps: s.counts ?? null }));
  stream_fork = (s) => this.put(s.to, this.of(s.stream).fork(s.options));
  stream_reset = (s) => this.of(s.stream).reset(s.row ?? null);
  stream_next = (s) => assert.deepEqual(this.of(s.stream).next(this.all(s.in), s.options), s.ids);
  measure = (s) => {
    const options = { ...s.attrs, weights: this.maybe(s.weights) };
    this.put(s.to, measure(s.category, s.kind, this.of(s.true), this.of(s.pred), options));
  };

  dataset = (s) => this.put(s.to, new Dataset({ x: this.all(s.x), y: this.all(s.y), w: this.all(s.w) }, s.options));
  batches = (s) => {
    const batches = s.batches.map((b) => ({ x: this.all(b.x), y: this.all(b.y), w: this.all(b.w) }));
    this.put(
      s.to,
      Dataset.from(() => batches, s.options),
    );
  };
  adapt = async (s) => {
    const signal = this.maybe(s.cancel)?.signal;
    this.put(s.to, await this.of(s.dataset).adapt(s.kind, s.attrs, { signal }));
  };
  trainer = (s) => this.put(s.to, this.of(s.model).trainer(s.options));
  batch = async (s) => {
    const metrics = await this.of(s.trainer)[s.do](this.all(s.x), this.all(s.y), this.all(s.w));
    closeByName(metrics, s.metrics);
  };
  step = this.batch;
  accumulate = this.batch;
  apply = (s) => this.of(s.trainer).apply();
  gradient = (s) => this.put(s.to, this.of(s.trainer).gradient(s.weight));
  fit = async (s) => {
    const progress =
      s.at &&
      ((e) => {
        if (constants[`DL4_${e.event.toUpperCase()}`] !== s.at.event || e.step !== s.at.step) return undefined;
        if (s.at.trigger) this.of(s.at.trigger).abort();
        return s.at.stop ? "stop" : undefined;
      });
    const options = { ...s.options, validation: this.maybe(s.valid), signal: this.maybe(s.cancel)?.signal, progress };
    closeByName(await this.of(s.trainer).fit(this.of(s.train), options), s.history);
  };
  evaluate = async (s) => {
    const signal = this.maybe(s.cancel)?.signal;
    closeByName(await this.of(s.trainer).evaluate(this.of(s.dataset), { signal }), s.metrics);
  };
  get = (s) => close([this.of(s.trainer).get(s.key)], [s.value]);
  set = (s) => this.of(s.trainer).set(s.key, s.value);

  save = async (s) => {
    const object = this.of(s.model ?? s.trainer);
    if (s.path) await object.save(this.path(s));
    else this.put(s.to, object.toBytes());
  };
  load = async (s) => {
    const source = s.path ? this.path(s) : this.of(s.bytes);
    if (s.trainer) await this.of(s.trainer).load(source);
    else this.put(s.to, await Model.load(source, s.options));
  };
  describe = (s) => {
    const told = this.of(s.object).describe(s.format);
    for (const part of s.contains ?? []) assert.ok(told.includes(part), `${part} is not in ${told}`);
    if (s.to) this.put(s.to, told);
  };
  text = (s) => this.put(s.to, s.text);
  write = (s) => fs.writeFileSync(this.path(s), this.of(s.text));
  cut = (s) => this.put(s.to, this.of(s.bytes).slice(0, s.size));
  cancel = (s) => this.put(s.to, new AbortController());
  trigger = (s) => this.of(s.cancel).abort();
  release = (s) => {
    this.of(s.slot).close();
    assert.throws(() => this.of(s.slot).handle, DL4Error);
    this.slots.delete(s.slot);
  };
  registry = (s) => {
    const kind = registry(s.category, s.name)[s.category][s.name];
    const names = kind.attributes.map((a) => a.name);
    for (const name of s.attributes ?? []) assert.ok(names.includes(name), name);
  };
  null_attributes = (s) => {
    const { every_layer, layer } = registry();
    for (const [kind, facts] of Object.entries(layer)) {
      const given = s.attrs[kind] ?? {};
      const missing = facts.attributes.filter((a) => a.required && !(a.name in given)).map((a) => a.name);
      for (const { name } of [...facts.attributes, ...every_layer.attributes]) {
        try {
          new Graph().idOf(layers[kind]({ ...given, [name]: null }));
        } catch (error) {
          assert.ok(
            error instanceof DL4Error && [name, ...missing].includes(error.attribute),
            `${kind}.${name}: ${error}`,
          );
        }
      }
    }
  };
}

for (const { name, steps } of cases) {
  test(name, async () => {
    const running = new Case(name);
    for (const [i, step] of steps.entries()) {
      const place = `step ${i}: ${JSON.stringify(step).slice(0, 300)}`;
      let failed = null;
      try {
        await running[step.do](step);
      } catch (error) {
        // An aborted call fails with the signal's own reason.
        failed = error.name === "AbortError" ? { code: "DL4_CANCELLED" } : error;
        if (!step.error || !failed.code?.startsWith("DL4_")) throw new Error(place, { cause: error });
      }
      if (!step.error) continue;
      assert.ok(failed, `it should have failed: ${place}`);
      for (const [key, value] of Object.entries(step.error)) assert.equal(failed[key], value, `${key}: ${place}`);
    }
  });
}
