// Small networks and data for the tests.
import { Dataset, Graph, layers, Tensor } from "dl4";

/** A dense net from [B, 4] to [B, 3]. */
export function dense({ context, units = 3, hidden = 8 } = {}) {
  const graph = new Graph({ context });
  const x = graph.input({ shape: [4], name: "x" });
  const h = layers.Dense({ units: hidden, activation: "tanh" })(x);
  return graph.build(x, layers.Dense({ units, activation: "softmax", name: "y" })(h));
}

export function numbers(n, seed = 1) {
  let state = seed;
  return Float32Array.from({ length: n }, () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647 - 0.5;
  });
}

export const batch = (n = 8) => new Tensor(numbers(n * 4), { shape: [n, 4] });
export const labels = (n = 8) =>
  new Tensor(
    Int32Array.from({ length: n }, (_, i) => i % 3),
    { shape: [n, 1] },
  );
export const dataset = (n = 64, options = {}) =>
  new Dataset({ x: batch(n), y: labels(n) }, { batch_size: 8, ...options });

export const trainer = (model = dense()) =>
  model.trainer({ optimizer: "adam", loss: "sparse_categorical_crossentropy", metrics: ["accuracy"] });

export const tick = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));
