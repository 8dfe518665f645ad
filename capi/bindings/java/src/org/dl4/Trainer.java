package org.dl4;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A model being trained. One call at a time may use it. */
public final class Trainer extends Handle {
  private final List<String> names;

  /** Options are those of dl4_trainer_create: "optimizer", "loss", "metrics", ... */
  public Trainer(Model model, Map<String, ?> options) {
    super(made(model, options));
    names = ports(METRICS).stream().map(Model.Io::name).toList();
  }

  private static long made(Model model, Map<String, ?> options) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_trainer_create(c.use(model), c.options(options), out));
      return c.get(out, 0);
    }
  }

  /** The names of all metrics; the loss is the first. */
  public List<String> metricNames() {
    return names;
  }

  @Override
  public String toString() {
    return "Trainer " + names;
  }

  public Map<String, double[]> fit(Dataset train, Map<String, ?> options) {
    return fit(train, null, options, null, null);
  }

  /**
   * Trains for some epochs, and validates after each if valid is not null. Options are those of
   * dl4_trainer_fit: "epochs", "validation_split", "class_weight", "callbacks", ... listener and
   * cancel may be null. Gives the history, a value per epoch for each name. A fit that was
   * cancelled keeps all complete steps; one with "resume" goes on there.
   */
  public <E extends Exception> Map<String, double[]> fit(
      Dataset train,
      Dataset valid,
      Map<String, ?> options,
      Progress.Listener<E> listener,
      Cancel cancel)
      throws E {
    Callbacks.Told told = listener == null ? null : listener::at;
    long user = told == null ? 0 : Callbacks.keep(told);
    try (Call c = new Call()) {
      long out = c.slot();
      long t = c.use(this);
      long data = c.use(train);
      long how = c.options(options);
      long fn = told == null ? 0 : Callbacks.PROGRESS;
      c.check(Lib.dl4_trainer_fit(t, data, c.use(valid), how, fn, user, c.use(cancel), out));
      return history(c.blob(out));
    } finally {
      Callbacks.forget(user);
    }
  }

  /** A map whose text has the numbers. */
  private static final class History extends LinkedHashMap<String, double[]> {
    private static final long serialVersionUID = 1;

    @Override
    public String toString() {
      return entrySet().stream()
          .map(e -> e.getKey() + "=" + Arrays.toString(e.getValue()))
          .collect(Collectors.joining(", ", "{", "}"));
    }
  }

  /** JSON has null for NaN and infinity. */
  static Map<String, double[]> history(String json) {
    Map<String, double[]> all = new History();
    Json.object(Json.read(json))
        .forEach(
            (name, values) ->
                all.put(
                    name,
                    Json.<Number>list(values).stream()
                        .mapToDouble(v -> v == null ? Double.NaN : v.doubleValue())
                        .toArray()));
    return all;
  }

  private interface Measured {
    long run(long metrics, long cap, long n);
  }

  private double[] metrics(Call c, Measured f) {
    long values = c.slots(names.size());
    c.check(f.run(values, names.size(), c.slot()));
    double[] out = new double[names.size()];
    for (int i = 0; i < out.length; i++) {
      out[i] = c.getDouble(values, i);
    }
    return out;
  }

  /** Loss and metrics over a whole dataset, in the order of metricNames(). cancel may be null. */
  public double[] evaluate(Dataset data, Cancel cancel) {
    try (Call c = new Call()) {
      long t = c.use(this);
      long d = c.use(data);
      long flag = c.use(cancel);
      return metrics(c, (out, cap, n) -> Lib.dl4_trainer_evaluate(t, d, flag, out, cap, n));
    }
  }

  public double[] step(Tensor x, Tensor y) {
    return step(new Tensor[] {x}, new Tensor[] {y}, null);
  }

  /** Trains on one batch and gives its metrics. w, sample weights, may be null or hold null. */
  public double[] step(Tensor[] x, Tensor[] y, Tensor[] w) {
    return onBatch(Lib::dl4_trainer_step, x, y, w);
  }

  /** Adds the gradients of one batch to those kept, and changes no weight. */
  public double[] accumulate(Tensor[] x, Tensor[] y, Tensor[] w) {
    return onBatch(Lib::dl4_trainer_accumulate, x, y, w);
  }

  private interface OnBatch {
    long run(
        long t, long x, long nx, long y, long ny, long w, long nw, long metrics, long cap, long n);
  }

  private double[] onBatch(OnBatch f, Tensor[] x, Tensor[] y, Tensor[] w) {
    try (Call c = new Call()) {
      long t = c.use(this);
      long in = c.tensors(x);
      long to = c.tensors(y);
      long by = c.tensors(w);
      return metrics(
          c,
          (out, cap, n) ->
              f.run(t, in, Call.count(x), to, Call.count(y), by, Call.count(w), out, cap, n));
    }
  }

  /**
   * Updates the weights by the mean of the gradients accumulated since the last update, then
   * forgets them.
   */
  public void apply() {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_apply(c.use(this)));
    }
  }

  /** A copy of the mean accumulated gradient of a weight; "*" one flat block of all. */
  public Tensor gradient(String weight) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_trainer_get_gradient(c.use(this), c.text(weight), out));
      return new Tensor(c.get(out, 0));
    }
  }

  /** Sets the mean gradient of a weight, or with "*" of all, to v. */
  public void setGradient(String weight, Tensor v) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_set_gradient(c.use(this), c.text(weight), c.use(v)));
    }
  }

  /** Adds v to the mean gradient of a weight, or with "*" of all. */
  public void addGradient(String weight, Tensor v) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_add_gradient(c.use(this), c.text(weight), c.use(v)));
    }
  }

  /** Forgets the gradients accumulated since the last update. */
  public void zeroGradients() {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_zero_gradients(c.use(this)));
    }
  }

  /** Reads "learning_rate", "iterations", "epoch" or "batch"; a listener may call it. */
  public double get(String key) {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_trainer_get_number(c.use(this), c.text(key), out));
      return c.getDouble(out, 0);
    }
  }

  /** Sets "learning_rate", by a listener too; "epoch" or "batch", where the next fit goes on. */
  public void set(String key, double value) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_set_number(c.use(this), c.text(key), value));
    }
  }

  /**
   * Trains with size - 1 other workers from now on: each makes this call, with its rank, then the
   * same calls at the same time. What reduce throws comes out of the call under way. A reduce of
   * null, with rank 0 and size 1, trains alone again.
   */
  public <E extends Exception> void setWorkers(long rank, long size, Reduce<E> reduce) throws E {
    long user = reduce == null ? 0 : Callbacks.keep(reduce);
    boolean done = false;
    try (Call c = new Call()) {
      long fn = reduce == null ? 0 : Callbacks.REDUCE;
      long release = reduce == null ? 0 : Callbacks.RELEASE;
      c.check(Lib.dl4_trainer_set_workers(c.use(this), rank, size, fn, user, release));
      done = true;
    } finally {
      if (!done) {
        Callbacks.forget(user);
      }
    }
  }

  /**
   * Saves a checkpoint, atomically: model, optimizer, counters, random state, place in the epoch.
   */
  public void save(Path path) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_save(c.use(this), c.text(path.toString())));
    }
  }

  public void save(String path) {
    save(Path.of(path));
  }

  /** The bytes of a checkpoint that save() would write. */
  public byte[] toBytes() {
    try (Call c = new Call()) {
      long out = c.slot();
      c.check(Lib.dl4_trainer_save_bytes(c.use(this), out));
      return c.content(out);
    }
  }

  /**
   * Loads a checkpoint into a trainer of the same model and options: what follows is what would
   * have followed.
   */
  public void load(Path path) {
    try (Call c = new Call()) {
      c.check(Lib.dl4_trainer_load(c.use(this), c.text(path.toString())));
    }
  }

  public void load(String path) {
    load(Path.of(path));
  }

  public void load(byte[] data) {
    try (Call c = new Call()) {
      long bytes = c.bytes(data);
      c.check(Lib.dl4_trainer_load_bytes(c.use(this), bytes, data.length));
    }
  }
}
