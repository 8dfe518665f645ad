// Cancelling by an AbortSignal.
import { dl4, Handle, made } from "./abi.js";

class Flag extends Handle {}

/** Starts a call with a flag that the signal triggers; if that ends it, the promise fails with the signal's reason. */
export async function cancellable(signal, start) {
  if (!signal) return start(null);
  const flag = new Flag(made("cancel_create"));
  const trigger = () => dl4.cancel_trigger(flag.handle);
  if (signal.aborted) trigger();
  else signal.addEventListener("abort", trigger, { once: true });
  try {
    return await start(flag.handle);
  } catch (error) {
    throw error.code === "DL4_CANCELLED" && signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", trigger);
    flag.close();
  }
}
