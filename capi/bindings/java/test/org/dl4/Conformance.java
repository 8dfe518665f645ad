package org.dl4;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Runs conformance.json, whose steps are described beside it: a slot is an object, "do" the name of
 * a method here.
 */
final class Conformance {
  private final Map<String, Object> slots = new HashMap<>();
  private final Path folder;
  private Map<String, Object> s; // the step

  private Conformance(Path folder) {
    this.folder = folder;
  }

  /** The messages of the cases that fail. */
  static List<String> run(Path file) throws Exception {
    List<String> failed = new ArrayList<>();
    Map<String, Object> all = Json.object(Json.read(Files.readString(file)));
    for (Object one : Json.list(all.get("cases"))) {
      Conformance c = new Conformance(Files.createTempDirectory("dl4"));
      int i = 0;
      for (Object step : Json.list(Json.object(one).get("steps"))) {
        c.s = Json.object(step);
        try {
          c.step();
        } catch (AssertionError | Exception e) {
          String name = Json.object(one).get("name") + ", step " + i + ", " + c.s.get("do");
          failed.add(name + ": " + e);
          break;
        }
        i++;
      }
      Tests.remove(c.folder);
    }
    return failed;
  }

  private void step() throws Exception {
    Map<String, Object> error = Json.object(s.get("error"));
    try {
      act();
    } catch (Dl4Exception e) {
      if (error == null) {
        throw e;
      }
      for (Map.Entry<String, Object> fact : error.entrySet()) {
        String got = fact.getKey().equals("code") ? "DL4_" + e.code() : e.fact(fact.getKey());
        need(fact.getValue().equals(got), fact + ", got " + got + ": " + e);
      }
      return;
    }
    need(error == null, "wanted " + error);
  }

  private static void need(boolean yes, String otherwise) {
    if (!yes) {
      throw new AssertionError(otherwise);
    }
  }

  @SuppressWarnings("unchecked")
  private <T> T of(String key) {
    return (T) slots.get(s.get(key));
  }

  private String string(String key) {
    return (String) s.get(key);
  }

  private List<String> names(String key) {
    return s.containsKey(key) ? Json.list(s.get(key)) : List.of();
  }

  private void put(Object o) {
    if (s.containsKey("to")) {
      slots.put(string("to"), o);
    }
  }

  private void putAll(Object[] list) {
    for (int i = 0; i < names("to").size(); i++) {
      slots.put(names("to").get(i), list[i]);
    }
  }

  private Tensor[] tensors(List<String> names) {
    return names.stream().map(slots::get).toArray(Tensor[]::new);
  }

  private Tensor[] tensors(String key) {
    return tensors(names(key));
  }

  private Node[] nodes(String key) {
    return names(key).stream().map(slots::get).toArray(Node[]::new);
  }

  private Map<String, Object> json(String key) {
    return s.containsKey(key) ? Json.object(s.get(key)) : Map.of();
  }

  private Map<String, Object> attrs() {
    Map<String, Object> a = new LinkedHashMap<>(json("attrs"));
    a.putAll(s.containsKey("config") ? this.<Map<String, Object>>of("config") : Map.of());
    if (s.containsKey("name")) {
      a.put("name", s.get("name"));
    }
    json("models").forEach((key, slot) -> a.put(key, slots.get(slot)));
    return a;
  }

  private Path path() {
    return folder.resolve(string("path"));
  }

  private void near(String what, double[] got, double[] want, double otherwise) {
    Number given = (Number) s.get("tolerance");
    double tolerance = given == null ? otherwise : given.doubleValue();
    need(
        got.length == want.length, what + ": wanted " + want.length + " values, got " + got.length);
    for (int i = 0; i < got.length; i++) {
      boolean close = Math.abs(got[i] - want[i]) <= tolerance * Math.max(1, Math.abs(want[i]));
      need(close, what + ": element " + i + ": wanted " + want[i] + ", got " + got[i]);
    }
  }

