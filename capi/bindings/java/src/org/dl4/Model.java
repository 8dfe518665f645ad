package org.dl4;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * An architecture and its weights. Threads may read it at once; who writes it, a trainer too, is
 * alone.
 */
public final class Model extends Handle {
  Model(long address) {
    super(address);
  }

  /** An input or output of a model or session; -1 in its shape is free. */
  public record Io(String name, DType dtype, long[] shape) {
    @Override
    public String toString() {
      return name + ": " + dtype + " " + Arrays.toString(shape);
    }
  }

  /** What is known of a weight without its numbers. */
  public record Weight(String name, DType dtype, long[] shape, boolean trainable) {
    @Override
    public String toString() {
      return name + ": " + dtype + " " + Arrays.toString(shape) + (trainable ? "" : ", frozen");
    }
  }

  public static Model load(Path path) {
    return load(null, path, null);
  }

  public static Model load(String path) {
    return load(Path.of(path));
  }

  /** Loads a model from a file. context and options may be null. */
  public static Model load(Context context, Path path, Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_model_load(c.use(context), c.text(path.toString()), c.options(options), out));
      return new Model(c.get(out, 0));
    }
  }

  /** Loads a model from the bytes of such a file. */
  public static Model load(Context context, byte[] data, Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      try (Tensor file = Tensor.of(data, data.length)) {
        c.check(Lib.dl4_model_load_bytes(c.use(context), c.use(file), c.options(options), out));
      }
      return new Model(c.get(out, 0));
    }
  }

  /** Saves the model to a safetensors file, atomically. */
  public void save(Path path) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_model_save(c.use(this), c.text(path.toString()), 0));
    }
  }

  public void save(String path) {
    save(Path.of(path));
  }

  /** The bytes that save() would write. */
  public byte[] toBytes() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_model_save_bytes(c.use(this), 0, out));
      return c.content(out);
    }
  }

  /** A copy with weights of its own. */
  public Model copy() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_model_clone(c.use(this), out));
      return new Model(c.get(out, 0));
    }
  }

  /** The inputs, in the order that a session takes them. */
  public List<Io> inputs() {
    return ports(INPUTS);
  }

  public List<Io> outputs() {
    return ports(OUTPUTS);
  }

  /** All weights, in the order of Keras's model.weights. */
  public List<Weight> weights() {
    List<Weight> all = new ArrayList<>();
    for (Io w : ports(WEIGHTS)) {
      try (Call c = new Call()) {
        long out = c.slot();
        c.check(Lib.dl4_model_get_trainable(c.use(this), c.text(w.name()), out));
        all.add(new Weight(w.name(), w.dtype(), w.shape(), c.getInt(out) != 0));
      }
    }
    return all;
  }

  /** A copy of a weight, "dense/kernel"; "*" gives one flat block of all trainable weights. */
  public Tensor weight(String name) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_model_get_weight(c.use(this), c.text(name), out));
      return new Tensor(c.get(out, 0));
    }
  }

  /**
   * Sets a weight to a copy of v; "*" all trainable ones from one flat block. Sessions that exist
   * keep theirs.
   */
  public void setWeight(String name, Tensor v) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_model_set_weight(c.use(this), c.text(name), c.use(v)));
    }
  }

  /**
   * Says of a layer's weights, of one weight, or with "*" of all, whether training changes them.
   */
  public void setTrainable(String name, boolean yes) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_model_set_trainable(c.use(this), c.text(name), yes ? 1 : 0));
    }
  }

  /** A summary in Keras's style. */
  @Override
  public String toString() {
    return told(() -> describe(Format.TEXT));
  }

  /**
   * Compares the gradients of the outputs with differences, as JSON: a check of layers of your own.
   */
  public String checkGradients(Map<String, ?> options, Tensor... inputs) {
    try (Call c = new Call()) {
      long out = c.slot();
      long in = c.tensors(inputs);
      c.check(Lib.dl4_model_check_gradients(c.use(this), in, inputs.length, c.options(options), out));
      return c.blob(out);
    }
  }
}
