// Models that compute how many places a value has: Range and NonMaxSuppression.
#include <thread>

#include "capi/graphs.hpp"

namespace dl4_test::DL4_FILE {
namespace {

std::vector<int64_t> dims_of(const dl4_tensor *t) {
  const int64_t *dims = dl4_tensor_dims(t);
  return {dims, dims + dl4_tensor_rank(t)};
}

// The rows of x (N, 2) whose first number is above 0, each twice as large; how many there are; and places below `n`.
struct Rows {
  Own<dl4_graph> g = graph();
  dl4_node x = input(g, "x", {-1, 2}), n = input(g, "n", {}, DL4_INT64);
  Own<dl4_model> model;

  Rows() {
    const dl4_node first = put(g, "Squeeze", "first", R"({"axis": 1})",
                               {put(g, "Slice", "column", R"({"start_indices": [0, 0], "shape": [-1, 1]})", {x})});
    const dl4_node flags =
        put(g, "Cast", "flags", R"({"to": "int32"})", {put(g, "Greater", "above", R"({"x2": 0})", {first})});
    const dl4_node count = put(g, "Sum", "count", R"({"axis": 0})", {flags});
    const dl4_node order = put(g, "Argsort", "order", R"({"axis": 0, "descending": true})", {flags});
    const dl4_node places =
        put(g, "Take", "places", R"({"axis": 0})", {order, put(g, "Range", "taken", "{}", {count})});
    const dl4_node rows = put(g, "Take", "rows", R"({"axis": 0})", {x, places});
    model = build(g, {x, n},
                  {put(g, "BroadcastAdd", "twice", "{}", {rows, rows}), count, put(g, "Range", "below", "{}", {n})});
  }
};

struct Ran {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<float> rows;
  std::vector<int64_t> below;
};
Ran run(dl4_session *s, const std::vector<float> &x, int64_t n) {
  const auto a = tensor_of<float>(DL4_FLOAT32, {static_cast<int64_t>(x.size()) / 2, 2}, x);
  const auto b = tensor_of<int64_t>(DL4_INT64, {}, {n});
  dl4_tensor *in[] = {a, b}, *out[3] = {};
  ok(dl4_session_run(s, in, 2, out, 3, nullptr));
  Ran r;
  for (dl4_tensor *t : out) r.shapes.push_back(dims_of(t));
  const auto *rows = static_cast<const float *>(dl4_tensor_data(out[0]));
  r.rows.assign(rows, rows + dl4_tensor_bytes(out[0]) / 4);
  const auto *below = static_cast<const int64_t *>(dl4_tensor_data(out[2]));
  r.below.assign(below, below + dl4_tensor_bytes(out[2]) / 8);
  for (dl4_tensor *t : out) dl4_release(t);
  return r;
}

Own<dl4_session> session_of(const dl4_model *m, const char *options = nullptr) {
  Own<dl4_session> s;
  ok(dl4_session_create(m, options, s.out()));
  return s;
}

TEST(ComputedSizes, AreThoseOfTheNumbers) {
  Rows r;
  auto s = session_of(r.model);
  for (int again = 0; again < 2; ++again) {
    const Ran some = run(s, {1, 2, -3, 4, 5, 6}, 3);
    EXPECT_EQ(some.shapes, (std::vector<std::vector<int64_t>>{{2, 2}, {}, {3}}));
    EXPECT_EQ(some.rows, (std::vector<float>{2, 4, 10, 12}));
    EXPECT_EQ(some.below, (std::vector<int64_t>{0, 1, 2}));
    const Ran none = run(s, {-1, 2}, 0);
    EXPECT_EQ(none.shapes, (std::vector<std::vector<int64_t>>{{0, 2}, {}, {0}}));
    EXPECT_EQ(run(s, {7, 8}, 1).rows, (std::vector<float>{14, 16}));
  }
  const auto all = nlohmann::json::parse(described(s, DL4_FORMAT_JSON));
  EXPECT_GE(all["plans"].size(), 4u);
  EXPECT_GT(all["cached_bytes"].get<int64_t>(), 0);
}

TEST(ComputedSizes, OfManyThreadsAtOnce) {
  Rows r;
  auto s = session_of(r.model);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        std::vector<float> x(static_cast<size_t>(2 * (t + 1 + i % 3)), 1);
        if (run(s, x, t).shapes != std::vector<std::vector<int64_t>>{{t + 1 + i % 3, 2}, {}, {t}}) ++wrong;
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ComputedSizes, GoThroughAFile) {
  Rows r;
  Refusal why;
  const auto again = load(nullptr, saved(r.model), why);
  ASSERT_EQ(why.code, 0) << why.message;
  EXPECT_EQ(run(session_of(again), {1, 2, -3, 4}, 2).rows, (std::vector<float>{2, 4}));
}

TEST(ComputedSizes, GiveGradients) {
  Rows r;
  auto s = session_of(r.model, R"({"gradients": ["x"]})");
  const auto a = tensor_of<float>(DL4_FLOAT32, {3, 2}, {1, 2, -3, 4, 5, 6}), b = tensor_of<int64_t>(DL4_INT64, {}, {1});
  dl4_tensor *in[] = {a, b}, *out[4] = {};
  ok(dl4_session_run(s, in, 2, out, 4, nullptr));
  const auto *g = static_cast<const float *>(dl4_tensor_data(out[3]));
  EXPECT_EQ(std::vector<float>(g, g + 6), (std::vector<float>{2, 2, 0, 0, 2, 2}));
  for (dl4_tensor *t : out) dl4_release(t);
}

TEST(ComputedSizes, OutputsOfTheCallersHaveTheSizesThatComeOut) {
  Rows r;
  auto s = session_of(r.model);
  const auto a = tensor_of<float>(DL4_FLOAT32, {2, 2}, {1, 2, 3, 4}), b = tensor_of<int64_t>(DL4_INT64, {}, {1});
  const auto y = tensor_of<float>(DL4_FLOAT32, {2, 2}, {0, 0, 0, 0});
  dl4_tensor *in[] = {a, b}, *out[3] = {y};
  ok(dl4_session_run(s, in, 2, out, 3, nullptr));
  EXPECT_EQ(static_cast<const float *>(dl4_tensor_data(y))[3], 8);
  dl4_release(out[1]), dl4_release(out[2]);
  const auto fewer = tensor_of<float>(DL4_FLOAT32, {2, 2}, {1, 2, -3, 4});
  dl4_tensor *other[] = {fewer, b}, *slots[3] = {y};
  const Refusal why = refusal(dl4_session_run(s, other, 2, slots, 3, nullptr));
  EXPECT_EQ(why.code, DL4_SHAPE_MISMATCH);
  EXPECT_NE(why.message.find("output 0: expected float32 (1, 2), got float32 (2, 2)"), std::string::npos)
      << why.message;
  EXPECT_EQ(slots[1], nullptr);
}

TEST(ComputedSizes, AreRefusedByName) {
  Rows r;
  const auto refused = [&](dl4_error *e, const char *words) {
    const Refusal why = refusal(e);
    EXPECT_EQ(why.code, DL4_UNSUPPORTED) << why.message;
    EXPECT_NE(why.message.find(words), std::string::npos) << why.message;
  };
  auto s = session_of(r.model);
  const int32_t ranks[] = {2, 0};
  const int64_t dims[] = {3, 2};
  int64_t got[4];
  int32_t rank = 0;
  refused(dl4_session_output_shape(s, ranks, dims, 2, 0, got, 4, &rank),
          "output 0 has the shape (?, 2), whose sizes a run computes");
  ok(dl4_session_output_shape(s, ranks, dims, 2, 1, got, 4, &rank));
  EXPECT_EQ(rank, 0);

  Own<dl4_session> none;
  refused(dl4_session_create(r.model, R"({"streamable": true})", none.out()),
          "\"streamable\": layer \"taken\": its size is computed by the run");
  refused(dl4_session_create(r.model, R"({"gradients": ["x"], "cotangents": true})", none.out()),
          "\"cotangents\": layer \"taken\": its size is computed by the run");
  Own<dl4_stream> stream;
  EXPECT_NE(refusal(dl4_stream_create(s, nullptr, stream.out())).code, 0);

  const auto rows = tensor_of<float>(DL4_FLOAT32, {2, 2}, {1, 2, 3, 4});
  const auto numbers = tensor_of<int64_t>(DL4_INT64, {2}, {1, 2});
  dl4_tensor *data[] = {rows, numbers}, *out[3] = {};
  Own<dl4_dataset> d;
  ok(dl4_dataset_from_tensors(nullptr, data, 2, nullptr, 0, nullptr, 0, nullptr, d.out()));
  refused(dl4_session_predict(s, d, nullptr, out, 3),
          "the model computes sizes: a run takes one batch");

  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 2}), n = input(g, "n", {}, DL4_INT64);
  const dl4_node dropped = put(g, "Dropout", "drop", R"({"rate": 0.5})", {x});
  const auto draws = build(g, {x, n}, {dropped, put(g, "Range", "below", "{}", {n})});
  refused(dl4_session_create(draws, R"({"training": true})", none.out()),
          "layer \"below\": its size is computed by the run, which is not supported with drawing random numbers");
}

