// Tensors: typed arrays with a shape, seen by the library without a copy, and lists of strings, of which it has a copy.
import { check, decode, description, dims, dl4, DL4Error, Handle, made, none, pin, shares, strict, takes } from "./abi.js";

export const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};
/** The library's numbers of types by name. */
export const NUMBERS = Object.fromEntries(
  description.constants
    .filter((c) => c.group.startsWith("Types of data"))
    .map((c) => [c.name.slice(4).toLowerCase(), c.value]),
);
export const NAMES = Object.fromEntries(Object.entries(NUMBERS).map(([name, value]) => [value, name]));

const slot = new BigUint64Array(1);
const count = (shape) => shape.reduce((n, d) => n * d, 1);

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const isString = (v) => typeof v === "string" || v instanceof Uint8Array;
const kindOf = (v) => (v === null ? "null" : typeof v);

/** The bytes of a string, or of what stands for one that is no UTF-8. */
function bytesOf(v, i) {
  if (typeof v !== "string") return v;
  if (/\p{Surrogate}/u.test(v)) throw new TypeError(`expected text, got half a character in string ${i}`);
  return encoder.encode(v);
}

/** Bytes as a string; as they are if they are no UTF-8. */
function textOf(bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return bytes;
  }
}

/** Nested lists as one list; gives the shape. */
function flatten(value, dtype) {
  const single = dtype === "string" ? isString : (v) => ["number", "bigint", "boolean", "string"].includes(typeof v);
  const shape = [];
  for (let v = value; Array.isArray(v); v = v[0]) shape.push(v.length);
  const flat = [];
  const walk = (v, depth) => {
    if (Array.isArray(v) !== depth < shape.length || (Array.isArray(v) && v.length !== shape[depth])) {
      throw new TypeError(`expected lists of one length at each depth, got others at depth ${depth}`);
    }
    if (Array.isArray(v)) for (const each of v) walk(each, depth + 1);
    else if (single(v)) flat.push(v);
    else throw new TypeError(`expected ${dtype === "string" ? "strings" : "numbers or strings"}, got ${kindOf(v)}`);
  };
  walk(value, 0);
  return [flat, shape];
}

function dtypeOf(data) {
  if (!ArrayBuffer.isView(data)) {
    return { boolean: "bool", bigint: "int64", string: "string" }[typeof data[0]] ?? "float32";
  }
  return Object.keys(ARRAYS).find((name) => data.constructor === ARRAYS[name]);
}

/** The same numbers as an array of a type; what an integer type can't hold is refused. */
function converted(data, dtype) {
  const text = ArrayBuffer.isView(data) ? undefined : data.find((v) => isString(v) !== (dtype === "string"));
  if (text !== undefined) {
    const got = typeof text === "string" ? JSON.stringify(text) : kindOf(text);
    throw new TypeError(`expected ${dtype === "string" ? "strings" : dtype}, got ${got}`);
  }
  if (dtype === "string") return Object.freeze([...data]);
  const Type = ARRAYS[dtype];
  let made = data;
  if (dtype === "int64" || data instanceof BigInt64Array) {
    if (data.constructor !== Type) made = Type.from(data, dtype === "int64" ? BigInt : Number);
  } else if (data.constructor !== Type) {
    made = new Type(data);
  }
  if (dtype.startsWith("float") || (made === data && dtype !== "bool")) return made;
  for (let i = 0; i < made.length; ++i) {
    const same = made[i] == data[i]; // loosely: 1n is 1 and true is 1
    if (!same || (dtype === "bool" && made[i] > 1)) throw new TypeError(`expected ${dtype}, got ${data[i]}`);
  }
  return made;
}

const pinned = new WeakSet();

function refuseTransfer() {
  throw new DL4Error("this memory was given to a call beside the event loop and can't be transferred any more");
}

/** The strings of a tensor of the library's. */
function stringsOf(handle, n) {
  const size = new BigInt64Array(1);
  return Array.from({ length: n }, (_, i) => {
    const at = dl4.tensor_string(handle, i, size);
    return size[0] ? textOf(decode(at, "uint8_t", Number(size[0]))) : "";
  });
}

/**
 * Numbers with a type and a shape: `data` is a typed array, of which the library sees the memory itself. Of strings it is
 * a list that does not change, in which a Uint8Array stands for what is no UTF-8.
 */
export class Tensor extends Handle {
  #dims;
  #length;

  /**
   * Of a typed array, which is not copied if it has the type, or of a number or nested lists, which are float32, int64
   * (BigInts), bool or string unless `dtype` says otherwise. `like` is a tensor of the same type, shape and kind of array.
   */
  constructor(value, { shape, dtype, ...others } = {}, like = null) {
    super();
    if (like instanceof Tensor) {
      this.dtype = like.dtype;
      this.shape = like.shape;
      this.data = value;
      this.#dims = like.#dims;
      this.#length = like.#length;
      return;
    }
    takes("new Tensor(value, { shape, dtype })", arguments);
    none("Tensor", others, "shape, dtype");
    const [data, found] = ArrayBuffer.isView(value) ? [value, [value.length]] : flatten(value, dtype);
    this.dtype = dtype ?? dtypeOf(data);
    if (!(this.dtype in NUMBERS)) {
      throw new TypeError(`expected a dtype of ${Object.keys(ARRAYS)},string, got ${this.dtype ?? data.constructor.name}`);
    }
    if (!(this.dtype in ARRAYS) && this.dtype !== "string") {
      throw new DL4Error(`${this.dtype} is not in this version`, "DL4_UNSUPPORTED");
    }
    if (this.dtype === "string" && ArrayBuffer.isView(value)) throw new TypeError("expected strings, got numbers");
    this.shape = Object.freeze([...(shape ?? found)]);
    this.data = converted(data, this.dtype);
    this.#dims = dims(this.shape);
    this.#length = this.data.length;
    if (count(this.shape) !== this.#length) {
      throw new DL4Error(
        `expected ${count(this.shape)} elements for shape [${this.shape}], got ${this.#length}`,
        "DL4_SHAPE_MISMATCH",
      );
    }
  }

