// What fills weights, what penalizes them, and what limits them. Initializers: constants; random numbers, whose
// variance may follow from the shape (VarianceScaling and its presets); orthonormal matrices; a Fourier transform.
#include "kinds/weight.hpp"

#include <cmath>
#include <numbers>

#include "backend/backend.hpp"
#include "base/math.hpp"
#include "kinds/field.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

struct Constant final : Initializer {
  struct Row : Entry {
    double value;
    bool given = false;  // set by the user
  };

  explicit Constant(const Row &row) : row(row), value{{Shape{}, {row.value}}} {}
  const Row &row;
  Filling value;

  void fields(Fields &f) override {
    if (row.given) f("value", value, "of every element, or an array that broadcasts to the weight");
  }
  void fill(Tensor &t, const Seed &) const override {
    const Shape &from = value.shape, &to = t.shape;
    bool fits = from.rank() <= to.rank();
    for (int i = 1; fits && i <= from.rank(); ++i) fits = from[-i] == 1 || from[-i] == to[-i];
    if (!fits) fail(Code::shape_mismatch, "initializer Constant: values of shape ", from, " do not broadcast to ", to);
    for (int64_t i = 0; i < to.elements(); ++i) {
      int64_t at = 0, step = 1, rest = i;
      for (int axis = 1; axis <= from.rank(); ++axis) {
        if (from[-axis] != 1) at += rest % to[-axis] * step;
        rest /= to[-axis];
        step *= from[-axis];
      }
      t.as<float>()[i] = static_cast<float>(value.values[static_cast<size_t>(at)]);
    }
  }
};

constexpr Constant::Row constants[] = {
    {row_of<Constant>("Zeros", "all 0", "zero"), 0},
    {row_of<Constant>("Ones", "all 1", "one"), 1},
    {row_of<Constant>("Constant", "all the same value"), 0, true},
};

struct Identity : Initializer {
  static constexpr const char *doc = "gain on the diagonal of a matrix, 0 elsewhere";
  static constexpr const char *aliases[] = {"IdentityInitializer"};
  double gain = 1;
  void fields(Fields &f) override { f("gain", gain, "value on the diagonal"); }
  void fill(Tensor &t, const Seed &) const override {
    if (t.shape.rank() != 2)
      fail(Code::shape_mismatch, "initializer Identity: expected a weight of rank 2, got shape ", t.shape);
    std::fill_n(t.as<float>(), t.elements(), 0.0f);
    for (int64_t i = 0; i < std::min(t.shape[0], t.shape[1]); ++i)
      t.as<float>()[i * t.shape[1] + i] = static_cast<float>(gain);
  }
};

