// The library as a shared one, by koffi: typed arrays are seen in their own memory, and calls may run beside the event
// loop.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread, markAsUntransferable } from "node:worker_threads";

import koffi from "koffi";

// Calls beside the event loop run on stacks of koffi's own; the library takes up to 128 KiB of one.
if (koffi.config().async_stack_size < 256 * 1024) {
  try {
    koffi.config({ async_stack_size: 256 * 1024 });
  } catch (cause) {
    throw new Error("import dl4 before what else uses koffi: dl4 needs an async_stack_size of 256 KiB", { cause });
  }
}

function load(name) {
  try {
    return koffi.load(name);
  } catch (cause) {
    const error = new Error(`cannot load ${name}: ${cause.message}; DL4_LIBRARY names the library`, { cause });
    throw Object.assign(error, { code: "DL4_NOT_FOUND" });
  }
}

/** As the folders of the package's libraries are named: "linux-x64", with musl "linux-x64-musl". */
function system() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== "linux" || !process.report) return name;
  return process.report.getReport().header.glibcVersionRuntime ? name : `${name}-musl`;
}

/** The library that DL4_LIBRARY names, else the package's own for this system, else the system's. */
function found() {
  if (process.env.DL4_LIBRARY) return process.env.DL4_LIBRARY;
  const name = process.platform === "win32" ? "dl4.dll" : "libdl4.so.1";
  const inside = fileURLToPath(new URL(`native/${system()}/${name}`, import.meta.url));
  return existsSync(inside) ? inside : name;
}

const library = load(found());
const SCALARS = { int32_t: "int32_t", int64_t: "int64_t", double: "double", "const char *": "str", void: "void" };
Object.assign(SCALARS, { dl4_node: "int32_t", dl4_layer: "int32_t" });
const typeOf = (name) => SCALARS[name] ?? "void *";
const callbacks = {};

/** Whether the library sees a typed array in its own memory. */
export const shares = true;

/** Whether calls run beside the event loop. */
export const beside = true;

/** Calls beside the event loop at a time: koffi refuses those past a number that all who use it share. */
export const most = Math.max(1, koffi.config().max_async_calls >> 1);

/** A function of the library's, with a description of its parameters; its `async` takes one more, (broken, result). */
export function func(name, returns, parameters) {
  return library.func(
    name,
    typeOf(returns),
    parameters.map((p) => callbacks[p.type] ?? typeOf(p.type)),
  );
}

/** Makes types of callbacks known. */
export function know(descriptions) {
  for (const c of descriptions) {
    const parameters = c.parameters.map((p) => typeOf(p.type));
    callbacks[c.name] = koffi.pointer(koffi.proto(typeOf(c.returns), parameters));
  }
}

/** A function as a callback of a type, until it is unregistered. */
export const register = (type, fn) => koffi.register(fn, callbacks[type]);
export const { unregister } = koffi;

const WORD = { pointer: "uint64_t" };

/** Numbers at an address, of a type of C's or "pointer". */
export const decode = (address, type, n) => koffi.decode(address, WORD[type] ?? type, n);
export const encode = (address, type, values, n) => koffi.encode(address, WORD[type] ?? type, values, n);

/** UTF-8 at an address. */
export const string = (address, size) => koffi.decode.string(address, size);

/** A path as the library takes it. */
export const absolute = (path) => resolve(path);

/** From now on a buffer's memory is not taken away: a thread may be at work on it. */
export function pin(buffer, refuse) {
  if (!(buffer instanceof ArrayBuffer)) return;
  markAsUntransferable(buffer);
  for (const name of ["transfer", "transferToFixedLength"]) Object.defineProperty(buffer, name, { value: refuse });
}

// glibc keeps the memory of arrays that are collected, of 100,000 of 16 KB all 1.6 GB, until it is asked for it.
let mallocTrim = null;
try {
  mallocTrim = koffi.load(null).func("malloc_trim", "int", ["size_t"]);
} catch {
  // another C library
}
/** Gives memory back to the system. */
export function trim() {
  mallocTrim?.(0);
}

/** Calls trigger() for what `underWay` holds when the process ends. */
export function atExit(underWay, trigger) {
  const exitNow = koffi.load(null).func("_exit", "void", ["int"]);
  // Node.js would wait for calls that are under way, and these for their callbacks, which no longer run.
  process.on("exit", (code) => {
    underWay.forEach(trigger);
    if (isMainThread && underWay.size) exitNow(code);
  });
}
