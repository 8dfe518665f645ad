/* A whole program: describes a network, trains it on exclusive or, runs it. */
#include <dl4/dl4.h>
#include <stdio.h>
#include <stdlib.h>

static void need(dl4_error *e) {
  if (e) fprintf(stderr, "xor: %s\n", dl4_error_message(e)), exit(1);
}

int main(void) {
  float cases[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  float answers[4] = {0, 1, 1, 0}, out[4];
  const int64_t any[2] = {-1, 2}, x_dims[2] = {4, 2}, y_dims[2] = {4, 1};
  const char *hidden = "{\"units\": 8, \"activation\": \"tanh\"}";
  const char *last = "{\"units\": 1, \"activation\": \"sigmoid\"}";
  const char *how = "{\"loss\": \"BinaryCrossentropy\", \"optimizer\": \"Adam\"}";
  dl4_graph *g;
  dl4_node in, answer;
  dl4_model *model;
  dl4_tensor *x, *y, *p = NULL;
  dl4_dataset *data;
  dl4_trainer *trainer;
  dl4_session *session;
  need(dl4_graph_create(NULL, &g)); /* describe: layers called on symbolic values */
  need(dl4_graph_add_input(g, "x", DL4_FLOAT32, 2, any, &in));
  need(dl4_graph_add(g, "Dense", NULL, hidden, NULL, NULL, &in, 1, &answer, 1));
  need(dl4_graph_add(g, "Dense", NULL, last, NULL, NULL, &answer, 1, &answer, 1));
  need(dl4_graph_build(g, &in, 1, &answer, 1, &model));
  need(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, x_dims, NULL, cases, sizeof cases,
                       NULL, NULL, &x)); /* train */
  need(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, y_dims, NULL, answers, sizeof answers,
                       NULL, NULL, &y));
  need(dl4_dataset_from_tensors(NULL, &x, 1, &y, 1, NULL, 0, NULL, &data));
  need(dl4_trainer_create(model, how, &trainer));
  need(dl4_trainer_set_number(trainer, "learning_rate", 0.05));
  need(dl4_trainer_fit(trainer, data, NULL, "{\"epochs\": 300}", NULL, NULL, NULL,
                       NULL));
  need(dl4_session_create(model, NULL, &session)); /* run and save */
  need(dl4_session_run(session, &x, 1, &p, 1, NULL));
  need(dl4_tensor_copy_out(p, out, sizeof out));
  need(dl4_model_save(model, "xor.safetensors", NULL));
  for (int i = 0; i < 4; ++i)
    printf("%g xor %g = %.3f\n", (double)cases[i][0], (double)cases[i][1],
           (double)out[i]);
  dl4_release(g), dl4_release(model), dl4_release(x), dl4_release(y);
  dl4_release(p), dl4_release(data), dl4_release(trainer), dl4_release(session);
  return !(out[0] < 0.5f && out[1] > 0.5f && out[2] > 0.5f && out[3] < 0.5f);
}
