// Normalization: by a given mean and variance, or those of data: Welford's sums of squares about the mean, in double.
// Normalization of each item by itself, over axes or groups of channels.

#include "kinds/layers/normalization/standardized.hpp"
#include "kinds/norm.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct RunningMoments {
  double mean = 0, squares = 0;
  int64_t count = 0;

  void add(double v) {
    ++count;
    const double before = v - mean;
    mean += before / static_cast<double>(count);
    squares += before * (v - mean);
  }
};

class MomentsOfData final : public Adapter {
 public:
  MomentsOfData(Json config, std::vector<int64_t> axes) : config_(std::move(config)), axes_(std::move(axes)) {}

  void add(const Tensor &batch) override {
    const std::vector<int> kept = numbered(batch.shape, axes_);
    Shape dims;
    for (int a : kept) dims = dims.inserted(dims.rank(), batch.shape[a]);
    if (all_.empty() && !seen_) {
      dims_ = dims, seen_ = true;
      all_.resize(static_cast<size_t>(dims.elements()));
    }
    if (dims != dims_)
      fail(Code::shape_mismatch, "expected batches whose kept axes are ", dims_, ", as the first has, got ", dims);
    switch (batch.dtype) {
      case DType::f32:
        return take(batch.as<float>(), batch.shape, kept);
      case DType::f64:
        return take(batch.as<double>(), batch.shape, kept);
      case DType::i32:
        return take(batch.as<int32_t>(), batch.shape, kept);
      case DType::i64:
        return take(batch.as<int64_t>(), batch.shape, kept);
      case DType::u8:
      case DType::boolean:
        return take(batch.as<uint8_t>(), batch.shape, kept);
      case DType::string:
        fail(Code::shape_mismatch, "expected numbers to learn from, got strings");
    }
  }
  Json config() const override {
    if (all_.empty() || all_[0].count == 0) fail(Code::invalid_argument, "expected numbers to learn from, got none");
    Json config = config_;
    size_t at = 0;
    config["mean"] = nested(0, at, [](const RunningMoments &m) { return m.mean; });
    at = 0;
    config["variance"] =
        nested(0, at, [](const RunningMoments &m) { return m.squares / static_cast<double>(m.count); });
    return config;
  }

 private:
  template <class T>
  void take(const T *from, const Shape &shape, const std::vector<int> &kept) {
    const int64_t n = shape.elements();
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = 0;
      for (int a : kept) at = at * shape[a] + i / shape.elements(a + 1, shape.rank()) % shape[a];
      all_[static_cast<size_t>(at)].add(static_cast<double>(from[i]));
    }
  }
  template <class F>
  Json nested(int axis, size_t &at, F number) const {
    if (axis == dims_.rank()) return number(all_[at++]);
    Json list = Json::array();
    for (int64_t i = 0; i < dims_[axis]; ++i) list.push_back(nested(axis + 1, at, number));
    return list;
  }

  const Json config_;
  const std::vector<int64_t> axes_;
  Shape dims_;
  bool seen_ = false;
  std::vector<RunningMoments> all_;
};

struct Normalization : LayerOf<Normalization> {
  static constexpr const char *doc =
      "(x - mean) / max(sqrt(variance), 1e-7), with a mean and a variance for each index of the axes: given as "
      "attributes, or as weights that Keras's adapt() sets; they begin at 0 and 1.";
  std::optional<std::vector<int64_t>> axis{{-1}};
  std::optional<NestedNumbers> mean, variance;
  bool invert = false;