  private void expect() {
    Tensor t = of("tensor");
    need(t.dtype().toString().equals(s.get("dtype")), "got " + t.dtype());
    need(Arrays.equals(t.shape(), Values.longs(s.get("shape"))), "got " + Arrays.toString(t.shape()));
    if (t.dtype() == DType.STRING) {
      Tests.equal(t.toStrings(), names("values").toArray(String[]::new));
    } else {
      near("values", Values.read(t), Values.doubles(s.get("values")), 1e-5);
    }
  }

  private void same() {
    Tensor[] two = tensors("tensors");
    need(two[0].dtype() == two[1].dtype(), "types differ");
    need(Arrays.equals(two[0].shape(), two[1].shape()), "shapes differ");
    if (two[0].dtype() == DType.STRING) {
      Tests.equal(two[0].toStrings(), two[1].toStrings());
      return;
    }
    need(Arrays.equals(Values.read(two[0]), Values.read(two[1])), "values differ");
  }

  private Map<String, Object> arguments() {
    Map<String, Object> arguments = new LinkedHashMap<>(json("call"));
    json("nodes")
        .forEach(
            (key, names) -> {
              List<Node> list = new ArrayList<>();
              Json.<String>list(names).forEach(n -> list.add((Node) slots.get(n)));
              arguments.put(key, list);
            });
    return arguments;
  }

  private Node callOf(Layer l) {
    return l.call(arguments(), nodes("in"));
  }

  private void metrics(double[] got) {
    Trainer t = of("trainer");
    json("metrics")
        .forEach(
            (name, want) -> {
              int i = t.metricNames().indexOf(name);
              need(i >= 0, "no " + name + " in " + t.metricNames());
              near(name, new double[] {got[i]}, new double[] {((Number) want).doubleValue()}, 1e-5);
            });
  }

  private void fit() {
    Map<String, Object> at = json("at");
    Trainer t = of("trainer");
    Progress.Listener<RuntimeException> listener =
        p -> {
          if (at.isEmpty()
              || p.event().ordinal() != ((Number) at.get("event")).intValue()
              || p.step() != ((Number) at.get("step")).longValue()) {
            return Progress.Flow.CONTINUE;
          }
          if (at.containsKey("trigger")) {
            ((Cancel) slots.get(at.get("trigger"))).trigger();
          }
          return at.get("stop") == Boolean.TRUE ? Progress.Flow.STOP : Progress.Flow.CONTINUE;
        };
    Map<String, double[]> h =
        t.fit(of("train"), of("valid"), json("options"), listener, of("cancel"));
    json("history").forEach((name, want) -> near(name, h.get(name), Values.doubles(want), 1e-5));
  }

  private Tensor[] shared(Map<String, Object> batch, String key) {
    List<String> names = batch.containsKey(key) ? Json.list(batch.get(key)) : List.of();
    Tensor[] all = tensors(names);
    for (int i = 0; i < all.length; i++) {
      all[i] = all[i].share();
    }
    return all;
  }

  private Dataset batches() {
    List<Object> all = Json.list(s.get("batches"));
    return Dataset.of(
        index -> {
          if (index == all.size()) {
            return null;
          }
          Map<String, Object> b = Json.object(all.get((int) index));
          return new Batch(shared(b, "x"), shared(b, "y"), shared(b, "w"));
        },
        json("options"));
  }

  private void save() {
    if (s.containsKey("trainer")) {
      Trainer t = of("trainer");
      if (s.containsKey("path")) {
        t.save(path());
      } else {
        put(t.toBytes());
      }
      return;
    }
    Model m = of("model");
    if (s.containsKey("path")) {
      m.save(path());
    } else {
      put(m.toBytes());
    }
  }

  private void load() {
    if (s.containsKey("trainer")) {
      Trainer t = of("trainer");
      if (s.containsKey("path")) {
        t.load(path());
      } else {
        t.load(this.<byte[]>of("bytes"));
      }
    } else if (s.containsKey("path")) {
      put(Model.load(null, path(), json("options")));
    } else {
      put(Model.load(null, this.<byte[]>of("bytes"), json("options")));
    }
  }

  private static List<Map<String, Object>> attributes(Object kind) {
    return Json.list(Json.object(kind).get("attributes"));
  }

