// Trains, saves a checkpoint every few batches, goes on from the one it finds: `trainee <checkpoint> <at the end>`.
#include <unistd.h>

#include <cstdio>

#include "../training.hpp"

namespace {

struct Saving {
  dl4_test::Training training{5};
  const char *checkpoint;

  static int32_t progress(void *user, int32_t event, int64_t step, int64_t, const double *, int64_t) {
    auto &self = *static_cast<Saving *>(user);
    bool now = (event == DL4_BATCH_END && step % 3 == 0) || event == DL4_EPOCH_END;
    if (now) dl4_test::ok(dl4_trainer_save(self.training.t, self.checkpoint));
    return testing::Test::HasFailure();
  }
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  Saving s{.checkpoint = argv[1]};
  if (access(s.checkpoint, F_OK) == 0) dl4_test::ok(dl4_trainer_load(s.training.t, s.checkpoint));
  dl4_test::ok(dl4_trainer_fit(s.training.t, s.training.d, nullptr, R"({"epochs": 60})", Saving::progress, &s, nullptr,
                               nullptr));
  if (!testing::Test::HasFailure()) dl4_test::ok(dl4_trainer_save(s.training.t, argv[2]));
  return testing::Test::HasFailure() ? 1 : 0;
}