  void fields(Fields &f) override {
    f("axis", axis, "the axes that keep their own mean and variance; null = none of them");
    f("mean", mean, "the mean, a number or as large as the axes; null = the weight \"mean\"").example("0.5");
    f("variance", variance, "the variance, of the shape of the mean; null = the weight \"variance\"").example("2");
    f("invert", invert, "turns normalised values back: x * max(sqrt(variance), 1e-7) + mean");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ..., C)"}},
                                    .outputs = {{"y", "(B, ..., C)"}},
                                    .weights = {{"mean", "the axes' dims, not trained, without the attribute"},
                                                {"variance", "the axes' dims, not trained, without the attribute"},
                                                {"count", "(), not trained, without the attribute"}},
                                    .mask = "passed on"};

  void check() override {
    if (mean.has_value() != variance.has_value())
      refuse_attribute(mean ? "variance" : "mean", "expected numbers, as the other of mean and variance has, got null");
    if (!mean) return;
    if (mean->shape != variance->shape)
      refuse_attribute("variance", "expected shape ", mean->shape, " as mean has, got ", variance->shape);
    if (mean->shape.rank() > static_cast<int>(axes().size()))
      refuse_attribute("mean", "expected at most ", axes().size(), " axes, as \"axis\" has, got shape ", mean->shape);
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    c.as_float(0);
    ops::Emit &e = c.e;
    const std::vector<int> kept = numbered(c.shape(), axes());
    Shape dims;
    for (int a : kept) dims = dims.inserted(dims.rank(), known_dim(c, a));
    Id m, v;
    if (mean) {
      m = constant(c, *mean, kept);
      v = constant(c, *variance, kept);
    } else {
      m = c.non_trainable("mean", dims, parse<Initializer>("Zeros"));
      v = c.non_trainable("variance", dims, parse<Initializer>("Ones"));
      c.non_trainable("count", {}, parse<Initializer>("Zeros"));
      if (!kept.empty()) {
        m = spread_over(e, m, c.x(), kept);
        v = spread_over(e, v, c.x(), kept);
      }
    }
    Id deviation = binary(e, ops::Binary::max, unary(e, ops::Unary::sqrt, v), e.scalar(1e-7));
    if (invert) return {{add(e, m, mul(e, c.x(), deviation)), c.mask()}};
    return {{div(e, sub(e, c.x(), m), deviation), c.mask()}};
  }

  std::shared_ptr<Adapter> adapter(int64_t) const override {
    if (mean) fail(Code::invalid_argument, "\"mean\": expected null, for a mean that is given is not learned");
    return std::make_shared<MomentsOfData>(config(), axes());
  }

 private:
  std::vector<int64_t> axes() const { return axis.value_or(std::vector<int64_t>()); }

  // Its axes are the last of those kept.
  static Id constant(Call &c, const NestedNumbers &numbers, const std::vector<int> &kept) {
    Shape shape;
    const Shape x = c.shape();
    const int given = numbers.shape.rank(),
              first = given == 0 ? x.rank() : kept[kept.size() - static_cast<size_t>(given)];
    for (int i = first, k = 0; i < x.rank(); ++i) {
      const bool is_kept = std::find(kept.begin(), kept.end(), i) != kept.end();
      const int64_t dim = is_kept ? numbers.shape[k++] : 1;
      if (dim != 1 && dim != x[i])
        fail(Code::shape_mismatch, "\"mean\" of shape ", numbers.shape, " does not fit axis ", i, " of ", x);
      shape = shape.inserted(shape.rank(), dim);
    }
    Tensor t = make_tensor(DType::f32, shape);
    std::transform(numbers.values.begin(), numbers.values.end(), t.as<float>(),
                   [](double v) { return static_cast<float>(v); });
    return c.e.constant(std::move(t));
  }
};

}  // namespace

DL4_KINDS(normalization, Normalization)

namespace {

void need_axes(const std::vector<int64_t> &axis) {
  if (axis.empty()) refuse_attribute("axis", "expected at least one axis");
}

// Shape of the weights: the axes' dims in ascending order of the given numbers, as in Keras.
Shape dims_of(Call &c, std::vector<int64_t> axis) {
  std::sort(axis.begin(), axis.end());
  Shape dims;
  for (int64_t a : axis) dims = dims.inserted(dims.rank(), known_dim(c, c.shape().axis(a)));
  return dims;
}

struct LayerNormalization : LayerOf<LayerNormalization> {
  static constexpr const char *doc =
      "gamma * (x - mean) / sqrt(variance + epsilon) + beta, the mean and variance over an axis, or over several axes "
      "together, of each item.";
  std::vector<int64_t> axis{-1};
  double epsilon = 1e-3;
  bool rms_scaling = false;
  ScaleAndCenter weights;

  void fields(Fields &f) override {
    f("axis", axis, "the axis, or a list of axes");
    f("epsilon", epsilon, "added to the variance");
    f("rms_scaling", rms_scaling, "gives gamma * x / sqrt(variance + epsilon), without mean and beta");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ..., C)"}},
      .outputs = {{"y", "(B, ..., C)"}},
      .weights = {{"gamma", "the axes' dims", "scale"}, {"beta", "the axes' dims", "center"}},
      .mask = "passed on"};
  void check() override { need_axes(axis); }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const std::vector<int> axes = numbered(c.shape(), axis);
    ScaleAndCenter w = weights;
    if (rms_scaling) {
      w.scale = true;
      w.center = false;
    }
    const Shape dims = w.scale || w.center ? dims_of(c, axis) : Shape();
    Id gamma = w.gamma(c, dims), beta = w.beta(c, dims);
    if (rms_scaling) return {{by_deviation(c.e, c.x(), axes, gamma), c.mask()}};
    return {{standardized(c.e, c.x(), axes, epsilon, true, gamma, beta), c.mask()}};
  }

 private:
  Id by_deviation(ops::Emit &e, Id x, const std::vector<int> &axes, Id gamma) const {
    Id apart = sub(e, x, reduce(e, ops::Reduce::mean, x, axes, true));
    Id variance = reduce(e, ops::Reduce::mean, unary(e, ops::Unary::square, apart), axes, true);
    Id y = mul(e, x, unary(e, ops::Unary::rsqrt, add(e, variance, e.scalar(epsilon))));
    return mul(e, y, spread_over(e, gamma, x, axes));
  }
};