TEST(ComputedSizes, ATrainerNamesTheLayer) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 2});
  const dl4_node count = put(g, "Cast", "count", R"({"to": "int32"})",
                             {put(g, "Max", "max", R"({"axis": [0, 1], "keepdims": false})", {x})});
  const dl4_node rows = put(g, "Take", "rows", R"({"axis": 0})", {x, put(g, "Range", "below", "{}", {count})});
  const auto m = build(g, {x}, {put(g, "Dense", "dense", R"({"units": 1})", {rows})});
  Own<dl4_trainer> t;
  Refusal why = refusal(dl4_trainer_create(m, R"({"loss": "MeanSquaredError", "optimizer": "SGD"})", t.out()));
  if (why.code == 0) {
    const auto a = tensor_of<float>(DL4_FLOAT32, {2, 2}, {1, 2, 1, 1}),
               y = tensor_of<float>(DL4_FLOAT32, {2, 1}, {1, 2});
    dl4_tensor *in[] = {a}, *labels[] = {y};
    why = refusal(dl4_trainer_step(t, in, 1, labels, 1, nullptr, 0, nullptr, 0, nullptr));
  }
  EXPECT_EQ(why.code, DL4_UNSUPPORTED) << why.message;
  EXPECT_NE(why.message.find("layer \"below\""), std::string::npos) << why.message;
}

