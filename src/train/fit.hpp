// Keras's fit, evaluate and predict.
#pragma once

#include "train/trainer.hpp"

namespace dl4::train {

// Files and the log, for callbacks; implemented by the C API.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual void say(const std::string &message) = 0;
  // Refuses paths whose suffix is no model format's.
  virtual void expect_model(const std::string &path) const = 0;
  // In the format of the path's suffix; Keras's files include the compile config.
  virtual void save_model(const Trainer &t, const std::string &path) = 0;
  virtual void save_checkpoint(const Trainer &t, const std::string &path) = 0;
  virtual bool load_checkpoint(Trainer &t, const std::string &path) = 0;  // false: no such file
  virtual void remove(const std::string &path) = 0;
  virtual void write(const std::string &path, const std::string &text, bool append) = 0;
  virtual bool has_text(const std::string &path) const = 0;
};

using CallbackList = std::vector<kinds::Of<kinds::Callback>>;

enum class Event : int32_t { train_begin = 0, epoch_begin = 1, batch_end = 2, epoch_end = 3, train_end = 4 };

// step of total (-1: unknown) counts batches at batch_end, else epochs. Returns 0 to continue, 1 to stop, other values
// for failures.
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
  static Json describe();  // as in dl4_api_description()
};

// Returns the history: {"epoch": [...], "loss": [...], "val_loss": [...], ...}. A fit is resumed by default if a
// checkpoint within a fit was loaded or the position was set; otherwise it starts afresh. Resuming with other data is
// refused. A stop ends the fit after the current epoch was evaluated, as Keras's stop_training does. After a failure
// the model is as after the last complete step; the position is kept after CANCELLED and after a callback's failure,
// and is otherwise that of before the fit.
Json fit(Trainer &t, Dataset &train, Dataset *validation, const FitOptions &options, const Progress &progress,
         const std::atomic<int32_t> *cancel, Outside *outside = nullptr);

Sums evaluate(Trainer &t, Dataset &d, const std::atomic<int32_t> *cancel);

// All outputs for all rows of the dataset, allocated in `memory`.
std::vector<Tensor> predict(runtime::Executable &s, Dataset &d, const Memory &memory,
                            const std::atomic<int32_t> *cancel);

}  // namespace dl4::train
