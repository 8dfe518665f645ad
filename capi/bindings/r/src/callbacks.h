// The functions that the library calls. Each `user` is a function of R's.
#ifndef DL4_R_CALLBACKS_H
#define DL4_R_CALLBACKS_H
#include <Rinternals.h>

// By name: "progress", "batch", "reduce", "release", "shape", "forward", "backward", "logits".
void *dl4_r_callback(const char *name);

// An object for a tensor that is lent, which is not released; of NULL, R's.
SEXP dl4_r_lend(void *tensor);

// The address of a tensor, with a reference of its own; of R's NULL, NULL.
void *dl4_r_share(SEXP tensor);

#endif
