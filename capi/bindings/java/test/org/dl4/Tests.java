package org.dl4;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a binding must hold: every method test* is a test. The argument is the folder of the
 * sources.
 */
public final class Tests {
  private static Path source;

  public static void main(String[] args) throws Exception {
    if (args[0].equals("--child")) {
      Lifetimes.child(args[1]);
      return;
    }
    source = Path.of(args[0]);
    int failed = 0;
    int n = 0;
    for (Class<?> c :
        List.of(
            Tests.class,
            TensorTests.class,
            CallbackTests.class,
            WorkerTests.class,
            Lifetimes.class)) {
      for (Method m : c.getDeclaredMethods()) {
        if (m.getName().startsWith("test") && (args.length < 2 || m.getName().contains(args[1]))) {
          n++;
          try {
            m.invoke(null);
          } catch (ReflectiveOperationException e) {
            failed++;
            System.out.println("failed: " + m.getName());
            (e.getCause() == null ? e : e.getCause()).printStackTrace(System.out);
          }
        }
      }
    }
    System.out.println("java: " + (n - failed) + " of " + n + " tests pass");
    System.exit(failed == 0 ? 0 : 1);
  }

  static void equal(Object got, Object want) {
    if (!Objects.deepEquals(got, want)) {
      throw new AssertionError("got " + show(got) + ", want " + show(want));
    }
  }

  private static String show(Object o) {
    String s = Arrays.deepToString(new Object[] {o});
    return s.substring(1, s.length() - 1);
  }

  /** Something that may throw anything. */
  interface Body {
    void run() throws Throwable;
  }

  static Dl4Exception refused(Code code, Body f) {
    Throwable t = thrown(f);
    if (t instanceof Dl4Exception e && e.code() == code) {
      return e;
    }
    throw new AssertionError("want " + code + ", got " + t, t);
  }

  static Throwable thrown(Body f) {
    try {
      f.run();
    } catch (Throwable t) {
      return t;
    }
    return null;
  }

  static void remove(Path folder) throws IOException {
    try (java.util.stream.Stream<Path> all = Files.walk(folder)) {
      for (Path p : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(p);
      }
    }
  }