  /** Of zeros. */
  static zeros(shape, dtype = "float32") {
    if (!(dtype in ARRAYS)) throw new TypeError(`zeros: expected a dtype of ${Object.keys(ARRAYS)}, got ${dtype}`);
    return new Tensor(new ARRAYS[dtype](count(shape)), { shape, dtype });
  }

  /** Its type and shape without its memory, for of() and another(). */
  form() {
    return new Tensor(new this.data.constructor(0), undefined, this);
  }

  /** Of an array, if it has this one's type and size; else null. */
  of(array) {
    const same = array.constructor === this.data.constructor && array.length === this.#length && this.dtype !== "bool";
    return same ? new Tensor(array, undefined, this) : null;
  }

  /** Of zeros, like this one. */
  another() {
    return new Tensor(new this.data.constructor(this.#length), undefined, this);
  }

  /** A value as a tensor for an input of a type and shape, of which one dimension may follow from the length. */
  static as(value, { dtype, shape } = {}) {
    if (value instanceof Tensor) return value;
    const flat = ArrayBuffer.isView(value) || (Array.isArray(value) && value.length && value.every(isString));
    if (!flat || !shape) return new Tensor(value, { dtype });
    const free = shape.indexOf(null);
    const known = count(shape.filter((d) => d !== null));
    const n = value.length / known;
    if (free !== shape.lastIndexOf(null) || !Number.isInteger(n)) {
      throw new DL4Error(
        `expected a tensor of shape [${shape.map((d) => d ?? "any")}], got ${value.length} elements`,
        "DL4_SHAPE_MISMATCH",
      );
    }
    return new Tensor(value, { dtype, shape: shape.map((d) => d ?? n) });
  }

  /** A copy of a tensor of the library's, which is released. */
  static taken(handle) {
    try {
      const rank = dl4.tensor_rank(handle);
      const found = rank ? Array.from(decode(dl4.tensor_dims(handle), "int64_t", rank), Number) : [];
      const dtype = NAMES[dl4.tensor_dtype(handle)];
      if (dtype === "string") return new Tensor(stringsOf(handle, count(found)), { shape: found, dtype });
      const tensor = Tensor.zeros(found, dtype);
      if (tensor.data.length) check(dl4.tensor_copy_out(handle, tensor.data, tensor.data.byteLength));
      return tensor;
    } finally {
      dl4.release(handle);
    }
  }

  /** A new handle on the memory; it is the caller's. */
  wrap() {
    const { data } = this;
    if (this.dtype === "string") return this.#strings();
    if (data.length !== this.#length) throw new DL4Error("the memory of this Tensor was transferred");
    if (data.buffer.resizable) throw new DL4Error("expected an array of a fixed size, got one of a resizable buffer");
    const memory = data.length ? data : null;
    const rank = this.shape.length;
    if (!shares) {
      const handle = made("tensor_create", null, NUMBERS[this.dtype], rank, this.#dims);
      this.#fill(handle);
      return handle;
    }
    check(
      dl4.tensor_wrap(null, NUMBERS[this.dtype], rank, this.#dims, null, memory, data.byteLength, null, null, slot),
    );
    return slot[0];
  }

  /** One that has a copy of the strings. */
  #strings() {
    const all = this.data.map(bytesOf);
    const offsets = new BigInt64Array(all.length + 1);
    all.forEach((bytes, i) => (offsets[i + 1] = offsets[i] + BigInt(bytes.length)));
    const size = Number(offsets[all.length]);
    const bytes = new Uint8Array(size);
    all.forEach((part, i) => bytes.set(part, Number(offsets[i])));
    const held = [made("tensor_create", null, NUMBERS.uint8, 1, dims([size]))];
    try {
      if (size) check(dl4.tensor_copy_in(held[0], bytes, size));
      const [rank, at] = [this.shape.length, dl4.tensor_data(held[0])];
      held.push(made("tensor_wrap_strings", null, rank, this.#dims, NUMBERS.int64, offsets, at, size, null, null));
      return made("tensor_clone", held[1]);
    } finally {
      for (const handle of held.reverse()) dl4.release(handle);
    }
  }

  /** Copies the numbers into a tensor of the library's that does not see them. */
  #fill(handle) {
    if (this.#length && this.dtype !== "string") check(dl4.tensor_copy_in(handle, this.data, this.data.byteLength));
  }

  /** Takes what the library has written into such a one. */
  written(handle) {
    if (!shares && this.#length) check(dl4.tensor_copy_out(handle, this.data, this.data.byteLength));
  }

  make() {
    return this.wrap();
  }

  pin() {
    const { buffer } = this.data;
    if (!buffer || pinned.has(buffer)) return;
    pinned.add(buffer);
    pin(buffer, refuseTransfer);
  }

  get handle() {
    if (this.data.length !== this.#length) this.wrap(); // throws
    const handle = super.handle;
    if (!shares) this.#fill(handle); // it may have changed
    return handle;
  }

  /** Nested lists; a number if the shape is []. */
  toArray() {
    let level = Array.from(this.data, this.dtype === "bool" ? Boolean : (v) => v);
    for (const d of this.shape.slice(1).reverse()) {
      level = Array.from({ length: d ? level.length / d : 0 }, (_, i) => level.slice(i * d, (i + 1) * d));
    }
    return this.shape.length ? level : level[0];
  }
}
strict(Tensor, "zeros(shape, dtype)", "toArray()");
