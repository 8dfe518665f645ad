/* One complete program in C: describes a network, trains it on the four cases of exclusive or, runs and saves it. */
#include <dl4/dl4.h>
#include <stdio.h>

static int bad(dl4_error *e) {
  if (!e) return 0;
  fprintf(stderr, "xor: %s\n", dl4_error_message(e));
  dl4_release(e);
  return 1;
}

int main(void) {
  float cases[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, answers[4] = {0, 1, 1, 0}, out[4];
  const int64_t any[2] = {-1, 2}, x_dims[2] = {4, 2}, y_dims[2] = {4, 1};
  dl4_graph *g = NULL;
  dl4_attrs *hidden = NULL, *last = NULL, *how = NULL, *fit = NULL;
  dl4_model *model = NULL;
  dl4_tensor *x = NULL, *y = NULL, *p = NULL;
  dl4_dataset *data = NULL;
  dl4_trainer *trainer = NULL;
  dl4_session *session = NULL;
  dl4_node in, h, o;
  int i, failed = 1;

  /* describe: a graph of layers called on symbolic values */
  if (bad(dl4_graph_create(NULL, &g)) || bad(dl4_graph_input(g, "x", DL4_FLOAT32, 2, any, &in))) goto done;
  if (bad(dl4_attrs_create(&hidden)) || bad(dl4_attrs_set_i64(hidden, "units", 8)) ||
      bad(dl4_attrs_set_str(hidden, "activation", "tanh")) ||
      bad(dl4_graph_add(g, "Dense", "hidden", hidden, NULL, &in, 1, &h, 1)))
    goto done;
  if (bad(dl4_attrs_create(&last)) ||
      bad(dl4_attrs_merge_json(last, "{\"units\": 1, \"activation\": \"sigmoid\"}")) ||
      bad(dl4_graph_add(g, "Dense", "answer", last, NULL, &h, 1, &o, 1)))
    goto done;
  if (bad(dl4_graph_build(g, &in, 1, &o, 1, &model))) goto done;

  /* train */
  if (bad(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, x_dims, NULL, cases, sizeof cases, NULL, NULL, &x)) ||
      bad(dl4_tensor_wrap(NULL, DL4_FLOAT32, 2, y_dims, NULL, answers, sizeof answers, NULL, NULL, &y)) ||
      bad(dl4_dataset_from_tensors(NULL, &x, 1, &y, 1, NULL, 0, NULL, &data)))
    goto done;
  if (bad(dl4_attrs_create(&how)) ||
      bad(dl4_attrs_merge_json(how, "{\"optimizer\": {\"class_name\": \"Adam\", \"config\": {\"learning_rate\": 0.05}},"
                                    " \"loss\": \"BinaryCrossentropy\"}")) ||
      bad(dl4_trainer_create(model, how, &trainer)))
    goto done;
  if (bad(dl4_attrs_create(&fit)) || bad(dl4_attrs_set_i64(fit, "epochs", 300)) ||
      bad(dl4_trainer_fit(trainer, data, NULL, fit, NULL, NULL, NULL, NULL)))
    goto done;

  /* run and save */
  if (bad(dl4_session_create(model, NULL, &session)) || bad(dl4_session_run(session, &x, 1, &p, 1, NULL)) ||
      bad(dl4_tensor_copy_out(p, out, sizeof out)) || bad(dl4_model_save(model, "xor.safetensors", NULL)))
    goto done;
  failed = 0;
  for (i = 0; i < 4; ++i) {
    printf("%g xor %g = %.3f\n", (double)cases[i][0], (double)cases[i][1], (double)out[i]);
    if ((out[i] > 0.5f) != (answers[i] > 0.5f)) failed = 1;
  }

done: /* in any order; NULL is fine */
  dl4_release(g), dl4_release(hidden), dl4_release(last), dl4_release(how), dl4_release(fit);
  dl4_release(model), dl4_release(x), dl4_release(y), dl4_release(p);
  dl4_release(data), dl4_release(trainer), dl4_release(session);
  return failed;
}
