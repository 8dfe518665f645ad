/* The article's own numbers: its Dense, Conv2D and LSTM listings with NumPy's and TensorFlow's random numbers of seed
 * 42. Prints each value beside the printed one; the exit status is 1 if any differs by more than 1e-6. */
#include <dl4/dl4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(dl4_error *e) {
  if (!e) return;
  fprintf(stderr, "article: %s\n", dl4_error_message(e));
  dl4_release(e);
  exit(1);
}

/* ---- np.random.seed(42); np.random.rand(n): the Mersenne twister, 53 bits a number ---- */

static uint32_t state[624];
static int used;

static void np_seed(uint32_t seed) {
  uint32_t i;
  state[0] = seed;
  for (i = 1; i < 624; ++i) state[i] = 1812433253u * (state[i - 1] ^ (state[i - 1] >> 30)) + i;
  used = 624;
}

static uint32_t np_bits(void) {
  uint32_t y;
  if (used == 624) {
    int i;
    for (i = 0; i < 624; ++i) {
      y = (state[i] & 0x80000000u) | (state[(i + 1) % 624] & 0x7fffffffu);
      state[i] = state[(i + 397) % 624] ^ (y >> 1) ^ (y & 1u ? 0x9908b0dfu : 0u);
    }
    used = 0;
  }
  y = state[used++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

static dl4_tensor *np_rand(int32_t rank, const int64_t *dims) {
  dl4_tensor *t = NULL;
  float *data;
  int64_t i, n;
  check(dl4_tensor_create(NULL, DL4_FLOAT32, rank, dims, &t));
  data = dl4_tensor_data(t);
  n = dl4_tensor_bytes(t) / (int64_t)sizeof *data;
  np_seed(42);
  for (i = 0; i < n; ++i) {
    const uint32_t a = np_bits() >> 5, b = np_bits() >> 6;
    data[i] = (float)((a * 67108864.0 + b) / 9007199254740992.0);
  }
  return t;
}

/* ---- tf.random.set_seed(42): a context ---- */

static dl4_graph *tf_graph(void) {
  dl4_context *c = NULL;
  dl4_graph *g = NULL;
  check(dl4_context_create("{\"seed\": 42, \"seed_scheme\": \"tensorflow\"}", &c));
  check(dl4_graph_create(c, &g));
  dl4_release(c); /* the graph keeps it */
  return g;
}

static dl4_node layer(dl4_graph *g, const char *kind, const char *json, dl4_node in) {
  dl4_node out;
  check(dl4_graph_add(g, kind, NULL, json, NULL, NULL, &in, 1, &out, 1));
  return out;
}

static double worst;

/* mdl = Model(inputs=inp, outputs=out); mdl(x) */
static void compare(const char *title, dl4_graph *g, dl4_node in, dl4_node out, dl4_tensor *x, const double *printed,
                    int n) {
  dl4_model *m = NULL;
  dl4_session *s = NULL;
  dl4_tensor *y = NULL;
  float got[24];
  int i;
  check(dl4_graph_build(g, &in, 1, &out, 1, &m));
  check(dl4_session_create(m, NULL, &s));
  check(dl4_session_run(s, &x, 1, &y, 1, NULL));
  check(dl4_tensor_copy_out(y, got, n * (int64_t)sizeof got[0]));
  printf("%s\n%15s %15s %12s\n", title, "libdl4", "the article", "difference");
  for (i = 0; i < n; ++i) {
    const double difference = fabs((double)got[i] - printed[i]);
    printf("%15.8f %15.8f %12.1e\n", (double)got[i], printed[i], difference);
    if (!(difference <= worst) && !isnan(worst)) worst = difference; /* a NaN stays */
  }
  dl4_release(y);
  dl4_release(s);
  dl4_release(m);
  dl4_release(g);
}

static dl4_node input(dl4_graph *g, const dl4_tensor *x) {
  int64_t dims[4] = {-1, 0, 0, 0};
  dl4_node in;
  int32_t i;
  for (i = 1; i < dl4_tensor_rank(x); ++i) dims[i] = dl4_tensor_dims(x)[i];
  check(dl4_graph_add_input(g, NULL, DL4_FLOAT32, dl4_tensor_rank(x), dims, &in));
  return in;
}

static void dense_listing(void) {
  static const double printed[8] = {0.23494382, -0.40392348, 0.10658629, -0.31808627,
                                    0.42371386, -0.46299127, 0.34416917, -0.11493915};
  const int64_t dims[4] = {4, 32, 32, 3};
  dl4_tensor *x = np_rand(4, dims);
  dl4_graph *g = tf_graph();
  const dl4_node in = input(g, x);
  const dl4_node hidden = layer(g, "Dense", "{\"units\": 8, \"activation\": \"relu\"}", in);
  const dl4_node flat = layer(g, "Flatten", "{}", hidden);
  compare("Dense", g, in, layer(g, "Dense", "{\"units\": 2}", flat), x, printed, 8);
  dl4_release(x);
}

/* The listing says softmax, but what it prints are the logits; its unused Dense(8) draws a seed all the same. */
static void conv2d_listing(void) {
  static const double printed[8] = {-0.39803684, -0.08939186, -0.48165476, -0.28876644,
                                    -0.32680377, -0.24380796, -0.45394567, -0.28233868};
  const int64_t dims[4] = {4, 32, 32, 3};
  dl4_tensor *x = np_rand(4, dims);
  dl4_graph *g = tf_graph();
  const dl4_node in = input(g, x);
  const dl4_node conv = layer(g, "Conv2D", "{\"filters\": 8, \"kernel_size\": [3, 3], \"activation\": \"relu\"}", in);
  const dl4_node flat = layer(g, "Flatten", "{}", conv);
  (void)layer(g, "Dense", "{\"units\": 8, \"activation\": \"relu\"}", flat);
  compare("Conv2D", g, in, layer(g, "Dense", "{\"units\": 2}", flat), x, printed, 8);
  dl4_release(x);
}

static void lstm_listing(void) {
  static const double last[8] = {-0.06428523, 0.3131591,  -0.04120642, 0.3528567,
                                 -0.04273851, 0.37192333, 0.03797218,  0.33612275};
  static const double sequences[24] = {
      -0.08234972, 0.12292314,  -0.05217044, 0.19100665, -0.06428523, 0.3131591,  /* sample 0 */
      0.0381453,   0.26402596,  0.04725918,  0.34620702, -0.04120642, 0.3528567,  /* sample 1 */
      -0.21114576, 0.08922277,  -0.02972354, 0.24037611, -0.04273851, 0.37192333, /* sample 2 */
      -0.06888272, -0.01702049, 0.0117887,   0.10608622, 0.03797218,  0.33612275};
  const int64_t dims[3] = {4, 3, 32};
  dl4_tensor *x = np_rand(3, dims);
  dl4_graph *g = tf_graph();
  dl4_node in = input(g, x);
  dl4_node h = layer(g, "LSTM", "{\"units\": 8}", in);
  compare("LSTM", g, in, layer(g, "Dense", "{\"units\": 2}", h), x, last, 8);
  g = tf_graph(); /* the listing sets the seed again */
  in = input(g, x);
  h = layer(g, "LSTM", "{\"units\": 8, \"return_sequences\": true}", in);
  compare("LSTM, return_sequences=True", g, in, layer(g, "Dense", "{\"units\": 2}", h), x, sequences, 24);
  dl4_release(x);
}

int main(void) {
  dense_listing();
  conv2d_listing();
  lstm_listing();
  printf("largest difference of the article's 40 values (and the LSTM's last steps once more): %.1e\n", worst);
  if (worst <= 1e-6) return 0;
  printf("that is more than 1e-6\n");
  return 1;
}
