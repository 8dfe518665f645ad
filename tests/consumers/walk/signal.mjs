// A fit ends by a signal in its options, and an argument too many is refused.
import { Dataset, Graph, layers, Tensor } from "dl4";

const graph = new Graph();
const x = graph.input({ shape: [2] });
const model = graph.build(x, layers.Dense({ units: 1 })(x));
const data = new Dataset({ x: new Tensor([[0, 1]]), y: new Tensor([[1]]) });
const failure = async (promise) => promise.then(() => "nothing", (error) => error);

const signal = AbortSignal.timeout(200);
const ended = await failure(model.trainer({ optimizer: "sgd", loss: "mse" }).fit(data, { epochs: 1e9, signal }));
if (ended.name !== "TimeoutError") throw new Error(`expected the signal's reason, got ${ended}`);
const many = await failure((async () => model.trainer({ optimizer: "sgd", loss: "mse" }).fit(data, { epochs: 1 }, { signal }))());
if (!(many instanceof Error)) throw new Error("an argument too many was taken");
