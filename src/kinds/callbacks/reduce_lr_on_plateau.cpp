// ReduceLROnPlateau.
#include <algorithm>

#include "base/error.hpp"
#include "base/float_mode.hpp"
#include "kinds/callback.hpp"

namespace dl4::kinds {
namespace {

struct ReduceLROnPlateau : Monitor {
  static constexpr const char *name = "ReduceLROnPlateau";
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
    if (!(factor < 1))
      throw Error(Code::invalid_argument, text("\"factor\": expected below 1, got ", Json(factor).dump()))
          .with("attribute", "factor");
  }
  void train_begin(Fit &f, const Moment &at, Json &state) const override {
    Monitor::train_begin(f, at, state);
    if (f.has_schedule())
      fail(Code::invalid_argument, name, " can't lower the learning rate: the optimizer has a schedule for it");
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

DL4_KIND(ReduceLROnPlateau)

}  // namespace dl4::kinds
