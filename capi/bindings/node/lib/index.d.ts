// Types of dl4. Those of layers, losses, ... are in kinds.d.ts, which is made from the library's registry.
/// <reference lib="esnext.disposable" />
import type {
  ApplyGradientsArguments,
  ApplyGradientsConfig,
  AssignConfig,
  CallArguments,
  Callbacks,
  Constraints,
  GradientsArguments,
  GradientsConfig,
  Initializers,
  Layers,
  Losses,
  Metrics,
  Optimizers,
  Regularizers,
  Schedules,
} from "./kinds.js";

export type * from "./kinds.js";

export type Dtype = "float32" | "float64" | "int32" | "int64" | "uint8" | "bool" | "string";
export type TypedArray = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;
/** The elements of a tensor of strings; bytes stand for what is no UTF-8. */
export type Strings = readonly (string | Uint8Array)[];
/** Anything that becomes a tensor: integers and other floats of a typed array are converted where an input says so. */
export type Values = TypedArray | Int8Array | Int16Array | Uint16Array | Uint32Array | Nested;
export type Nested = number | bigint | boolean | string | Uint8Array | readonly Nested[];
export type AnyTensor = Tensor<TypedArray | Strings>;
export type Data = AnyTensor | Values;
export type Shape = readonly (number | null)[];

/** A layer, loss, optimizer, ... with its settings, as in Keras's JSON. */
export interface Kind {
  class_name: string;
  config: object;
}

/** What the library refused. */
export class DL4Error extends Error {
  /** "DL4_SHAPE_MISMATCH", "DL4_UNKNOWN_KIND", ... */
  readonly code: string;
  readonly function?: string;
  readonly layer?: string;
  readonly attribute?: string;
  readonly argument?: string;
  readonly expected?: string;
  readonly got?: string;
  readonly did_you_mean?: string;
}

/** An object of the library, released when nothing holds it, or by close(). A closed one throws. */
export class Handle {
  protected constructor();
  close(): void;
  [Symbol.dispose](): void;
  describe(format?: "text" | "json" | "dot"): string;
}

export interface ContextOptions {
  threads?: number;
  seed?: number;
  seed_scheme?: "dl4" | "tensorflow";
  reproducible?: "threads" | "strict";
  memory_limit?: number;
  step_limit?: number;
  [option: string]: unknown;
}

/** Threads, seed and memory of what is made in it. */
export class Context extends Handle {
  constructor(options?: ContextOptions);
  set seed(value: number);
  trim(): void;
}

/** Numbers with a type and a shape; the library sees the memory of `data` itself. Of strings it has a copy. */
export class Tensor<T extends TypedArray | Strings = TypedArray> extends Handle {
  constructor(value: T, options?: { shape?: readonly number[]; dtype?: Dtype });
  constructor(value: Values, options?: { shape?: readonly number[]; dtype?: Dtype });
  static zeros(shape: readonly number[], dtype?: Dtype): Tensor;
  readonly data: T;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  toArray(): Nested;
}

/** A symbolic value of a graph. */
export class Node {
  private constructor();
  readonly graph: Graph;
  readonly shape: (number | null)[];
  readonly dtype: Dtype;
  readonly mask: Node | null;
}

/** A layer: called on a value or a list of values; its weights are shared by its calls. */
export interface Layer<A = {}, Out = Node> {
  (inputs: Node | readonly Node[], args?: CallArguments & A): Out;
  readonly class_name: string;
  readonly config: object;
}

export interface InputOptions {
  /** Without the batch axis; null is free. */
  shape?: Shape;
  batch_shape?: Shape;
  dtype?: Dtype;
  name?: string | null;
}

export class Graph extends Handle {
  constructor(options?: { context?: Context | null });
  input(options?: InputOptions): Node;
  constant(value: Data, options?: { name?: string | null; dtype?: Dtype }): Node;
  mergeJSON(architecture: string | object): void;
  /** The value of a weight, "<layer>/<weight>": what it holds where this stands among the assignments. */
  weight(name: string): Node;
  /** The gradients of targets by each node of `by`, which may be differentiated again. */
  gradients(
    targets: Node | readonly Node[],
    by: Node | readonly Node[],
    config?: Omit<GradientsConfig, "targets">,
    args?: GradientsArguments,
  ): Node[];
  /** Sets a weight, a node of weight() or of a layer Weight, in each run; the new value. */
  assign(weight: Node, value: Node, config?: AssignConfig): Node;
  /** One update of an optimizer in each run, of weights by as many gradients; the number of updates so far. */
  update(
    config: ApplyGradientsConfig,
    weights: Node | readonly Node[],
    gradients: Node | readonly Node[],
    args?: ApplyGradientsArguments,
  ): Node;
  /** The value of a node, in a model that makes the assignments `others` too. */
  after(node: Node, others: Node | readonly Node[]): Node;
  build(inputs?: Node | readonly Node[], outputs?: Node | readonly Node[]): Model;
}

