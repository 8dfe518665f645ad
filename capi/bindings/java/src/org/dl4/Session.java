package org.dl4;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A model made ready to run, with the weights it had at that moment. It is immutable: any number of
 * threads may run it at once.
 */
public final class Session extends Handle {
  private final int outputs;

  public Session(Model model) {
    this(model, null);
  }

  /** Options, which may be null, are those of dl4_session_create: "training", "gradients", ... */
  public Session(Model model, Map<String, ?> options) {
    super(made(model, options));
    outputs = portCount(OUTPUTS);
  }

  private static long made(Model model, Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_session_create(c.use(model), c.options(options), out));
      return c.get(out, 0);
    }
  }

  /** The inputs, in the order that run takes them. */
  public List<Model.Io> inputs() {
    return ports(INPUTS);
  }

  /** The outputs, in the order that run gives them; those of gradients come last. */
  public List<Model.Io> outputs() {
    return ports(OUTPUTS);
  }

  @Override
  public String toString() {
    return told(() -> "Session " + inputs() + " -> " + outputs());
  }

  /** The shape of output i for inputs of these shapes; nothing is run. */
  public long[] outputShape(int i, long[]... inputs) {
    int[] ranks = new int[inputs.length];
    int n = 0;
    for (int k = 0; k < inputs.length; k++) {
      ranks[k] = inputs[k].length;
      n += ranks[k];
    }
    long[] all = new long[n];
    for (int k = 0, at = 0; k < inputs.length; at += ranks[k++]) {
      System.arraycopy(inputs[k], 0, all, at, ranks[k]);
    }
    try (Call c = new Call()) {
      long s = c.use(this);
      long r = c.ints(ranks);
      long d = c.longs(all);
      return c.shape(
          (dims, cap, rank) ->
              Lib.dl4_session_output_shape(s, r, d, inputs.length, i, dims, cap, rank));
    }
  }

  /** Runs the model and gives new tensors; {@link #runInto} spares making them. */
  public Tensor[] run(Tensor... inputs) {
    Tensor[] out = new Tensor[outputs];
    runInto(inputs, out, null);
    return out;
  }

  public void runInto(Tensor[] inputs, Tensor[] out) {
    runInto(inputs, out, null);
  }

  /**
   * Runs the model into tensors of the caller's, one for each output, of the right type and shape,
   * overlapping no input and no other output; null gets a new tensor. After an exception tensors
   * may be half written.
   */
  public void runInto(Tensor[] inputs, Tensor[] out, Cancel cancel) {
    try (Call c = new Call()) {
      long s = c.use(this);
      long in = c.tensors(inputs);
      long slots = c.tensors(out);
      c.check(Lib.dl4_session_run(s, in, inputs.length, slots, out.length, c.use(cancel)));
      fill(c, out, slots);
    }
  }

  static void fill(Call c, Tensor[] out, long slots) {
    for (int i = 0; i < out.length; i++) {
      if (out[i] == null) {
        out[i] = new Tensor(c.get(slots, i));
      }
    }
  }

  /** Runs the model over a whole dataset, in order, and joins the outputs. cancel may be null. */
  public Tensor[] predict(Dataset data, Cancel cancel) {
    Tensor[] out = new Tensor[outputs];
    try (Call c = new Call()) {
      long s = c.use(this);
      long slots = c.tensors(out);
      c.check(Lib.dl4_session_predict(s, c.use(data), c.use(cancel), slots, out.length));
      fill(c, out, slots);
    }
    return out;
  }
}