class RandomInitializer : public Initializer {
 public:
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("seed", seed, "fixes the draw: the same numbers at every call, whatever the context's seed");
  }
  // With a seed of its own it takes no op seed from the graph.
  bool is_random() const override { return !seed.has_value(); }

 protected:
  // The random stream: from the graph's seeds or, with its own seed, the one that Keras 3 uses for that seed.
  Stream stream(const Seed &graph) const {
    if (!seed) return {graph.global, graph.op};
    // Keras maps the seed to an int32 by a floored remainder; TensorFlow's stateless ops then scramble the pair (seed,
    // 0).
    constexpr int64_t divisor = INT32_MAX - 1;
    int64_t small = (*seed % divisor + divisor) % divisor;
    PhiloxBlock mix = philox({0x02461e29'3ec8f720, 0}, static_cast<uint64_t>(small));
    return {mix[0] | uint64_t{mix[1]} << 32, mix[2] | uint64_t{mix[3]} << 32};
  }
};

struct Normal final : RandomInitializer {
  struct Row : Entry {
    decltype(&kernels::fill_normal) draw;
    const char *deviation;
  };
  explicit Normal(const Row &row) : row(row) {}
  const Row &row;
  double mean = 0, stddev = 0.05;

  void fields(Fields &f) override {
    f("mean", mean, "mean");
    f("stddev", stddev, row.deviation).at_least(0);
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    row.draw(stream(graph), 0, static_cast<float>(mean), static_cast<float>(stddev), t.as<float>(), t.elements());
  }
};

const Normal::Row normals[] = {
    {row_of<Normal>("RandomNormal", "normal random numbers", "normal"), kernels::fill_normal, "standard deviation"},
    {row_of<Normal>("TruncatedNormal",
                    "normal random numbers, drawn again where more than two deviations from the mean"),
     kernels::fill_truncated_normal, "standard deviation before the cut"},
};

struct RandomUniform : RandomInitializer {
  static constexpr const char *doc = "uniform random numbers";
  static constexpr const char *aliases[] = {"uniform"};
  double minval = -0.05, maxval = 0.05;

  void fields(Fields &f) override {
    f("minval", minval, "least number");
    f("maxval", maxval, "greatest number, itself left out");
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    kernels::fill_uniform(stream(graph), 0, static_cast<float>(minval), static_cast<float>(maxval), t.as<float>(),
                          t.elements());
  }
};

enum class Fan { in, out, average };
enum class Distribution { truncated_normal, untruncated_normal, uniform, normal };

double product(const Shape &shape, const std::vector<int64_t> &axes) {
  double n = 1;
  for (int64_t axis : axes) n *= static_cast<double>(shape[shape.axis(axis)]);
  return n;
}

struct FanInitializer final : RandomInitializer {
  struct Row : Entry {
    double scale;
    Fan fan;
    Distribution distribution;
    bool given = false;  // set by the user
  };

  explicit FanInitializer(const Row &row) : row(row), scale(row.scale), mode(row.fan), distribution(row.distribution) {}
  const Row &row;
  double scale;
  Fan mode;
  Distribution distribution;
  std::optional<std::vector<int64_t>> input_axes, output_axes;

  void fields(Fields &f) override {
    if (row.given) {
      f("scale", scale, "above 0");
      f("mode", mode, {"fan_in", "fan_out", "fan_avg"}, "which fan divides");
      f("distribution", distribution, {"truncated_normal", "untruncated_normal", "uniform", "normal"},
        "normal is another word for truncated_normal");
    }
    RandomInitializer::fields(f);
    f("input_axes", input_axes,
      "axes whose product is fan_in; with output_axes, in place of the rule for dense and convolution kernels");
    f("output_axes", output_axes, "axes whose product is fan_out");
  }
  void check() override {
    if (!(scale > 0))
      throw Error(Code::invalid_argument, "expected above 0").with("attribute", "scale").in("\"scale\"");
  }
  void fill(Tensor &t, const Seed &graph) const override {
    double variance = scale / std::max(1.0, fan(t.shape));
    float *y = t.as<float>();
    int64_t n = t.elements();
    switch (distribution) {
      case Distribution::truncated_normal:
      case Distribution::normal: {
        // Standard deviation of a standard normal truncated at two.
        float stddev = static_cast<float>(std::sqrt(variance) / 0.87962566103423978);
        kernels::fill_truncated_normal(stream(graph), 0, 0, stddev, y, n);
        break;
      }
      case Distribution::untruncated_normal:
        kernels::fill_normal(stream(graph), 0, 0, static_cast<float>(std::sqrt(variance)), y, n);
        break;
      case Distribution::uniform: {
        float limit = static_cast<float>(std::sqrt(3 * variance));
        kernels::fill_uniform(stream(graph), 0, -limit, limit, y, n);
        break;
      }
    }
  }

 private:
  double fan(const Shape &s) const {
    double in = 1, out = 1;
    if (input_axes && output_axes) {
      in = product(s, *input_axes);
      out = product(s, *output_axes);
    } else if (s.rank() == 1) {
      in = out = static_cast<double>(s[0]);
    } else if (s.rank() > 1) {
      double receptive = static_cast<double>(s.elements(0, s.rank() - 2));
      in = receptive * static_cast<double>(s[-2]);
      out = receptive * static_cast<double>(s[-1]);
    }
    return mode == Fan::in ? in : mode == Fan::out ? out : (in + out) / 2;
  }
};

constexpr FanInitializer::Row row(const char *name, const char *doc, double scale, Fan fan, Distribution distribution,
                                  bool given = false) {
  return {row_of<FanInitializer>(name, doc), scale, fan, distribution, given};
}

constexpr auto normal = Distribution::truncated_normal, uniform = Distribution::uniform;
constexpr FanInitializer::Row fan_initializers[] = {
    row("VarianceScaling", "random numbers of variance scale / fan", 1, Fan::in, normal, true),
    row("GlorotNormal", "truncated normal of variance 2 / (fan_in + fan_out)", 1, Fan::average, normal),
    row("GlorotUniform", "uniform within sqrt(6 / (fan_in + fan_out)) of 0", 1, Fan::average, uniform),
    row("HeNormal", "truncated normal of variance 2 / fan_in", 2, Fan::in, normal),
    row("HeUniform", "uniform within sqrt(6 / fan_in) of 0", 2, Fan::in, uniform),
    row("LecunNormal", "truncated normal of variance 1 / fan_in", 1, Fan::in, normal),
    row("LecunUniform", "uniform within sqrt(3 / fan_in) of 0", 1, Fan::in, uniform),
};

struct Orthogonal : RandomInitializer {
  static constexpr const char *doc =
      "orthonormal rows or columns, whichever are fewer, of the weight seen as (all axes but the last, last axis)";
  static constexpr const char *aliases[] = {"OrthogonalInitializer"};
  double gain = 1;

  void fields(Fields &f) override {
    f("gain", gain, "factor on the result");
    RandomInitializer::fields(f);
  }
  void fill(Tensor &t, const Seed &graph) const override {
    if (t.shape.rank() < 2)
      fail(Code::shape_mismatch, "initializer Orthogonal: expected a weight of rank 2 or more, got shape ", t.shape);
    int64_t columns = t.shape.last(), rows = t.shape.elements(0, t.shape.rank() - 1);
    int64_t m = std::max(rows, columns), n = std::min(rows, columns);
    float *y = t.as<float>();
    kernels::fill_normal(stream(graph), 0, 0, 1, y, m * n);
    std::vector<double> q(static_cast<size_t>(m * n));
    kernels::orthonormal(y, m, n, q.data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        y[r * columns + c] = static_cast<float>(gain * (rows < columns ? q[r * m + c] : q[c * m + r]));
  }
};

struct STFT : Initializer {
  static constexpr const char *doc =
      "kernel (frame, 1, fft / 2 + 1) of a convolution that is one side of a short-time Fourier transform";
  static constexpr const char *aliases[] = {"STFTInitializer"};
  enum class Side { real, imag } side = Side::real;
  enum class Window { hann, hamming, blackman, boxcar, none } window = Window::hann;
  enum class Scaling { density, spectrum, none } scaling = Scaling::density;
  bool periodic = false;

  void fields(Fields &f) override {
    f("side", side, {"real", "imag"}, "cosines or minus sines");
    f("window", window, {"hann", "hamming", "blackman", "boxcar"}, "weights of a frame; null for none")
        .null_means(Window::none)
        .among_others();
    f("scaling", scaling, {"density", "spectrum"}, "divide by the window's L2 or L1 norm; null for neither")
        .null_means(Scaling::none)
        .among_others();
    f("periodic", periodic, "the window's first element follows its last one");
  }
  void fill(Tensor &t, const Seed &) const override {
    const Shape &s = t.shape;
    if (s.rank() != 3 || s[1] != 1 || s[2] < 2)
      fail(Code::shape_mismatch, "initializer STFT: expected a weight (frame, 1, at least 2), got shape ", s);
    auto [weights, divisor] = frame(s[0]);
    for (int64_t i = 0; i < s[0]; ++i)
      for (int64_t k = 0; k < s[2]; ++k) {
        double angle = -2 * std::numbers::pi * static_cast<double>(i * k) / static_cast<double>(2 * (s[2] - 1));
        double v = side == Side::real ? math::cos(angle) : math::sin(angle);
        t.as<float>()[i * s[2] + k] = static_cast<float>(v * weights[static_cast<size_t>(i)] / divisor);
      }
  }

 private:
  // The window of n elements and its divisor.
  std::pair<std::vector<double>, double> frame(int64_t n) const {
    std::vector<double> w(static_cast<size_t>(n), 1.0);
    if (window == Window::none) return {w, 1};
    double l1 = 0, l2 = 0, last = static_cast<double>(periodic ? n : n - 1);
    for (size_t i = 0; i < w.size(); ++i) {
      double x = n > 1 ? 2 * std::numbers::pi * static_cast<double>(i) / last : std::numbers::pi;
      if (window == Window::hann) w[i] = 0.5 - 0.5 * math::cos(x);
      if (window == Window::hamming) w[i] = 0.54 - 0.46 * math::cos(x);
      if (window == Window::blackman) w[i] = 0.42 - 0.5 * math::cos(x) + 0.08 * math::cos(2 * x);
      l1 += std::abs(w[i]);
      l2 += w[i] * w[i];
    }
    if (scaling == Scaling::none) return {w, 1};
    return {w, scaling == Scaling::density ? std::sqrt(l2) : l1};
  }
};

struct L1 : Regularizer {
  static constexpr const char *doc = "l1 * sum(|w|)";
  double l1 = 0.01;
  void fields(Fields &f) override { f("l1", l1, "factor").at_least(0); }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    return scale(e, reduce(e, ops::Reduce::sum_abs, w, {}), static_cast<float>(l1));
  }
};

struct L2 : Regularizer {
  static constexpr const char *doc = "l2 * sum(w^2)";
  double l2 = 0.01;
  void fields(Fields &f) override { f("l2", l2, "factor").at_least(0); }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    return scale(e, ops::square_sum(e, w), static_cast<float>(l2));
  }
};

