// The training loop of Keras's fit, evaluate and predict.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "train/callbacks.hpp"
#include "train/data/dataset.hpp"

namespace dl4::train {

enum class Event : int32_t { train_begin = 0, epoch_begin = 1, batch_end = 2, epoch_end = 3, train_end = 4 };

// step of total (-1 = not known): batches at batch_end, else epochs. Gives 0 to go on, 1 to stop; anything else is a
// failure.
using Progress = std::function<int32_t(Event event, int64_t step, int64_t total, const std::vector<double> &metrics)>;

struct FitOptions {
  int64_t epochs = 1, initial_epoch = 0, validation_freq = 1;
  double validation_split = 0;
  bool average = true;
  std::optional<bool> resume;
  std::optional<std::vector<double>> class_weight;
  CallbackList callbacks;
  void fields(kinds::Fields &f);
  static FitOptions parse(const Json &options);
  static Json describe();  // as dl4_api_description() lists them
};

// The history: {"epoch": [...], "loss": [...], "val_loss": [...], ...}. It starts afresh, unless it resumes: by default
// where a checkpoint in mid-fit was loaded or the place was set; on other data that is refused. A stop ends it after
// the epoch under way was measured, as Keras's stop_training. After a failure the model is as the last complete step
// left it; the position is kept by CANCELLED and where a callback failed, and else as it was before.
Json fit(Trainer &t, Dataset &train, Dataset *validation, const FitOptions &options, const Progress &progress,
         const std::atomic<int32_t> *cancel, Outside *outside = nullptr);

Sums evaluate(Trainer &t, Dataset &d, const std::atomic<int32_t> *cancel);

// All outputs for all rows, one after the other, in memory of `memory`.
std::vector<Tensor> predict(runtime::Executable &s, Dataset &d, const Memory &memory,
                            const std::atomic<int32_t> *cancel);

}  // namespace dl4::train
