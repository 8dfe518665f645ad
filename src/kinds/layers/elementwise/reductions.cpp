// Reductions of keras.ops as layers: a table of rows.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;
using ops::Reduce;
using Axes = std::vector<int>;

template <Reduce f>
Id plain(Emit &e, Id x, const Axes &axes, bool keepdims) {
  return ops::reduce(e, f, x, axes, keepdims);
}
Id variance(Emit &e, Id x, const Axes &axes, bool keepdims) {
  Id off = ops::sub(e, x, ops::reduce(e, Reduce::mean, x, axes, true));
  return ops::reduce(e, Reduce::mean, ops::unary(e, ops::Unary::square, off), axes, keepdims);
}
Id deviation(Emit &e, Id x, const Axes &axes, bool keepdims) {
  return ops::unary(e, ops::Unary::sqrt, variance(e, x, axes, keepdims));
}

// Subtracts the maximum first, so that nothing overflows.
Id log_sum_exp(Emit &e, Id x, const Axes &axes, bool keepdims) {
  const Id most = ops::reduce(e, Reduce::max, x, axes, true);
  const Id finite = ops::binary(e, ops::Binary::less, ops::unary(e, ops::Unary::abs, most),
                                e.scalar(std::numeric_limits<double>::infinity()));
  const Id base = ops::stop_gradient(e, ops::select(e, finite, most, e.scalar(0)));
  const Id sum = ops::reduce(e, Reduce::sum, ops::unary(e, ops::Unary::exp, ops::sub(e, x, base)), axes, true);
  Id y = ops::add(e, ops::unary(e, ops::Unary::log, sum), base);
  if (keepdims) return y;
  Axes gone = axes;
  if (gone.empty())
    for (int i = 0; i < e.rank(x); ++i) gone.push_back(i);
  std::sort(gone.rbegin(), gone.rend());
  for (int a : gone) y = ops::squeeze(e, y, a);
  return y;
}

struct Reduction final : LayerOf<Reduction> {
  struct Row : Entry {
    DType takes;
    bool integers;  // whether integers stay integers
    Id (*f)(Emit &, Id x, const Axes &axes, bool keepdims);
  };

  explicit Reduction(const Row &row) : row(row) {}
  const Row &row;
  std::optional<std::vector<int64_t>> axis;
  bool keepdims = false;

  void fields(Fields &f) override {
    f("axis", axis, "the axis, or a list of axes; null: all, the batch's included");
    f("keepdims", keepdims, "whether the axes stay, with size 1");
  }
  void check() override {
    if (axis && axis->empty()) refuse_attribute("axis", "expected at least one axis, or null");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}},
                                    .outputs = {{"y", "x's axes without those, with keepdims of size 1"}}};
  std::vector<Symbol> call(Call &c) const override {
    const DType given = c.e.dtype(c.x());
    const bool integers = row.integers && (given == DType::i32 || given == DType::i64);
    const DType takes = integers ? given : row.takes;
    if (takes == DType::f32) c.need_float(0);
    Axes axes;
    if (axis)
      for (int64_t a : *axis) axes.push_back(c.shape().axis(a));
    if (c.shape().rank() == 0 && !axis) return {{ops::cast(c.e, c.x(), takes)}};
    return {{row.f(c.e, ops::cast(c.e, c.x(), takes), axes, keepdims)}};
  }
};

constexpr Reduction::Row row(const char *name, const char *doc, Id (*f)(Emit &, Id, const Axes &, bool),
                             const char *alias = "", DType takes = DType::f32, const char *module = "numpy.") {
  const bool plain_one =
      f == plain<Reduce::sum> || f == plain<Reduce::prod> || f == plain<Reduce::max> || f == plain<Reduce::min>;
  return {row_of<Reduction>(name, doc, alias, module), takes, takes == DType::f32 && plain_one, f};
}
constexpr Reduction::Row reductions[] = {
    row("Sum", "The sum along axes; of integers an integer.", plain<Reduce::sum>),
    row("Mean", "The mean along axes.", plain<Reduce::mean>),
    row("Max", "The largest value along axes; of integers an integer.", plain<Reduce::max>, "Amax"),
    row("Min", "The smallest value along axes; of integers an integer.", plain<Reduce::min>, "Amin"),
    row("Prod", "The product along axes; of integers an integer.", plain<Reduce::prod>),
    row("Logsumexp", "The logarithm of the sum of e to the power of x along axes.", log_sum_exp, "", DType::f32,
        "math."),
    row("Var", "The mean squared distance from the mean along axes.", variance),
    row("Std", "The root of the mean squared distance from the mean along axes.", deviation),
    row("Any", "Whether anything along axes is true or not 0: bool.", plain<Reduce::max>, "", DType::boolean),
    row("All", "Whether everything along axes is true or not 0: bool.", plain<Reduce::min>, "", DType::boolean),
};

struct Argmax final : LayerOf<Argmax> {
  static constexpr const char *keras = "numpy.Argmax";
  static constexpr const char *doc = "The place of the largest value along an axis, the first of equals: int32.";
  int64_t axis = -1;
  bool keepdims = false;

  void fields(Fields &f) override {
    f("axis", axis, "the axis").required("1");
    f("keepdims", keepdims, "whether the axis stays, with size 1");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}},
                                    .outputs = {{"y", "x's axes without that, with keepdims of size 1"}}};
  std::vector<Symbol> call(Call &c) const override {
    const DType given = c.e.dtype(c.x());
    if (given != DType::i32 && given != DType::i64) c.need_float(0);
    const int along = c.shape().axis(axis);
    Id y = ops::argmax(c.e, c.x(), along);
    return {{keepdims ? ops::expand_dims(c.e, y, along) : y}};
  }
};

}  // namespace
DL4_TABLE(Reductions, reductions)
DL4_KINDS(reductions, Argmax)
}  // namespace dl4::kinds
