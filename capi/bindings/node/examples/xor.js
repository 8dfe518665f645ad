// XOR: a network of two layers.
import { Dataset, Graph, layers, optimizers, setSeed, Tensor } from "dl4";

setSeed(1);
const graph = new Graph();
const x = graph.input({ shape: [2] });
const hidden = layers.Dense({ units: 8, activation: "tanh" })(x);
const answer = layers.Dense({ units: 1, activation: "sigmoid" })(hidden);
const model = graph.build(x, answer);

const inputs = new Tensor([
  [0, 0],
  [0, 1],
  [1, 0],
  [1, 1],
]);
const data = new Dataset({ x: inputs, y: new Tensor([[0], [1], [1], [0]]) });
const optimizer = optimizers.Adam({ learning_rate: 0.05 });
const trainer = model.trainer({ optimizer, loss: "binary_crossentropy" });
const { loss } = await trainer.fit(data, { epochs: 300 });

console.log(`loss ${loss.at(-1).toFixed(4)}`);
const answers = await model.predict(inputs);
inputs.toArray().forEach(([a, b], i) => {
  console.log(`${a} xor ${b} = ${Math.round(answers.data[i])}`);
});
