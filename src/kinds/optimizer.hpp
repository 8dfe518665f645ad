// Optimizers: the update of a flat block of weights, in ops.
// Callbacks, which observe and control a fit at the ends of batches and epochs.
#pragma once

#include <functional>

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// A learning rate as a function of the step.
class Schedule : public Kind {
 public:
  static constexpr const char *category = "schedule";
  // In float32, like Keras; step counts from 0.
  virtual float at(int64_t step) const = 0;
};

// A number, or a schedule.
struct Rate {
  double value = 0;
  Of<Schedule> schedule{};
  float at(int64_t step) const { return schedule ? schedule->at(step) : static_cast<float>(value); }
};

// A weight in the block.
struct Part {
  std::string name;
  Shape shape;
  int64_t offset;  // in elements
  bool decays;     // with weight_decay
};

// An optimizer's state between updates, by name; write() sets its new value.
class Slots {
 public:
  virtual ~Slots() = default;
  // Shaped as the block.
  virtual ops::Id block(const std::string &name, float start) = 0;
  virtual ops::Id number(const std::string &name, float start) = 0;
  // For one weight, initially zeros.
  virtual ops::Id of(const Part &part, const std::string &name, const Shape &shape) = 0;
};

// A tensor that an optimizer keeps per weight.
struct Slot {
  const char *name;  // "": zeros that exist only in Keras's files
  float start = 0;
  std::optional<Shape> own{};  // shape of a separate tensor, initially zeros; none: a part of a block
};

// Keras's files store all slots of a group together, weight by weight.
using SlotGroups = std::vector<std::vector<Slot>>;

class Optimizer;

// Inputs and state of an optimizer's update.
struct Update {
  ops::Emit &e;
  ops::Id w, g;           // flat float32 blocks; g is clipped
  ops::Id learning_rate;  // float32 scalar
  ops::Id t;              // int64 scalar, number of the update from 1
  const std::vector<Part> &parts;
  Slots &slots;

  // The new w by an elementwise rule, which reads and writes the optimizer's slots.
  template <class How>
  ops::Id one_pass(const Optimizer &o, const How &how, ops::Id number = ops::none) {
    return moved(o, how, w, number);
  }
  // The same starting from another block than w.
  template <class How>
  ops::Id moved(const Optimizer &o, const How &how, ops::Id from, ops::Id number = ops::none) {
    ops::UpdateFrom with{.w = from, .g = g, .lr = learning_rate, .t = t, .number = number, .slots = blocks(o)};
    if (how.weight_decay != 0) with.except = undecayed();
    const std::vector<ops::Id> next = ops::update(e, how, with);
    for (size_t i = 0; i < with.slots.size(); ++i) e.write(with.slots[i], next[i + 1]);
    return next[0];
  }
  // A weight's own slot, and a number, by name, from those that the optimizer lists.
  ops::Id slot(const Optimizer &o, const Part &part, std::string_view name);
  ops::Id number(const Optimizer &o, std::string_view name);
  // f(part, its w after decay, its g) returns each weight's new value; returns the block of all.
  ops::Id by_weight(double weight_decay, const std::function<ops::Id(const Part &, ops::Id w, ops::Id g)> &f);

 private:
  std::vector<ops::UpdateExcept> undecayed() const;
  std::vector<ops::Id> blocks(const Optimizer &o);
};

class Optimizer : public Kind {
 public:
  static constexpr const char *category = "optimizer";
  explicit Optimizer(double learning_rate) : learning_rate{learning_rate} {}
  Rate learning_rate;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency, gradient_accumulation_steps;
  std::optional<double> loss_scale_factor;
  // Slots of a weight, in Keras's order. If all are parts of blocks, they are the same for each weight.
  virtual SlotGroups slots(const Part &) const { return {}; }
  // Additional numbers it keeps.
  virtual std::vector<Slot> numbers() const { return {}; }
  // The new w.
  virtual ops::Id update(Update &u) const = 0;
  // Before an optimizer's own fields, in Keras's order.
  void fields(Fields &f) override;
  // Refuses more than one kind of clipping.
  void check() override;

 protected:
  double decay() const { return weight_decay.value_or(0); }
};

// The block of averaged weights, kept by a trainer if use_ema is set.
inline constexpr char average_slot[] = "average";

// One gradient per weight, clipped according to the optimizer.
std::vector<ops::Id> clip(ops::Emit &e, const Optimizer &o, std::vector<ops::Id> gradients);

// Whether `word` excludes the weight from decay. As in Keras, a word with a slash is a full name, others match a part
// of the last component.
bool excludes(const std::string &word, const std::string &weight);

// Refuses values of at least 1.
void want_below_1(const char *key, double v);

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
