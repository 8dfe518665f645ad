package org.dl4;

import java.nio.file.Path;

/**
 * The functions of dl4.h. Every pointer is a long; a test compares this list with the library's own
 * description, and MakeLib makes the class for JDK 22 of it.
 */
final class Lib {
  private static final int MAJOR = 1;

  private static final Foreign LIBRARY = new Foreign(file());

  static {
    LIBRARY.bind(Version.class);
    if (Version.dl4_version() / 1000000 != MAJOR) {
      throw new UnsatisfiedLinkError(
          "dl4 for Java is made for version " + MAJOR + " of the library, found " + version());
    }
    LIBRARY.bind(Lib.class);
  }

  private Lib() {}

  private static String file() {
    String name = System.getProperty("dl4.library", System.getenv("DL4_LIBRARY"));
    if (name == null) {
      return "libdl4.so.1";
    }
    // JNA takes what is not absolute for a bare name.
    return name.contains("/") ? Path.of(name).toAbsolutePath().toString() : name;
  }

  static String version() {
    return Foreign.text(Version.dl4_version_string());
  }

  /** What a library of any version has. */
  private static final class Version {
    static native int dl4_version();

    static native long dl4_version_string();
  }

  static native long dl4_build_info(long out);

  static native long dl4_api_description(long out);

  static native long dl4_registry_json(long category, long name, long out);

  static native long dl4_registry_count(long category);

  static native long dl4_registry_name(long category, long i);

  static native long dl4_registry_add(
      long category, long name, long options, long shape, long forward, long backward, long user);

  static native void dl4_retain(long object);

  static native void dl4_release(long object);

  static native long dl4_describe(long object, int format, long out);

  static native int dl4_error_code(long e);

  static native long dl4_error_message(long e);

  static native long dl4_error_detail(long e);

  static native long dl4_blob_data(long b);

  static native long dl4_blob_size(long b);

  static native long dl4_context_create(long options, long out);

  static native long dl4_context_set_seed(long c, long seed);

  static native long dl4_context_set_logger(long c, int min_level, long fn, long user);

  static native long dl4_context_set_allocator(long c, long alloc, long release, long user);

  static native long dl4_context_trim(long c);

  static native long dl4_attrs_create(long out);

  static native long dl4_attrs_set_i64(long a, long key, long v);

  static native long dl4_attrs_set_f64(long a, long key, double v);

  static native long dl4_attrs_set_bool(long a, long key, int v);

  static native long dl4_attrs_set_str(long a, long key, long v);

  static native long dl4_attrs_set_i64s(long a, long key, long v, long n);

  static native long dl4_attrs_set_f64s(long a, long key, long v, long n);

  static native long dl4_attrs_set_strs(long a, long key, long v, long n);

  static native long dl4_attrs_set_attrs(long a, long key, long v);

  static native long dl4_attrs_set_model(long a, long key, long v);

  static native long dl4_attrs_set_nodes(long a, long key, long v, long n);

  static native long dl4_attrs_merge_json(long a, long json);

  static native long dl4_tensor_create(long c, int dtype, int rank, long dims, long out);

  static native long dl4_tensor_wrap(
      long c,
      int dtype,
      int rank,
      long dims,
      long strides,
      long data,
      long bytes,
      long release,
      long user,
      long out);

  static native long dl4_tensor_from_dlpack(long c, int versioned, long managed, long out);

  static native long dl4_tensor_to_dlpack(long t, int versioned, long out);

  static native long dl4_tensor_clone(long t, long out);

  static native long dl4_tensor_copy_in(long t, long src, long bytes);

  static native long dl4_tensor_copy_out(long t, long dst, long bytes);

  static native int dl4_tensor_dtype(long t);

  static native int dl4_tensor_rank(long t);

  static native long dl4_tensor_dims(long t);

  static native long dl4_tensor_strides(long t);

  static native long dl4_tensor_data(long t);

  static native long dl4_tensor_bytes(long t);

  static native long dl4_graph_create(long c, long out);

  static native long dl4_graph_input(long g, long name, int dtype, int rank, long dims, long out);

  static native long dl4_graph_constant(long g, long name, long v, long out);

  static native long dl4_graph_layer(long g, long kind, long name, long a, long out);

  static native long dl4_graph_call(
      long g, int layer, long call, long in, long n_in, long out, long n_out);

  static native long dl4_graph_add(
      long g, long kind, long name, long a, long call, long in, long n_in, long out, long n_out);

