// Callbacks that stop training.
#include <cmath>

#include "base/error.hpp"
#include "kinds/callback.hpp"

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
    f("min_delta", min_delta_).doc("least change that is an improvement; its sign does not matter");
    f("patience", patience).at_least(0).doc("epochs without improvement after which the fit ends");
    f("baseline", baseline).doc("the patience starts anew only where the monitor is better than this; null: always");
    f("restore_best_weights", restores).doc("end with the weights of the best epoch, also if all epochs were run");
    f("start_from_epoch", start_from_epoch).at_least(0).doc("epochs before this are not looked at");
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

  void fields(Fields &f) override { f("raise_error", raises).doc("fail with NUMERIC instead"); }
  void batch_end(Fit &f, const Moment &at, Json &, Logs &logs) const override {
    const double *loss = find(logs, "loss");
    if (!loss || std::isfinite(*loss)) return;
    const std::string what = text("the loss is not finite at batch ", at.batch - 1);
    if (raises) fail(Code::numeric, what);
    f.say(what + ": the fit ends");
    f.stop();
  }
};

}  // namespace
DL4_KINDS(stopping, EarlyStopping, TerminateOnNaN)
}  // namespace dl4::kinds
