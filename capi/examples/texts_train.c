/* Trains a classifier of texts: lines "label<tab>text", label 0 or 1, from a file into a .keras file. The vocabulary is
 * learned first, and saved with the model, which takes texts as they are.  texts_train LINES MODEL.keras */
#include <dl4/dl4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000, WIDEST = 4096 };

static void need(dl4_error *e) {
  if (e) fprintf(stderr, "texts_train: %s\n", dl4_error_message(e)), exit(1);
}

/* The texts [n] of a file's lines, and their labels. */
static int64_t read_lines(const char *path, char **texts, float *labels) {
  static char line[WIDEST];
  int64_t n = 0;
  FILE *file = fopen(path, "r");
  if (!file) perror(path), exit(1);
  while (n < MOST && fgets(line, sizeof line, file)) {
    char *tab = strchr(line, '\t');
    size_t size;
    if (!tab) continue;
    size = strcspn(tab + 1, "\r\n");
    texts[n] = malloc(size + 1);
    if (!texts[n]) exit(1);
    memcpy(texts[n], tab + 1, size);
    texts[n][size] = 0;
    labels[n++] = (float)atof(line);
  }
  fclose(file);
  return n;
}

int main(int argc, char **argv) {
  static char *texts[MOST];
  static float labels[MOST];
  const int64_t n = argc == 3 ? read_lines(argv[1], texts, labels) : 0, dims[2] = {n, 1}, any[2] = {-1, 1};
  const char *how = "{\"loss\": \"BinaryCrossentropy\", \"optimizer\": \"Adam\", \"metrics\": [\"accuracy\"]}";
  const char *layers[][2] = {{"Embedding", "{\"input_dim\": 5000, \"output_dim\": 16, \"mask_zero\": true}"},
                             {"GlobalAveragePooling1D", NULL},
                             {"Dense", "{\"units\": 1, \"activation\": \"sigmoid\"}"}};
  dl4_graph *g;
  dl4_node in, y;
  dl4_model *model;
  dl4_tensor *x, *t;
  dl4_dataset *lines, *data;
  dl4_blob *learned;
  dl4_trainer *trainer;
  double metrics[2];
  size_t i;
  if (n == 0) return fprintf(stderr, "expected a file with lines \"label<tab>text\", and a name.keras\n"), 1;
  need(dl4_tensor_from_strings(NULL, 2, dims, (const char *const *)texts, NULL, &x));
  need(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, dims, NULL, labels, n * (int64_t)sizeof *labels, NULL, NULL, &t));
  need(dl4_dataset_from_tensors(NULL, &x, 1, NULL, 0, NULL, 0, NULL, &lines));
  need(dl4_adapt(NULL, "TextVectorization", "{\"max_tokens\": 5000, \"output_sequence_length\": 64}", lines, NULL,
                 &learned));
  need(dl4_graph_create(NULL, &g));
  need(dl4_graph_add_input(g, "text", DL4_STRING, 2, any, &in));
  need(dl4_graph_add(g, "TextVectorization", NULL, dl4_blob_data(learned), NULL, NULL, &in, 1, &y, 1));
  for (i = 0; i < sizeof layers / sizeof *layers; ++i)
    need(dl4_graph_add(g, layers[i][0], NULL, layers[i][1], NULL, NULL, &y, 1, &y, 1));
  need(dl4_graph_build(g, &in, 1, &y, 1, &model));
  need(dl4_dataset_from_tensors(NULL, &x, 1, &t, 1, NULL, 0, NULL, &data));
  need(dl4_trainer_create(model, how, &trainer));
  need(dl4_trainer_set_number(trainer, "learning_rate", 0.01));
  need(dl4_trainer_fit(trainer, data, NULL, "{\"epochs\": 10}", NULL, NULL, NULL, NULL));
  need(dl4_trainer_evaluate(trainer, data, NULL, metrics, 2, NULL));
  need(dl4_model_save(model, argv[2], NULL));
  printf("%d lines, accuracy %.3f\n", (int)n, metrics[1]);
  return 0;
}
