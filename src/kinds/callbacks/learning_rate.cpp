// Callbacks that change the learning rate.
#include <algorithm>

#include "base/error.hpp"
#include "base/float_mode.hpp"
#include "kinds/callback.hpp"
#include "kinds/schedule.hpp"

namespace dl4::kinds {
namespace {

struct LearningRateScheduler : Callback {
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
      fail(Code::invalid_argument, entry().name, " can't set the learning rate: the optimizer has a schedule for it");
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

struct ReduceLROnPlateau : Monitor {
  static constexpr const char *doc = "lowers the learning rate while the monitor does not improve";
  double factor = 0.1, min_lr = 0;
  int64_t patience = 10, cooldown = 0;

  ReduceLROnPlateau() { min_delta_ = 1e-4; }
  void fields(Fields &f) override {
    monitor_fields(f);
    f("factor", factor).at_least(0).doc("what the rate is multiplied by, below 1");
    f("patience", patience).at_least(0).doc("epochs without improvement after which it is");
    f("min_delta", min_delta_).doc("least change that is an improvement; its sign does not matter");
    f("cooldown", cooldown).at_least(0).doc("epochs after that in which none are counted");
    f("min_lr", min_lr).at_least(0).doc("least learning rate");
  }
  void check() override {
    if (!(factor < 1)) refuse_attribute("factor", "expected below 1, got ", Json(factor).dump());
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    Monitor::train_begin(f, at, state);
    if (f.has_schedule())
      fail(Code::invalid_argument, entry().name, " can't lower the learning rate: the optimizer has a schedule for it");
    if (!at.resumed) state = {{"wait", 0}, {"cooldown", 0}, {"best", nullptr}};
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    FlushToZero flush;
    const double rate = f.learning_rate();
    if (!find(logs, "learning_rate")) logs.push_back({"learning_rate", rate});
    const double *now = find(logs, monitor_);
    if (!now) return;
    auto cooling = state["cooldown"].get<int64_t>(), wait = state["wait"].get<int64_t>();
    if (cooling > 0) {
      --cooling;
      wait = 0;
    }
    if (improves(f, *now, state["best"])) {
      state["best"] = *now;
      wait = 0;
    } else if (cooling == 0 && ++wait >= patience && rate > static_cast<double>(static_cast<float>(min_lr))) {
      const double lower = std::max(rate * factor, min_lr);
      f.set_learning_rate(lower);
      if (verbose_ > 0) f.say(text("epoch ", at.epoch + 1, ": the learning rate is lowered to ", lower));
      cooling = cooldown;
      wait = 0;
    }
    state["cooldown"] = cooling;
    state["wait"] = wait;
  }
};

}  // namespace
DL4_KINDS(learning_rate, ReduceLROnPlateau, LearningRateScheduler)
}  // namespace dl4::kinds
