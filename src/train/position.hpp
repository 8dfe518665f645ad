// The position of a fit, stored in checkpoints so that it can be resumed within an epoch.
#pragma once

#include "base/json.hpp"
#include "train/sums.hpp"

namespace dl4::train {

inline constexpr int64_t most_epochs = (int64_t{1} << 53) - 1;  // exact in dl4_trainer_get_number()'s double

struct Position {
  bool in_fit = false;      // a fit has begun and not ended
  bool resumes = false;     // the next fit continues from here by default
  int64_t epoch = 0;        // of the current fit
  int64_t batch = 0;        // batches of it that are done
  int64_t epochs_seen = 0;  // over all fits; determines the order of the next epoch
  Sums sums{};              // of the current epoch
  Json history = Json::object();
  Json callbacks = Json::array();  // of the fit, each with its state
  Json data{};                     // the dataset's facts; null: none

  // The next fit continues from there.
  void move_to(int64_t to_epoch, int64_t to_batch);
  Json to_json() const;
  // Fails with CORRUPT_FILE on JSON that no trainer with so many sums can have written.
  static Position from_json(const Json &j, size_t sums);
};

}  // namespace dl4::train
