// TerminateOnNaN.
#include <cmath>

#include "base/error.hpp"
#include "kinds/callback.hpp"

namespace dl4::kinds {
namespace {

struct TerminateOnNaN : Callback {
  static constexpr const char *name = "TerminateOnNaN";
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

DL4_KIND(TerminateOnNaN)

}  // namespace dl4::kinds
