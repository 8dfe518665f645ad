// A model without a trainable weight: it can be evaluated and predicted with, saved and restored, but not trained.
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

TEST(Frozen, CanBeEvaluatedButNotTrained) {
  const std::string layers[] = {R"({"units": 3, "trainable": false})", ""};
  for (const std::string &dense : layers) {
    SCOPED_TRACE(dense.empty() ? "no weight at all" : "a frozen layer");
    Own<dl4_graph> g;
    Own<dl4_model> m;
    ok(dl4_graph_create(nullptr, g.out()));
    dl4_node in = input(g, "x", {-1, 3}),
             out = dense.empty() ? add(g, "ReLU", nullptr, "{}", in) : add(g, "Dense", nullptr, dense, in);
    ok(dl4_graph_build(g, &in, 1, &out, 1, m.out()));
    auto t = trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError", "metrics": ["mae"]})");
    auto x = tensor({5, 3}, numbers(15)), y = tensor({5, 3}, numbers(15));
    auto data = dataset(x, y, R"({"batch_size": 2})");
    dl4_tensor *xs = x, *ys = y;
    Own<dl4_session> s;
    Own<dl4_tensor> p;
    ok(dl4_session_create(m, nullptr, s.out()));
    ok(dl4_session_predict(s, data, nullptr, p.out(), 1));
    double expected = 0, measured[2] = {};
    const auto got = floats(p), wanted = numbers(15);
    for (size_t i = 0; i < 15; ++i)
      expected += std::pow(static_cast<double>(got[i]) - static_cast<double>(wanted[i]), 2) / 15;
    ok(dl4_trainer_evaluate(t, data, nullptr, measured, 2, nullptr));
    EXPECT_NEAR(measured[0], expected, 1e-6);

    int asked = 0;
    auto progress = [](void *user, int32_t, int64_t, int64_t, const double *, int64_t) -> int32_t {
      return ++*static_cast<int *>(user), 0;
    };
    for (const Refusal &r : {refusal(dl4_trainer_step(t, &xs, 1, &ys, 1, nullptr, 0, nullptr, 0, nullptr)),
                             refusal(dl4_trainer_accumulate(t, &xs, 1, &ys, 1, nullptr, 0, nullptr, 0, nullptr)),
                             refusal(dl4_trainer_fit(t, data, nullptr, nullptr, progress, &asked, nullptr, nullptr))}) {
      EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
      EXPECT_NE(r.message.find("no trainable weight"), std::string::npos) << r.message;
    }
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(refusal(dl4_trainer_apply(t)).code, DL4_INVALID_ARGUMENT);
    const std::string path =
        (std::filesystem::temp_directory_path() / ("dl4-frozen-test-" + std::to_string(getpid()))).string();
    ok(dl4_trainer_save(t, path.c_str()));
    ok(dl4_trainer_load(t, path.c_str()));
    std::filesystem::remove(path);
    double again[2] = {};
    ok(dl4_trainer_evaluate(t, data, nullptr, again, 2, nullptr));
    EXPECT_EQ(again[0], measured[0]);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
