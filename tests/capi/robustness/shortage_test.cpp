// Every allocation of a call fails, one after the other: once, and with all those after it.
#include <functional>

#include "capi/step.hpp"
#include "harness/failing_new.hpp"
#include "harness/folder.hpp"

// Memory of tensors; it is freed by free().
extern "C" void *aligned_alloc(size_t align, size_t n) {
  void *p = nullptr;
  return !dl4_test::next_is_granted() || posix_memalign(&p, align, n) ? nullptr : p;
}

namespace dl4_test::DL4_FILE {
namespace {

class Shortage : public Folder {
 protected:
  // oneDNN's own allocations are not the library's to survive.
  static Own<dl4_context> context() {
    Own<dl4_context> c;
    const std::string off = of_build({"dnnl_conv", "dnnl_conv_data", "dnnl_conv_weights", "dnnl_gemm", "dnnl_lstm"});
    ok(dl4_context_create((R"({"threads": 1, "kernels_off": )" + off + "}").c_str(), c.out()));
    return c;
  }

  // x [B, 6, 4] -> LSTM -> Dropout -> Flatten -> Dense [B, 3].
  static Own<dl4_graph> graph(dl4_context *c, dl4_node *x, dl4_node *y) {
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    *x = input(g, "x", {-1, 6, 4});
    *y = add(g, "LSTM", "a layer with a long name", R"({"units": 5, "return_sequences": true})", *x);
    *y = add(g, "Dropout", nullptr, R"({"rate": 0.4})", *y);
    *y = add(g, "Flatten", nullptr, "{}", *y);
    *y = add(g, "Dense", nullptr, R"({"units": 3, "activation": "relu", "kernel_regularizer": "l2"})", *y);
    return g;
  }
  static Own<dl4_model> model(dl4_context *c) {
    dl4_node x = -1, y = -1;
    Own<dl4_graph> g = graph(c, &x, &y);
    Own<dl4_model> m;
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    return m;
  }

