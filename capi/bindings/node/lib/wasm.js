// The library as a WebAssembly module: arguments are copied into its memory, and what it writes is copied back. Calls
// run in the event loop, one after the other.
import create from "./dl4.mjs";

const module = await create();
const { stackAlloc, stackRestore, stackSave, addFunction, removeFunction, _malloc: malloc, _free: free } = module;

// In Node.js files are those of the system.
const system = globalThis.process?.versions?.node ? await import("node:path") : null;
if (system) {
  const fs = await import("node:fs");
  const { FS, NODEFS } = module;
  for (const name of fs.readdirSync("/")) {
    const root = `/${name}`;
    if (["dev", "proc", "sys"].includes(name) || !fs.statSync(root, { throwIfNoEntry: false })?.isDirectory()) continue;
    FS.mkdirTree(root);
    FS.mount(NODEFS, { root }, root);
  }
}

export const shares = false;
export const beside = false;
export const most = 1;

const NUMBERS = {
  double: Float64Array,
  float: Float32Array,
  int32_t: Int32Array,
  int64_t: BigInt64Array,
  uint8_t: Uint8Array,
  pointer: Uint32Array,
};
const addressOf = (pointer) => (pointer ? BigInt(pointer >>> 0) : null);
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const text = (at, size) => decoder.decode(module.HEAPU8.subarray(at, at + size));

function textAt(pointer) {
  const at = pointer >>> 0;
  return at ? text(at, module.HEAPU8.indexOf(0, at) - at) : null;
}

/** How a value of a type comes out of the module. */
function taker(type) {
  if (type === "void") return () => undefined;
  if (type === "int64_t") return Number;
  if (type === "const char *") return textAt;
  if (type.endsWith("*")) return addressOf;
  return (v) => v;
}

const callbacks = {};

const little = 16384; // bytes of an argument that goes on the stack

/** Memory until the end of a call, when all that is held is given back. */
function room(size, held) {
  if (size <= little) return stackAlloc(size);
  const at = malloc(size) >>> 0;
  if (!at) throw new RangeError(`the module has no memory for an argument of ${size} bytes`);
  held.push(() => free(at));
  return at;
}

const isList = (type) => /\*(const )?\*$/.test(type); // of pointers

/** An array as an argument: copied, and copied back where the library may write. */
function array(values, { type, direction }, held, back) {
  const wide = isList(type) && values instanceof BigUint64Array;
  const given = wide ? Uint32Array.from(values, Number) : values;
  const size = given.byteLength;
  const at = room(size, held);
  const bytes = new Uint8Array(given.buffer, given.byteOffset, size);
  if (direction !== "out") module.HEAPU8.set(bytes, at);
  if (type.startsWith("const ") || type.includes("*const")) return at;
  back.push(() => {
    bytes.set(module.HEAPU8.subarray(at, at + size));
    if (wide) given.forEach((v, i) => (values[i] = BigInt(v)));
  });
  return at;
}

/** How an argument of a parameter goes into the module. */
function giver(parameter) {
  const { type } = parameter;
  if (type === "int64_t") return BigInt;
  if (type === "const char *") {
    return (value, held) => {
      if (value === null || value === undefined) return 0;
      const bytes = encoder.encode(`${value}\0`);
      const at = room(bytes.length, held);
      module.HEAPU8.set(bytes, at);
      return at;
    };
  }
  if (callbacks[type]) {
    return (value, held) => {
      if (typeof value !== "function") return value ?? 0; // registered already
      const pointer = register(type, value);
      held.push(() => unregister(pointer));
      return pointer;
    };
  }
  if (!type.endsWith("*")) return (v) => v;
  return (value, held, back) => {
    if (value === null || value === undefined) return 0;
    return ArrayBuffer.isView(value) ? array(value, parameter, held, back) : Number(value);
  };
}

const soon = globalThis.setImmediate ?? messages();

/** Runs a function when the event loop has done what waits there. */
function messages() {
  const { port1, port2 } = new MessageChannel();
  return (fn) => {
    port1.onmessage = fn; // there is one at a time
    port2.postMessage(null);
  };
}

export function func(name, returns, parameters) {
  const inside = module[`_${name}`];
  const give = parameters.map(giver);
  const take = taker(returns);
  const call = (...args) => {
    const top = stackSave();
    const [held, back] = [[], []];
    try {
      const result = inside(...give.map((g, i) => g(args[i], held, back)));
      for (const put of back) put();
      return take(result);
    } finally {
      for (const giveBack of held) giveBack();
      stackRestore(top);
    }
  };
  call.async = (...args) => {
    const tell = args.pop();
    soon(() => {
      let result;
      try {
        result = call(...args);
      } catch (broken) {
        tell(broken);
        return;
      }
      tell(null, result);
    });
  };
  return call;
}

const letter = (type) => ({ void: "v", int64_t: "j", double: "d" })[type] ?? "i";

export function know(descriptions) {
  for (const c of descriptions) callbacks[c.name] = c;
}

export function register(type, fn) {
  const { returns, parameters } = callbacks[type];
  const take = parameters.map((p) => taker(p.type));
  const signature = letter(returns) + parameters.map((p) => letter(p.type)).join("");
  return addFunction((...args) => fn(...args.map((v, i) => take[i](v))), signature);
}
export const unregister = removeFunction;

export function decode(address, type, n) {
  const found = new NUMBERS[type](module.HEAPU8.buffer, Number(address), n).slice();
  return type === "pointer" ? BigUint64Array.from(found, BigInt) : found;
}

export function encode(address, type, values, n) {
  const to = new NUMBERS[type](module.HEAPU8.buffer, Number(address), n);
  to.set(type === "pointer" ? Uint32Array.from(values, Number) : values);
}

export const string = (address, size) => (size ? text(Number(address), size) : "");
export const absolute = (path) => (system ? system.resolve(path) : path);
export const pin = () => {}; // no thread is at work
export const trim = () => {};
export const atExit = () => {};
