// dl4 for Node.js: see README.md.
export { DL4Error, registry, versionString as version } from "./abi.js";
export { addKind, checkKind, removeKind } from "./custom.js";
export {
  buildInfo,
  callbacks,
  constraints,
  Context,
  Graph,
  initializers,
  layers,
  losses,
  measure,
  metrics,
  Node,
  optimizers,
  regularizers,
  schedules,
  setSeed,
} from "./graph.js";
export { Model, Session } from "./model.js";
export { Stream } from "./stream.js";
export { Tensor } from "./tensor.js";
export { Dataset, Trainer } from "./training.js";
