#include "shim.h"

#include "_cgo_export.h"

void dl4go_tensor_facts(const dl4_tensor *t, dl4go_facts *out) {
  const int64_t *dims = dl4_tensor_dims(t), *strides = dl4_tensor_strides(t);
  int64_t expected = 1;
  int32_t i;
  out->dtype = dl4_tensor_dtype(t);
  out->rank = dl4_tensor_rank(t);
  out->data = dl4_tensor_data((dl4_tensor *)t);
  out->bytes = dl4_tensor_bytes(t);
  out->dense = 1;
  for (i = out->rank - 1; i >= 0; --i) {
    out->dims[i] = dims[i];
    if (dims[i] != 1 && strides[i] != expected) out->dense = out->bytes == 0;
    expected *= dims[i];
  }
}

static void released(void *user) { dl4goRelease((uintptr_t)user); }

dl4_error *dl4go_wrap(dl4_context *c, int32_t dtype, int32_t rank, const int64_t *dims, const int64_t *strides,
                      void *data, int64_t bytes, uintptr_t user, dl4_tensor **out) {
  return dl4_tensor_wrap(c, dtype, rank, dims, strides, data, bytes, user ? released : 0, (void *)user, out);
}

static void logged(void *user, int32_t level, const char *message) {
  dl4goLog((uintptr_t)user, level, (char *)message);
}

dl4_error *dl4go_strings(int32_t rank, const int64_t *dims, const int64_t *offsets, const void *data, int64_t bytes,
                         dl4_tensor **out) {
  dl4_tensor *over = NULL; /* Go's memory, which no one may keep */
  dl4_error *e = dl4_tensor_wrap_strings(NULL, rank, dims, DL4_INT64, offsets, data, bytes, NULL, NULL, &over);
  if (!e) e = dl4_tensor_clone(over, out);
  dl4_release(over);
  return e;
}

dl4_error *dl4go_set_logger(dl4_context *c, int32_t min_level, uintptr_t user) {
  return dl4_context_set_logger(c, min_level, user ? logged : 0, (void *)user);
}

static int32_t batch(void *user, int64_t index, dl4_tensor **x, int64_t nx, dl4_tensor **y, int64_t ny, dl4_tensor **w,
                     int64_t nw) {
  return dl4goBatch((uintptr_t)user, index, x, nx, y, ny, w, nw);
}

dl4_error *dl4go_dataset(dl4_context *c, uintptr_t user, const char *options, dl4_dataset **out) {
  return dl4_dataset_from_callback(c, batch, (void *)user, released, options, out);
}

static int32_t progress(void *user, int32_t event, int64_t step, int64_t total, const double *metrics, int64_t n) {
  return dl4goProgress((uintptr_t)user, event, step, total, (double *)metrics, n);
}

dl4_error *dl4go_fit(dl4_trainer *t, dl4_dataset *train, dl4_dataset *valid, const char *options, uintptr_t user,
                     dl4_cancel *cancel, dl4_blob **history) {
  return dl4_trainer_fit(t, train, valid, options, user ? progress : 0, (void *)user, cancel, history);
}

static int32_t reduce(void *user, void *values, int64_t n, int32_t dtype) {
  return dl4goReduce((uintptr_t)user, values, n, dtype);
}

dl4_error *dl4go_set_workers(dl4_trainer *t, int64_t rank, int64_t size, uintptr_t user) {
  return dl4_trainer_set_workers(t, rank, size, user ? reduce : 0, (void *)user, user ? released : 0);
}

static int32_t shape(void *user, const char *config, const int32_t *ranks, const int64_t *dims, int64_t n_src,
                     int32_t *out_ranks, int64_t *out_dims, int64_t n_out) {
  return dl4goShape((uintptr_t)user, (char *)config, (int32_t *)ranks, (int64_t *)dims, n_src, out_ranks, out_dims,
                    n_out);
}

static int32_t forward(void *user, const char *config, dl4_tensor *const *src, int64_t n_src, dl4_tensor *const *dst,
                       int64_t n_dst) {
  return dl4goForward((uintptr_t)user, (char *)config, (dl4_tensor **)src, n_src, (dl4_tensor **)dst, n_dst);
}

static int32_t backward(void *user, const char *config, dl4_tensor *const *src, int64_t n_src, dl4_tensor *const *dst,
                        dl4_tensor *const *diff_dst, int64_t n_dst, dl4_tensor *const *diff_src) {
  return dl4goBackward((uintptr_t)user, (char *)config, (dl4_tensor **)src, n_src, (dl4_tensor **)dst,
                       (dl4_tensor **)diff_dst, n_dst, (dl4_tensor **)diff_src);
}

dl4_error *dl4go_registry_add(const char *category, const char *name, const char *options, int has_shape,
                              int has_backward, uintptr_t user) {
  return dl4_registry_add(category, name, options, has_shape ? shape : 0, forward, has_backward ? backward : 0,
                          (void *)user, released);
}

static int32_t logits(void *user, dl4_tensor *t) { return dl4goLogits((uintptr_t)user, t); }

dl4_error *dl4go_next(dl4_stream *s, dl4_tensor **in, int64_t n_in, const char *options, uintptr_t user, int64_t *ids,
                      int64_t n, dl4_cancel *cancel) {
  return dl4_stream_next(s, in, n_in, options, user ? logits : 0, (void *)user, ids, n, cancel);
}
