// Reading a model while another thread changes which of its weights are trained.
#include <atomic>
#include <thread>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

TEST(ModelReaders, SeeAllFrozenOrNone) {
  auto m = small_net();
  const std::string none = described(m, DL4_FORMAT_JSON);
  ok(dl4_model_set_trainable(m, "*", 0));
  const std::string all = described(m, DL4_FORMAT_JSON);
  ASSERT_NE(all, none);
  std::atomic<bool> ended{false};
  std::thread writer([&] {
    for (int i = 0; i < times(300, 30000); ++i)
      while (refusal(dl4_model_set_trainable(m, "*", i % 2)).code == DL4_BUSY) std::this_thread::yield();
    ended = true;
  });
  int64_t read = 0;
  while (!ended || read == 0) {
    for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
      const int32_t yes = trainable(m, i);
      EXPECT_TRUE(yes == 0 || yes == 1);
    }
    Own<dl4_blob> b;
    const Refusal r = refusal(dl4_describe(m, DL4_FORMAT_JSON, b.out()));
    if (r.code == DL4_BUSY) continue;
    ++read;
    EXPECT_EQ(r.message, "");
    const std::string now = dl4_blob_data(b);
    EXPECT_TRUE(now == all || now == none) << now;
  }
  writer.join();
}

TEST(ModelReaders, DescribingIsBusyWhileATrainerIsAtWork) {
  auto m = small_net();
  auto t = trainer(m);
  struct Seen {
    dl4_model *model;
    int32_t code = 0, trainable = 0;
  } seen{m};
  const auto batch = [](void *user, int64_t, dl4_tensor **, int64_t, dl4_tensor **, int64_t, dl4_tensor **,
                        int64_t) -> int32_t {
    std::thread([s = static_cast<Seen *>(user)] {
      Own<dl4_blob> b;
      s->code = refusal(dl4_describe(s->model, DL4_FORMAT_JSON, b.out())).code;
      s->trainable = trainable(s->model, 0);
    }).join();
    return DL4_STOP;
  };
  Own<dl4_dataset> data;
  ok(dl4_dataset_from_callback(nullptr, batch, &seen, nullptr, nullptr, data.out()));
  dl4_release(dl4_trainer_fit(t, data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(seen.code, DL4_BUSY);
  EXPECT_EQ(seen.trainable, 1);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
