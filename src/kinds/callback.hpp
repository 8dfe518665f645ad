// Callbacks, which observe and control a fit at the ends of batches and epochs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kinds/field.hpp"

namespace dl4::kinds {

struct Logged {
  std::string name;
  double value;
};
using Logs = std::vector<Logged>;  // in the order of the history
const double *find(const Logs &logs, const std::string &name);

// The fit as a callback sees it.
class Fit {
 public:
  virtual ~Fit() = default;
  virtual void stop() = 0;
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double v) = 0;  // refused under a schedule
  virtual bool has_schedule() const = 0;
  virtual void swap_averages() = 0;    // refused without them
  virtual void settle_averages() = 0;  // makes the averages the weights
  virtual bool has_averages() const = 0;
  // Keeps a copy of all weights, one per callback.
  virtual void keep_weights() = 0;
  virtual void restore_weights() = 0;
  // Names of all values logged at the ends of epochs; a single epoch may lack some.
  virtual const std::vector<std::string> &names() const = 0;
  // Whether greater values are better; none: unknown.
  virtual std::optional<bool> rises(const std::string &name) const = 0;

  virtual void say(const std::string &message) = 0;
  // Files. They are written atomically; directories are created.
  virtual void expect_model(const std::string &path) const = 0;  // refuses what save_model() would
  virtual void save_model(const std::string &path) = 0;
  virtual void save_place(const std::string &path) = 0;
  virtual bool restore_place(const std::string &path) = 0;  // false: no such file
  virtual void remove(const std::string &path) = 0;
  virtual void write(const std::string &path, const std::string &text, bool append) = 0;
  virtual bool has_text(const std::string &path) const = 0;  // whether the file exists and is not empty
};

struct Moment {
  int64_t epoch, batch, epochs;  // from 0; for the fit's last epoch, its number + 1
  bool resumed;                  // the fit was resumed, and this callback was part of it
};

// Its state is a JSON object, initially empty, which checkpoints store.
class Callback : public Kind {
 public:
  static constexpr const char *category = "callback";
  virtual void prepare(Fit &) const {}  // before the fit knows where it starts
  virtual void train_begin(Fit &, const Moment &, Json & /*state*/) const {}
  virtual void epoch_begin(Fit &, const Moment &, Json &) const {}
  virtual void batch_end(Fit &, const Moment &, Json &, Logs &) const {}
  virtual void test_begin(Fit &, Json &) const {}
  virtual void test_end(Fit &, Json &) const {}
  virtual void epoch_end(Fit &, const Moment &, Json &, Logs &) const {}
  // After all callbacks have processed a batch (of an unfinished epoch) or an epoch.
  virtual void settled(Fit &, const Moment &, Json &, bool /*epoch*/) const {}
  virtual void train_end(Fit &, const Moment &, Json &) const {}
};

// Every epoch, or every so many batches.
struct SaveEvery {
  int64_t batches = 0;
};

// A callback that monitors one logged value.
class Monitor : public Callback {
 public:
  void train_begin(Fit &f, const Moment &at, Json &state) const override;

 protected:
  enum class Mode { by_name, min, max };
  std::string monitor_ = "val_loss";
  double min_delta_ = 0;
  Mode mode_ = Mode::by_name;
  int64_t verbose_ = 0;

  void monitor_fields(Fields &f);
  // Whether v is better than the reference (null: none yet) by more than min_delta. Compares in float32, like Keras.
  bool improves(const Fit &f, double v, const Json &reference) const;
};

}  // namespace dl4::kinds