struct L1L2 : Regularizer {
  static constexpr const char *doc = "l1 * sum(|w|) + l2 * sum(w^2)";
  double l1 = 0, l2 = 0;
  void fields(Fields &f) override {
    f("l1", l1, "factor of the absolute values").at_least(0);
    f("l2", l2, "factor of the squares").at_least(0);
  }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    ops::Id total = ops::none;
    auto join = [&](ops::Id part, double factor) {
      part = scale(e, part, static_cast<float>(factor));
      total = total == ops::none ? part : add(e, total, part);
    };
    if (l1 != 0) join(reduce(e, ops::Reduce::sum_abs, w, {}), l1);
    if (l2 != 0) join(ops::square_sum(e, w), l2);
    return total == ops::none ? e.scalar(0) : total;
  }
};

struct OrthogonalRegularizer : Regularizer {
  static constexpr const char *doc =
      "factor * the mean of |cosine| over all pairs of different rows (or columns) of a matrix";
  double factor = 0.01;
  enum class Mode { rows, columns } mode = Mode::rows;

  void fields(Fields &f) override {
    f("factor", factor, "factor").at_least(0);
    f("mode", mode, {"rows", "columns"}, "what is to be orthogonal");
  }
  ops::Id penalty(ops::Emit &e, ops::Id w) const override {
    const Shape s = e.shape(w);
    if (s.rank() != 2) fail(Code::shape_mismatch, "OrthogonalRegularizer: expected a weight of rank 2, got shape ", s);
    bool rows = mode == Mode::rows;
    int64_t n = s[rows ? 0 : 1];
    if (n < 2) return e.scalar(0);  // no pairs
    ops::Id unit = normalised(e, w, {rows ? 1 : 0});
    // All but the first with all but the last: on and below the diagonal, each pair occurs once.
    const int axis = rows ? 0 : 1;
    ops::Id cosines = matmul(e, slice(e, unit, axis, 1, n - 1), slice(e, unit, axis, 0, n - 1),
                             {.transpose_a = !rows, .transpose_b = rows});
    ops::Id pairs = select(e, causal_mask(e, cosines), cosines, e.scalar(0));
    double count = static_cast<double>(n) * static_cast<double>(n - 1) / 2;
    return scale(e, reduce(e, ops::Reduce::sum_abs, pairs, {}), static_cast<float>(factor / count));
  }
};

