// A layer that is refused leaves no tie between the graph and the model among its attributes.
#include <thread>

#include "capi/graphs.hpp"

namespace dl4_test::DL4_FILE {
namespace {

TEST(RefusedLayer, LeavesTheGraphApartFromTheModel) {
  auto g = graph();
  const dl4_node x = input(g, "x", {-1, 4}), wide = input(g, "wide", {-1, 5});
  Own<dl4_model> own = build(g, {x}, {put(g, "Dense", "dense", R"({"units": 2})", {x})}), given = small_net();
  const Own<dl4_refs> r = refs("model", given);
  dl4_node y = -1;
  EXPECT_EQ(refusal(dl4_graph_add(g, "Functional", nullptr, nullptr, nullptr, r, &wide, 1, &y, 1)).code,
            DL4_SHAPE_MISMATCH);
  dl4_layer layer = -1;
  EXPECT_EQ(refusal(dl4_graph_add_layer(g, "Dense", nullptr, nullptr, r, &layer)).code, DL4_INVALID_ARGUMENT);

  // At work on the model, a trainer is not at work on the graph's.
  auto t = trainer(given);
  struct Seen {
    dl4_model *model;
    int32_t code = -1;
  } seen{own};
  const auto batch = [](void *user, int64_t, dl4_tensor **, int64_t, dl4_tensor **, int64_t, dl4_tensor **,
                        int64_t) -> int32_t {
    std::thread([s = static_cast<Seen *>(user)] {
      s->code = refusal(dl4_model_set_weight(s->model, "dense/bias", tensor({2}, {1, 2}))).code;
    }).join();
    return DL4_STOP;
  };
  Own<dl4_dataset> data;
  ok(dl4_dataset_from_callback(nullptr, batch, &seen, nullptr, nullptr, data.out()));
  dl4_release(dl4_trainer_fit(t, data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(seen.code, 0);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
