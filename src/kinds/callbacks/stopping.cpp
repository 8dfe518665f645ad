// Callbacks that change a fit: that stop it, change its learning rate, or put averages in the place of its weights.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/float_mode.hpp"
#include "kinds/callback.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

struct EarlyStopping : Monitor {
  static constexpr const char *doc =
      "ends a fit whose monitor has not improved for some epochs; the epoch numbered 0 never ends it";
  int64_t patience = 0, start_from_epoch = 0;
  std::optional<double> baseline;
  bool restores = false;

  void fields(Fields &f) override {
    monitor_fields(f);
    f("min_delta", min_delta_, "least change that is an improvement; its sign does not matter");
    f("patience", patience, "epochs without improvement after which the fit ends").at_least(0);
    f("baseline", baseline, "the patience starts anew only where the monitor is better than this; null: always");
    f("restore_best_weights", restores, "end with the weights of the best epoch, also if all epochs were run");
    f("start_from_epoch", start_from_epoch, "epochs before this are not looked at").at_least(0);
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    Monitor::train_begin(f, at, state);
    if (!at.resumed) state = {{"wait", 0}, {"best", nullptr}, {"best_epoch", -1}, {"stopped_epoch", 0}};
  }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &logs) const override {
    const double *now = find(logs, monitor_);
    if (!now || at.epoch < start_from_epoch) return;
    const bool better = improves(f, *now, state["best"]);
    if (better || state["best_epoch"].get<int64_t>() < 0) {
      if (restores) f.keep_weights();
      state["best_epoch"] = at.epoch;
    }
    const int64_t wait = state["wait"].get<int64_t>() + 1;
    state["wait"] = wait;
    if (better) {
      state["best"] = *now;
      if (!baseline || improves(f, *now, *baseline)) state["wait"] = 0;
    } else if (wait >= patience && at.epoch > 0) {
      state["stopped_epoch"] = at.epoch;
      f.stop();
    }
  }
  void train_end(Fit &f, const Moment &, Json &state) const override {
    const auto stopped = state["stopped_epoch"].get<int64_t>(), best = state["best_epoch"].get<int64_t>();
    if (stopped > 0 && verbose_ > 0) f.say(text("epoch ", stopped + 1, ": early stopping"));
    if (!restores || best < 0) return;
    if (verbose_ > 0) f.say(text("the weights of the best epoch, ", best + 1, ", are restored"));
    f.restore_weights();
  }
};

struct TerminateOnNaN : Callback {
  static constexpr const char *doc =
      "ends a fit whose loss, the mean over the epoch so far, is NaN or infinite; a trainer with a nan_guard fails "
      "before it comes to that";
  bool raises = false;

  void fields(Fields &f) override { f("raise_error", raises, "fail with NUMERIC instead"); }
  void batch_end(Fit &f, const Moment &at, Json &, Logs &logs) const override {
    const double *loss = find(logs, "loss");
    if (!loss || std::isfinite(*loss)) return;
    const std::string what = text("the loss is not finite at batch ", at.batch - 1);
    if (raises) fail(Code::numeric, what);
    f.say(what + ": the fit ends");
    f.stop();
  }
};

struct LearningRateScheduler : Callback {
  static constexpr const char *doc =
      "sets the learning rate as an epoch begins, to what a schedule gives for its number";
  Of<Schedule> schedule;
  int64_t verbose = 0;

  void fields(Fields &f) override {
    f("schedule", schedule, "of the number of the epoch, from 0")
        .required(R"({"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.1, "decay_steps": 10}})");
    f("verbose", verbose, "1: the rate is said to the log").at_least(0);
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
    f("factor", factor, "what the rate is multiplied by, below 1").at_least(0);
    f("patience", patience, "epochs without improvement after which it is").at_least(0);
    f("min_delta", min_delta_, "least change that is an improvement; its sign does not matter");
    f("cooldown", cooldown, "epochs after that in which none are counted").at_least(0);
    f("min_lr", min_lr, "least learning rate").at_least(0);
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

struct SwapEMAWeights : Callback {
  static constexpr const char *doc =
      "validates with the averages of the weights, which an optimizer with use_ema keeps, in the weights' place";
  bool by_epoch = false;

  void fields(Fields &f) override {
    f("swap_on_epoch", by_epoch, "they stay there from the end of an epoch to the beginning of the next");
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    if (!f.has_averages())
      fail(Code::invalid_argument, entry().name, " needs an optimizer with \"use_ema\": expected true, got false");
    if (!at.resumed) state = {{"swapped", false}};
  }
  void epoch_begin(Fit &f, const Moment &, Json &state) const override {
    if (by_epoch) make(f, state, false);
  }
  void test_begin(Fit &f, Json &state) const override { make(f, state, true); }
  void test_end(Fit &f, Json &state) const override { make(f, state, false); }
  void epoch_end(Fit &f, const Moment &at, Json &state, Logs &) const override {
    if (!by_epoch || state["swapped"].get<bool>()) return;
    make(f, state, true);
    if (at.epoch == at.epochs - 1) f.settle_averages();
  }

 private:
  static void make(Fit &f, Json &state, bool swapped) {
    if (state["swapped"].get<bool>() == swapped) return;
    f.swap_averages();
    state["swapped"] = swapped;
  }
};

}  // namespace

DL4_KINDS(stopping, EarlyStopping, TerminateOnNaN, ReduceLROnPlateau, LearningRateScheduler, SwapEMAWeights)

}  // namespace dl4::kinds
