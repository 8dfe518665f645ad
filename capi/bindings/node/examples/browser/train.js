// Trains LeNet-5 batch by batch, so that the page lives meanwhile.
//   ?data=FOLDER   with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz of Fashion-MNIST
import { Dataset, Graph, layers, setSeed, Tensor } from "dl4";

const folder = new URLSearchParams(location.search).get("data") ?? ".";
const [images, tests, size, epochs] = [9000, 1000, 50, 3];

async function read(name, head) {
  const answer = await fetch(`${folder}/t10k-${name}-ubyte.gz`);
  if (!answer.ok) throw new Error(`cannot load ${answer.url}: ${answer.status}`);
  const bytes = await new Response(answer.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  return new Uint8Array(bytes, head);
}

const show = (id, text) => (document.getElementById(id).textContent = text);

function lenet() {
  setSeed(1);
  const graph = new Graph();
  const image = graph.input({ shape: [28, 28, 1] });
  let h = layers.Conv2D({ filters: 6, kernel_size: 5, padding: "same", activation: "tanh" })(image);
  h = layers.AveragePooling2D({ pool_size: 2 })(h);
  h = layers.Conv2D({ filters: 16, kernel_size: 5, activation: "tanh" })(h);
  h = layers.Flatten()(layers.AveragePooling2D({ pool_size: 2 })(h));
  h = layers.Dense({ units: 120, activation: "tanh" })(h);
  h = layers.Dense({ units: 84, activation: "tanh" })(h);
  return graph.build(image, layers.Dense({ units: 10, activation: "softmax" })(h));
}

const means = { loss: [], accuracy: [] };

/** One more point of a curve, of a value up to `top`. */
function draw(name, value, top, steps) {
  const list = means[name];
  const before = list.at(-1) ?? value;
  list.push(0.9 * before + 0.1 * value);
  const points = list.map((v, i) => `${(i * 100) / steps},${40 - (40 * Math.min(v, top)) / top}`);
  document.getElementById(name).setAttribute("points", points.join(" "));
}

async function train() {
  const pixels = Float32Array.from(await read("images-idx3", 16), (v) => v / 255);
  const classes = Int32Array.from(await read("labels-idx1", 8));
  const x = (from, to) => new Tensor(pixels.subarray(from * 784, to * 784), { shape: [to - from, 28, 28, 1] });
  const y = (from, to) => new Tensor(classes.subarray(from, to), { shape: [to - from, 1] });

  const trainer = lenet().trainer({
    optimizer: "adam",
    loss: "sparse_categorical_crossentropy",
    metrics: ["accuracy"],
  });
  const steps = (epochs * images) / size;
  const begun = performance.now();
  for (let step = 0; step < steps; ++step) {
    const from = (step * size) % images;
    const { loss, accuracy } = await trainer.step(x(from, from + size), y(from, from + size));
    draw("loss", loss, 2.5, steps);
    draw("accuracy", accuracy, 1, steps);
    show("now", `step ${step + 1} of ${steps}: loss ${loss.toFixed(3)}, accuracy ${accuracy.toFixed(2)}`);
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const end = images + tests;
  const { accuracy } = await trainer.evaluate(new Dataset({ x: x(images, end), y: y(images, end) }));
  show("now", `${steps} steps in ${seconds} s; of ${tests} other pictures ${(100 * accuracy).toFixed(1)} % are right`);
  document.title = `accuracy ${accuracy.toFixed(3)}`;
}

train().catch((error) => {
  show("now", String(error));
  document.title = "failed";
});