  /** A model of four inputs and three outputs. */
  static Model small() {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, 4);
    Node h = g.add("Dense", Map.of("name", "hidden", "units", 5, "activation", "tanh"), x);
    return g.build(x, g.add("Dense", Map.of("name", "y", "units", 3), h));
  }

  static Tensor line(long... shape) {
    int n = 1;
    for (long d : shape) {
      n *= (int) d;
    }
    float[] v = new float[n];
    for (int i = 0; i < n; i++) {
      v[i] = (float) i / n - 0.5f;
    }
    return Tensor.of(v, shape);
  }

  static Trainer trainer() {
    return new Trainer(small(), Map.of("optimizer", "sgd", "loss", "mse"));
  }

  static Dataset data() {
    return Dataset.of(line(20, 4), line(20, 3), Map.of("batch_size", 5));
  }

  static void testConformance() throws Exception {
    List<String> failed = Conformance.run(source.resolve("capi/bindings/conformance.json"));
    if (!failed.isEmpty()) {
      throw new AssertionError(String.join("\n", failed));
    }
  }

  static void testFunctionsAreThoseOfTheDescription() {
    Map<String, Class<?>> types = new HashMap<>();
    types.putAll(Map.of("int32_t", int.class, "dl4_node", int.class, "dl4_layer", int.class));
    types.putAll(Map.of("double", double.class, "void", void.class));
    List<String> want = new ArrayList<>();
    for (Map<String, Object> f : described("functions")) {
      List<Object> parameters = new ArrayList<>();
      for (Object p : Json.list(f.get("parameters"))) {
        parameters.add(types.getOrDefault(Json.object(p).get("type"), long.class));
      }
      want.add(types.getOrDefault(f.get("returns"), long.class) + " " + f.get("name") + parameters);
    }
    List<String> got = new ArrayList<>();
    for (Method m : Lib.class.getDeclaredMethods()) {
      if (m.getName().startsWith("dl4_")) {
        got.add(m.getReturnType() + " " + m.getName() + Arrays.toString(m.getParameterTypes()));
      }
    }
    Collections.sort(want);
    Collections.sort(got);
    equal(got, want);
  }

  private static List<Map<String, Object>> described(String what) {
    return Json.list(Json.object(Json.read(Dl4.apiDescription())).get(what));
  }

  static void testConstantsAreThoseOfTheDescription() {
    Map<String, Number> all = new HashMap<>();
    described("constants").forEach(c -> all.put((String) c.get("name"), (Number) c.get("value")));
    for (Code c : Code.values()) {
      equal(Code.of(all.get("DL4_" + c).intValue()), c);
    }
    for (DType t : DType.values()) {
      equal(DType.of(all.get("DL4_" + t.name()).intValue()), t);
    }
    for (Progress.Event e : Progress.Event.values()) {
      equal(all.get("DL4_" + e).intValue(), e.ordinal());
    }
    for (Context.Level l : Context.Level.values()) {
      equal(all.get("DL4_LOG_" + l).intValue(), l.ordinal());
    }
    for (Handle.Format f : Handle.Format.values()) {
      equal(all.get("DL4_FORMAT_" + f).intValue(), f.ordinal());
    }
    equal(Code.of(99), Code.INTERNAL);
  }

  static void collect() throws InterruptedException {
    for (int i = 0; i < 10; i++) {
      System.gc();
      Thread.sleep(20);
    }
  }

  static void testDroppedTensorsAreCollectedForWhatTheyTake() throws IOException {
    long before = pages();
    float[] zeros = new float[4 << 20];
    for (int i = 0; i < 300; i++) {
      Tensor.of(zeros, zeros.length);
    }
    long grown = (pages() - before) * 4096;
    if (grown > 2L << 30) {
      throw new AssertionError(grown + " bytes are left");
    }
  }

  private static long pages() throws IOException {
    return Long.parseLong(Files.readString(Path.of("/proc/self/statm")).split(" ")[1]);
  }

  static void testBuffersKeepWhatTheySee() throws InterruptedException {
    collect(); // what other tests left
    int before = Callbacks.kept(); // what the library has not let go
    Tensor t = Tensor.wrap(ByteBuffer.allocateDirect(8), 8);
    ByteBuffer view = t.buffer().slice(4, 4);
    t.close();
    collect();
    equal(Callbacks.kept(), before + 1);
    view.put(0, (byte) 3);
    equal(view.get(0), (byte) 3);
    view = null;
    collect();
    equal(Callbacks.kept(), before);
  }

  static void testErrorsHaveFacts() {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, 4);
    Dl4Exception e =
        refused(Code.INVALID_ARGUMENT, () -> g.add("Dense", Map.of("name", "mine", "units", 0), x));
    equal(List.of(e.layer(), e.attribute(), e.got()), List.of("mine", "units", "0"));
    equal(e.didYouMean(), null);
    equal(refused(Code.UNKNOWN_KIND, () -> g.add("Densee", null, x)).didYouMean(), "Dense");
    refused(Code.INVALID_ARGUMENT, () -> g.add("Dense", Map.of("units", new Object()), x));
    refused(Code.INVALID_ARGUMENT, () -> g.add("Dropout", Map.of("rate", Double.NaN), x));
    refused(Code.INVALID_ARGUMENT, () -> g.add("De\0nse", null, x));
    Node other = new Graph().input(null, DType.FLOAT32, 1);
    refused(Code.INVALID_ARGUMENT, () -> g.add("Dense", Map.of("units", 2), other));
    g.build(x, g.add("Dense", Map.of("units", 2), x)); // nothing has changed
  }

  static void testNodes() {
    Graph g = new Graph(new Context(Map.of("seed", 3)));
    Node words = g.input("words", DType.INT32, -1, -1);
    Node e = g.add("Embedding", Map.of("input_dim", 5, "output_dim", 3, "mask_zero", true), words);
    equal(e.mask().dtype(), DType.BOOL);
    equal(words.mask(), null);
    Layer lstm = g.layer("LSTM", Map.of("units", 4, "return_state", true));
    List<Node> outs = lstm.call(e).outputs();
    equal(outs.size(), 3);
    Node second = lstm.call(Map.of("initial_state", outs.subList(1, 3), "mask", e.mask()), e);
    equal(second.shape(), new long[] {-1, 4});
    Node k = g.constant("k", Tensor.of(new float[] {1, 2, 3, 4}, 4));
    Model m = g.build(words, g.add("Add", null, second, k));
    equal(m.inputs().get(0).name() + m.inputs().get(0).dtype(), "wordsint32");
    Graph again = new Graph();
    again.mergeJson(m.describe(Handle.Format.JSON));
    equal(again.build(List.of(), List.of()).weights().size(), 4);
    Graph outer = new Graph();
    Node x = outer.input("x", DType.FLOAT32, -1, 4);
    Node y = outer.add("Functional", Map.of("name", "inner", "model", small()), x);
    Model both = outer.build(x, y);
    equal(both.weights().get(0).name(), "inner/hidden/kernel");
    both.setTrainable("*", false);
    equal(both.weights().get(0).trainable(), false);
  }

  static void testNodesOfAnotherGraphAreRefused() {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, 2);
    Node y = g.add("Dense", Map.of("units", 1, "name", "d"), x);
    Node w = g.weight("d/kernel");
    Node wrong = new Graph().input("x", DType.FLOAT32, -1, 2);
    List<Node> all = List.of(w);
    List<Node> others = List.of(wrong);
    refused(Code.INVALID_ARGUMENT, () -> g.gradients(others, all));
    Map<String, ?> sum = Map.of("sum", true);
    refused(Code.INVALID_ARGUMENT, () -> g.gradients(sum, List.of(y), others, null));
    refused(Code.INVALID_ARGUMENT, () -> g.gradients(sum, List.of(y), all, List.of(y, y)));
    refused(Code.INVALID_ARGUMENT, () -> g.assign(w, wrong));
    refused(Code.INVALID_ARGUMENT, () -> g.update(Map.of("optimizer", "SGD"), all, others));
    refused(Code.INVALID_ARGUMENT, () -> g.after(y, wrong));
  }

  static void testKindsAreCheckedAndRemoved() {
    Dl4.check("optimizer", "Adam", Map.of("beta_1", 0.5));
    Dl4Exception e =
        refused(Code.INVALID_ARGUMENT, () -> Dl4.check("optimizer", "Adam", Map.of("beta_1", 2)));
    equal(e.attribute(), "beta_1");
    Dl4.register("layer", "JavaGone", new Kind(null, 1, null, null, (config, src, dst) -> {}, null));
    Dl4.check("layer", "JavaGone", null);
    Dl4.unregister("layer", "JavaGone");
    refused(Code.UNKNOWN_KIND, () -> Dl4.unregister("layer", "JavaGone"));
  }

  static void testSavedAndLoaded() throws IOException {
    Model m = small();
    Path folder = Files.createTempDirectory("dl4");
    Path path = folder.resolve("модель é.safetensors");
    m.save(path);
    equal(Files.readAllBytes(path), m.toBytes());
    float[] want = new Session(m).run(line(2, 4))[0].toFloats();
    for (Model again : List.of(Model.load(path), Model.load(null, m.toBytes(), null), m.copy())) {
      equal(new Session(again).run(line(2, 4))[0].toFloats(), want);
    }
    m.save(folder + "/again.safetensors");
    equal(Model.load(folder + "/again.safetensors").toBytes(), m.toBytes());
    refused(Code.NOT_FOUND, () -> Model.load(folder.resolve("nothing")));
    refused(Code.NOT_FOUND, () -> Model.load(folder + "/nothing"));
    refused(Code.CORRUPT_FILE, () -> Model.load(null, new byte[0], null));
    m.setWeight("y/bias", m.weight("y/bias").set(1, 2f, 3));
    equal(m.weight("y/bias").toFloats(), new float[] {1, 2, 3});
    remove(folder);
  }

  static void testTexts() {
    Model m = small();
    equal(m.toString(), m.describe(Handle.Format.TEXT));
    equal(m.inputs().toString(), "[x: float32 [-1, 4]]");
    m.setTrainable("y/bias", false);
    equal(m.weights().get(3).toString(), "y/bias: float32 [3], frozen");
    equal(new Session(m).toString(), "Session [x: float32 [-1, 4]] -> [y: float32 [-1, 3]]");
    equal(line(2, 4).toString(), "float32 [2, 4]");
    Trainer t = new Trainer(m, Map.of("optimizer", "adam", "loss", "mse"));
    equal(t.toString(), "Trainer [loss]");
    equal(Trainer.history("{\"loss\": [1.5, null]}").toString(), "{loss=[1.5, NaN]}");
    m.close();
    equal(m.toString().startsWith("org.dl4.Model@"), true);
  }

  static void testSessions() {
    Session s = new Session(small(), Map.of("gradients", List.of("x")));
    equal(s.outputs().get(1).name(), "gradient of x");
    equal(s.inputs().get(0).shape(), new long[] {-1, 4});
    equal(s.outputShape(0, new long[] {7, 4}), new long[] {7, 3});
    Tensor x = line(2, 4);
    Tensor[] out = {Tensor.zeros(DType.FLOAT32, 2, 3), null};
    s.runInto(new Tensor[] {x}, out);
    equal(out[0].toFloats(), s.run(x)[0].toFloats());
    equal(out[1].shape(), new long[] {2, 4});
    refused(Code.SHAPE_MISMATCH, () -> s.runInto(new Tensor[] {x}, new Tensor[] {x, null}));
    refused(Code.INVALID_ARGUMENT, () -> s.run((Tensor) null));
    Dataset d = Dataset.of(null, new Tensor[] {line(5, 4)}, null, null, Map.of("batch_size", 2));
    equal(s.predict(d, null)[0].shape(), new long[] {5, 3});
  }

  static void testTrainer() {
    Trainer t =
        new Trainer(small(), Map.of("optimizer", "adam", "loss", "mse", "metrics", List.of("mae")));
    equal(t.metricNames(), List.of("loss", "mae"));
    Tensor x = line(6, 4);
    Tensor y = line(6, 3);
    double before = t.step(x, y)[0];
    byte[] saved = t.toBytes();
    double[] after = t.step(x, y);
    equal(after[0] < before, true);
    t.load(saved);
    equal(t.step(x, y), after);
    t.accumulate(new Tensor[] {x}, new Tensor[] {y}, new Tensor[] {line(6)});
    Tensor gradient = t.gradient("*");
    equal(gradient.shape(), new long[] {4 * 5 + 5 + 5 * 3 + 3});
    t.addGradient("*", gradient);
    t.apply();
    t.zeroGradients();
    refused(Code.INVALID_ARGUMENT, t::apply);
    equal(t.get("iterations"), 3.0);
    t.set("learning_rate", 0.5);
    equal(t.get("learning_rate"), 0.5);
    refused(Code.NOT_FOUND, () -> t.get("speed"));
    equal(Trainer.history("{\"loss\": [1.5, null]}").get("loss"), new double[] {1.5, Double.NaN});
  }

  static void testStreams() {
    Graph g = new Graph();
    Node x = g.input("x", DType.FLOAT32, -1, -1, 3);
    Model m = g.build(x, g.add("LSTM", Map.of("units", 2, "return_sequences", true), x));
    Session s = new Session(m, Map.of("states", true));
    equal(s.outputs().size(), 3);
    Stream stream = new Stream(s);
    float[] steps = line(1, 4, 3).toFloats();
    float[] all = stream.run(line(1, 4, 3))[0].toFloats();
    stream.reset();
    stream.run(Tensor.of(Arrays.copyOf(steps, 6), 1, 2, 3));
    byte[] place = stream.toBytes();
    Tensor rest = Tensor.of(Arrays.copyOfRange(steps, 6, 12), 1, 2, 3);
    Tensor[] out = {Tensor.zeros(DType.FLOAT32, 1, 2, 2)};
    stream.runInto(new Tensor[] {rest}, out, null);
    equal(out[0].toFloats(), Arrays.copyOfRange(all, 4, 8));
    Stream other = new Stream(s, Map.of("batch", 1));
    other.load(place);
    equal(other.run(rest)[0].toFloats(), Arrays.copyOfRange(all, 4, 8));
    refused(Code.CORRUPT_FILE, () -> other.load(new byte[0]));
    refused(Code.SHAPE_MISMATCH, () -> other.run(line(1, 2)));
    refused(Code.UNSUPPORTED, () -> new Stream(new Session(m)));
    other.close();
    refused(Code.INVALID_ARGUMENT, other::reset);
  }

  static void testStreamsForkRunTogetherAndDraw() {
    Graph g = new Graph();
    Node ids = g.input("ids", DType.INT32, -1, -1);
    Node x = g.add("Embedding", Map.of("input_dim", 7, "output_dim", 4), ids);
    x = g.add("GRU", Map.of("units", 5, "return_sequences", true), x);
    Model m = g.build(ids, g.add("Dense", Map.of("units", 7), x));
    Session s = new Session(m, Map.of("states", true));
    Tensor prompt = Tensor.of(new int[] {1, 2}, 1, 2);
    Stream one = new Stream(s, Map.of("seed", 3));
    Stream same = new Stream(s, Map.of("seed", 3));
    Map<String, ?> options = Map.of("temperature", 2, "top_k", 5, "top_p", 0.9);
    long[] drawn = one.next(options, null, prompt);
    equal(same.next(options, null, prompt), drawn);
    Stream fork = one.fork(null);
    equal(fork.next(null, null, prompt), one.next(null, null, prompt));
    Stream.Mask onlySix =
        logits -> {
          for (int i = 0; i < 6; i++) {
            logits.floats().put(i, Float.NEGATIVE_INFINITY);
          }
        };
    equal(one.next(null, onlySix, prompt), new long[] {6});
    IllegalStateException no = new IllegalStateException("no grammar");
    try {
      one.next(
          null,
          logits -> {
            throw no;
          },
          prompt);
      throw new AssertionError("a mask that throws");
    } catch (IllegalStateException e) {
      equal(e, no);
    }
    refused(Code.INVALID_ARGUMENT, () -> one.next(Map.of("top_p", 2), null, prompt));

    Tensor both = Tensor.of(new int[] {1, 2, 3, 4}, 2, 2);
    Stream a = new Stream(s);
    Stream b = new Stream(s);
    float[] y = Stream.runMany(List.of(a, b), new long[] {2, 1}, both)[0].toFloats();
    equal(y.length, 28);
    equal(Arrays.copyOfRange(y, 21, 28), new float[7]);
    refused(
        Code.INVALID_ARGUMENT, () -> Stream.runMany(List.of(a), new long[] {1, 2}, both));
    Stream rows = new Stream(s, Map.of("batch", 2));
    equal(rows.next(Map.of("temperature", 0), null, both).length, 2);
    rows.resetRow(1);
    refused(Code.INVALID_ARGUMENT, () -> rows.resetRow(2));
  }

  static void testLayersOfTwoGraphs() {
    Graph a = new Graph();
    Graph b = new Graph();
    Node x = a.input("x", DType.FLOAT32, -1, 4);
    Node y = b.input("y", DType.FLOAT32, -1, 4);
    Layer dense = a.layer("Dense", Map.of("units", 2));
    Model one = a.build(x, dense.call(x));
    Model two = b.build(y, b.share(dense, "again").call(y));
    one.setWeight("dense/bias", Tensor.of(new float[] {1, 2}, 2));
    equal(two.weight("again/bias").toFloats(), new float[] {1, 2});
  }

  static void testTheLibrary() {
    equal(
        Json.object(Json.object(Json.read(Dl4.registry("layer", null))).get("layer")).size() > 100,
        true);
    equal(refused(Code.UNKNOWN_KIND, () -> Dl4.registry("layer", "Densee")).didYouMean(), "Dense");
    equal(Dl4.version().startsWith("1."), true);
    equal(Dl4.buildInfo().startsWith("{"), true);
    equal(
        Dl4.measure("loss", "mse", null, line(4, 1), line(4, 1), null).toFloats(), new float[] {0});
    Context c = new Context(Map.of("threads", 1));
    c.setSeed(3);
    c.trim();
    equal(
        refused(Code.INVALID_ARGUMENT, () -> new Context(Map.of("threads", 0))).attribute(),
        "threads");
  }

  static void testJson() {
    String text = "{\"a\":[1,-2.5E-7,true,null,\"\\u0001\\\"\\\\é\"],\"b\":{},\"c\":[]}";
    equal(Json.write(Json.read(text)), text);
    equal(Json.write(Map.of("a", new int[] {1, 2})), "{\"a\":[1,2]}");
    for (String wrong : List.of("", "{", "[1,]", "1 2", "{\"a\" 1}", "\"a", "x")) {
      equal(thrown(() -> Json.read(wrong)) instanceof IllegalArgumentException, true);
    }
  }
}
