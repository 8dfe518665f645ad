package org.dl4;

import java.util.List;
import java.util.Map;

/**
 * A sequence that goes on: a session is run step by step, and what its recurrent layers carry from
 * step to step is kept here. One thread at a time may use it; many streams may run one session at
 * once.
 */
public final class Stream extends Handle {
  private final int outputs;
  private final int batch;

  /** Changes the logits [B, V] in place, which are valid during the call. */
  @FunctionalInterface
  public interface Mask {
    void change(Tensor logits) throws Exception;
  }

  /** At the beginning of a sequence, of a session with the option "states". */
  public Stream(Session session) {
    this(session, null);
  }

  /** Options, which may be null, are those of dl4_stream_create: "batch", "seed". */
  public Stream(Session session, Map<String, ?> options) {
    super(made(session, options));
    outputs = portCount(OUTPUTS);
    batch = options != null && options.get("batch") instanceof Number b ? b.intValue() : 1;
  }

  private Stream(Stream of, long handle) {
    super(handle);
    outputs = of.outputs;
    batch = of.batch;
  }

  /** A second stream that goes on from here. Options, which may be null: "seed". */
  public Stream fork(Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_stream_fork(c.use(this), c.options(options), out));
      return new Stream(this, c.get(out, 0));
    }
  }

  /**
   * Runs the next steps of many streams of one session in one call, which is faster than a call for
   * each. Row i of the inputs and outputs is that of the stream i, which takes steps[i] of the
   * steps; null: all take every step.
   */
  public static Tensor[] runMany(List<Stream> streams, long[] steps, Tensor... inputs) {
    if (streams.isEmpty() || steps != null && steps.length != streams.size()) {
      throw Dl4Exception.invalid(
          "runMany: expected streams and as many numbers of steps, got " + streams.size());
    }
    try (Call c = new Call()) {
      long[] handles = streams.stream().mapToLong(c::use).toArray();
      Tensor[] out = new Tensor[streams.get(0).outputs];
      long in = c.tensors(inputs);
      long slots = c.tensors(out);
      c.check(
          Lib.dl4_stream_run_many(
              c.longs(handles),
              handles.length,
              steps == null ? 0 : c.longs(steps),
              in,
              inputs.length,
              slots,
              out.length,
              0));
      Session.fill(c, out, slots);
      return out;
    }
  }

  /**
   * Runs the next steps and draws the id that follows in each sequence from the model's logits.
   * Options, which may be null, are those of dl4_stream_next: "temperature", "top_k", "top_p",
   * "stop", "from_logits". After a mask, which may be null, an id of -infinity is not drawn.
   */
  public long[] next(Map<String, ?> options, Mask mask, Tensor... inputs) {
    long user = mask == null ? 0 : Callbacks.keep(mask);
    try (Call c = new Call()) {
      long s = c.use(this);
      long in = c.tensors(inputs);
      long ids = c.slots(batch);
      c.check(
          Lib.dl4_stream_next(
              s,
              in,
              inputs.length,
              c.options(options),
              mask == null ? 0 : Callbacks.LOGITS,
              user,
              ids,
              batch,
              0));
      long[] drawn = new long[batch];
      for (int i = 0; i < batch; i++) {
        drawn[i] = c.get(ids, i);
      }
      return drawn;
    } finally {
      Callbacks.forget(user);
    }
  }

  /** Restarts one of its sequences. */
  public void resetRow(long row) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_stream_reset_row(c.use(this), row));
    }
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
      c.check(Lib.dl4_stream_save_bytes(c.use(this), out));
      return c.content(out);
    }
  }

  /** Goes on where another stream of the same model and batch stood. */
  public void load(byte[] data) {
    try (Call c = new Call()) {
      long bytes = c.bytes(data);
      c.check(Lib.dl4_stream_load_bytes(c.use(this), bytes, data.length));
    }
  }
}