  private void registry() {
    Object all = Json.read(Dl4.registry(string("category"), string("name")));
    Object kind = Json.object(Json.object(all).get(string("category"))).get(string("name"));
    Set<Object> known = new HashSet<>();
    attributes(kind).forEach(a -> known.add(a.get("name")));
    need(known.containsAll(names("attributes")), "got " + known);
  }

  private void nulls() {
    Map<String, Object> all = Json.object(Json.read(Dl4.registry("layer", null)));
    List<Map<String, Object>> everywhere = attributes(all.get("every_layer"));
    Json.object(all.get("layer"))
        .forEach(
            (kind, facts) -> {
              Map<String, Object> given =
                  json("attrs").containsKey(kind) ? Json.object(json("attrs").get(kind)) : Map.of();
              Set<Object> missing = new HashSet<>();
              List<Map<String, Object>> attributes = new ArrayList<>(attributes(facts));
              attributes.forEach(
                  a -> missing.add(a.get("required") == Boolean.TRUE ? a.get("name") : null));
              missing.removeAll(given.keySet());
              attributes.addAll(everywhere);
              for (Map<String, Object> a : attributes) {
                Map<String, Object> attrs = new HashMap<>(given);
                attrs.put((String) a.get("name"), null);
                try (Graph g = new Graph()) {
                  g.layer(kind, attrs);
                } catch (Dl4Exception e) {
                  boolean right = e.attribute() != null && missing.contains(e.attribute());
                  need(
                      right || a.get("name").equals(e.attribute()),
                      kind + "." + a.get("name") + ": " + e);
                }
              }
            });
  }

  private void describe() {
    String format = string("format").toUpperCase(java.util.Locale.ROOT);
    String text = this.<Handle>of("object").describe(Handle.Format.valueOf(format));
    names("contains").forEach(part -> need(text.contains(part), part + " is not in " + text));
    put(text);
  }

  private void run() {
    Session session = of("session");
    Tensor[] out = s.containsKey("into") ? tensors("into") : new Tensor[names("to").size()];
    session.runInto(tensors("in"), out, of("cancel"));
    putAll(out);
  }

