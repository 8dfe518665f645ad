// Normalization: by a given mean and variance, or those of data: Welford's sums of squares about the mean, in double.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/field.hpp"
#include "kinds/layer.hpp"
#include "kinds/layers/normalization/standardized.hpp"

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

}  // namespace dl4::kinds
