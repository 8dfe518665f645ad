// Checked by tsc --strict, not run.
import {
  Context,
  Dataset,
  DL4Error,
  Graph,
  layers,
  Model,
  Node,
  optimizers,
  schedules,
  Session,
  Tensor,
  type History,
  type Strings,
} from "dl4";

const graph = new Graph({ context: new Context({ threads: 1 }) });
const x = graph.input({ shape: [null, 8] });
const [sequence, h, c] = layers.LSTM({ units: 4, return_sequences: true, return_state: true })(x);
const last = layers.LSTM({ units: 4 })(sequence!, { initial_state: [h!, c!], training: true });
const q = layers.Dense({ units: 4, activation: "relu", kernel_regularizer: { class_name: "L2", config: { l2: 0.1 } } })(
  x,
);
const attended = layers.MultiHeadAttention({ num_heads: 2, key_dim: 2 })([q, q], { use_causal_mask: true });
const [, scores] = layers.MultiHeadAttention({ num_heads: 2, key_dim: 2 })([q, q], { return_attention_scores: true });
const both = layers.Bidirectional({ layer: layers.GRU({ units: 2 }) })(attended);
const coded = layers.OneHot({ num_classes: 2, dtype: "int32", name: "coded" })(x);
const y = layers.Dense({ units: 3 })(layers.Concatenate()([last, both, layers.Flatten()(scores!)]));
const model: Model = graph.build(x, y);
const kernel: Node = graph.weight("dense/kernel");
const [slope] = graph.gradients(y, [kernel], { sum: true, unconnected: "refused" });
const sgd = optimizers.SGD({ learning_rate: 0.1 });
const count = graph.update({ optimizer: sgd, name: "sgd" }, [kernel], [slope!], { learning_rate: null });
graph.build(x, graph.after(y, [count, graph.assign(kernel, slope!, { operation: "assign_sub" })]));

const rate = schedules.ExponentialDecay({ initial_learning_rate: 0.1, decay_steps: 10, decay_rate: 0.9 });
const trainer = model.trainer({ optimizer: optimizers.Adam({ learning_rate: rate }), loss: "mse", metrics: ["mae"] });
const data = new Dataset({ x: new Float32Array(8), y: [new Tensor([[1, 2, 3]])], w: [null] }, { batch_size: 4 });
const history: History = await trainer.fit(data, {
  epochs: 2,
  progress: ({ event }) => (event === "epoch_end" ? "stop" : "continue"),
});
for await (const { metrics } of trainer.fitting(data, { signal: AbortSignal.timeout(10) })) metrics.loss?.toFixed(2);
const session = new Session(model, { gradients: ["x"] });
const outs = await session.run<Tensor[]>({ x: [[1]] }, { into: [Tensor.zeros([1, 3])] });
const tensor: Tensor<Int32Array> = new Tensor(Int32Array.of(1), { shape: [1] });
const numbers: Int32Array = tensor.data;
const texts = new Dataset({ x: [["good"], ["bad"]] });
const learned = await texts.adapt("TextVectorization", { output_sequence_length: 4 }, { signal: AbortSignal.timeout(10) });
const words = layers.TextVectorization(learned)(graph.input({ shape: [1], dtype: "string" }));
const text = new Tensor(["a"]);
const strings: readonly (string | Uint8Array)[] = (await session.run<Tensor<Strings>>(text)).data;
await session.run([["a text"]]);
try {
  history.loss?.at(-1);
} catch (e) {
  if (e instanceof DL4Error) console.log(e.code, e.layer, numbers, outs[0]?.shape, words.shape, strings);
}

// @ts-expect-error units is missing
layers.Dense({});
// @ts-expect-error there is no such attribute
layers.Dense({ units: 1, unit: 2 });
// @ts-expect-error a word of a list
layers.Conv2D({ filters: 1, kernel_size: 3, padding: "some" });
// @ts-expect-error a word of the kind's own list
layers.OneHot({ num_classes: 2, dtype: "float64" })(coded);
// @ts-expect-error a kind that learns nothing
await texts.adapt("Dense");
// @ts-expect-error there is no such layer
layers.Dens({ units: 1 });
// @ts-expect-error a trainer needs an optimizer
model.trainer({ loss: "mse" });
// @ts-expect-error an update needs an optimizer
graph.update({}, [kernel], [slope!]);
// @ts-expect-error a word of a list
graph.assign(kernel, kernel, { operation: "assign_mul" });
// @ts-expect-error units is a number
layers.LSTM({ units: "4" });
