/* A host that has functions of its own with the names of zlib's and OpenBLAS's, all wrong, and its own malloc() and
 * memcpy(): files and numbers are as without. `interposer DEFLATED.keras FOLDER` */
#define _POSIX_C_SOURCE 200809L
#include <dl4/dl4.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long wrong_calls, allocations;

/* ---- zlib's names ---- */
static int wrong(void) { return ++wrong_calls, -6; }
unsigned long crc32(unsigned long sum, const unsigned char *p, unsigned n) { return (void)p, (void)n, wrong(), sum + 1; }
unsigned long crc32_z(unsigned long sum, const unsigned char *p, size_t n) { return (void)p, (void)n, wrong(), sum + 1; }
unsigned long adler32(unsigned long sum, const unsigned char *p, unsigned n) {
  return (void)p, (void)n, wrong(), sum + 1;
}
int inflate(void *z, int flush) { return (void)z, (void)flush, wrong(); }
int inflateInit_(void *z, const char *version, int size) { return (void)z, (void)version, (void)size, wrong(); }
int inflateInit2_(void *z, int bits, const char *version, int size) {
  return (void)z, (void)bits, (void)version, (void)size, wrong();
}
int inflateEnd(void *z) { return (void)z, wrong(); }
int deflate(void *z, int flush) { return (void)z, (void)flush, wrong(); }
int deflateEnd(void *z) { return (void)z, wrong(); }
int uncompress(unsigned char *to, unsigned long *n, const unsigned char *from, unsigned long size) {
  return (void)to, (void)n, (void)from, (void)size, wrong();
}
int compress(unsigned char *to, unsigned long *n, const unsigned char *from, unsigned long size) {
  return (void)to, (void)n, (void)from, (void)size, wrong();
}

/* ---- A BLAS of the host's, with arguments that nobody else has ---- */
void cblas_sgemm(void) { wrong(); }
void cblas_sgemv(void) { wrong(); }
void sgemm_(void) { wrong(); }
void sgemv_(void) { wrong(); }

/* ---- The C library's, right ---- */
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  for (size_t i = 0; i < n; ++i) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
void *malloc(size_t n) { return __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED), __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
void *memalign(size_t align, size_t n) { return __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return __libc_memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) { return (*p = __libc_memalign(align, n)) ? 0 : ENOMEM; }
void free(void *p) { __libc_free(p); }

enum { rows = 64, columns = 8, depth = 96 };  // OpenBLAS computes products of few columns
static float x[rows * depth], kernel[depth * columns], expected[rows * columns];

static void need(dl4_error *e, const char *what) {
  if (!e) return;
  fprintf(stderr, "interposer: %s: %s\n", what, dl4_error_message(e));
  exit(1);
}

static void fail(const char *what) {
  fprintf(stderr, "interposer: %s\n", what);
  exit(1);
}

/* The first n rows, as this session computes them. */
static void run(dl4_session *s, int n, const char *what) {
  const int64_t dims[2] = {n, depth};
  static float y[rows * columns];
  dl4_tensor *in, *out = NULL;
  need(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, dims, NULL, x, (size_t)n * depth * sizeof *x, NULL, NULL, &in), what);
  need(dl4_session_run(s, &in, 1, &out, 1, NULL), what);
  need(dl4_tensor_copy_out(out, y, (size_t)n * columns * sizeof *y), what);
  for (int i = 0; i < n * columns; ++i)
    if (!(fabsf(y[i] - expected[i]) <= 1e-4f)) {
      fprintf(stderr, "interposer: %s, %d rows: number %d is %g, not %g\n", what, n, i, (double)y[i], (double)expected[i]);
      exit(1);
    }
  dl4_release(in);
  dl4_release(out);
}

static void run_model(const dl4_model *m, const char *what, const char *kernel) {
  dl4_session *s;
  need(dl4_session_create(m, NULL, &s), what);
  run(s, rows, what);
  run(s, 1, what);
  dl4_blob *plans;
  need(dl4_describe(s, DL4_FORMAT_JSON, &plans), what);
  if (kernel && !strstr(dl4_blob_data(plans), kernel)) fail("OpenBLAS was not called");
  dl4_release(plans), dl4_release(s);
}

static dl4_model *dense(dl4_context *c) {
  const int64_t dims[2] = {-1, depth}, kernel_dims[2] = {depth, columns};
  dl4_graph *g;
  dl4_node in, out;
  dl4_model *m;
  dl4_tensor *w;
  char config[200];
  need(dl4_graph_create(c, &g), "graph");
  need(dl4_graph_add_input(g, "x", DL4_FLOAT32, 2, dims, &in), "input");
  snprintf(config, sizeof config, "{\"units\": %d, \"use_bias\": false}", (int)columns);
  need(dl4_graph_add(g, "Dense", "dense", config, NULL, NULL, &in, 1, &out, 1), "Dense");
  need(dl4_graph_build(g, &in, 1, &out, 1, &m), "model");
  need(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, kernel_dims, NULL, kernel, sizeof kernel, NULL, NULL, &w), "kernel");
  need(dl4_model_set_weight(m, "dense/kernel", w), "kernel");
  dl4_release(w), dl4_release(g);
  return m;
}

int main(int argc, char **argv) {
  static const char by_openblas[] =
      "{\"kernels_off\": [\"packed_gemm\", \"blocked_gemm\", \"small_gemm\", \"dnnl_gemm\", \"amx_gemm\"]}";
  static const char *const files[] = {"interposed.keras", "interposed.safetensors"};
  dl4_context *c;
  dl4_model *m, *again;
  dl4_blob *info;
  char path[4096];
  if (argc != 3) fail("interposer DEFLATED.keras FOLDER");
  for (int i = 0; i < rows * depth; ++i) x[i] = (float)(i * 37 % 101 - 50) / 50;
  for (int i = 0; i < depth * columns; ++i) kernel[i] = (float)(i * 53 % 97 - 48) / 48;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += (double)x[i * depth + k] * kernel[k * columns + j];
      expected[i * columns + j] = (float)sum;
    }
  need(dl4_build_info(&info), "build info");
  const char *openblas = strstr(dl4_blob_data(info), "\"openblas\":");
  const int used = openblas && !strstr(openblas, "not used"); /* older than this processor's vectors */
  dl4_release(info);
  m = dense(NULL);
  run_model(m, "the default kernels", NULL);
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
    snprintf(path, sizeof path, "%s/%s", argv[2], files[i]);
    need(dl4_model_save(m, path, NULL), path);
    need(dl4_model_load(NULL, path, NULL, &again), path);
    run_model(again, path, NULL);
    dl4_release(again);
  }
  dl4_release(m);
  need(dl4_model_load(NULL, argv[1], NULL, &again), argv[1]);
  dl4_release(again);
  need(dl4_api_description(&info), "description");
  dl4_release(info);
  if (used) {
    need(dl4_context_create(by_openblas, &c), "context");
    m = dense(c);
    run_model(m, "OpenBLAS", "openblas_gemm");
    dl4_release(m), dl4_release(c);
  }
  if (wrong_calls) fail("the library called a function of this program");
  if (!allocations) fail("the library does not allocate by the program's malloc()");
  printf("ok%s\n", used ? ", by OpenBLAS too" : ", without OpenBLAS");
  return 0;
}