export interface Slot {
  name: string;
  shape: (number | null)[];
  dtype: Dtype;
}

export class Model extends Handle {
  private constructor();
  static load(
    source: string | Uint8Array | ArrayBuffer,
    options?: { context?: Context | null; verify?: boolean; external_data?: boolean },
  ): Promise<Model>;
  save(path: string): Promise<void>;
  toBytes(): Uint8Array;
  clone(): Model;
  readonly inputs: Slot[];
  readonly outputs: Slot[];
  readonly weights: (Slot & { trainable: boolean })[];
  getWeight(name: string): Tensor;
  setWeight(name: string, value: Data): void;
  setTrainable(name: string, yes: boolean): void;
  session(options?: SessionOptions): Session;
  trainer(options: TrainerOptions): Trainer;
  predict(inputs: Inputs, options?: RunOptions): Promise<Tensor>;
}

export interface SessionOptions {
  training?: boolean;
  gradients?: readonly string[];
  cotangents?: boolean;
  profile?: boolean;
  weights?: "float32" | "bfloat16" | "int8" | "int4";
}

/** One input, a list of them, or an object of them by name. */
export type Inputs = Data | readonly Data[] | { readonly [name: string]: Data };

export interface RunOptions {
  /** Tensors to be written. */
  into?: Tensor | readonly Tensor[];
  signal?: AbortSignal;
}

/** A model made ready to run, with the weights that it had; any number of runs at once. */
export class Session extends Handle {
  constructor(model: Model, options?: SessionOptions);
  readonly inputs: Slot[];
  readonly outputs: Slot[];
  /** Beside the event loop. A list of tensors (R = Tensor[]) if the session has several outputs. */
  run<R extends AnyTensor | AnyTensor[] = Tensor>(inputs: Inputs, options?: RunOptions): Promise<R>;
  runSync<R extends AnyTensor | AnyTensor[] = Tensor>(inputs: Inputs, options?: { into?: RunOptions["into"] }): R;
  predict<R extends AnyTensor | AnyTensor[] = Tensor>(dataset: Dataset, options?: { signal?: AbortSignal }): Promise<R>;
}

export interface NextOptions {
  temperature?: number;
  top_k?: number;
  top_p?: number;
  stop?: readonly number[];
  from_logits?: boolean;
  /** Changes the logits of all sequences in place: what is -Infinity is not drawn. */
  mask?: ((logits: Float32Array, vocabulary: number) => void) | null;
}

/** A session with `states: true` that is run step by step. */
export class Stream extends Handle {
  constructor(session: Session, options?: { batch?: number; seed?: number });
  run<R extends AnyTensor | AnyTensor[] = Tensor>(inputs: Data | readonly Data[]): R;
  /** Row i is that of streams[i], which takes steps[i] of the steps. */
  static runMany<R extends AnyTensor | AnyTensor[] = Tensor>(
    streams: readonly Stream[],
    inputs: Data | readonly Data[],
    options?: { steps?: readonly number[] | null },
  ): R;
  next(inputs: Data | readonly Data[], options?: NextOptions): number[];
  generate(ids: Iterable<number>, options?: NextOptions & { maxNew?: number }): Generator<number, void>;
  fork(options?: { seed?: number } | null): Stream;
  reset(row?: number | null): void;
  toBytes(): Uint8Array;
  load(bytes: ArrayBuffer | ArrayBufferView): void;
}

export interface Batch {
  x: Data | readonly Data[];
  y?: Data | readonly Data[];
  w?: Data | readonly (Data | null)[];
}

export class Dataset extends Handle {
  constructor(
    arrays: Batch,
    options?: { batch_size?: number; shuffle?: boolean; seed?: number; drop_remainder?: boolean; context?: Context },
  );
  /** Of batches that a generator function gives anew for each epoch. */
  static from(batches: () => Iterable<Batch>, options?: { steps?: number; context?: Context }): Dataset;
  /** The config of a layer that has learned from the inputs; `config` has what is not learned. */
  adapt<C extends object = { [attribute: string]: unknown }>(
    kind: "StringLookup" | "IntegerLookup" | "TextVectorization" | "Discretization" | "Normalization",
    config?: Partial<C>,
    options?: { context?: Context; signal?: AbortSignal },
  ): Promise<C>;
}

type Several<T> = T | readonly (T | null)[] | { readonly [output: string]: T | null };

