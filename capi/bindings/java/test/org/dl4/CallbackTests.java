package org.dl4;

import static org.dl4.Tests.data;
import static org.dl4.Tests.equal;
import static org.dl4.Tests.line;
import static org.dl4.Tests.refused;
import static org.dl4.Tests.small;
import static org.dl4.Tests.thrown;
import static org.dl4.Tests.trainer;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** Functions of Java's that the library calls. */
final class CallbackTests {
  private static final Throwable[] MINE = {
    new IOException("mine"), new IllegalStateException("mine"), new StackOverflowError("mine")
  };

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void fail(Throwable t) throws T {
    throw (T) t;
  }

  static void testListenersFail() {
    Trainer t = trainer();
    Dataset d = data();
    for (Throwable mine : MINE) {
      for (Progress.Event event : Progress.Event.values()) {
        Progress.Listener<Exception> listener =
            p -> {
              if (p.event() == event) {
                CallbackTests.<RuntimeException>fail(mine);
              }
              return Progress.Flow.CONTINUE;
            };
        if (thrown(() -> t.fit(d, d, null, listener, null)) != mine) {
          throw new AssertionError(event + ": another one");
        }
        t.fit(d, null); // and the next one goes on
      }
    }
    equal(Callbacks.waiting(), 0);
  }

  static void testListenersStopAndRead() {
    Trainer t = trainer();
    Dataset d = data();
    List<Double> seen = new ArrayList<>();
    Progress.Listener<RuntimeException> listener =
        p -> {
          t.set("learning_rate", 0.5);
          equal(t.get("learning_rate"), 0.5);
          if (p.event() == Progress.Event.EPOCH_END) {
            seen.add(p.metrics()[0]);
            seen.add(p.metrics()[1]);
          }
          boolean over = p.event() == Progress.Event.EPOCH_END && p.step() == 2;
          return over ? Progress.Flow.STOP : Progress.Flow.CONTINUE;
        };
    Map<String, double[]> h = t.fit(d, d, Map.of("epochs", 9), listener, null);
    equal(
        seen,
        List.of(h.get("loss")[0], h.get("val_loss")[0], h.get("loss")[1], h.get("val_loss")[1]));
    equal(h.get("epoch"), new double[] {0, 1});
  }

  static Dataset batches(Throwable mine) {
    return Dataset.of(
        i -> {
          if (i == 3 && mine != null) {
            CallbackTests.<RuntimeException>fail(mine);
          }
          return i == 3 ? null : new Batch(line(5, 4), line(5, 3));
        },
        null);
  }

  static void testDatasetsOfFunctions() {
    Trainer t = trainer();
    Dataset good = batches(null);
    for (Throwable mine : MINE) {
      Dataset failing = batches(mine);
      for (Tests.Body f :
          List.<Tests.Body>of(
              () -> t.fit(failing, null),
              () -> t.fit(good, failing, null, null, null),
              () -> t.evaluate(failing, null),
              () -> new Session(small()).predict(failing, null))) {
        equal(thrown(f) == mine, true);
      }
    }
    equal(t.fit(good, Map.of("epochs", 2)).get("loss").length, 2);
    Dataset wrong =
        Dataset.of(i -> new Batch(new Tensor[0], new Tensor[] {line(5, 3)}, null), null);
    refused(Code.INVALID_ARGUMENT, () -> t.fit(wrong, null));
    Tensor mine = line(5, 4);
    Dataset twice = Dataset.of(i -> new Batch(mine, line(5, 3)), Map.of("steps", 2));
    refused(Code.INVALID_ARGUMENT, () -> t.evaluate(twice, null));
    Tensor[] x = {line(5, 4)};
    Dataset weighted =
        Dataset.of(
            i -> i > 0 ? null : new Batch(x, new Tensor[] {line(5, 3)}, new Tensor[] {null}), null);
    equal(t.evaluate(weighted, null).length, 1);
  }

  static void testCancelled() throws InterruptedException {
    Trainer t = trainer();
    Dataset d = data();
    Cancel stop = new Cancel();
    Map<String, ?> forever = Map.of("epochs", 1L << 40);
    CountDownLatch running = new CountDownLatch(20);
    Progress.Listener<RuntimeException> listener =
        p -> {
          running.countDown();
          return Progress.Flow.CONTINUE;
        };
    Thread other =
        new Thread(
            () -> {
              thrown(running::await);
              stop.trigger();
            });
    other.start();
    refused(Code.CANCELLED, () -> t.fit(d, null, forever, listener, stop));
    other.join();
    equal(stop.triggered(), true);
    refused(Code.CANCELLED, () -> t.evaluate(d, stop));
    Session s = new Session(small());
    refused(Code.CANCELLED, () -> s.runInto(new Tensor[] {line(2, 4)}, new Tensor[1], stop));
    int epoch = (int) t.get("epoch");
    equal(t.fit(d, Map.of("epochs", epoch + 2, "resume", true)).get("loss").length, epoch + 2);
  }

  /** A layer scale * x^2, scale its weight. */
  static final Kind SQUARE =
      new Kind(
          "scale * x^2",
          1,
          List.of("scale"),
          (config, src) -> new long[][] {src[0], {1}},
          (config, src, dst) -> {
            float scale = src[1].floats().get(0);
            for (int i = 0, n = src[0].floats().capacity(); i < n; i++) {
              float x = src[0].floats().get(i);
              dst[0].floats().put(i, scale * x * x);
            }
          },
          (config, src, dst, diffDst, diffSrc) -> {
            float[] x = src[0].toFloats();
            float[] dy = diffDst[0].toFloats();
            float[] dx = new float[x.length];
            float scale = src[1].toFloats()[0];
            float dscale = 0;
            for (int i = 0; i < x.length; i++) {
              dx[i] = 2 * scale * x[i] * dy[i];
              dscale += x[i] * x[i] * dy[i];
            }
            if (diffSrc[0] != null) {
              diffSrc[0].set(dx);
            }
            if (diffSrc[1] != null) {
              diffSrc[1].set(dscale);
            }
          });

