// The C interface: found, declared from its own description, its errors as exceptions.
const calls = await import("#calls").catch(instead);

/** The WebAssembly module where there is no shared library, unless one was named. */
async function instead(cause) {
  if (cause.code !== "DL4_NOT_FOUND" || process.env.DL4_LIBRARY) throw cause;
  const wasm = await import("./wasm.js").catch(() => {
    throw cause; // the package has none
  });
  process.emitWarning(`${cause.message}; WebAssembly, with one thread, computes instead`);
  return wasm;
}

const { func, string } = calls;
export const { absolute, atExit, beside, decode, encode, pin, shares } = calls;

const version = func("dl4_version", "int32_t", [])();
/** The library's version, "1.2.3". */
export const versionString = [version / 1000000, (version / 1000) % 1000, version % 1000].map(Math.floor).join(".");
if (Math.floor(version / 1000000) !== 1) {
  throw new Error(`dl4 for Node.js is made for version 1 of libdl4, found ${versionString}`);
}

const any = [{ type: "void *" }];
const blobData = func("dl4_blob_data", "void *", any);
const blobSize = func("dl4_blob_size", "int64_t", any);
const release = func("dl4_release", "void", any);

function describe() {
  const out = new BigUint64Array(1);
  const error = func("dl4_api_description", "void *", [{ type: "dl4_blob **" }])(out);
  if (error) throw new Error("libdl4 does not describe itself");
  return JSON.parse(text(out[0]));
}

/** The text of a blob, which is released. */
export function text(blob) {
  try {
    return string(blobData(blob), blobSize(blob));
  } finally {
    release(blob);
  }
}

/** The bytes of a blob, which is released. */
export function content(blob) {
  try {
    return decode(blobData(blob), "uint8_t", blobSize(blob));
  } finally {
    release(blob);
  }
}

/** Bytes and their number, as two arguments; an empty array might become NULL. */
export function memory(source) {
  const bytes = ArrayBuffer.isView(source) ? source : new Uint8Array(source);
  return [bytes.byteLength ? bytes : new Uint8Array(1), bytes.byteLength];
}

/** The library's description of its interface. */
export const description = describe();

/** Numbers of the C interface by name: DL4_FLOAT32, ... */
export const constants = Object.fromEntries(description.constants.map((c) => [c.name, c.value]));

/** Keeps a function for a callback of the library's, as long as `holder` lives. */
export function callback(type, holder, fn) {
  const pointer = calls.register(type, fn);
  slots.register(holder, pointer);
  return pointer;
}
const slots = new FinalizationRegistry((pointer) => calls.unregister(pointer));
calls.know(description.callbacks);

const BYTES = new Set(["dl4_blob_data", "dl4_tensor_string"]); // what they give does not end with a NUL

/** Every function of dl4.h, without "dl4_"; pointers are BigInts, typed arrays or null. */
export const dl4 = Object.fromEntries(
  description.functions.map((f) => {
    const returns = BYTES.has(f.name) ? "void *" : f.returns;
    return [f.name.slice(4), func(f.name, returns, f.parameters)];
  }),
);

const CODES = Object.fromEntries(
  description.constants.filter((c) => c.group.startsWith("Codes")).map((c) => [c.value, c.name]),
);

/** What the library refused: `code` ("DL4_SHAPE_MISMATCH"), and `layer`, `attribute`, `expected`, `got`, ... */
export class DL4Error extends Error {
  constructor(message, code = "DL4_INVALID_ARGUMENT", facts = {}) {
    super(message);
    Object.assign(this, facts, { code });
  }
}
DL4Error.prototype.name = "DL4Error";

const thrown = new Map(); // what callbacks threw, by what they answered for it
let answers = 0;

/** Calls a callback's body; what it throws becomes an answer that fails the call, which then throws the same. */
export function answering(body) {
  try {
    return body();
  } catch (error) {
    thrown.set(--answers, error);
    return answers;
  }
}

/** What to throw for an error, which is released. */
function failure(error) {
  const code = CODES[dl4.error_code(error)] ?? "DL4_INTERNAL";
  const facts = JSON.parse(dl4.error_detail(error));
  const answer = Number(facts.answer);
  const made = thrown.has(answer) ? thrown.get(answer) : new DL4Error(dl4.error_message(error), code, facts);
  thrown.delete(answer);
  release(error);
  return made;
}