TEST(ComputedSizes, BoxesThatOverlapNoBetterOne) {
  auto g = graph();
  const dl4_node boxes = input(g, "boxes", {-1, -1, 4}), scores = input(g, "scores", {-1, -1, -1});
  const auto m = build(
      g, {boxes, scores},
      {put(g, "NonMaxSuppression", "nms",
           R"({"max_output_boxes_per_class": 2, "iou_threshold": 0.5, "score_threshold": 0.1})", {boxes, scores})});
  auto s = session_of(m);
  const auto b = tensor_of<float>(DL4_FLOAT32, {1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 2, 1, 3, 5, 5, 6, 6});
  const auto c = tensor_of<float>(DL4_FLOAT32, {1, 2, 4}, {0.9F, 0.8F, 0.7F, 0.95F, 0.05F, NAN, 0.3F, 0.3F});
  dl4_tensor *in[] = {b, c};
  Own<dl4_tensor> y;
  ok(dl4_session_run(s, in, 2, y.out(), 1, nullptr));
  EXPECT_EQ(dims_of(y), (std::vector<int64_t>{4, 3}));
  const auto *rows = static_cast<const int64_t *>(dl4_tensor_data(y));
  EXPECT_EQ(std::vector<int64_t>(rows, rows + 12), (std::vector<int64_t>{0, 0, 3, 0, 0, 0, 0, 1, 2, 0, 1, 3}));
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
