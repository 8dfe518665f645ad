package org.dl4;

import java.util.LinkedHashMap;
import java.util.Map;

/** What is not of an object: the library itself, its registry of kinds, losses of two tensors. */
public final class Dl4 {
  private Dl4() {}

  /** The version of the library, such as "1.2.3". */
  public static String version() {
    return Library.version();
  }

  /** How the library was built and what it found on this machine, as JSON. */
  public static String buildInfo() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_build_info(out));
      return c.blob(out);
    }
  }

  /** The C interface as JSON. */
  static String apiDescription() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_api_description(out));
      return c.blob(out);
    }
  }

  /** Kinds as JSON: attributes with type, default, range and doc. null means all of them. */
  public static String registry(String category, String name) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_registry_json(c.text(category), c.text(name), out));
      return c.blob(out);
    }
  }

  /**
   * Adds a kind of your own to a category, "layer", "loss" or "metric", used by its name as any
   * other. It is kept until the process ends; a name that is added again is replaced for what is
   * made from then on.
   */
  public static void register(String category, String name, Kind kind) {
    if (kind.forward() == null) {
      throw Dl4Exception.invalid("kind " + name + ": expected forward, got null");
    }
    Map<String, Object> options = new LinkedHashMap<>();
    if (kind.outputs() != 1) {
      options.put("outputs", kind.outputs());
    }
    if (kind.doc() != null) {
      options.put("doc", kind.doc());
    }
    if (kind.weights() != null && !kind.weights().isEmpty()) {
      options.put("weights", kind.weights());
    }
    long user = Callbacks.keep(kind);
    try (Call c = new Call()) {
      long shape = kind.shape() == null ? 0 : Callbacks.SHAPE;
      long backward = kind.backward() == null ? 0 : Callbacks.BACKWARD;
      long how = c.options(options);
      c.check(
          Lib.dl4_registry_add(
              c.text(category), c.text(name), how, shape, Callbacks.FORWARD, backward, user));
    } catch (RuntimeException e) {
      Callbacks.forget(user);
      throw e;
    }
  }

  /**
   * A loss or metric of two tensors, without a model. category is "loss" or "metric"; attrs and w
   * may be null.
   */
  public static Tensor measure(
      String category, String kind, Map<String, ?> attrs, Tensor yTrue, Tensor yPred, Tensor w) {
    try (Call c = new Call()) {
      long out = c.slot();
      long how = c.options(attrs);
      long t = c.use(yTrue);
      long p = c.use(yPred);
      c.check(Lib.dl4_measure(0, c.text(category), c.text(kind), how, t, p, c.use(w), out));
      return new Tensor(c.get(out, 0));
    }
  }
}
