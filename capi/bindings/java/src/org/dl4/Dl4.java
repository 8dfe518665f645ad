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
   * other until {@link #unregister}; a name that is added again is replaced for what is made from
   * then on.
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
      long of = c.text(category);
      long forward = Callbacks.FORWARD;
      long release = Callbacks.RELEASE;
      c.check(
          Lib.dl4_registry_add(of, c.text(name), how, shape, forward, backward, user, release));
    } catch (RuntimeException e) {
      Callbacks.forget(user);
      throw e;
    }
  }

  /** Removes a kind that {@link #register} added. Models that have it work on. */
  public static void unregister(String category, String name) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_registry_remove(c.text(category), c.text(name)));
    }
  }

  /** Throws where the library refuses these attributes of a kind; makes nothing of it. */
  public static void check(String category, String name, Map<String, ?> attrs) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_registry_check(c.text(category), c.text(name), c.options(attrs)));
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