  private void act() throws IOException {
    switch (string("do")) {
      case "tensor" -> put(Values.tensor(s));
      case "expect" -> expect();
      case "same" -> same();
      case "context" -> put(new Context(json("options")));
      case "graph" -> put(new Graph(of("context")));
      case "input" ->
          put(
              this.<Graph>of("graph")
                  .input(
                      string("name"),
                      DType.valueOf(string("dtype").toUpperCase(java.util.Locale.ROOT)),
                      Values.longs(s.get("shape"))));
      case "constant" -> put(this.<Graph>of("graph").constant(string("name"), of("tensor")));
      case "layer" -> put(this.<Graph>of("graph").layer(string("kind"), attrs()));
      case "call" -> putAll(callOf(of("layer")).outputs().toArray());
      case "add" -> {
        Graph g = of("graph");
        boolean plain = !s.containsKey("call") && !s.containsKey("nodes");
        Node first =
            plain
                ? g.add(string("kind"), attrs(), nodes("in"))
                : callOf(g.layer(string("kind"), attrs()));
        putAll(first.outputs().toArray());
      }
      case "weight" -> put(this.<Graph>of("graph").weight(string("name")));
      case "gradients" -> {
        List<Node> targets = List.of(nodes("of"));
        List<Node> given =
            s.containsKey("output_gradients") ? List.of(nodes("output_gradients")) : null;
        Graph g = of("graph");
        putAll(g.gradients(attrs(), targets, List.of(nodes("by")), given).toArray());
      }
      case "assign" -> put(this.<Graph>of("graph").assign(attrs(), of("node"), of("from")));
      case "update" -> {
        List<Node> weights = List.of(nodes("of"));
        Graph g = of("graph");
        put(g.update(attrs(), weights, List.of(nodes("by")), of("learning_rate")));
      }
      case "after" -> put(this.<Graph>of("graph").after(of("node"), nodes("in")));
      case "merge_json" -> this.<Graph>of("graph").mergeJson(of("text"));
      case "shape" -> {
        long[] got = this.<Node>of("node").shape();
        need(Arrays.equals(got, Values.longs(s.get("shape"))), "got " + Arrays.toString(got));
      }
      case "mask" -> put(this.<Node>of("node").mask());
      case "build" ->
          put(this.<Graph>of("graph").build(List.of(nodes("in")), List.of(nodes("out"))));
      case "weights" -> {
        List<String> got =
            this.<Model>of("model").weights().stream().map(Model.Weight::name).toList();
        need(got.equals(names("names")), "got " + got);
      }
      case "get_weight" -> put(this.<Model>of("model").weight(string("name")));
      case "set_weight" -> this.<Model>of("model").setWeight(string("name"), of("tensor"));
      case "set_trainable" ->
          this.<Model>of("model")
              .setTrainable(string("name"), ((Number) s.get("value")).intValue() != 0);
      case "clone" -> put(this.<Model>of("model").copy());
      case "save" -> save();
      case "load" -> load();
      case "text" -> put(string("text"));
      case "write" -> Files.writeString(path(), this.<String>of("text"));
      case "cut" ->
          put(Arrays.copyOf(this.<byte[]>of("bytes"), ((Number) s.get("size")).intValue()));
      case "describe" -> describe();
      case "session" -> put(new Session(of("model"), json("options")));
      case "run" -> run();
      case "predict" -> putAll(this.<Session>of("session").predict(of("dataset"), of("cancel")));
      case "stream" -> put(new Stream(of("session"), json("options")));
      case "stream_run" -> putAll(this.<Stream>of("stream").run(tensors("in")));
      case "stream_run_many" -> {
        List<Stream> streams =
            names("streams").stream().map(name -> (Stream) slots.get(name)).toList();
        long[] counts = s.containsKey("counts") ? Values.longs(s.get("counts")) : null;
        putAll(Stream.runMany(streams, counts, tensors("in")));
      }
      case "stream_fork" -> put(this.<Stream>of("stream").fork(json("options")));
      case "stream_reset" -> {
        Stream stream = of("stream");
        if (s.containsKey("row")) {
          stream.resetRow(((Number) s.get("row")).longValue());
        } else {
          stream.reset();
        }
      }
      case "stream_next" -> {
        long[] ids = this.<Stream>of("stream").next(json("options"), null, tensors("in"));
        need(Arrays.equals(ids, Values.longs(s.get("ids"))), "got " + Arrays.toString(ids));
      }
      case "measure" ->
          put(
              Dl4.measure(
                  string("category"),
                  string("kind"),
                  json("attrs"),
                  of("true"),
                  of("pred"),
                  of("weights")));
      case "dataset" ->
          put(Dataset.of(null, tensors("x"), tensors("y"), tensors("w"), json("options")));
      case "batches" -> put(batches());
      case "adapt" -> {
        Dataset data = of("dataset");
        put(data.adapt(null, string("kind"), json("attrs"), of("cancel")));
      }
      case "trainer" -> put(new Trainer(of("model"), json("options")));
      case "step" ->
          metrics(this.<Trainer>of("trainer").step(tensors("x"), tensors("y"), tensors("w")));
      case "accumulate" ->
          metrics(this.<Trainer>of("trainer").accumulate(tensors("x"), tensors("y"), tensors("w")));
      case "apply" -> this.<Trainer>of("trainer").apply();
      case "gradient" -> put(this.<Trainer>of("trainer").gradient(string("weight")));
      case "fit" -> fit();
      case "evaluate" -> metrics(this.<Trainer>of("trainer").evaluate(of("dataset"), of("cancel")));
      case "get" -> {
        double got = this.<Trainer>of("trainer").get(string("key"));
        near(
            "value",
            new double[] {got},
            new double[] {((Number) s.get("value")).doubleValue()},
            1e-7);
      }
      case "set" ->
          this.<Trainer>of("trainer").set(string("key"), ((Number) s.get("value")).doubleValue());
      case "cancel" -> put(new Cancel());
      case "trigger" -> this.<Cancel>of("cancel").trigger();
      case "release" -> ((Handle) slots.remove(string("slot"))).close();
      case "registry" -> registry();
      case "null_attributes" -> nulls();
      default -> throw new AssertionError("no such step");
    }
  }
}