  private static Model ownModel(String kind) {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, 4);
    return g.build(x, g.add(kind, Map.of("name", "own", "config", "text"), x));
  }

  static void testKindsOfOurOwn() {
    Dl4.register("layer", "JavaSquare", SQUARE);
    Model m = ownModel("JavaSquare");
    equal(m.weights().get(0).name(), "own/scale");
    equal(m.checkGradients(null, line(3, 4)).contains("own/scale"), true);
    Trainer t = new Trainer(m, Map.of("optimizer", "sgd", "loss", "mse"));
    double first = t.step(line(3, 4), line(3, 4))[0];
    for (int i = 0; i < 20; i++) {
      t.step(line(3, 4), line(3, 4));
    }
    equal(t.step(line(3, 4), line(3, 4))[0] < first, true);
    Kind nothing = new Kind(null, 1, null, null, null, null);
    refused(Code.INVALID_ARGUMENT, () -> Dl4.register("layer", "JavaNothing", nothing));
    refused(Code.INVALID_ARGUMENT, () -> Dl4.register("optimizer", "JavaOptimizer", SQUARE));
  }

  static void testKindsFail() {
    Tensor[] kept = new Tensor[1];
    Throwable[] mine = {MINE[0]};
    Kind.Forward forward =
        (config, src, dst) -> {
          equal(config, "text");
          kept[0] = src[0];
          if (mine[0] != null) {
            CallbackTests.<RuntimeException>fail(mine[0]);
          }
          SQUARE.forward().run(config, src, dst);
        };
    Kind.Backward backward = (a, b, c, d, e) -> CallbackTests.<RuntimeException>fail(MINE[1]);
    Dl4.register(
        "layer", "JavaFails", new Kind(null, 1, List.of("s"), SQUARE.shape(), forward, backward));
    Model m = ownModel("JavaFails");
    Session s = new Session(m);
    for (Throwable t : MINE) {
      mine[0] = t;
      equal(thrown(() -> s.run(line(2, 4))) == t, true);
    }
    mine[0] = null;
    s.run(line(2, 4));
    refused(Code.INVALID_ARGUMENT, () -> kept[0].toFloats()); // lent for the call only
    Trainer t = new Trainer(m, Map.of("optimizer", "sgd", "loss", "mse"));
    equal(thrown(() -> t.step(line(2, 4), line(2, 4))) == MINE[1], true);
    Kind.Shape failing =
        (config, src) -> {
          throw (Exception) MINE[0];
        };
    Dl4.register("layer", "JavaShapeless", new Kind(null, 1, null, failing, forward, null));
    equal(thrown(() -> ownModel("JavaShapeless")) == MINE[0], true);
    Kind.Shape deep = (config, src) -> new long[][] {new long[9]};
    Dl4.register("layer", "JavaDeep", new Kind(null, 1, null, deep, forward, null));
    refused(Code.INVALID_ARGUMENT, () -> ownModel("JavaDeep"));
    equal(Callbacks.waiting(), 0);
  }

  /** What no handler of Callbacks has caught must not pass through C: it would end the process. */
  static void testWhatPassesAHandlerEndsInJava() {
    Callbacks.ProgressFn f =
        (user, event, step, total, metrics, n) -> {
          throw new IllegalStateException("passes, as where no stack is left");
        };
    long fn = Foreign.pointer(f);
    Trainer t = trainer();
    Dataset d = data();
    try (Call c = new Call()) {
      long error = Lib.dl4_trainer_fit(c.use(t), c.use(d), 0, 0, fn, 0, 0, c.slot());
      if (error != 0) { // JNA writes down what was thrown, and goes on
        equal(Dl4Exception.taken(error).code(), Code.CALLBACK_FAILED);
      }
    }
    t.fit(d, null);
  }

  static void testLogger() {
    Context x = new Context(null);
    List<String> lines = new ArrayList<>();
    x.setLogger(Context.Level.TRACE, (level, message) -> lines.add(message));
    Runnable run =
        () -> {
          Graph g = new Graph(x);
          Node in = g.input("x", DType.FLOAT32, -1, 4);
          Model m = g.build(in, g.add("Dense", Map.of("units", 3), in));
          Map<String, ?> config = Map.of("monitor", "loss", "min_delta", 9, "verbose", 1);
          Map<String, ?> stop = Map.of("class_name", "EarlyStopping", "config", config);
          Trainer t = new Trainer(m, Map.of("optimizer", "sgd", "loss", "mse"));
          t.fit(data(), Map.of("epochs", 5, "callbacks", List.of(stop)));
        };
    run.run();
    equal(lines.get(lines.size() - 1), "epoch 2: early stopping");
    int heard = lines.size();
    List<Throwable> unhandled = new ArrayList<>();
    Thread current = Thread.currentThread();
    current.setUncaughtExceptionHandler(
        (thread, t) -> {
          unhandled.add(t);
          CallbackTests.<RuntimeException>fail(t); // has no effect
        });
    x.setLogger(
        Context.Level.TRACE, (level, message) -> CallbackTests.<RuntimeException>fail(MINE[0]));
    run.run();
    current.setUncaughtExceptionHandler(null);
    equal(!unhandled.isEmpty() && unhandled.stream().allMatch(t -> t == MINE[0]), true);
    int failures = unhandled.size();
    x.setLogger(Context.Level.TRACE, null);
    run.run();
    equal(lines.size() == heard && unhandled.size() == failures, true);
  }
}
