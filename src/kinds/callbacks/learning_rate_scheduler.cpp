// LearningRateScheduler.
#include "base/error.hpp"
#include "kinds/callback.hpp"
#include "kinds/schedule.hpp"

namespace dl4::kinds {
namespace {

struct LearningRateScheduler : Callback {
  static constexpr const char *name = "LearningRateScheduler";
  static constexpr const char *doc =
      "sets the learning rate as an epoch begins, to what a schedule gives for its number";
  Of<Schedule> schedule;
  int64_t verbose = 0;

  void fields(Fields &f) override {
    f("schedule", schedule)
        .required(R"({"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.1, "decay_steps": 10}})")
        .doc("of the number of the epoch, from 0");
    f("verbose", verbose).at_least(0).doc("1: the rate is said to the log");
  }
  void check() override {
    if (!schedule) fail(Code::invalid_argument, "\"schedule\": expected a schedule, got null");
  }
  void train_begin(Fit &f, const Moment &, Json &) const override {
    if (f.has_schedule())
      fail(Code::invalid_argument, name, " can't set the learning rate: the optimizer has a schedule for it");
  }
  void epoch_begin(Fit &f, const Moment &at, Json &) const override {
    if (at.batch > 0) return;  // resumed within an epoch
    const auto rate = static_cast<double>(schedule->at(at.epoch));
    f.set_learning_rate(rate);
    if (verbose > 0) f.say(text("epoch ", at.epoch + 1, ": the learning rate is ", rate));
  }
  void epoch_end(Fit &f, const Moment &, Json &, Logs &logs) const override {
    if (!find(logs, "learning_rate")) logs.push_back({"learning_rate", f.learning_rate()});
  }
};

}  // namespace

DL4_KIND(LearningRateScheduler)

}  // namespace dl4::kinds