  static native long dl4_graph_merge_json(long g, long json);

  static native long dl4_graph_shape(long g, int n, long dims, int cap, long rank);

  static native long dl4_graph_outputs(long g, int n, long out, long cap, long count);

  static native long dl4_graph_dtype(long g, int n, long out);

  static native long dl4_graph_mask(long g, int n, long out);

  static native long dl4_graph_build(long g, long in, long n_in, long out, long n_out, long model);

  static native long dl4_model_load(long c, long path, long options, long out);

  static native long dl4_model_load_memory(long c, long data, long bytes, long options, long out);

  static native long dl4_model_save(long m, long path, long options);

  static native long dl4_model_save_memory(long m, long options, long out);

  static native long dl4_model_clone(long m, long out);

  static native long dl4_model_io_count(long m, int direction);

  static native long dl4_model_io_name(long m, int direction, long i);

  static native long dl4_model_io_shape(
      long m, int direction, long i, long dims, int cap, long rank);

  static native int dl4_model_io_dtype(long m, int direction, long i);

  static native long dl4_model_weight_count(long m);

  static native long dl4_model_weight_name(long m, long i);

  static native int dl4_model_weight_dtype(long m, long i);

  static native int dl4_model_weight_trainable(long m, long i);

  static native long dl4_model_weight_shape(long m, long i, long dims, int cap, long rank);

  static native long dl4_model_get_weight(long m, long name, long out);

  static native long dl4_model_set_weight(long m, long name, long v);

  static native long dl4_model_set_trainable(long m, long name, int trainable);

  static native long dl4_model_check_gradients(long m, long in, long n_in, long options, long out);

  static native long dl4_session_create(long m, long options, long out);

  static native long dl4_session_io_count(long s, int direction);

  static native long dl4_session_io_name(long s, int direction, long i);

  static native int dl4_session_io_dtype(long s, int direction, long i);

  static native long dl4_session_io_shape(
      long s, int direction, long i, long dims, int cap, long rank);

  static native long dl4_session_output_shape(
      long s, long ranks, long in_dims, long n_in, long i, long dims, int cap, long rank);

  static native long dl4_session_run(long s, long in, long n_in, long out, long n_out, long cancel);

  static native long dl4_session_predict(long s, long d, long cancel, long out, long n_out);

  static native long dl4_measure(
      long c, long category, long kind, long a, long y_true, long y_pred, long w, long out);

  static native long dl4_dataset_from_tensors(
      long c, long x, long nx, long y, long ny, long w, long nw, long options, long out);

  static native long dl4_dataset_from_callback(
      long c, long fn, long user, long release, long options, long out);

  static native long dl4_trainer_create(long m, long options, long out);

  static native long dl4_trainer_step(
      long t, long x, long nx, long y, long ny, long w, long nw, long metrics, long cap, long n);

  static native long dl4_trainer_accumulate(
      long t, long x, long nx, long y, long ny, long w, long nw, long metrics, long cap, long n);

  static native long dl4_trainer_apply(long t);

  static native long dl4_trainer_gradient(long t, long weight, long out);

  static native long dl4_trainer_set_gradient(long t, long weight, long v, int add);

  static native long dl4_trainer_zero_gradients(long t);

  static native long dl4_trainer_fit(
      long t, long train, long valid, long options, long fn, long user, long cancel, long history);

  static native long dl4_trainer_evaluate(
      long t, long d, long cancel, long metrics, long cap, long n);

  static native long dl4_trainer_get(long t, long key, long out);

  static native long dl4_trainer_set(long t, long key, double v);

  static native long dl4_trainer_set_workers(
      long t, long rank, long size, long fn, long user, long release);

  static native long dl4_trainer_save(long t, long path);

  static native long dl4_trainer_save_memory(long t, long out);

  static native long dl4_trainer_load(long t, long path);

  static native long dl4_trainer_load_memory(long t, long data, long bytes);

  static native long dl4_cancel_create(long out);

  static native void dl4_cancel_trigger(long c);

  static native int dl4_cancel_triggered(long c);

  static native long dl4_graph_share(long g, long from, int layer, long name, long out);

  static native long dl4_stream_create(long s, long options, long out);

  static native long dl4_stream_run(long s, long in, long n_in, long out, long n_out, long cancel);

  static native long dl4_stream_reset(long s);

  static native long dl4_stream_save_memory(long s, long out);

  static native long dl4_stream_load_memory(long s, long data, long bytes);

  static native long dl4_stream_io_count(long s, int direction);
}
