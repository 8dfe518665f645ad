/* Answers texts from the standard input line by line, with a model of texts_train.c.  texts_serve MODEL.keras */
#include <dl4/dl4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(dl4_error *e) {
  if (e) fprintf(stderr, "texts_serve: %s\n", dl4_error_message(e)), exit(1);
}

int main(int argc, char **argv) {
  static char line[4096];
  const int64_t one[2] = {1, 1};
  const char *text = line;
  float answer;
  dl4_model *model;
  dl4_session *session;
  if (argc != 2) return fprintf(stderr, "expected a model\n"), 1;
  need(dl4_model_load(NULL, argv[1], NULL, &model));
  need(dl4_session_create(model, NULL, &session));
  while (fgets(line, sizeof line, stdin)) {
    dl4_tensor *x, *y = NULL;
    line[strcspn(line, "\r\n")] = 0;
    need(dl4_tensor_from_strings(NULL, 2, one, &text, NULL, &x));
    need(dl4_session_run(session, &x, 1, &y, 1, NULL));
    need(dl4_tensor_copy_out(y, &answer, sizeof answer));
    printf("%.3f\t%s\n", (double)answer, line);
    fflush(stdout);
    dl4_release(x), dl4_release(y);
  }
  dl4_release(session), dl4_release(model);
  return 0;
}
