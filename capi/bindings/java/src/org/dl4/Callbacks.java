package org.dl4;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The functions that the library calls; `user` is the number under which an object of Java's is
 * kept.
 */
final class Callbacks {
  static final int CONTINUE = 0;
  static final int STOP = 1;
  private static final Map<Long, Object> USERS = new ConcurrentHashMap<>();
  private static final Map<Integer, Throwable> FAILURES = new ConcurrentHashMap<>();
  private static final AtomicLong LAST_USER = new AtomicLong();
  private static final AtomicInteger LAST_FAILURE = new AtomicInteger();

  private Callbacks() {}

  /** What can fail in a callback. */
  interface Body {
    int run() throws Throwable;
  }

  static long keep(Object o) {
    long user = LAST_USER.incrementAndGet();
    USERS.put(user, o);
    return user;
  }

  static void forget(long user) {
    USERS.remove(user);
  }

  @SuppressWarnings("unchecked")
  private static <T> T user(long user) {
    return (T) USERS.get(user);
  }

  static int kept() {
    return USERS.size();
  }

  static int waiting() {
    return FAILURES.size();
  }

  /** Runs a callback. What it throws waits under a number, the answer, until the call ends. */
  private static int answer(Body body) {
    try {
      return body.run();
    } catch (Throwable t) {
      int number;
      do {
        number =
            LAST_FAILURE.updateAndGet(
                n -> n == Integer.MAX_VALUE ? STOP + 1 : Math.max(n, STOP) + 1);
      } while (FAILURES.putIfAbsent(number, t) != null);
      return number;
    }
  }

  /** What the callback threw whose answer is in the error, or the error. */
  static RuntimeException cause(Dl4Exception e) {
    String answer = e.code() == Code.CALLBACK_FAILED ? e.fact("answer") : null;
    Throwable t = answer == null ? null : FAILURES.remove(Integer.valueOf(answer));
    if (t == null) {
      return e;
    }
    throw Callbacks.<RuntimeException>as(t);
  }

  /** Any throwable, checked ones too, as it is. */
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T as(Throwable t) throws T {
    throw (T) t;
  }

  interface ProgressFn extends Foreign.Upcall {
    int invoke(long user, int event, long step, long total, long metrics, long n);
  }

  interface BatchFn extends Foreign.Upcall {
    int invoke(long user, long index, long x, long nx, long y, long ny, long w, long nw);
  }

  interface ReduceFn extends Foreign.Upcall {
    int invoke(long user, long values, long n, int dtype);
  }

  interface LogitsFn extends Foreign.Upcall {
    int invoke(long user, long logits);
  }

  interface ReleaseFn extends Foreign.Upcall {
    void invoke(long user);
  }

  interface LogFn extends Foreign.Upcall {
    void invoke(long user, int level, long message);
  }

  interface ShapeFn extends Foreign.Upcall {
    int invoke(
        long user,
        long config,
        long ranks,
        long dims,
        long nSrc,
        long outRanks,
        long outDims,
        long nOut);
  }

  interface ForwardFn extends Foreign.Upcall {
    int invoke(long user, long config, long src, long nSrc, long dst, long nDst);
  }

  interface BackwardFn extends Foreign.Upcall {
    int invoke(
        long user,
        long config,
        long src,
        long nSrc,
        long dst,
        long diffDst,
        long nDst,
        long diffSrc);
  }

  /** A progress function, its type of exception left aside. */
  interface Told {
    Progress.Flow at(Progress p) throws Exception;
  }

