#include "callbacks.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { GO_ON = 0, STOP = 1, FAILED = -1, MAX_RANK = 8 };

// A call of an R function. R leaves by a jump where it fails, which must not pass through C that is not R's: the jump
// ends at R_ToplevelExec. What the function itself caught it answers by a number.
static int32_t answer(void (*body)(void *), void *call, int32_t *result) {
  *result = FAILED;
  return R_ToplevelExec(body, call) ? *result : FAILED;
}

static SEXP numbers(const double *values, int64_t n) {
  SEXP all = Rf_allocVector(REALSXP, n);
  if (n) memcpy(REAL(all), values, n * sizeof(double));
  return all;
}

// ---- Progress -------------------------------------------------------------------------------------------------------

typedef struct {
  SEXP function;
  int32_t event;
  int64_t step, total;
  const double *metrics;
  int64_t n;
  int32_t result;
} Progress;

static void call_progress(void *data) {
  Progress *p = data;
  SEXP metrics = PROTECT(numbers(p->metrics, p->n));
  SEXP event = PROTECT(Rf_ScalarInteger(p->event));
  SEXP step = PROTECT(Rf_ScalarReal((double)p->step));
  SEXP total = PROTECT(Rf_ScalarReal((double)p->total));
  p->result = Rf_asInteger(Rf_eval(PROTECT(Rf_lang5(p->function, event, step, total, metrics)), R_GlobalEnv));
  UNPROTECT(5);
}

static int32_t on_progress(void *user, int32_t event, int64_t step, int64_t total, const double *metrics, int64_t n) {
  Progress p = {user, event, step, total, metrics, n, FAILED};
  return answer(call_progress, &p, &p.result);
}

// ---- Batches --------------------------------------------------------------------------------------------------------

typedef struct {
  SEXP function;
  int64_t index;
  void **tensors[3];
  int64_t n[3];
  int32_t result;
} Batch;

// The function answers by a number, or by three lists of as many tensors as are asked for; the last may be empty.
static void call_batch(void *data) {
  Batch *b = data;
  double counts[3] = {(double)b->n[0], (double)b->n[1], (double)b->n[2]};
  SEXP index = PROTECT(Rf_ScalarReal((double)b->index));
  SEXP n = PROTECT(numbers(counts, 3));
  SEXP batch = PROTECT(Rf_eval(PROTECT(Rf_lang3(b->function, index, n)), R_GlobalEnv));
  if (TYPEOF(batch) != VECSXP) {
    b->result = Rf_asInteger(batch);
  } else {
    for (int part = 0; part < 3; part++) {
      SEXP list = VECTOR_ELT(batch, part);
      for (R_xlen_t i = 0; i < XLENGTH(list); i++) b->tensors[part][i] = dl4_r_share(VECTOR_ELT(list, i));
    }
    b->result = GO_ON;
  }
  UNPROTECT(4);
}

static int32_t on_batch(void *user, int64_t index, void **x, int64_t nx, void **y, int64_t ny, void **w, int64_t nw) {
  Batch b = {user, index, {x, y, w}, {nx, ny, nw}, FAILED};
  return answer(call_batch, &b, &b.result);
}

static void on_release(void *user) { R_ReleaseObject(user); }

void *dl4_r_callback(const char *name) {
  if (!strcmp(name, "progress")) return (void *)on_progress;
  if (!strcmp(name, "batch")) return (void *)on_batch;
  if (!strcmp(name, "release")) return (void *)on_release;
  return NULL;
}
