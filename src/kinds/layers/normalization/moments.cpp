// Welford's sums of squares about the mean, in double.
#include "kinds/layers/normalization/moments.hpp"

#include "base/error.hpp"
#include "kinds/layers/normalization/standardized.hpp"

namespace dl4::kinds {
namespace {

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

}  // namespace

std::shared_ptr<Adapter> moments_from_data(Json config, std::vector<int64_t> axes) {
  return std::make_shared<MomentsOfData>(std::move(config), std::move(axes));
}

}  // namespace dl4::kinds
