// Callbacks: what looks at a fit at the ends of its batches and epochs, and may change its course.
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

// What a callback may ask of the fit, and do to it.
class Fit {
 public:
  virtual ~Fit() = default;
  virtual void stop() = 0;
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double v) = 0;  // refused under a schedule
  virtual bool has_schedule() const = 0;
  virtual void swap_averages() = 0;    // refused without them
  virtual void settle_averages() = 0;  // makes them what the weights are
  virtual bool has_averages() const = 0;
  // A copy of all weights, one for each callback.
  virtual void keep_weights() = 0;
  virtual void restore_weights() = 0;
  // Names of what is logged at the ends of epochs, of some perhaps not all.
  virtual const std::vector<std::string> &names() const = 0;
  // Is a greater value of it a better one? None: that can't be told.
  virtual std::optional<bool> rises(const std::string &name) const = 0;

  virtual void say(const std::string &message) = 0;
  // Files: whole ones, in folders that are made.
  virtual void expect_model(const std::string &path) const = 0;  // refuses what save_model() would
  virtual void save_model(const std::string &path) = 0;
  virtual void save_place(const std::string &path) = 0;
  virtual bool restore_place(const std::string &path) = 0;  // false: there is no such file
  virtual void remove(const std::string &path) = 0;
  virtual void write(const std::string &path, const std::string &text, bool append) = 0;
  virtual bool has_text(const std::string &path) const = 0;  // there is such a file, and it is not empty
};

struct Moment {
  int64_t epoch, batch, epochs;  // counted from 0, of the fit's last epoch the number + 1
  bool resumed;                  // this callback was in the fit that is gone on with
};

// What it must remember is its state, which checkpoints keep: an object, empty at first.
class Callback : public Kind {
 public:
  static constexpr const char *category = "callback";
  virtual void prepare(Fit &) const {}  // before the fit has a place
  virtual void train_begin(Fit &, const Moment &, Json & /*state*/) const {}
  virtual void epoch_begin(Fit &, const Moment &, Json &) const {}
  virtual void batch_end(Fit &, const Moment &, Json &, Logs &) const {}
  virtual void test_begin(Fit &, Json &) const {}
  virtual void test_end(Fit &, Json &) const {}
  virtual void epoch_end(Fit &, const Moment &, Json &, Logs &) const {}
  // After all callbacks have seen a batch (of an epoch that goes on) or an epoch.
  virtual void settled(Fit &, const Moment &, Json &, bool /*epoch*/) const {}
  virtual void train_end(Fit &, const Moment &, Json &) const {}
};

// Every epoch, or so many batches.
struct SaveEvery {
  int64_t batches = 0;
};

// What watches one name of the logs.
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
  // Is it better than the reference (null: nothing yet) by more than min_delta? In float32, as Keras compares.
  bool improves(const Fit &f, double v, const Json &reference) const;
};

}  // namespace dl4::kinds
