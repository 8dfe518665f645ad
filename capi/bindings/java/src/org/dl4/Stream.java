package org.dl4;

import java.util.Map;

/**
 * A sequence that goes on: a session is run step by step, and what its recurrent layers carry from
 * step to step is kept here. One thread at a time may use it; many streams may run one session at
 * once.
 */
public final class Stream extends Handle {
  private final int outputs;

  /** At the beginning of a sequence, of a session with the option "states". */
  public Stream(Session session) {
    this(session, null);
  }

  /** Options, which may be null, are those of dl4_stream_create: "batch". */
  public Stream(Session session, Map<String, ?> options) {
    super(made(session, options));
    outputs = portCount(OUTPUTS);
  }

  private static long made(Session session, Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_stream_create(c.use(session), c.options(options), out));
      return c.get(out, 0);
    }
  }

  /** Runs the next steps, at least one, and gives new tensors for the model's outputs. */
  public Tensor[] run(Tensor... inputs) {
    Tensor[] out = new Tensor[outputs];
    runInto(inputs, out, null);
    return out;
  }

  /**
   * Runs the next steps into tensors of the caller's, as {@link Session#runInto} does. cancel may
   * be null. After an exception the stream is where it was.
   */
  public void runInto(Tensor[] inputs, Tensor[] out, Cancel cancel) {
    try (Call c = new Call()) {
      long s = c.use(this);
      long in = c.tensors(inputs);
      long slots = c.tensors(out);
      c.check(Lib.dl4_stream_run(s, in, inputs.length, slots, out.length, c.use(cancel)));
      Session.fill(c, out, slots);
    }
  }

  /** Goes back to the beginning of a sequence: all states are zeros. */
  public void reset() {
    try (Call c = new Call()) {
      c.check(Lib.dl4_stream_reset(c.use(this)));
    }
  }

  /** Where the stream stands: its states by name, as a safetensors file. */
  public byte[] toBytes() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_stream_save_memory(c.use(this), out));
      return c.content(out);
    }
  }

  /** Goes on where another stream of the same model and batch stood. */
  public void load(byte[] data) {
    try (Call c = new Call()) {
      long bytes = c.bytes(data);
      c.check(Lib.dl4_stream_load_memory(c.use(this), bytes, data.length));
    }
  }
}