/** Throws what a call returned. */
export function check(error) {
  if (error) throw failure(error);
}

const slot = new BigUint64Array(1);
const number = new Int32Array(1);

/** Calls a function whose last parameter is the object that it makes. */
export function made(name, ...args) {
  check(dl4[name](...args, slot));
  return slot[0];
}

/** Calls a function whose last parameter is an int32_t that it gives. */
export function given(name, ...args) {
  check(dl4[name](...args, number));
  return number[0];
}

const counts = new Map();

/** The number of arguments in a form like "fit(train, { signal, ... })". */
function most(form) {
  if (!counts.has(form)) counts.set(form, counted(form));
  return counts.get(form);
}

function counted(form) {
  const inside = form.slice(form.indexOf("(") + 1, form.lastIndexOf(")"));
  let [depth, commas] = [0, 0];
  for (const c of inside) {
    if ("{[".includes(c)) ++depth;
    else if ("}]".includes(c)) --depth;
    else if (c === "," && depth === 0) ++commas;
  }
  return inside ? commas + 1 : 0;
}

/** What to throw for arguments that a function does not take. */
const tooMany = (form, n) => new TypeError(`expected ${form}, got ${n} arguments`);

/** Refuses arguments past those of a form. */
export function takes(form, args) {
  if (args.length > most(form)) throw tooMany(form, args.length);
}

/** From now on these functions of a class refuse arguments past those of their forms. */
export function strict(type, ...forms) {
  for (const form of forms) {
    const name = form.slice(0, form.indexOf("("));
    const [where, shown] = Object.hasOwn(type, name) ? [type, `${type.name}.${form}`] : [type.prototype, form];
    const [inner, count] = [where[name], most(form)];
    const later = inner.constructor.name === "AsyncFunction";
    const value = function (...args) {
      if (args.length <= count) return inner.apply(this, args);
      const error = tooMany(shown, args.length);
      if (later) return Promise.reject(error);
      throw error;
    };
    Object.defineProperty(where, name, { value, writable: true, configurable: true });
  }
}

/** Refuses what is left of options once those that are `known` were taken. */
export function none(who, others, known) {
  const key = Object.keys(others)[0];
  if (key !== undefined) throw new TypeError(`${who}: expected options of ${known}, got "${key}"`);
}

let held = null; // written only, so that what it is given is alive until then

// Calls beside the event loop.
const waiting = [];
let underWay = 0;

function start(objects, name, args, resolve, reject) {
  ++underWay;
  dl4[name].async(...args, (broken, error) => {
    // koffi keeps this function, and the function keeps what the call reads and writes. Nothing else does if a worker
    // thread is ended as it starts a call.
    held = [objects, args];
    held &&= null;
    --underWay;
    if (waiting.length) start(...waiting.shift());
    if (broken) reject(broken);
    else if (error) reject(failure(error));
    else resolve();
  });
}

/** Calls a function on a thread of its own, as soon as one may be had; the promise is that it succeeded. */
function later(...call) {
  return new Promise((resolve, reject) => {
    if (underWay < calls.most) start(...call, resolve, reject);
    else waiting.push([...call, resolve, reject]);
  });
}

/** A shape that a call gives by its last parameters dims, cap and rank; a free dimension is null. */
export function shape(name, ...args) {
  const dims = new BigInt64Array(constants.DL4_MAX_RANK);
  check(dl4[name](...args, dims, dims.length, number));
  return Array.from(dims.subarray(0, number[0]), (d) => (d < 0n ? null : Number(d)));
}

/** Dimensions as the library takes them. */
export function dims(list) {
  const numbers = new BigInt64Array(list.length);
  for (let i = 0; i < list.length; ++i) numbers[i] = BigInt(list[i] ?? -1);
  return numbers;
}

/** Name, shape and type of the inputs (0), outputs (1), weights (2) or metrics (3) of an object. */
export function ports(handle, which) {
  return Array.from({ length: dl4.port_count(handle, which) }, (_, i) => ({
    name: dl4.port_name(handle, which, i),
    shape: shape("port_shape", handle, which, i),
    dtype: dl4.port_dtype(handle, which, i),
  }));
}