struct RMSNormalization : LayerOf<RMSNormalization> {
  static constexpr const char *doc =
      "scale * x / sqrt(mean of squares + epsilon), the mean over an axis, or over several axes together, of each "
      "item.";
  std::vector<int64_t> axis{-1};
  double epsilon = 1e-6;

  void fields(Fields &f) override {
    f("axis", axis, "the axis, or a list of axes; scale multiplies along the last axes, also where these are others");
    f("epsilon", epsilon, "added to the mean of squares");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ..., C)"}}, .outputs = {{"y", "(B, ..., C)"}}, .weights = {{"scale", "the axes' dims"}}};
  void check() override { need_axes(axis); }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    const std::vector<int> axes = numbered(c.shape(), axis);
    Id scale = c.weight("scale", dims_of(c, axis), parse<Initializer>("Ones"));
    const Shape x = c.shape(), dims = c.e.shape(scale);
    const bool last = axes[0] == x.rank() - dims.rank() && dims == x.last(dims.rank());
    if (last) return {{standardized(c.e, c.x(), axes, epsilon, false, scale)}};
    // As in Keras: broadcast along the last axes, whichever were normalised.
    if (broadcast(x, dims) != x)
      fail(Code::shape_mismatch, "\"axis\": the scale of shape ", dims, " does not fit the last axes of ", x);
    return {{mul(c.e, standardized(c.e, c.x(), axes, epsilon, false), scale)}};
  }
};

struct GroupNormalization : LayerOf<GroupNormalization> {
  static constexpr const char *doc =
      "gamma * (x - mean) / sqrt(variance + epsilon) + beta, the mean and variance over a group of channels and all "
      "places of each item; gamma and beta for each channel.";
  int64_t groups = 32, axis = -1;
  double epsilon = 1e-3;
  ScaleAndCenter weights;

  void fields(Fields &f) override {
    f("groups", groups, "how many groups; -1 = one for each channel").example("2").within(-1, max_dim);
    f("axis", axis, "the axis of the channels");
    f("epsilon", epsilon, "added to the variance");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ..., C)"}},
                                    .outputs = {{"y", "(B, ..., C)"}},
                                    .weights = {{"gamma", "(C)", "scale"}, {"beta", "(C)", "center"}},
                                    .mask = "passed on"};
  void check() override {
    if (groups == 0) refuse_attribute("groups", "expected at least 1, or -1, got 0");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 2);
    c.need_float(0);
    ops::Emit &e = c.e;
    const int at = c.shape().axis(axis), rank = c.shape().rank();
    if (at == 0) fail(Code::invalid_argument, "\"axis\": expected an axis behind that of the batch, got ", axis);
    const int64_t dim = known_dim(c, at), count = groups == -1 ? dim : groups;
    if (count > dim || dim % count != 0)
      fail(Code::shape_mismatch, "\"groups\": expected a divisor of the ", dim, " channels, got ", count);
    Id gamma = weights.gamma(c, {dim}), beta = weights.beta(c, {dim});
    std::vector<int> places;
    Shape wide;  // a number per channel, broadcast against a sample
    for (int i = 1; i < rank; ++i) {
      if (i != at) places.push_back(i);
      wide = wide.inserted(i - 1, i == at ? dim : 1);
    }
    // Each channel's mean over its group. Reduces positions first, to read large data once and in order.
    auto group_mean = [&](Id v) {
      if (!places.empty()) v = reduce(e, ops::Reduce::mean, v, places);
      const Id channels = reshape(e, v, 1, {count, dim / count});
      return reshape(e, broadcast_like(e, reduce(e, ops::Reduce::mean, channels, {2}, true), channels), 1, wide);
    };
    const Id apart = sub(e, c.x(), group_mean(c.x()));
    const Id variance = group_mean(unary(e, ops::Unary::square, apart));
    Id by = unary(e, ops::Unary::rsqrt, add(e, variance, e.scalar(epsilon)));
    if (gamma != ops::none) by = mul(e, by, spread_over(e, gamma, c.x(), {at}));
    const Id y = mul(e, apart, by);
    return {{beta == ops::none ? y : add(e, y, spread_over(e, beta, c.x(), {at})), c.mask()}};
  }
};

struct UnitNormalization : LayerOf<UnitNormalization> {
  static constexpr const char *doc =
      "x over its norm along an axis, or along several axes together: x / max(norm, 1e-12).";
  std::vector<int64_t> axis{-1};

