/* A generative adversarial network: one graph holds a whole step. It draws noise,
 * judges real and made numbers, updates the judge by the gradients of its loss,
 * judges again and updates the generator. */
#include <dl4/dl4.h>
#include <stdio.h>
#include <stdlib.h>

static void need(dl4_error *e) {
  if (!e) return;
  fprintf(stderr, "gan: %s\n", dl4_error_message(e));
  exit(1);
}

/* A layer with one output, called once. */
static dl4_node add(dl4_graph *g, const char *kind, const char *name,
                    const char *json, const dl4_node *in, int64_t n) {
  dl4_node out;
  need(dl4_graph_add(g, kind, name, json, NULL, NULL, in, n, &out, 1));
  return out;
}

/* features -> 16 -> outputs */
static dl4_model *net(const char *last, int64_t features) {
  const int64_t dims[2] = {-1, features};
  dl4_graph *g;
  dl4_node x, h, y;
  dl4_model *m;
  need(dl4_graph_create(NULL, &g));
  need(dl4_graph_add_input(g, "x", DL4_FLOAT32, 2, dims, &x));
  h = add(g, "Dense", "hidden", "{\"units\": 16, \"activation\": \"tanh\"}", &x, 1);
  y = add(g, "Dense", "last", last, &h, 1);
  need(dl4_graph_build(g, &x, 1, &y, 1, &m));
  dl4_release(g);
  return m;
}

/* The model as a layer of the step's graph, with the weights that it has. */
static dl4_layer layer(dl4_graph *g, const char *name, const dl4_model *m) {
  dl4_refs *refs;
  dl4_layer l;
  need(dl4_refs_create(&refs));
  need(dl4_refs_set_model(refs, "model", m));
  need(dl4_graph_add_layer(g, "Functional", name, NULL, refs, &l));
  dl4_release(refs);
  return l;
}

static dl4_node call(dl4_graph *g, dl4_layer l, dl4_node x) {
  dl4_node y;
  need(dl4_graph_call(g, l, NULL, NULL, &x, 1, &y, 1));
  return y;
}

static dl4_node loss(dl4_graph *g, dl4_node truth, dl4_node judged) {
  const dl4_node in[2] = {truth, judged};
  return add(g, "Loss", NULL,
             "{\"loss\": {\"class_name\": \"BinaryCrossentropy\","
             " \"config\": {\"from_logits\": true}}}", in, 2);
}

/* 64 times the same number, as a value that never changes. */
static dl4_node constant(dl4_graph *g, float value) {
  const int64_t dims[2] = {64, 1};
  dl4_tensor *t;
  dl4_node n;
  int i;
  need(dl4_tensor_create(NULL, DL4_FLOAT32, 2, dims, &t));
  for (i = 0; i < 64; ++i) ((float *)dl4_tensor_data(t))[i] = value;
  need(dl4_graph_add_constant(g, NULL, t, &n));
  dl4_release(t);
  return n;
}

/* One update of a model's weights by the gradients of a loss. */
static dl4_node update(dl4_graph *g, const char *optimizer, const char *name,
                       const dl4_model *m, dl4_node loss) {
  const char *adam =
      "{\"optimizer\": {\"class_name\": \"Adam\","
      " \"config\": {\"learning_rate\": 0.005, \"beta_1\": 0.5}}}";
  dl4_node weights[4], gradients[4], done;
  char full[64];
  int64_t i, n = dl4_port_count(m, DL4_WEIGHTS);
  for (i = 0; i < n; ++i) {
    snprintf(full, sizeof full, "%s/%s", name, dl4_port_name(m, DL4_WEIGHTS, i));
    need(dl4_graph_add_weight(g, full, &weights[i]));
  }
  need(dl4_graph_add_gradients(g, NULL, &loss, 1, NULL, weights, n, gradients, n));
  need(dl4_graph_add_update(g, optimizer, adam, -1, weights, n, gradients, n,
                            &done));
  return done;
}

int main(void) {
  const int64_t dims[2] = {64, 1};
  dl4_model *maker = net("{\"units\": 1}", 4), *judge = net("{\"units\": 1}", 1);
  dl4_model *step, *sample;
  dl4_graph *g;
  dl4_layer makes, judges;
  dl4_tensor *real, *out[2] = {NULL, NULL}, *made = NULL;
  dl4_session *steps, *samples;
  dl4_node x, noise, fake, ones, zeros, d_losses[2], d_loss, g_loss, done[2];
  dl4_node outputs[2];
  double mean = 0;
  uint32_t seed = 1;
  int i, j;

  need(dl4_graph_create(NULL, &g));
  makes = layer(g, "maker", maker), judges = layer(g, "judge", judge);
  need(dl4_graph_add_input(g, "real", DL4_FLOAT32, 2, dims, &x));
  noise = add(g, "RandomNormal", "noise", "{\"shape\": [4]}", &x, 1);
  ones = constant(g, 1), zeros = constant(g, 0);
  fake = call(g, makes, noise);
  d_losses[0] = loss(g, ones, call(g, judges, x));
  d_losses[1] = loss(g, zeros, call(g, judges, fake));
  d_loss = add(g, "Add", NULL, "{}", d_losses, 2);
  done[0] = update(g, "judge_optimizer", "judge", judge, d_loss);
  g_loss = loss(g, ones, call(g, judges, fake)); /* by the judge's new weights */
  done[1] = update(g, "maker_optimizer", "maker", maker, g_loss);
  need(dl4_graph_add_after(g, d_loss, done, 2, &outputs[0]));
  outputs[1] = g_loss;
  need(dl4_graph_build(g, &x, 1, outputs, 2, &step));
  need(dl4_session_create(step, NULL, &steps));

  need(dl4_tensor_create(NULL, DL4_FLOAT32, 2, dims, &real));
  for (i = 0; i < 1500; ++i) { /* real numbers lie around 3 */
    for (j = 0; j < 64; ++j) {
      seed = seed * 1664525u + 1013904223u;
      ((float *)dl4_tensor_data(real))[j] = 2.5f + (float)(seed >> 8) / 16777216.0f;
    }
    need(dl4_session_run(steps, &real, 1, out, 2, NULL));
  }

  need(dl4_graph_build(g, &x, 1, &fake, 1, &sample)); /* the generator alone */
  need(dl4_session_create(sample, NULL, &samples));
  need(dl4_session_run(samples, &real, 1, &made, 1, NULL));
  for (j = 0; j < 64; ++j) mean += (double)((float *)dl4_tensor_data(made))[j] / 64;
  printf("losses %.3f and %.3f, made numbers around %.2f\n",
         (double)*(float *)dl4_tensor_data(out[0]),
         (double)*(float *)dl4_tensor_data(out[1]), mean);
  dl4_release(g), dl4_release(maker), dl4_release(judge), dl4_release(step);
  dl4_release(sample), dl4_release(steps), dl4_release(samples), dl4_release(real);
  dl4_release(out[0]), dl4_release(out[1]), dl4_release(made);
  return mean < 2.4 || mean > 3.6;
}