export interface TrainerOptions {
  optimizer: string | Kind;
  loss?: Several<string | Kind>;
  loss_weights?: readonly (number | null)[] | { readonly [output: string]: number };
  metrics?: readonly unknown[] | { readonly [output: string]: unknown };
  weighted_metrics?: readonly unknown[] | { readonly [output: string]: unknown };
  nan_guard?: "loss" | "gradients" | "off";
  exclude_from_weight_decay?: readonly string[];
  profile?: boolean;
}

export type Numbers = { [metric: string]: number };
export type History = { epoch: number[]; [metric: string]: number[] };

export interface Progress {
  event: "train_begin" | "epoch_begin" | "batch_end" | "epoch_end" | "train_end";
  step: number;
  total: number;
  metrics: Numbers;
}

export interface FitOptions {
  validation?: Dataset | null;
  /** Told each event; "stop" ends the training, what it throws fails it. */
  progress?: (event: Progress) => "continue" | "stop" | void;
  signal?: AbortSignal;
  epochs?: number;
  initial_epoch?: number;
  resume?: boolean;
  validation_split?: number;
  validation_freq?: number;
  class_weight?: readonly number[];
  callbacks?: readonly (string | Kind)[];
}

export class Trainer extends Handle {
  constructor(model: Model, options: TrainerOptions);
  readonly metricNames: readonly string[];
  learningRate: number;
  step(x: Batch["x"], y?: Batch["y"], w?: Batch["w"]): Promise<Numbers>;
  stepSync(x: Batch["x"], y?: Batch["y"], w?: Batch["w"]): Numbers;
  accumulate(x: Batch["x"], y?: Batch["y"], w?: Batch["w"]): Promise<Numbers>;
  accumulateSync(x: Batch["x"], y?: Batch["y"], w?: Batch["w"]): Numbers;
  apply(): void;
  gradient(weight: string): Tensor;
  setGradient(weight: string, value: Data): void;
  addGradient(weight: string, value: Data): void;
  zeroGradients(): void;
  fit(train: Dataset, options?: FitOptions): Promise<History>;
  /** The events of a fit; leaving the loop stops it. */
  fitting(train: Dataset, options?: Omit<FitOptions, "progress">): AsyncGenerator<Progress, History>;
  evaluate(dataset: Dataset, options?: { signal?: AbortSignal }): Promise<Numbers>;
  get(key: "learning_rate" | "iterations" | "epoch" | "batch"): number;
  set(key: "learning_rate" | "epoch" | "batch", value: number): void;
  /** Trains with other workers; reduce sums in place over all of them. null: alone again. */
  setWorkers(rank: number, size: number, reduce: ((values: Float32Array | Int32Array) => void) | null): Promise<void>;
  save(path: string): Promise<void>;
  toBytes(): Uint8Array;
  load(source: string | Uint8Array | ArrayBuffer): Promise<void>;
}

export const layers: Layers;
export const losses: Losses;
export const metrics: Metrics;
export const optimizers: Optimizers;
export const initializers: Initializers;
export const regularizers: Regularizers;
export const constraints: Constraints;
export const schedules: Schedules;
export const callbacks: Callbacks;

/** A loss or metric of two tensors, with its attributes. */
export function measure(
  category: "loss" | "metric",
  kind: string,
  yTrue: Data,
  yPred: Data,
  options?: { weights?: Data | null; context?: Context | null; [attribute: string]: unknown },
): Tensor;
/** A copy of a tensor of the library's; one to be written has zeros. */
export interface Seen {
  data: TypedArray;
  shape: number[];
  dtype: Dtype;
}

export interface OwnKind {
  doc?: string;
  /** Outputs of a layer; default 1. */
  outputs?: number;
  /** Names of a layer's weights. */
  weights?: readonly string[];
  /** Shapes of the outputs, then of the weights; without it each output has the shape of the last source. */
  shape?: (sources: (number | null)[][], config: string) => Shape[];
  /** Sources are the inputs, then the weights; of a loss or metric y_true and y_pred. An output may be null. */
  forward: (sources: Seen[], outputs: (Seen | null)[], config: string) => void;
  backward?: (
    sources: Seen[],
    outputs: Seen[],
    gradients: Seen[],
    sourceGradients: (Seen | null)[],
    config: string,
  ) => void;
}

/** Adds a kind of one's own, on the main thread, until removeKind(). */
export function addKind(category: "layer" | "loss" | "metric", name: string, kind: OwnKind): void;
/** Removes a kind that addKind() added. Models that have it work on. */
export function removeKind(category: "layer" | "loss" | "metric", name: string): void;
/** Throws where the library refuses this config of a kind; makes nothing of it. */
export function checkKind(category: string, name: string, config?: object): void;
export function registry(category?: string | null, name?: string | null): Record<string, Record<string, object>>;
export function setSeed(seed: number): void;
export function buildInfo(): Record<string, unknown>;
export const version: string;
