// SwapEMAWeights.
#include "base/error.hpp"
#include "kinds/callback.hpp"

namespace dl4::kinds {
namespace {

struct SwapEMAWeights : Callback {
  static constexpr const char *doc =
      "validates with the averages of the weights, which an optimizer with use_ema keeps, in the weights' place";
  bool by_epoch = false;

  void fields(Fields &f) override {
    f("swap_on_epoch", by_epoch).doc("they stay there from the end of an epoch to the beginning of the next");
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

DL4_KINDS(swap_ema_weights, SwapEMAWeights)

}  // namespace dl4::kinds