  void fields(Fields &f) override { f("axis", axis, "the axis, or a list of axes"); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  void check() override {
    if (axis.empty()) refuse_attribute("axis", "expected at least one axis");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    return {{normalised(c.e, c.x(), axis, 1e-12), c.mask()}};
  }
};

struct LocalResponseNormalization : LayerOf<LocalResponseNormalization> {
  static constexpr const char *doc =
      "x / (bias + alpha sum(x^2))^beta, summed over the features up to depth_radius away, as in AlexNet and in "
      "TensorFlow's local_response_normalization. Not a layer of Keras.";
  int64_t depth_radius = 5;
  double bias = 1, alpha = 1, beta = 0.5;

  void fields(Fields &f) override {
    f("depth_radius", depth_radius, "how far features count, to either side").within(0, max_dim);
    f("bias", bias, "added to the sum, so that it is not 0");
    f("alpha", alpha, "multiplies the sum of squares");
    f("beta", beta, "the power");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(..., C)"}}, .outputs = {{"y", "(..., C)"}}, .mask = "passed on"};

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    c.need_rank_from(0, 2);
    c.need_float(0);
    const int64_t features = c.last_dim();
    // A product with a band matrix of ones.
    ops::Id shape = ops::fill(e, DType::f32, 0, c.x(), 0, {features, features});
    ops::Id near = ops::cast(e, ops::band_mask(e, shape, depth_radius, depth_radius), DType::f32);
    ops::Id sums = ops::matmul(e, ops::unary(e, ops::Unary::square, c.x()), near);
    ops::Id energy = ops::add(e, ops::scale(e, sums, static_cast<float>(alpha)), e.scalar(bias));
    return {{ops::div(e, c.x(), ops::binary(e, ops::Binary::pow, energy, e.scalar(beta))), c.mask()}};
  }
};

}  // namespace

void ScaleAndCenter::fields(Fields &f) {
  f("center", center, "whether beta is added");
  f("scale", scale, "whether the result is multiplied by gamma");
  f("beta_initializer", beta_initializer, "fills beta at the start");
  f("gamma_initializer", gamma_initializer, "fills gamma at the start");
  f("beta_regularizer", beta_regularizer, "penalty on beta, added to the loss");
  f("gamma_regularizer", gamma_regularizer, "penalty on gamma, added to the loss");
  f("beta_constraint", beta_constraint, "applied to beta after every update");
  f("gamma_constraint", gamma_constraint, "applied to gamma after every update");
}

ops::Id ScaleAndCenter::gamma(Call &c, const Shape &shape) const {
  if (!scale) return ops::none;
  return c.weight("gamma", shape, gamma_initializer, gamma_regularizer, gamma_constraint);
}

ops::Id ScaleAndCenter::beta(Call &c, const Shape &shape) const {
  if (!center) return ops::none;
  return c.weight("beta", shape, beta_initializer, beta_regularizer, beta_constraint);
}

int64_t known_dim(Call &c, int axis) {
  const int64_t dim = c.shape()[axis];
  if (dim == free_dim)
    fail(Code::shape_mismatch, "axis ", axis, " of input 0 should be known. Full shape received: ", c.shape());
  return dim;
}

std::vector<int> numbered(const Shape &x, const std::vector<int64_t> &axes) {
  std::vector<int> list;
  for (int64_t axis : axes) list.push_back(x.axis(axis));
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end())
    refuse_attribute("axis", "an axis is listed twice for an input of shape ", x);
  return list;
}

Id spread_over(ops::Emit &e, Id v, Id x, const std::vector<int> &axes) {
  if (v == ops::none) return v;
  const Shape s = e.shape(x);
  Shape to;
  for (int i = axes[0]; i < s.rank(); ++i)
    to = to.inserted(to.rank(), std::find(axes.begin(), axes.end(), i) == axes.end() ? 1 : s[i]);
  return e.shape(v) == to ? v : reshape(e, v, 0, to);
}

Id standardized(ops::Emit &e, Id x, const std::vector<int> &axes, double epsilon, bool center, Id gamma, Id beta) {
  gamma = spread_over(e, gamma, x, axes);
  beta = spread_over(e, beta, x, axes);
  const auto count = static_cast<int>(axes.size());
  if (axes[0] == e.rank(x) - count) return normalize(e, x, count, epsilon, center, gamma, beta);
  if (center) x = sub(e, x, reduce(e, ops::Reduce::mean, x, axes, true));
  Id variance = reduce(e, ops::Reduce::mean, unary(e, ops::Unary::square, x), axes, true);
  Id y = mul(e, x, unary(e, ops::Unary::rsqrt, add(e, variance, e.scalar(epsilon))));
  if (gamma != ops::none) y = mul(e, y, gamma);
  return beta == ops::none ? y : add(e, y, beta);
}

DL4_KINDS(item_normalization, LayerNormalization, RMSNormalization, GroupNormalization, UnitNormalization,
          LocalResponseNormalization)

}  // namespace dl4::kinds
