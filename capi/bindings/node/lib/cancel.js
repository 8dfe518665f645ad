// Cancelling: by an AbortSignal, and when the process ends.
import { atExit, dl4, Handle, made } from "./abi.js";

class Flag extends Handle {
  trigger = () => dl4.cancel_trigger(this.handle);
}

const underWay = new Set();
atExit(underWay, (flag) => flag.trigger());

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
