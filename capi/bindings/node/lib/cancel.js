// Cancelling: by an AbortSignal, and when the process ends.
import { isMainThread } from "node:worker_threads";

import { dl4, exitNow, Handle, made } from "./abi.js";

class Flag extends Handle {
  trigger = () => dl4.cancel_trigger(this.handle);
}

const underWay = new Set();
// Node.js would wait for calls that are under way, and these for their callbacks, which no longer run.
process.on("exit", (code) => {
  underWay.forEach((flag) => flag.trigger());
  if (isMainThread && underWay.size) exitNow(code);
});

/** Starts a call with a flag that the signal triggers; if that ends it, the promise fails with the signal's reason. */
export async function cancellable(signal, start) {
  const flag = new Flag(made("cancel_create"));
  underWay.add(flag);
  if (signal?.aborted) flag.trigger();
  else signal?.addEventListener("abort", flag.trigger, { once: true });
  try {
    return await start(flag.handle);
  } catch (error) {
    throw error?.code === "DL4_CANCELLED" && signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener("abort", flag.trigger);
    underWay.delete(flag);
    flag.close();
  }
}