  // `call` and all that it makes and frees, with each allocation failing in turn. It must end in success or in
  // OUT_OF_MEMORY, leave no block behind, and work when there is memory again.
  static void walk(const char *name, const std::function<dl4_error *()> &call) {
    SCOPED_TRACE(name);
    ok(call());  // what is made once in a process is there
    for (bool stay_short : {false, true}) {
      const int step = times(7, 1);
      int64_t points = 0;
      for (bool failed = true; failed; points += step) {
        const int64_t blocks = blocks_now;
        news_stay_short = stay_short;
        news_granted = points;
        dl4_error *error = call();
        const bool was_short = stay_short ? news_granted == 0 : news_granted < 0;
        news_granted = -1;
        news_stay_short = false;
        const int32_t code = dl4_error_code(error);
        const std::string message = dl4_error_message(error);
        dl4_release(error);
        ASSERT_TRUE(code == DL4_OK || code == DL4_OUT_OF_MEMORY) << "allocation " << points << ": " << message;
        ASSERT_EQ(blocks_now - blocks, 0) << "allocation " << points << (stay_short ? " and all after it" : "");
        failed = was_short;
      }
      EXPECT_GT(points, 10);
      ok(call());
    }
  }
};

#define DL4_TRY(call) \
  if (dl4_error *e = (call)) return e

TEST_F(Shortage, Refs) {
  Own<dl4_model> inner = small_net();
  walk("refs", [&]() -> dl4_error * {
    Own<dl4_refs> r;
    Own<dl4_graph> g;
    const dl4_node nodes[] = {1, 2};
    dl4_layer layer = -1;
    DL4_TRY(dl4_refs_create(r.out()));
    DL4_TRY(dl4_refs_set_model(r, "layer/config/layer", inner));
    DL4_TRY(dl4_graph_create(nullptr, g.out()));
    DL4_TRY(dl4_graph_add_layer(g, "TimeDistributed", "a name of more than fourteen bytes",
                                R"({"layer": {"class_name": "TimeDistributed", "config": {}}})", r, &layer));
    DL4_TRY(dl4_refs_set_nodes(r, "some nodes", nodes, 2));
    Own<dl4_blob> json, text;
    DL4_TRY(dl4_describe(r, DL4_FORMAT_JSON, json.out()));
    return dl4_describe(r, DL4_FORMAT_TEXT, text.out());
  });
  // Nothing has changed where a call failed.
  Own<dl4_refs> r = refs("k", {3});
  for (int64_t n = 0;; ++n) {
    news_granted = n;
    dl4_error *e = dl4_refs_set_model(r, "a key of more than fourteen bytes", inner);
    news_granted = -1;
    Own<dl4_blob> json;
    ok(dl4_describe(r, DL4_FORMAT_JSON, json.out()));
    if (!e) break;
    dl4_release(e);
    ASSERT_STREQ(dl4_blob_data(json), R"({"models":{},"nodes":{"k":[3]}})") << n;
  }
}

TEST_F(Shortage, Graphs) {
  Own<dl4_context> c = context();
  const int64_t dims[] = {-1, 6, 4};
  const char *lstm = R"({"units": 5, "return_sequences": true})",
             *dense = R"({"units": 3, "activation": "relu", "kernel_regularizer": "l2"})";
  std::string architecture;
  auto make = [&]() -> dl4_error * {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    Own<dl4_blob> json, text, dot;
    dl4_node x = -1, y = -1;
    DL4_TRY(dl4_graph_create(c, g.out()));
    DL4_TRY(dl4_graph_add_input(g, "x", DL4_FLOAT32, 3, dims, &x));
    DL4_TRY(dl4_graph_add(g, "LSTM", "a layer with a long name", lstm, nullptr, nullptr, &x, 1, &y, 1));
    DL4_TRY(dl4_graph_add(g, "Dense", nullptr, dense, nullptr, nullptr, &y, 1, &y, 1));
    DL4_TRY(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    DL4_TRY(dl4_describe(m, DL4_FORMAT_TEXT, text.out()));
    DL4_TRY(dl4_describe(m, DL4_FORMAT_DOT, dot.out()));
    DL4_TRY(dl4_describe(m, DL4_FORMAT_JSON, json.out()));
    if (architecture.empty()) architecture = dl4_blob_data(json);
    return nullptr;
  };
  walk("build", make);
  walk("merge", [&]() -> dl4_error * {
    Own<dl4_graph> g;
    Own<dl4_model> m;
    DL4_TRY(dl4_graph_create(c, g.out()));
    DL4_TRY(dl4_graph_add_json(g, architecture.c_str()));
    return dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out());
  });
}

// A run of known shapes into given outputs allocates nothing, gradients, dropout and cotangents included.
TEST_F(Shortage, RunsOfKnownShapesNeedNone) {
  Own<dl4_context> c = context();
  Own<dl4_model> m = model(c);
  Own<dl4_session> s;
  ok(dl4_session_create(m, R"({"gradients": ["x", "dense/kernel"], "cotangents": true, "training": true})", s.out()));
  auto x = tensor({4, 6, 4}, numbers(96)), cotangent = tensor({4, 3}, numbers(12));
  dl4_tensor *const in[] = {x, cotangent};
  dl4_tensor *out[3] = {};
  ok(dl4_session_run(s, in, 2, out, 3, nullptr));
  Own<dl4_tensor> made[] = {out[0], out[1], out[2]};
  ok(dl4_session_run(s, in, 2, out, 3, nullptr));
  news_stay_short = true;
  news_granted = 0;
  dl4_error *error = dl4_session_run(s, in, 2, out, 3, nullptr);
  news_granted = -1;
  news_stay_short = false;
  ok(error);
}

// Nor does a step of a stream.
TEST_F(Shortage, StepsOfStreamsNeedNone) {
  Own<dl4_context> c = context();
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_graph_create(c, g.out()));
  const dl4_node x = input(g, "x", {-1, -1, 4});
  const dl4_node y = add(g, "LSTM", nullptr, R"({"units": 5, "return_sequences": true})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, R"({"states": true})", s.out()));
  for (int64_t batch : {1, 2}) {
    Own<dl4_stream> stream;
    const std::string options = "{\"batch\": " + std::to_string(batch) + "}";
    auto from = tensor({batch, 3, 4}, numbers(static_cast<size_t>(12 * batch)));
    dl4_tensor *const in[] = {from};
    dl4_tensor *out[] = {nullptr};
    walk("stream", [&]() -> dl4_error * {
      Own<dl4_stream> one;
      Own<dl4_blob> bytes;
      DL4_TRY(dl4_stream_create(s, options.c_str(), one.out()));
      DL4_TRY(dl4_stream_save_bytes(one, bytes.out()));
      return dl4_stream_load_bytes(one, dl4_blob_data(bytes), dl4_blob_size(bytes));
    });
    ok(dl4_stream_create(s, options.c_str(), stream.out()));
    ok(dl4_stream_run(stream, in, 1, out, 1, nullptr));
    Own<dl4_tensor> made(out[0]);
    news_stay_short = true;
    news_granted = 0;
    dl4_error *error = dl4_stream_run(stream, in, 1, out, 1, nullptr);
    news_granted = -1;
    news_stay_short = false;
    ok(error);
  }
}

// Nor does a step that a graph describes, with a model inside it.
TEST_F(Shortage, StepsOfGraphsNeedNone) {
  Own<dl4_context> c = context();
  Own<dl4_model> net = small_net(c);
  Step g(c);
  const dl4_node x = g.in("x", {-1, 4}), y = g.in("y", {-1, 3});
  const dl4_node noisy =
      g.call("GaussianNoise", R"({"stddev": 0.1})", {g.model(net, "net", x)}, nullptr, R"({"training": true})");
  const dl4_node loss = g.call("Loss", R"({"loss": "MeanSquaredError"})", {y, noisy});
  const Nodes weights = g.weights(net, "net");
  const dl4_node done = g.update("optimizer", R"({"optimizer": "Adam"})", weights, g.gradients({loss}, weights));
  Own<dl4_model> m = g.build({x, y}, {g.after(loss, {done})});
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  auto given = tensor({4, 4}, numbers(16)), target = tensor({4, 3}, numbers(12));
  dl4_tensor *const in[] = {given, target};
  dl4_tensor *out[] = {nullptr};
  ok(dl4_session_run(s, in, 2, out, 1, nullptr));
  Own<dl4_tensor> made(out[0]);
  news_stay_short = true;
  news_granted = 0;
  dl4_error *error = dl4_session_run(s, in, 2, out, 1, nullptr);
  news_granted = -1;
  news_stay_short = false;
  ok(error);
}

TEST_F(Shortage, GradientsAndMeasures) {
  Own<dl4_context> c = context();
  Own<dl4_model> m = model(c);
  const char *how = R"({"gradients": ["x", "dense/kernel"], "cotangents": true, "training": true})",
             *none = R"({"reduction": "none"})";
  auto x = tensor({4, 6, 4}, numbers(96)), y = tensor({4, 3}, numbers(12));
  dl4_tensor *const in[] = {x, y};
  walk("gradients", [&]() -> dl4_error * {
    Own<dl4_session> s;
    Own<dl4_blob> json;
    const int32_t ranks[] = {3, 2};
    const int64_t shapes[] = {4, 6, 4, 4, 3};
    int64_t dims[3];
    int32_t rank = 0;
    dl4_tensor *out[3] = {};
    DL4_TRY(dl4_session_create(m, how, s.out()));
    DL4_TRY(dl4_session_output_shape(s, ranks, shapes, 2, 1, dims, 3, &rank));
    DL4_TRY(dl4_describe(s, DL4_FORMAT_JSON, json.out()));
    DL4_TRY(dl4_session_run(s, in, 2, out, 3, nullptr));
    for (dl4_tensor *t : out) dl4_release(t);
    return nullptr;
  });
  walk("measure", [&]() -> dl4_error * {
    Own<dl4_tensor> out;
    return dl4_measure(c, "loss", "Huber", none, y, y, nullptr, out.out());
  });
  walk("description", []() -> dl4_error * {
    Own<dl4_blob> b;
    return dl4_api_description(b.out());
  });
}

TEST_F(Shortage, Training) {
  Own<dl4_context> c = context();
  Own<dl4_model> m = model(c);
  auto x = tensor({4, 6, 4}, numbers(96)), y = tensor({4, 3}, numbers(12));
  auto d = dataset(x, y, R"({"batch_size": 2})");
  constexpr const char *how = R"({"optimizer": "Adam", "loss": "MeanSquaredError", "metrics": ["mae"]})",
                       *fit = R"({"epochs": 2})";
  dl4_tensor *const in = x, *const target = y;
  walk("train", [&]() -> dl4_error * {
    Own<dl4_trainer> t;
    Own<dl4_blob> history, json, text;
    DL4_TRY(dl4_trainer_create(m, how, t.out()));
    DL4_TRY(dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
    DL4_TRY(dl4_trainer_fit(t, d, nullptr, fit, nullptr, nullptr, nullptr, history.out()));
    DL4_TRY(dl4_describe(t, DL4_FORMAT_JSON, json.out()));
    return dl4_describe(t, DL4_FORMAT_TEXT, text.out());
  });
  const std::string file = path("checkpoint");
  Own<dl4_trainer> t = trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError"})");
  ok(dl4_trainer_fit(t, d, nullptr, fit, nullptr, nullptr, nullptr, nullptr));
  walk("checkpoints", [&]() -> dl4_error * {
    DL4_TRY(dl4_trainer_save(t, file.c_str()));
    return dl4_trainer_load(t, file.c_str());
  });
}

TEST_F(Shortage, ModelsSavedLoadedAndRun) {
  Own<dl4_context> c = context();
  Own<dl4_model> m = model(c);
  const std::string file = path("model");
  walk("save", [&] { return dl4_model_save(m, file.c_str(), nullptr); });
  walk("load", [&]() -> dl4_error * {
    Own<dl4_model> loaded, copy;
    DL4_TRY(dl4_model_load(c, file.c_str(), nullptr, loaded.out()));
    return dl4_model_clone(loaded, copy.out());
  });
  auto x = tensor({4, 6, 4}, numbers(96));
  walk("run", [&]() -> dl4_error * {
    Own<dl4_session> s;
    Own<dl4_tensor> y;
    Own<dl4_blob> json, text;
    DL4_TRY(dl4_session_create(m, nullptr, s.out()));
    dl4_tensor *in = x;
    DL4_TRY(dl4_session_run(s, &in, 1, y.out(), 1, nullptr));
    DL4_TRY(dl4_describe(s, DL4_FORMAT_JSON, json.out()));
    return dl4_describe(s, DL4_FORMAT_TEXT, text.out());
  });
  EXPECT_EQ(count(), 1u);  // no temporary file is left
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
