/* What cgo can't say: callbacks with a Go handle as their user pointer, and a tensor's facts in one call. */
#ifndef DL4GO_SHIM_H
#define DL4GO_SHIM_H

#include <dl4/dl4.h>
#include <stdint.h>

typedef struct {
  void *data;
  int64_t bytes, dims[8];
  int32_t dtype, rank, dense;
} dl4go_facts;

void dl4go_tensor_facts(const dl4_tensor *t, dl4go_facts *out);

dl4_error *dl4go_wrap(dl4_context *c, int32_t dtype, int32_t rank, const int64_t *dims, const int64_t *strides,
                      void *data, int64_t bytes, uintptr_t user, dl4_tensor **out);
/* A copy of strings: element i is data [bytes] from offsets[i] to offsets[i + 1]. */
dl4_error *dl4go_strings(int32_t rank, const int64_t *dims, const int64_t *offsets, const void *data, int64_t bytes,
                         dl4_tensor **out);
dl4_error *dl4go_set_logger(dl4_context *c, int32_t min_level, uintptr_t user);
dl4_error *dl4go_dataset(dl4_context *c, uintptr_t user, const char *options, dl4_dataset **out);
dl4_error *dl4go_fit(dl4_trainer *t, dl4_dataset *train, dl4_dataset *valid, const char *options, uintptr_t user,
                     dl4_cancel *cancel, dl4_blob **history);
dl4_error *dl4go_set_workers(dl4_trainer *t, int64_t rank, int64_t size, uintptr_t user);
dl4_error *dl4go_registry_add(const char *category, const char *name, const char *options, int shape, int backward,
                              uintptr_t user);
dl4_error *dl4go_next(dl4_stream *s, dl4_tensor **in, int64_t n_in, const char *options, uintptr_t user, int64_t *ids,
                      int64_t n, dl4_cancel *cancel);

#endif