/** Calls a function that uses the memory of some tensors, which is theirs until it returns. */
export function holding(tensors, call) {
  try {
    return call();
  } finally {
    held = tensors;
    held &&= null;
  }
}

let dropped = 0;
const finalizers = new FinalizationRegistry((handle) => {
  release(handle);
  if (++dropped % 4096 === 0) setTimeout(calls.trim, 50).unref();
});

/** An object of the library, released when nothing holds it or by close(); calls that are under way keep it. */
export class Handle {
  #handle = null;
  #uses = 0;
  #closed = false;

  /** Without a handle, make() makes one when it is first needed. */
  constructor(handle) {
    if (handle) this.#own(handle);
  }

  #own(handle) {
    this.#handle = handle;
    finalizers.register(this, handle, this);
  }

  /** Its address; a closed one throws. */
  get handle() {
    if (this.#closed) throw new DL4Error(`this ${this.constructor.name} is closed`);
    if (!this.#handle) this.#own(this.make());
    return this.#handle;
  }

  /** Releases the object now; a second time does nothing. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#drop();
  }

  #drop() {
    if (!this.#closed || this.#uses || !this.#handle) return;
    finalizers.unregister(this);
    release(this.#handle);
    this.#handle = null;
  }

  /** Calls a function on a thread of its own, and keeps objects open meanwhile, and from now on the arrays that they see
   * in place. */
  static async during(objects, name, ...args) {
    for (const o of objects) {
      if (!o) continue;
      ++o.#uses;
      o.pin?.();
    }
    try {
      return await later(objects, name, args);
    } finally {
      for (const o of objects) {
        if (!o) continue;
        --o.#uses;
        o.#drop();
      }
    }
  }

  /** As text for people ("text"), "json" or a "dot" drawing. */
  describe(format = "text") {
    return text(made("describe", this.handle, constants[`DL4_FORMAT_${format.toUpperCase()}`]));
  }
}

strict(Handle, "close()", "describe(format)");
// Node.js 18 has no Symbol.dispose.
if (Symbol.dispose) Handle.prototype[Symbol.dispose] = Handle.prototype.close;

function plain(key, value) {
  if (typeof value === "number" && !Number.isFinite(value))
    throw new TypeError(`"${key}": expected a number, got ${value}`);
  if (value?.isNode || value?.isModel) throw new TypeError(`"${key}": expected a plain value, got a node or a model`);
  if (typeof value === "function") throw new TypeError(`"${key}": expected a value or a kind's name, got a function`);
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
}

/** Options as the library takes them. */
export const optionsText = (values) => (values ? JSON.stringify(values, plain) : null);

/** The numbers of nodes; -1 is none. */
const numbers = (nodes) => Int32Array.from(nodes, (n) => n?.id ?? -1);

/** What JSON can't hold, by key: models of a config and nodes of a call. */
class Refs extends Handle {
  constructor(models, nodes) {
    super(made("refs_create"));
    for (const [key, model] of models) check(dl4.refs_set_model(this.handle, key, model.handle));
    for (const [key, list] of nodes) check(dl4.refs_set_nodes(this.handle, key, numbers(list), list.length));
  }
}

/** Gives `use` some values as text and, for as long as it takes, a handle of the models and nodes among them. */
export function withRefs(values, use) {
  const rest = {};
  const [models, nodes] = [[], []];
  for (const [key, value] of Object.entries(values ?? {})) {
    const list = Array.isArray(value) ? value : [value];
    if (value?.isModel) models.push([key, value]);
    else if (list.some((v) => v?.isNode)) nodes.push([key, list]);
    else rest[key] = value;
  }
  const config = optionsText(rest);
  if (!models.length && !nodes.length) return use(config, null);
  const refs = new Refs(models, nodes);
  try {
    return use(config, refs.handle);
  } finally {
    refs.close();
  }
}

/** Kinds as the library describes them: of all categories, of one, or one kind. */
export function registry(category = null, name = null) {
  takes("registry(category, name)", arguments);
  return JSON.parse(text(made("registry_json", category, name)));
}

