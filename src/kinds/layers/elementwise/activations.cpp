// Elementwise layers with attributes: rectifiers, softmax, limits and a choice.
// Reductions of keras.ops as layers: a table of rows.
#include <cmath>

#include "kinds/layers/core/masks.hpp"

namespace dl4::kinds {
namespace {

using ops::Id, ops::Emit, ops::Reduce;

struct ReLU : LayerOf<ReLU> {
  static constexpr const char *doc =
      "max_value where x >= max_value, x from the threshold up, else negative_slope * (x - threshold).";
  std::optional<double> max_value;
  double negative_slope = 0, threshold = 0;

  void fields(Fields &f) override {
    f("max_value", max_value, "the largest output; null = none").at_least(0);
    f("negative_slope", negative_slope, "slope below the threshold").at_least(0);
    f("threshold", threshold, "where the rise begins").at_least(0);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    const DType type = c.e.dtype(c.x());
    if (type == DType::i32 || type == DType::i64) return {{whole(c, type), c.mask()}};
    c.need_float(0);
    bool simple = !max_value && negative_slope == 0 && threshold == 0;
    float most = max_value ? static_cast<float>(*max_value) : std::numeric_limits<float>::infinity();
    ops::Id y = simple ? ops::unary(c.e, ops::Unary::relu, c.x())
                       : ops::unary(c.e, ops::Unary::relu_general, c.x(),
                                    {static_cast<float>(negative_slope), most, static_cast<float>(threshold)});
    return {{y, c.mask()}};
  }

 private:
  // Integers stay integers, as in Keras, which then has no slope or threshold.
  ops::Id whole(Call &c, DType type) const {
    if (negative_slope != 0 || threshold != 0) c.need_float(0);
    const ops::Id y = ops::binary(c.e, ops::Binary::max, c.x(), c.e.scalar(0, type));
    if (!max_value) return y;
    if (*max_value != std::floor(*max_value)) c.need_float(0);
    return ops::binary(c.e, ops::Binary::min, y, c.e.scalar(*max_value, type));
  }
};

struct LeakyReLU : LayerOf<LeakyReLU> {
  static constexpr const char *doc = "x where x > 0, else negative_slope * x.";
  double negative_slope = 0.3;

  void fields(Fields &f) override { f("negative_slope", negative_slope, "slope below 0").at_least(0); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.as_float(0);
    return {{ops::unary(c.e, ops::Unary::leaky_relu, c.x(), {static_cast<float>(negative_slope)}), c.mask()}};
  }
};

struct ELU : LayerOf<ELU> {
  static constexpr const char *doc = "x where x > 0, else alpha * (exp(x) - 1).";
  double alpha = 1;

  void fields(Fields &f) override { f("alpha", alpha, "the limit below 0, negated"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{ops::unary(c.e, ops::Unary::elu, c.x(), {static_cast<float>(alpha)}), c.mask()}};
  }
};

struct PReLU : LayerOf<PReLU> {
  static constexpr const char *doc = "x where x > 0, else alpha * x, with a learned alpha for every feature.";
  Of<Initializer> alpha_initializer = parse<Initializer>("Zeros");
  Of<Regularizer> alpha_regularizer;
  Of<Constraint> alpha_constraint;
  std::optional<std::vector<int64_t>> shared_axes;

  void fields(Fields &f) override {
    f("alpha_initializer", alpha_initializer, "fills alpha at the start");
    f("alpha_regularizer", alpha_regularizer, "penalty on alpha, added to the loss");
    f("alpha_constraint", alpha_constraint, "applied to alpha after every update");
    f("shared_axes", shared_axes, "axes, counted from 1, along which one alpha serves all").at_least(1);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}},
                                    .outputs = {{"y", "(B, ...)"}},
                                    .weights = {{"alpha", "(...), 1 on shared axes"}},
                                    .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_float(0);
    Shape alpha_shape = c.shape().without(0);
    if (shared_axes)
      for (int64_t axis : *shared_axes) alpha_shape = alpha_shape.with(c.shape().axis(axis) - 1, 1);
    if (!alpha_shape.known())
      fail(Code::shape_mismatch, "every axis that is not shared should be known. Full shape received: ", c.shape());
    ops::Id alpha = c.weight("alpha", alpha_shape, alpha_initializer, alpha_regularizer, alpha_constraint);
    ops::Id below = ops::unary(c.e, ops::Unary::relu, ops::unary(c.e, ops::Unary::neg, c.x()));
    return {{ops::sub(c.e, ops::unary(c.e, ops::Unary::relu, c.x()), ops::mul(c.e, alpha, below)), c.mask()}};
  }
};

struct Softmax : LayerOf<Softmax> {
  static constexpr const char *keras = "nn.Softmax";
  static constexpr const char *doc = "exp(x) over its sum along an axis, or along several axes together.";
  std::vector<int64_t> axis{-1};

