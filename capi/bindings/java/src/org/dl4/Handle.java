package org.dl4;

import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * An object of the library. It is released when it is closed, or collected, and no call uses it any
 * more; objects keep what they need alive, so the order does not matter. A closed one is refused.
 */
public abstract class Handle implements AutoCloseable {
  static final Cleaner CLEANER = Cleaner.create();
  final Ref ref;

  /** What outlives the object, until it is released. */
  static final class Ref implements Runnable {
    private final long address;
    private final boolean borrowed;
    private final long bytes;
    private final AtomicLong state = new AtomicLong(); // 2 for each call that uses it, 1: closed

    Ref(long address, boolean borrowed, long bytes) {
      this.address = address;
      this.borrowed = borrowed;
      this.bytes = bytes;
    }

    boolean use() {
      for (long s = state.get(); (s & 1) == 0; s = state.get()) {
        if (state.compareAndSet(s, s + 2)) {
          return true;
        }
      }
      return false;
    }

    void done() {
      if (state.addAndGet(-2) == 1) {
        release();
      }
    }

    @Override
    public void run() {
      for (long s = state.get(); (s & 1) == 0; s = state.get()) {
        if (state.compareAndSet(s, s | 1)) {
          if (s == 0) {
            release();
          }
          return;
        }
      }
    }

    private void release() {
      if (!borrowed) {
        Lib.dl4_release(address);
        hold(-bytes);
      }
    }

    long address() {
      return address;
    }

    boolean isBorrowed() {
      return borrowed;
    }
  }

  private static long held;
  private static long least; // since the collector was called

  /** Calls the collector, which does not see this memory, when what is held has doubled. */
  private static void hold(long bytes) {
    if (bytes == 0) {
      return;
    }
    synchronized (CLEANER) {
      held += bytes;
      least = Math.min(least, held);
      if (held - least <= Math.max(256L << 20, least)) {
        return;
      }
      least = held;
    }
    System.gc();
  }

  private final Cleaner.Cleanable cleanable;

  Handle(long address) {
    this(address, 0);
  }

  /** Of an object that takes so many bytes of the library's memory. */
  Handle(long address, long bytes) {
    hold(bytes);
    ref = new Ref(address, false, bytes);
    cleanable = CLEANER.register(this, ref);
  }

  /** Of an object that the library lends. */
  Handle(long address, boolean borrowed) {
    ref = new Ref(address, borrowed, 0);
    cleanable = ref::run;
  }

  /** Releases the object once the calls that use it have ended. Closing again does nothing. */
  @Override
  public void close() {
    cleanable.clean();
  }

  /** Forms of a description: JSON, text for people and, of a graph or model, a drawing in DOT. */
  public enum Format {
    JSON,
    TEXT,
    DOT
  }

  static final int INPUTS = 0;
  static final int OUTPUTS = 1;
  static final int WEIGHTS = 2;
  static final int METRICS = 3;

  int portCount(int which) {
    return (int) Lib.dl4_port_count(ref.address(), which);
  }

  List<Model.Io> ports(int which) {
    List<Model.Io> all = new ArrayList<>();
    try (Call c = new Call()) {
      long h = c.use(this);
      for (long i = 0, n = Lib.dl4_port_count(h, which); i < n; i++) {
        long k = i;
        try (Call inner = new Call()) {
          long[] shape =
              inner.shape((dims, cap, rank) -> Lib.dl4_port_shape(h, which, k, dims, cap, rank));
          DType dtype = DType.of(Lib.dl4_port_dtype(h, which, i));
          all.add(new Model.Io(Foreign.text(Lib.dl4_port_name(h, which, i)), dtype, shape));
        }
      }
    }
    return all;
  }

  /** For toString(), which never throws: of a closed object, or one at work, its class and hash. */
  String told(Supplier<String> words) {
    try {
      return words.get();
    } catch (RuntimeException e) {
      return super.toString();
    }
  }

  /** Describes the object; TEXT of a graph or model is a summary in Keras's style. */
  public String describe(Format format) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_describe(c.use(this), format.ordinal(), out));
      return c.blob(out);
    }
  }
}