  // Kept for ever, as the library may call them as long.
  private static final ProgressFn PROGRESS_FN =
      (user, event, step, total, metrics, n) ->
          answer(
              () -> {
                double[] values = new double[(int) n];
                Foreign.memory(metrics, 8 * n).asDoubleBuffer().get(values);
                Progress p = new Progress(Progress.Event.values()[event], step, total, values);
                return switch (Callbacks.<Told>user(user).at(p)) {
                  case CONTINUE -> CONTINUE;
                  case STOP -> STOP;
                };
              });
  private static final BatchFn BATCH_FN =
      (user, index, x, nx, y, ny, w, nw) ->
          answer(
              () -> {
                Batch b = Callbacks.<Batches>user(user).get(index);
                if (b == null) {
                  return STOP;
                }
                b.hand(index, new long[] {x, y, w}, new long[] {nx, ny, nw});
                return CONTINUE;
              });
  private static final ReduceFn REDUCE_FN =
      (user, values, n, dtype) ->
          answer(
              () -> {
                Reduce<?> reduce = user(user);
                ByteBuffer bytes = Foreign.memory(values, 4 * n);
                if (DType.of(dtype) == DType.FLOAT32) {
                  reduce.floats(bytes.asFloatBuffer());
                } else {
                  reduce.ints(bytes.asIntBuffer());
                }
                return CONTINUE;
              });
  private static final LogitsFn LOGITS_FN =
      (user, logits) ->
          answer(
              () -> {
                try (Tensor t = new Tensor(logits, true)) {
                  Callbacks.<Stream.Mask>user(user).change(t);
                }
                return CONTINUE;
              });
  private static final ReleaseFn RELEASE_FN = Callbacks::forget;
  private static final LogFn LOG_FN =
      (user, level, message) -> {
        Context.Logger logger = user(user);
        try {
          logger.log(Context.Level.values()[level], Foreign.text(message));
        } catch (Throwable t) { // there is no call that could fail with it
          Thread current = Thread.currentThread();
          current.getUncaughtExceptionHandler().uncaughtException(current, t);
        }
      };
  private static final ShapeFn SHAPE_FN =
      (user, config, ranks, dims, nSrc, outRanks, outDims, nOut) ->
          answer(
              () -> {
                Kind k = user(user);
                k.callShape(
                    Foreign.text(config), ranks, dims, (int) nSrc, outRanks, outDims, (int) nOut);
                return CONTINUE;
              });
  private static final ForwardFn FORWARD_FN =
      (user, config, src, nSrc, dst, nDst) ->
          answer(
              () -> {
                Kind k = user(user);
                try (Lent in = new Lent(src, nSrc);
                    Lent out = new Lent(dst, nDst)) {
                  k.forward().run(Foreign.text(config), in.tensors, out.tensors);
                }
                return CONTINUE;
              });
  private static final BackwardFn BACKWARD_FN =
      (user, config, src, nSrc, dst, diffDst, nDst, diffSrc) ->
          answer(
              () -> {
                Kind k = user(user);
                try (Lent in = new Lent(src, nSrc);
                    Lent out = new Lent(dst, nDst);
                    Lent diffOut = new Lent(diffDst, nDst);
                    Lent diffIn = new Lent(diffSrc, nSrc)) {
                  k.backward()
                      .run(
                          Foreign.text(config),
                          in.tensors,
                          out.tensors,
                          diffOut.tensors,
                          diffIn.tensors);
                }
                return CONTINUE;
              });

  static final long PROGRESS = Foreign.pointer(PROGRESS_FN);
  static final long BATCH = Foreign.pointer(BATCH_FN);
  static final long REDUCE = Foreign.pointer(REDUCE_FN);
  static final long LOGITS = Foreign.pointer(LOGITS_FN);
  static final long RELEASE = Foreign.pointer(RELEASE_FN);
  static final long LOG = Foreign.pointer(LOG_FN);
  static final long SHAPE = Foreign.pointer(SHAPE_FN);
  static final long FORWARD = Foreign.pointer(FORWARD_FN);
  static final long BACKWARD = Foreign.pointer(BACKWARD_FN);

  /** Tensors that the library lends for a call. */
  private static final class Lent implements AutoCloseable {
    final Tensor[] tensors;

    Lent(long list, long n) {
      tensors = new Tensor[(int) n];
      LongBuffer lent = Foreign.memory(list, 8 * n).asLongBuffer();
      for (int i = 0; i < n; i++) {
        tensors[i] = lent.get(i) == 0 ? null : new Tensor(lent.get(i), true);
      }
    }

    @Override
    public void close() {
      for (Tensor t : tensors) {
        if (t != null) {
          t.close();
        }
      }
    }
  }
}
