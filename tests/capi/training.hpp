// A net with dropout, data that is shuffled, Adam: everything that has a state.
#pragma once

#include "net.hpp"

namespace dl4_test {

// All of it is made anew each time.
struct Training {
  Own<dl4_context> c;
  Own<dl4_model> m;
  Own<dl4_trainer> t;
  Own<dl4_dataset> d;
  Own<dl4_cancel> cancel;
  int64_t stop_at = -1, batches = 0;  // cancelled at that batch

  explicit Training(int seed) {
    ok(dl4_context_create((R"({"threads": 2, "seed": )" + std::to_string(seed) + "}").c_str(), c.out()));
    Own<dl4_graph> g;
    ok(dl4_graph_create(c, g.out()));
    dl4_node x = input(g, "x", {-1, 6, 4});
    dl4_node y = add(g, "LSTM", nullptr, R"({"units": 8, "return_sequences": true})", x);
    y = add(g, "Dropout", nullptr, R"({"rate": 0.4})", y);
    y = add(g, "Flatten", nullptr, "{}", y);
    y = add(g, "Dense", nullptr, R"({"units": 16, "activation": "relu"})", y);
    y = add(g, "Dropout", nullptr, R"({"rate": 0.2})", y);
    y = add(g, "Dense", nullptr, R"({"units": 3})", y);
    ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
    t = trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError", "metrics": ["mae"]})");
    auto in = tensor({30, 6, 4}, numbers(720)), target = tensor({30, 3}, numbers(90));
    d = dataset(in, target, R"({"batch_size": 4, "seed": 3})");
  }
  static int32_t progress(void *user, int32_t event, int64_t, int64_t, const double *, int64_t) {
    auto &self = *static_cast<Training *>(user);
    if (event == DL4_BATCH_END && ++self.batches == self.stop_at) dl4_cancel_trigger(self.cancel);
    return DL4_CONTINUE;
  }
  Refusal fit(std::string *history = nullptr) {
    Own<dl4_blob> told;
    ok(dl4_cancel_create(cancel.out()));
    Refusal r = refusal(dl4_trainer_fit(t, d, nullptr, R"({"epochs": 3, "validation_split": 0.2})", progress,
                                        this, cancel, told.out()));
    if (history && told) *history = dl4_blob_data(told);
    return r;
  }
};

}  // namespace dl4_test
