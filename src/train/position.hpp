// Where a fit stands; kept by checkpoints, so that it goes on in mid-epoch.
#pragma once

#include "base/json.hpp"
#include "train/sums.hpp"

namespace dl4::train {

inline constexpr int64_t most_epochs = (int64_t{1} << 53) - 1;  // dl4_trainer_get() tells it exactly

struct Position {
  bool in_fit = false;      // one began and did not come to its end
  bool resumes = false;     // the next one goes on from here, unless it is told otherwise
  int64_t epoch = 0;        // of the fit under way
  int64_t batch = 0;        // batches of it that are done
  int64_t epochs_seen = 0;  // over all fits: chooses the order of the next epoch
  Sums sums{};              // of the epoch under way
  Json history = Json::object();
  Json callbacks = Json::array();  // of the fit, each with its state
  Json data{};                     // what is known of the data it is on; null if nothing is

  // A place of the caller's choice, from which the next fit goes on.
  void move_to(int64_t to_epoch, int64_t to_batch);
  Json to_json() const;
  // Refuses with CORRUPT_FILE what no trainer of so many sums can have written.
  static Position from_json(const Json &j, size_t sums);
};

}  // namespace dl4::train
