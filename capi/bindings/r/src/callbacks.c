#include "callbacks.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { GO_ON = 0, FAILED = -1 };

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

// ---- Workers --------------------------------------------------------------------------------------------------------

enum { FLOAT32 = 1 };  // of dl4.h; the other type is int32

typedef struct {
  SEXP function;
  void *values;
  int64_t n;
  int32_t dtype, result;
} Reduce;

// The function answers by a number, or by a list of the sums.
static void call_reduce(void *data) {
  Reduce *r = data;
  float *floats = r->values;
  int32_t *integers = r->values;
  SEXP values = PROTECT(Rf_allocVector(REALSXP, r->n));
  for (int64_t i = 0; i < r->n; i++) REAL(values)[i] = r->dtype == FLOAT32 ? (double)floats[i] : (double)integers[i];
  SEXP dtype = PROTECT(Rf_ScalarInteger(r->dtype));
  SEXP sums = PROTECT(Rf_eval(PROTECT(Rf_lang3(r->function, values, dtype)), R_GlobalEnv));
  for (int64_t i = 0; TYPEOF(sums) == VECSXP && i < r->n; i++) {
    double sum = REAL(VECTOR_ELT(sums, 0))[i];
    if (r->dtype == FLOAT32)
      floats[i] = (float)sum;
    else
      integers[i] = (int32_t)(uint32_t)(int64_t)sum;  // goes round
  }
  r->result = TYPEOF(sums) == VECSXP ? GO_ON : Rf_asInteger(sums);
  UNPROTECT(4);
}

static int32_t on_reduce(void *user, void *values, int64_t n, int32_t dtype) {
  Reduce r = {user, values, n, dtype, FAILED};
  return answer(call_reduce, &r, &r.result);
}

// ---- Logits ---------------------------------------------------------------------------------------------------------

typedef struct {
  SEXP function, lent;
  void *tensor;
  int32_t result;
} Logits;

static void call_logits(void *data) {
  Logits *l = data;
  l->lent = dl4_r_lend(l->tensor);
  R_PreserveObject(l->lent);
  l->result = Rf_asInteger(Rf_eval(PROTECT(Rf_lang2(l->function, l->lent)), R_GlobalEnv));
  UNPROTECT(1);
}

// A tensor that R keeps is a closed one after the call.
static int32_t on_logits(void *user, void *tensor) {
  Logits l = {user, NULL, tensor, FAILED};
  int32_t result = answer(call_logits, &l, &l.result);
  if (l.lent) {
    R_ClearExternalPtr(l.lent);
    R_ReleaseObject(l.lent);
  }
  return result;
}

// ---- Kinds ----------------------------------------------------------------------------------------------------------

enum { MAX_RANK = 8, LISTS = 4 };

// What is asked, "shape", "forward" or "backward", and of which tensors: src, dst, diff_dst, diff_src.
typedef struct {
  SEXP function;
  const char *what, *config;
  void *const *tensors[LISTS];
  int64_t n[LISTS];
  SEXP lent;  // a list of lists of objects, until the call ends
  int32_t result;
} Kind;

static SEXP call_function(const char *what, SEXP function, const char *config, SEXP argument) {
  SEXP name = PROTECT(Rf_mkString(what));
  SEXP text = PROTECT(Rf_ScalarString(Rf_mkCharCE(config, CE_UTF8)));
  SEXP result = Rf_eval(PROTECT(Rf_lang4(function, name, text, argument)), R_GlobalEnv);
  UNPROTECT(3);
  return result;
}

static void call_kind(void *data) {
  Kind *k = data;
  SEXP lent = PROTECT(Rf_allocVector(VECSXP, LISTS));
  R_PreserveObject(lent);
  k->lent = lent;
  for (int l = 0; l < LISTS; l++) {
    SET_VECTOR_ELT(lent, l, Rf_allocVector(VECSXP, k->n[l]));
    for (int64_t i = 0; i < k->n[l]; i++) SET_VECTOR_ELT(VECTOR_ELT(lent, l), i, dl4_r_lend(k->tensors[l][i]));
  }
  k->result = Rf_asInteger(call_function(k->what, k->function, k->config, lent));
  UNPROTECT(1);
}

