/* Four layer families learn to tell clothes apart: Dense, Conv2D, LSTM and Attention on Fashion-MNIST, in C99 on dl4.h.
 *
 *   four_layers FOLDER    the folder holds train-* and t10k-* (the full set), or t10k-* alone: then the first 9,000 of
 *                         its 10,000 images are for training and the last 1,000 for the test
 *
 * Each network is described, trained, measured, saved, loaded again and must give the same bits. */
#define _POSIX_C_SOURCE 200809L
#include <dl4/dl4.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h> /* reads the files, compressed or not */

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, EPOCHS = 10, BATCH = 128 };

static dl4_cancel *stop; /* Ctrl-C */

static void interrupted(int signal_number) {
  (void)signal_number;
  dl4_cancel_trigger(stop);
}

/* Every call that can fail returns NULL or an error; here the first one ends the program. */
static void check(dl4_error *e) {
  if (!e) return;
  fprintf(stderr, "four_layers: %s\n", dl4_error_message(e));
  dl4_release(e);
  exit(1);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

typedef struct {
  int64_t n;
  float *images;   /* [n, 28, 28], 0 to 1 */
  int32_t *labels; /* [n], 0 to 9 */
} samples;

static gzFile open_part(const char *folder, const char *name) {
  char path[4096];
  gzFile f;
  snprintf(path, sizeof path, "%s/%s.gz", folder, name);
  f = gzopen(path, "rb");
  if (f) return f;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return gzopen(path, "rb");
}

static int64_t big_endian(gzFile f) {
  unsigned char b[4] = {0, 0, 0, 0};
  if (gzread(f, b, 4) != 4) return -1;
  return ((int64_t)b[0] << 24) | ((int64_t)b[1] << 16) | ((int64_t)b[2] << 8) | (int64_t)b[3];
}

/* Reads the images and labels of a part, "train" or "t10k"; n is 0 if the folder does not have it. */
static samples read_part(const char *folder, const char *part) {
  samples s = {0, NULL, NULL};
  char name[64];
  unsigned char row[PIXELS], label;
  int64_t i, k;
  gzFile images, labels;
  snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
  images = open_part(folder, name);
  snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
  labels = open_part(folder, name);
  if (images && labels) {
    const int good = big_endian(images) == 2051 && big_endian(labels) == 2049;
    s.n = big_endian(images);
    if (!good || s.n <= 0 || s.n > 1000000 || big_endian(labels) != s.n || big_endian(images) != SIDE ||
        big_endian(images) != SIDE) {
      fprintf(stderr, "four_layers: %s/%s-* are not Fashion-MNIST\n", folder, part);
      exit(1);
    }
    s.images = malloc((size_t)s.n * PIXELS * sizeof *s.images);
    s.labels = malloc((size_t)s.n * sizeof *s.labels);
    for (i = 0; i < s.n; ++i) {
      if (!s.images || !s.labels || gzread(images, row, PIXELS) != PIXELS || gzread(labels, &label, 1) != 1) {
        fprintf(stderr, "four_layers: %s/%s-* end too early, or memory does\n", folder, part);
        exit(1);
      }
      for (k = 0; k < PIXELS; ++k) s.images[i * PIXELS + k] = (float)row[k] / 255.0f;
      s.labels[i] = label;
    }
  }
  if (images) gzclose(images);
  if (labels) gzclose(labels);
  return s;
}

/* ---- Networks ---------------------------------------------------------------------------------------------------- */

static dl4_node layer(dl4_graph *g, const char *kind, const char *name, const char *json, const dl4_node *in,
                      int64_t n_in) {
  dl4_node out;
  check(dl4_graph_add(g, kind, name, json, NULL, NULL, in, n_in, &out, 1));
  return out;
}

static dl4_node classes(dl4_graph *g, dl4_node x) {
  return layer(g, "Dense", "output", "{\"units\": 10, \"activation\": \"softmax\"}", &x, 1);
}

/* Every pixel is connected with every unit. */
static dl4_node dense(dl4_graph *g, dl4_node x) {
  x = layer(g, "Flatten", "flatten", "{}", &x, 1);
  x = layer(g, "Dense", "hidden", "{\"units\": 128, \"activation\": \"relu\"}", &x, 1);
  return classes(g, x);
}

/* Small patterns, the same everywhere in the image; then patterns of those. */
static dl4_node convolution(dl4_graph *g, dl4_node x) {
  x = layer(g, "Conv2D", "conv1", "{\"filters\": 16, \"kernel_size\": 3, \"activation\": \"relu\"}", &x, 1);
  x = layer(g, "MaxPooling2D", "pool1", "{\"pool_size\": 2}", &x, 1);
  x = layer(g, "Conv2D", "conv2", "{\"filters\": 32, \"kernel_size\": 3, \"activation\": \"relu\"}", &x, 1);
  x = layer(g, "MaxPooling2D", "pool2", "{\"pool_size\": 2}", &x, 1);
  x = layer(g, "Flatten", "flatten", "{}", &x, 1);
  return classes(g, x);
}

/* Reads the image row by row: 28 time steps of 28 features. */
static dl4_node lstm(dl4_graph *g, dl4_node x) {
  x = layer(g, "LSTM", "lstm", "{\"units\": 64}", &x, 1);
  return classes(g, x);
}

/* Every row asks all rows: a dot-product attention head, and the mean of its answers. */
static dl4_node attention(dl4_graph *g, dl4_node x) {
  dl4_node qvk[3];
  qvk[0] = layer(g, "Dense", "query", "{\"units\": 64}", &x, 1);
  qvk[2] = layer(g, "Dense", "key", "{\"units\": 64}", &x, 1);
  qvk[1] = layer(g, "Dense", "value", "{\"units\": 64, \"activation\": \"relu\"}", &x, 1);
  x = layer(g, "Attention", "attention", "{}", qvk, 3);
  x = layer(g, "GlobalAveragePooling1D", "pool", "{}", &x, 1);
  return classes(g, x);
}

typedef struct {
  const char *name, *input, *bias, *use;
  int32_t rank; /* 4: images [B, 28, 28, 1], 3: rows [B, T = 28, F = 28] */
  dl4_node (*build)(dl4_graph *, dl4_node);
  int64_t parameters; /* and what is measured: */
  double accuracy, seconds, microseconds;
} network;

static dl4_model *build(const network *net) {
  const int64_t dims[4] = {-1, SIDE, SIDE, 1};
  dl4_graph *g = NULL;
  dl4_model *m = NULL;
  dl4_node x, y;
  check(dl4_graph_create(NULL, &g));
  check(dl4_graph_add_input(g, net->input, DL4_FLOAT32, net->rank, dims, &x));
  y = net->build(g, x);
  check(dl4_graph_build(g, &x, 1, &y, 1, &m));
  dl4_release(g);
  return m;
}

static void print_summary(const dl4_model *m) {
  dl4_blob *text = NULL;
  check(dl4_describe(m, DL4_FORMAT_TEXT, &text));
  printf("%s\n", dl4_blob_data(text));
  dl4_release(text);
}

static int64_t count_parameters(const dl4_model *m) {
  int64_t i, total = 0;
  for (i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
    dl4_tensor *w = NULL;
    check(dl4_model_get_weight(m, dl4_port_name(m, DL4_WEIGHTS, i), &w));
    total += dl4_tensor_bytes(w) / (int64_t)sizeof(float);
    dl4_release(w);
  }
  return total;
}

/* ---- Training ---------------------------------------------------------------------------------------------------- */

static dl4_tensor *images_tensor(const network *net, float *data, int64_t n) {
  const int64_t dims[4] = {n, SIDE, SIDE, 1};
  dl4_tensor *t = NULL;
  check(dl4_tensor_wrap(NULL, DL4_FLOAT32, net->rank, dims, NULL, data, n * PIXELS * (int64_t)sizeof *data, NULL, NULL,
                        &t));
  return t;
}

/* Batches of samples; without labels if they are only to be run. */
static dl4_dataset *dataset(const network *net, samples s, int with_labels) {
  dl4_tensor *x = images_tensor(net, s.images, s.n), *y = NULL;
  dl4_dataset *d = NULL;
  char options[64];
  check(dl4_tensor_wrap(NULL, DL4_INT32, 1, &s.n, NULL, s.labels, s.n * (int64_t)sizeof *s.labels, NULL, NULL, &y));
  snprintf(options, sizeof options, "{\"batch_size\": %d}", BATCH);
  check(dl4_dataset_from_tensors(NULL, &x, 1, &y, with_labels ? 1 : 0, NULL, 0, options, &d));
  dl4_release(y);
  dl4_release(x);
  return d;
}

typedef struct {
  double begin, shown;
  int64_t epoch, epochs;
  int terminal;
} watch;

/* A live line in a terminal, a plain one per epoch elsewhere. */
static int32_t show(void *user, int32_t event, int64_t step, int64_t total, const double *m, int64_t n) {
  watch *w = user;
  const double now = seconds(), used = now - w->begin;
  if (event == DL4_EPOCH_BEGIN) w->epoch = step;
  if (event == DL4_BATCH_END && w->terminal && n >= 2 && total > 0 && now - w->shown > 0.1) {
    const double done = ((double)w->epoch + (double)step / (double)total) / (double)w->epochs;
    printf("\r  epoch %2d/%d  %3d%%  loss %.4f  accuracy %.4f  %.0f s left          ", (int)w->epoch + 1,
           (int)w->epochs, (int)(100 * step / total), m[0], m[1], used / done - used);
    fflush(stdout);
    w->shown = now;
  }
  if (event == DL4_EPOCH_END && n >= 4) {
    printf("%s  epoch %2d/%d  loss %.4f  accuracy %.4f  validation loss %.4f  accuracy %.4f  %.0f s left   \n",
           w->terminal ? "\r" : "", (int)step, (int)total, m[0], m[1], m[2], m[3],
           used * (double)(total - step) / (double)step);
    fflush(stdout);
  }
  return 0;
}

static void train(network *net, dl4_model *m, samples learn, samples test) {
  dl4_dataset *train_set = dataset(net, learn, 1), *test_set = dataset(net, test, 1);
  char fit[64];
  dl4_trainer *t = NULL;
  double metrics[2] = {0, 0};
  int64_t n = 0;
  watch w = {0, 0, 0, EPOCHS, 0};
  check(dl4_trainer_create(m,
                           "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.001}},"
                           " \"loss\": \"SparseCategoricalCrossentropy\", \"metrics\": [\"accuracy\"]}",
                           &t));
  snprintf(fit, sizeof fit, "{\"epochs\": %d}", EPOCHS);
  w.terminal = isatty(1);
  w.begin = seconds();
  check(dl4_trainer_fit(t, train_set, test_set, fit, show, &w, stop, NULL));
  net->seconds = seconds() - w.begin;
  check(dl4_trainer_evaluate(t, test_set, stop, metrics, 2, &n));
  net->accuracy = metrics[1];
  dl4_release(t);
  dl4_release(test_set);
  dl4_release(train_set);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static dl4_tensor *predict(const network *net, const dl4_model *m, samples test) {
  dl4_session *s = NULL;
  dl4_dataset *d = dataset(net, test, 0);
  dl4_tensor *y = NULL;
  check(dl4_session_create(m, NULL, &s));
  check(dl4_session_predict(s, d, stop, &y, 1));
  dl4_release(d);
  dl4_release(s);
  return y;
}

/* Saves, loads again and compares what the two models answer, bit by bit. */
static void save_and_load(const network *net, const dl4_model *m, samples test, const char *folder) {
  char path[4096];
  dl4_model *again = NULL;
  dl4_tensor *y, *z;
  snprintf(path, sizeof path, "%s/%s.safetensors", folder, net->name);
  check(dl4_model_save(m, path, NULL));
  check(dl4_model_load(NULL, path, NULL, &again));
  remove(path);
  y = predict(net, m, test);
  z = predict(net, again, test);
  if (dl4_tensor_bytes(y) != test.n * CLASSES * (int64_t)sizeof(float) || dl4_tensor_bytes(z) != dl4_tensor_bytes(y) ||
      memcmp(dl4_tensor_data(y), dl4_tensor_data(z), (size_t)dl4_tensor_bytes(y)) != 0) {
    fprintf(stderr, "four_layers: the %s model answers differently after saving and loading\n", net->name);
    exit(1);
  }
  printf("  saved and loaded: the same bits for %d images\n\n", (int)test.n);
  dl4_release(z);
  dl4_release(y);
  dl4_release(again);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median time of one image at a time, into an output tensor that is used again and again. */
static double microseconds(const network *net, const dl4_model *m, samples test) {
  enum { RUNS = 1000 };
  static double times[RUNS];
  const int64_t dims[2] = {1, CLASSES};
  dl4_session *s = NULL;
  dl4_tensor *y = NULL;
  int i;
  check(dl4_session_create(m, NULL, &s));
  check(dl4_tensor_create(NULL, DL4_FLOAT32, 2, dims, &y));
  for (i = -50; i < RUNS; ++i) {
    dl4_tensor *x = images_tensor(net, test.images + ((i + 50) % test.n) * PIXELS, 1);
    const double begin = seconds();
    check(dl4_session_run(s, &x, 1, &y, 1, NULL));
    if (i >= 0) times[i] = 1e6 * (seconds() - begin);
    dl4_release(x);
  }
  qsort(times, RUNS, sizeof times[0], ascending);
  dl4_release(y);
  dl4_release(s);
  return times[RUNS / 2];
}

int main(int argc, char **argv) {
  network nets[4] = {
      {"dense", "image", "none", "data without structure (tables)", 4, dense, 0, 0, 0, 0},
      {"convolution", "image", "local, spatial patterns", "spatial structure (images)", 4, convolution, 0, 0, 0, 0},
      {"lstm", "rows", "sequences and memory", "sequential structure", 3, lstm, 0, 0, 0, 0},
      {"attention", "rows", "similarity, limited flow", "sequential structure", 3, attention, 0, 0, 0, 0}};
  char folder[] = "/tmp/four_layers.XXXXXX";
  samples learn, test, test_part;
  int i, v;
  if (argc != 2) {
    fprintf(stderr, "usage: four_layers FOLDER (with the files of Fashion-MNIST)\n");
    return 2;
  }
  learn = read_part(argv[1], "train");
  test_part = read_part(argv[1], "t10k");
  test = test_part;
  if (test.n == 0 || (learn.n == 0 && test.n < 10000)) {
    fprintf(stderr, "four_layers: no t10k-images-idx3-ubyte(.gz) and -labels-idx1-ubyte(.gz) in %s\n", argv[1]);
    return 1;
  }
  if (learn.n == 0) {
    learn = test;
    learn.n = 9000;
    test.n -= learn.n;
    test.images += learn.n * PIXELS;
    test.labels += learn.n;
  }
  if (!mkdtemp(folder)) {
    perror("four_layers: /tmp");
    return 1;
  }
  v = dl4_version();
  check(dl4_cancel_create(&stop));
  signal(SIGINT, interrupted);
  printf("libdl4 %d.%d.%d: %d training images, %d test images\n\n", v / 1000000, v / 1000 % 1000, v % 1000,
         (int)learn.n, (int)test.n);
  for (i = 0; i < 4; ++i) {
    dl4_model *m = build(&nets[i]);
    printf("%s\n", nets[i].name);
    print_summary(m);
    nets[i].parameters = count_parameters(m);
    train(&nets[i], m, learn, test);
    save_and_load(&nets[i], m, test, folder);
    nets[i].microseconds = microseconds(&nets[i], m, test);
    dl4_release(m);
  }
  rmdir(folder);
  printf("%-12s %10s %14s %17s %22s  %-24s %s\n", "layer", "parameters", "test accuracy", "seconds to train",
         "us per image, batch 1", "inductive bias", "when to use");
  for (i = 0; i < 4; ++i) {
    printf("%-12s %10d %14.4f %17.1f %22.1f  %-24s %s\n", nets[i].name, (int)nets[i].parameters, nets[i].accuracy,
           nets[i].seconds, nets[i].microseconds, nets[i].bias, nets[i].use);
  }
  dl4_release(stop);
  if (learn.images != test_part.images) {
    free(learn.images);
    free(learn.labels);
  }
  free(test_part.images);
  free(test_part.labels);
  return 0;
}
