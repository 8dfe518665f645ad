// Dice and Tversky: one minus the overlap of two regions.
#include <algorithm>
#include <functional>
#include <optional>

#include "base/error.hpp"
#include "kinds/metric.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id, ops::Reduce, ops::Unary;

class Overlap : public Loss {
 public:
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    std::vector<int> axes;
    if (axis)
      for (int64_t i : *axis) axes.push_back(e.shape(p).axis(i));
    auto sum = [&](Id v) { return reduce(e, Reduce::sum, v, axes); };
    return {unary(e, Unary::scale_shift, overlap(e, t, p, sum(mul(e, t, p)), sum), {-1, 1}), ops::none};
  }
  bool joins_samples(int rank) const override {
    return !axis || std::any_of(axis->begin(), axis->end(), [&](int64_t i) { return i == 0 || i == -rank; });
  }
  void check() override {
    if (!axis || !axis->empty()) return;
    refuse_attribute("axis", "expected null or at least one axis, got []");
  }

 protected:
  using Sum = std::function<Id(Id)>;
  // 1 for equal regions; `both`: sum over their intersection.
  virtual Id overlap(Emit &e, Id t, Id p, Id both, const Sum &sum) const = 0;
  void axis_field(Fields &f) { f("axis", axis).doc("axes of a region; null: all, the batch too, as one region"); }

 private:
  std::optional<std::vector<int64_t>> axis;
};

Id safe(Emit &e, Id v) { return add(e, v, e.scalar(1e-7f)); }

struct Dice : Overlap {
  static constexpr const char *doc = "1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred)) over the axes";

  void fields(Fields &f) override {
    axis_field(f);
    Loss::fields(f);
  }
  Id overlap(Emit &e, Id t, Id p, Id both, const Sum &sum) const override {
    return div(e, scale(e, both, 2), safe(e, add(e, sum(t), sum(p))));
  }
};

struct Tversky : Overlap {
  static constexpr const char *doc =
      "1 - b / (b + alpha * sum(y_true * (1 - y_pred)) + beta * sum((1 - y_true) * y_pred)), b = sum(y_true * y_pred), "
      "over the axes";
  double alpha = 0.5, beta = 0.5;

  void fields(Fields &f) override {
    f("alpha", alpha).doc("weight of what is missed");
    f("beta", beta).doc("weight of what is too much");
    axis_field(f);
    Loss::fields(f);
  }
  Id overlap(Emit &e, Id t, Id p, Id both, const Sum &sum) const override {
    auto rest = [&](Id x) { return unary(e, Unary::scale_shift, x, {-1, 1}); };
    Id missed = scale(e, sum(mul(e, rest(p), t)), static_cast<float>(alpha));
    Id too_much = scale(e, sum(mul(e, p, rest(t))), static_cast<float>(beta));
    return div(e, both, safe(e, add(e, add(e, both, missed), too_much)));
  }
};

}  // namespace

DL4_KINDS(overlap, Dice, Tversky)

}  // namespace dl4::kinds