// A tensor that R keeps is a closed one after the call.
static int32_t kind_answer(Kind *k) {
  int32_t result = answer(call_kind, k, &k->result);
  if (!k->lent) return result;
  for (int l = 0; l < LISTS; l++) {
    SEXP list = VECTOR_ELT(k->lent, l);
    for (R_xlen_t i = 0; list != R_NilValue && i < XLENGTH(list); i++) {
      if (VECTOR_ELT(list, i) != R_NilValue) R_ClearExternalPtr(VECTOR_ELT(list, i));
    }
  }
  R_ReleaseObject(k->lent);
  return result;
}

static int32_t on_forward(void *user, const char *config, void *const *src, int64_t n_src, void *const *dst,
                          int64_t n_dst) {
  Kind k = {user, "forward", config, {src, dst}, {n_src, n_dst}, NULL, FAILED};
  return kind_answer(&k);
}

static int32_t on_backward(void *user, const char *config, void *const *src, int64_t n_src, void *const *dst,
                           void *const *diff_dst, int64_t n_dst, void *const *diff_src) {
  Kind k = {user, "backward", config, {src, dst, diff_dst, diff_src}, {n_src, n_dst, n_dst, n_src}, NULL, FAILED};
  return kind_answer(&k);
}

typedef struct {
  SEXP function;
  const char *config;
  const int32_t *ranks;
  const int64_t *dims;
  int64_t n_src;
  int32_t *out_ranks;
  int64_t *out_dims, n_out;
  int32_t result;
} Shape;

// The function answers by a number, or by as many shapes as are asked for.
static void call_shape(void *data) {
  Shape *s = data;
  SEXP arguments = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(arguments, 0, Rf_allocVector(VECSXP, s->n_src));
  SET_VECTOR_ELT(arguments, 1, Rf_ScalarReal((double)s->n_out));
  const int64_t *dims = s->dims;
  for (int64_t i = 0; i < s->n_src; i++) {
    SEXP shape = Rf_allocVector(REALSXP, s->ranks[i]);
    SET_VECTOR_ELT(VECTOR_ELT(arguments, 0), i, shape);
    for (int32_t d = 0; d < s->ranks[i]; d++) REAL(shape)[d] = (double)*dims++;
  }
  SEXP shapes = PROTECT(call_function("shape", s->function, s->config, arguments));
  for (int64_t i = 0; TYPEOF(shapes) == VECSXP && i < s->n_out; i++) {
    SEXP shape = VECTOR_ELT(shapes, i);
    s->out_ranks[i] = (int32_t)XLENGTH(shape);
    for (int32_t d = 0; d < s->out_ranks[i]; d++) s->out_dims[i * MAX_RANK + d] = (int64_t)REAL(shape)[d];
  }
  s->result = TYPEOF(shapes) == VECSXP ? GO_ON : Rf_asInteger(shapes);
  UNPROTECT(2);
}

static int32_t on_shape(void *user, const char *config, const int32_t *ranks, const int64_t *dims, int64_t n_src,
                        int32_t *out_ranks, int64_t *out_dims, int64_t n_out) {
  Shape s = {user, config, ranks, dims, n_src, out_ranks, out_dims, n_out, FAILED};
  return answer(call_shape, &s, &s.result);
}

static void on_release(void *user) { R_ReleaseObject(user); }

void *dl4_r_callback(const char *name) {
  if (!strcmp(name, "progress")) return (void *)on_progress;
  if (!strcmp(name, "batch")) return (void *)on_batch;
  if (!strcmp(name, "reduce")) return (void *)on_reduce;
  if (!strcmp(name, "release")) return (void *)on_release;
  if (!strcmp(name, "shape")) return (void *)on_shape;
  if (!strcmp(name, "forward")) return (void *)on_forward;
  if (!strcmp(name, "backward")) return (void *)on_backward;
  if (!strcmp(name, "logits")) return (void *)on_logits;
  return NULL;
}
