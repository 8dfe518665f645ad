/* Answers the rows of a table from the standard input, with a model of adult.py that takes columns of strings and numbers
 * by name. The first line has the names, cells have no quotes.  table_serve MODEL.keras < table.csv */
#include <dl4/dl4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, ROWS = 100000 };

static void need(dl4_error *e) {
  if (e) fprintf(stderr, "table_serve: %s\n", dl4_error_message(e)), exit(1);
}

/* The cells of a line in memory of their own; the number of them. */
static int cells_of(const char *line, char **cells) {
  char *copy = malloc(strlen(line) + 1), *at;
  int n = 0;
  if (!copy) exit(1);
  for (at = strcpy(copy, line); n < COLUMNS; ++at) {
    cells[n++] = at;
    at += strcspn(at, ",\r\n");
    if (*at != ',') break;
    *at = 0;
  }
  *at = 0;
  return n;
}

/* Column `at` of the table as the type that an input has. */
static dl4_tensor *column(char *(*table)[COLUMNS], int64_t rows, int at, int32_t dtype) {
  const int64_t dims[2] = {rows, 1};
  const char **texts = malloc((size_t)rows * sizeof *texts);
  float *numbers = malloc((size_t)rows * sizeof *numbers);
  int32_t *integers = malloc((size_t)rows * sizeof *integers);
  dl4_tensor *t;
  int64_t i;
  if (!texts || !numbers || !integers) exit(1);
  for (i = 0; i < rows; ++i) {
    texts[i] = table[i][at];
    numbers[i] = strtof(table[i][at], NULL);
    integers[i] = (int32_t)strtol(table[i][at], NULL, 10);
  }
  if (dtype == DL4_STRING) {
    need(dl4_tensor_from_strings(NULL, 2, dims, texts, NULL, &t));
  } else {
    need(dl4_tensor_create(NULL, dtype, 2, dims, &t));
    need(dl4_tensor_copy_in(t, dtype == DL4_INT32 ? (void *)integers : (void *)numbers, rows * 4));
  }
  free(texts), free(numbers), free(integers);
  return t;
}

int main(int argc, char **argv) {
  static char line[4096], *names[COLUMNS], *table[ROWS][COLUMNS];
  static float answers[ROWS];
  int64_t rows = 0, i;
  dl4_model *model;
  dl4_session *session;
  dl4_tensor *x[COLUMNS], *y = NULL;
  int columns, at;
  if (argc != 2 || !fgets(line, sizeof line, stdin)) return fprintf(stderr, "expected a model, and a table\n"), 1;
  columns = cells_of(line, names);
  while (rows < ROWS && fgets(line, sizeof line, stdin))
    if (cells_of(line, table[rows++]) != columns) return fprintf(stderr, "expected %d cells: %s", columns, line), 1;
  need(dl4_model_load(NULL, argv[1], NULL, &model));
  need(dl4_session_create(model, NULL, &session));
  for (i = 0; i < dl4_port_count(session, DL4_INPUTS); ++i) {
    const char *name = dl4_port_name(session, DL4_INPUTS, i);
    for (at = 0; at < columns && strcmp(names[at], name) != 0; ++at) continue;
    if (at == columns) return fprintf(stderr, "the table has no column %s\n", name), 1;
    x[i] = column(table, rows, at, dl4_port_dtype(session, DL4_INPUTS, i));
  }
  need(dl4_session_run(session, x, i, &y, 1, NULL));
  need(dl4_tensor_copy_out(y, answers, rows * 4));
  for (i = 0; i < rows; ++i) printf("%.9f\n", (double)answers[i]);
  return 0;
}
