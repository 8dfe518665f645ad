// Clothes in pictures: a convolutional network, trained on 9,000 images, tested on 1,000 others.
//   node fashion.js [FOLDER]   with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz of Fashion-MNIST
import fs from "node:fs";
import zlib from "node:zlib";

import { Dataset, Graph, layers, setSeed, Tensor } from "dl4";

const folder = process.argv[2] ?? process.env.DL4_FASHION ?? "tests/data/fashion-mnist";
const read = (name, head) => zlib.gunzipSync(fs.readFileSync(`${folder}/t10k-${name}-ubyte.gz`)).subarray(head);
const pixels = Float32Array.from(read("images-idx3", 16), (v) => v / 255);
const classes = Int32Array.from(read("labels-idx1", 8));

function part(from, to, options) {
  const x = new Tensor(pixels.subarray(from * 784, to * 784), { shape: [to - from, 28, 28, 1] });
  return new Dataset({ x, y: new Tensor(classes.subarray(from, to), { shape: [to - from, 1] }) }, options);
}

setSeed(1);
const graph = new Graph();
const image = graph.input({ shape: [28, 28, 1] });
let h = layers.Conv2D({ filters: 16, kernel_size: 3, activation: "relu" })(image);
h = layers.MaxPooling2D()(h);
h = layers.Flatten()(h);
const model = graph.build(image, layers.Dense({ units: 10, activation: "softmax" })(h));
console.log(model.describe());

const trainer = model.trainer({
  optimizer: "adam",
  loss: "sparse_categorical_crossentropy",
  metrics: ["accuracy"],
});
await trainer.fit(part(0, 9000), {
  epochs: 3,
  progress({ event, step, total, metrics }) {
    if (event === "epoch_end") console.log(`epoch ${step} of ${total}: loss ${metrics.loss.toFixed(4)}`);
  },
});
const { accuracy } = await trainer.evaluate(part(9000, 10000));
console.log(`test accuracy ${accuracy.toFixed(4)}`);