  void fields(Fields &f) override { f("axis", axis, "the axis, or a list of axes"); }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(...)"}},
      .outputs = {{"y", "(...)"}},
      .arguments = {{"mask", "tensor", "what to keep: bool, or more than 0.5; broadcasts to x. Other places are 0"}},
      .mask = "used and passed on"};
  void check() override {
    if (axis.empty()) refuse_attribute("axis", "expected at least one axis");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    ops::Id keep = mask(c);
    ops::Id x = c.x();
    // Masked positions get the lowest score, so their weight is 0 whatever their value.
    if (keep != ops::none) x = ops::select(c.e, keep, x, c.e.scalar(std::numeric_limits<float>::lowest()));
    ops::Id y = axis.size() == 1 ? ops::softmax(c.e, x, c.shape().axis(axis[0])) : over_several(c, x);
    if (keep != ops::none) y = ops::select(c.e, keep, y, c.e.scalar(0));
    return {{y, passed_on(c)}};
  }

 private:
  static ops::Id mask(Call &c) {
    auto given = c.symbols("mask");
    if (given.empty()) return c.mask() == ops::none ? ops::none : spread(c.e, c.mask(), c.shape().rank());
    ops::Id m = given[0].value;
    if (m == ops::none) return m;
    const Shape s = c.e.shape(m);
    for (int i = 1; i <= s.rank(); ++i) {
      bool fits = i <= c.shape().rank() &&
                  (s[-i] == 1 || s[-i] == free_dim || c.shape()[-i] == free_dim || s[-i] == c.shape()[-i]);
      if (!fits) fail(Code::shape_mismatch, "\"mask\": expected a shape that broadcasts to ", c.shape(), ", got ", s);
    }
    if (c.e.dtype(m) == DType::f32) return ops::binary(c.e, ops::Binary::greater, m, c.e.scalar(0.5f));
    return ops::cast(c.e, m, DType::boolean);
  }

  // A passed mask is forwarded only if it covers the first axes of the output, as masks must.
  static ops::Id passed_on(Call &c) {
    auto given = c.symbols("mask");
    if (given.empty()) return c.mask();
    if (given[0].value == ops::none) return ops::none;
    const Shape s = c.e.shape(given[0].value);
    return compatible(s, c.shape().first(s.rank())) ? mask(c) : ops::none;
  }

  ops::Id over_several(Call &c, ops::Id x) const {
    std::vector<int> axes;
    for (int64_t a : axis) axes.push_back(c.shape().axis(a));
    ops::Id top = ops::reduce(c.e, ops::Reduce::max, x, axes, true);
    ops::Id y = ops::unary(c.e, ops::Unary::exp, ops::sub(c.e, x, top));
    return ops::div(c.e, y, ops::reduce(c.e, ops::Reduce::sum, y, axes, true));
  }
};

struct Clip final : LayerOf<Clip> {
  static constexpr const char *keras = "numpy.Clip";
  static constexpr const char *doc = "x, but x_min where it is below that and x_max where it is above: keras.ops.clip.";
  double x_min = 0, x_max = 0;

  void fields(Fields &f) override {
    f("x_min", x_min, "the smallest value").required("0");
    f("x_max", x_max, "the largest value; not below x_min").required("1");
  }
  void check() override {
    if (x_min > x_max)
      refuse_attribute("x_max", "expected at least x_min, ", Json(x_min).dump(), ", got ", Json(x_max).dump());
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{ops::clip(c.e, c.x(), x_min, x_max)}};
  }
};

struct Where final : LayerOf<Where> {
  static constexpr const char *keras = "numpy.Where";
  static constexpr const char *doc = "x1 where a condition holds, else x2: keras.ops.where.";
  std::optional<double> x1, x2;

  void fields(Fields &f) override {
    f("x1", x1, "a number in place of the input x1");
    f("x2", x2, "a number in place of the input x2");
  }
  static constexpr PlainFacts plain{.inputs = {{"condition", "(...): bool, or not 0"},
                                               {"x1", "(...), shapes that broadcast", "x1 null"},
                                               {"x2", "(...), shapes that broadcast", "x2 null"}},
                                    .outputs = {{"y", "(...)"}}};
  Arity arity() const override {
    const int n = 3 - (x1 ? 1 : 0) - (x2 ? 1 : 0);
    return {n, n};
  }
  std::vector<Symbol> call(Call &c) const override {
    const DType type = x1 && x2 ? DType::f32 : c.e.dtype(c.x(1));
    Id a = x1 ? c.e.scalar(*x1, type) : c.x(1);
    Id b = x2 ? c.e.scalar(*x2, type) : c.x(x1 ? 1 : 2);
    if (c.e.dtype(a) != c.e.dtype(b))
      fail(Code::invalid_argument, "input 2: expected dtype=", c.e.dtype(a),
           " as input 1 has, found dtype=", c.e.dtype(b));
    return {{ops::select(c.e, ops::cast(c.e, c.x(), DType::boolean), a, b)}};
  }
};

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

DL4_KINDS(activations, ReLU, LeakyReLU, ELU, PReLU, Softmax, Clip, Where)
DL4_TABLE(Reductions, reductions)
DL4_KINDS(reductions, Argmax)

}  // namespace dl4::kinds