struct MaxNorm : Constraint {
  static constexpr const char *doc = "weights along the axis are scaled down to a norm of at most max_value";
  double max_value = 2;
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override {
    f("max_value", max_value, "greatest norm").at_least(0);
    f("axis", axis, "axis or axes of one norm");
  }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    ops::Id norm = norms(e, w, axis);
    ops::Id wanted = binary(e, ops::Binary::min, norm, e.scalar(static_cast<float>(max_value)));
    return mul(e, w, div(e, wanted, add(e, norm, e.scalar(1e-7f))));
  }
};

struct MinMaxNorm : Constraint {
  static constexpr const char *doc = "weights along the axis are scaled towards a norm within [min_value, max_value]";
  double min_value = 0, max_value = 1, rate = 1;
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override {
    f("min_value", min_value, "least norm").at_least(0);
    f("max_value", max_value, "greatest norm").at_least(0);
    f("rate", rate, "how far to go in one update: 1 is all the way").within(0, 1);
    f("axis", axis, "axis or axes of one norm");
  }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    ops::Id norm = norms(e, w, axis);
    auto number = [&](double v) { return e.scalar(static_cast<float>(v)); };
    ops::Id within =
        binary(e, ops::Binary::min, binary(e, ops::Binary::max, norm, number(min_value)), number(max_value));
    ops::Id wanted = add(e, mul(e, within, number(rate)), mul(e, norm, number(1 - rate)));
    return mul(e, w, div(e, wanted, add(e, norm, e.scalar(1e-7f))));
  }
};

struct NonNeg : Constraint {
  static constexpr const char *doc = "negative weights become 0";
  ops::Id apply(ops::Emit &e, ops::Id w) const override { return binary(e, ops::Binary::max, w, e.scalar(0)); }
};

struct UnitNorm : Constraint {
  static constexpr const char *doc = "weights along the axis are scaled to a norm of 1";
  std::vector<int64_t> axis{0};
  void fields(Fields &f) override { f("axis", axis, "axis or axes of one norm"); }
  ops::Id apply(ops::Emit &e, ops::Id w) const override {
    return div(e, w, add(e, norms(e, w, axis), e.scalar(1e-7f)));
  }
};

}  // namespace

DL4_TABLE(InitializerRows, constants, normals, fan_initializers)
DL4_KINDS(for_weights, Identity, RandomUniform, Orthogonal, STFT, L1, L2, L1L2, OrthogonalRegularizer, MaxNorm,
          MinMaxNorm, NonNeg, UnitNorm)

}  // namespace dl4::kinds
