// Kinds of one's own, computed by JavaScript.
import { answering, callback, check, constants, decode, dl4, encode, optionsText, takes } from "./abi.js";
import { ARRAYS, NAMES } from "./tensor.js";

const free = (d) => (d < 0 ? null : Number(d));
const kept = []; // the library calls them as long as the process lives

/** Copies of tensors of the library's, null where there is none; with `to`, which gets them, they are to be written. */
function seen(pointer, n, to) {
  return Array.from(n ? decode(pointer, "pointer", n) : [], (handle) => {
    if (!handle) return null;
    const [dtype, rank] = [NAMES[dl4.tensor_dtype(handle)], dl4.tensor_rank(handle)];
    const bytes = dl4.tensor_bytes(handle);
    const data = new ARRAYS[dtype](bytes / ARRAYS[dtype].BYTES_PER_ELEMENT);
    if (to) to.push([handle, data]);
    else if (bytes) check(dl4.tensor_copy_out(handle, data, bytes));
    return { data, shape: rank ? Array.from(decode(dl4.tensor_dims(handle), "int64_t", rank), Number) : [], dtype };
  });
}

/** Calls a function that reads tensors and writes others; copies, for a reference to the memory might be kept. */
function computing(use) {
  return answering(() => {
    const written = [];
    use(
      (pointer, n) => seen(pointer, n, null),
      (pointer, n) => seen(pointer, n, written),
    );
    for (const [handle, data] of written) if (data.length) check(dl4.tensor_copy_in(handle, data, data.byteLength));
    return 0;
  });
}

/** Calls `shape` with the shapes of the sources, and puts those of the outputs and weights. */
function shapes(shape) {
  return (_, config, ranks, sizes, nSrc, outRanks, outDims, nOut) =>
    answering(() => {
      const counts = nSrc ? Array.from(decode(ranks, "int32_t", nSrc)) : [];
      const n = counts.reduce((a, b) => a + b, 0);
      const all = n ? Array.from(decode(sizes, "int64_t", n), free) : [];
      const sources = counts.map((rank) => all.splice(0, rank));
      const given = shape(sources, config);
      if (given.length !== nOut) throw new TypeError(`shape: expected ${nOut} shapes, got ${given.length}`);
      const found = Int32Array.from(given, (s) => s.length);
      const padded = given.flatMap((s) => Array.from({ length: constants.DL4_MAX_RANK }, (_, i) => BigInt(s[i] ?? -1)));
      encode(outRanks, "int32_t", found, nOut);
      encode(outDims, "int64_t", padded, padded.length);
      return 0;
    });
}

/**
 * Adds a layer, loss or metric of one's own, until removeKind(). forward(sources, outputs, config) writes the
 * outputs, which are zeros; backward(sources, outputs, gradients, sourceGradients, config) writes the gradients of the
 * sources. Call it on the main thread, where these functions run.
 */
export function addKind(category, name, { shape = null, forward, backward = null, ...options }) {
  takes("addKind(category, name, { shape, forward, backward, ... })", arguments);
  const compute = (_, config, src, nSrc, dst, nDst) =>
    computing((read, write) => forward(read(src, nSrc), write(dst, nDst), config));
  const differentiate = (_, config, src, nSrc, dst, diffDst, nDst, diffSrc) =>
    computing((read, write) =>
      backward(read(src, nSrc), read(dst, nDst), read(diffDst, nDst), write(diffSrc, nSrc), config),
    );
  const own = (type, given, fn) => given && callback(type, kept, fn);
  const functions = [
    own("dl4_shape_fn", shape, shape && shapes(shape)),
    own("dl4_forward_fn", forward, compute),
    own("dl4_backward_fn", backward, differentiate),
  ];
  kept.push(functions);
  check(dl4.registry_add(category, name, optionsText(options), ...functions, null, null));
}

/** Removes a kind that addKind() added. Models that have it work on. */
export function removeKind(category, name) {
  takes("removeKind(category, name)", arguments);
  check(dl4.registry_remove(category, name));
}

/** Throws where the library refuses this config of a kind; makes nothing of it. */
export function checkKind(category, name, config) {
  takes("checkKind(category, name, config)", arguments);
  check(dl4.registry_check(category, name, optionsText(config)));
}
