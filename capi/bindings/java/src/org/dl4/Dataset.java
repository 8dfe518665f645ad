package org.dl4;

import java.util.Map;

/** Batches to train on, or to predict. One call at a time may use it. */
public final class Dataset extends Handle {
  private Dataset(long address) {
    super(address);
  }

  public static Dataset of(Tensor x, Tensor y, Map<String, ?> options) {
    return of(null, new Tensor[] {x}, new Tensor[] {y}, null, options);
  }

  /**
   * A dataset of whole tensors with the same number of rows. y and w may be null, elements of w
   * too. Options are those of dl4_dataset_from_tensors: "batch_size", "shuffle", "seed",
   * "drop_remainder". The tensors may be closed.
   */
  public static Dataset of(
      Context context, Tensor[] x, Tensor[] y, Tensor[] w, Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      long in = c.tensors(x);
      long targets = c.tensors(y);
      long weights = c.tensors(w);
      long how = c.options(options);
      c.check(
          Lib.dl4_dataset_from_tensors(
              c.use(context),
              in,
              Call.count(x),
              targets,
              Call.count(y),
              weights,
              Call.count(w),
              how,
              out));
      return new Dataset(c.get(out, 0));
    }
  }

  /**
   * A dataset of batches that a function gives. Options: "steps", the batches of an epoch, if they
   * are known.
   */
  public static Dataset of(Batches batches, Map<String, ?> options) {
    long user = Callbacks.keep(batches);
    try (Call c = new Call()) {
      long out = c.slot();
      long how = c.options(options);
      c.check(Lib.dl4_dataset_from_callback(0, Callbacks.BATCH, user, Callbacks.RELEASE, how, out));
      return new Dataset(c.get(out, 0));
    } catch (RuntimeException e) {
      Callbacks.forget(user);
      throw e;
    }
  }

  /** {@link #adapt(Context, String, Map, Cancel)} without a context and a flag. */
  public Map<String, Object> adapt(String kind, Map<String, ?> config) {
    return adapt(null, kind, config, null);
  }

  /**
   * The attributes of a layer that has learned from the inputs, which are read once: a vocabulary,
   * limits of bins, mean and variance. config has the attributes that are not learned. All but kind
   * may be null.
   */
  public Map<String, Object> adapt(
      Context context, String kind, Map<String, ?> config, Cancel cancel) {
    try (Call c = new Call()) {
      long out = c.slot();
      long how = c.options(config);
      long flag = c.use(cancel);
      c.check(Lib.dl4_adapt(c.use(context), c.text(kind), how, c.use(this), flag, out));
      return Json.object(Json.read(c.blob(out)));
    }
  }
}
