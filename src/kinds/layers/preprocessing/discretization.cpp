// keras.src.layers.preprocessing.discretization: summaries of quantiles that are merged from batch to batch.
#include "kinds/layers/preprocessing/discretization.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.hpp"

namespace dl4::kinds {
namespace {

// Numbers in ascending order, and how many of the data each stands for.
struct Summary {
  std::vector<float> edges, weights;
  size_t size() const { return edges.size(); }
};

// numpy.interp of ascending xs.
double interpolated(double x, const std::vector<double> &xs, const std::vector<double> &ys) {
  if (x <= xs.front()) return ys.front();
  if (x >= xs.back()) return ys.back();
  const size_t i = static_cast<size_t>(std::upper_bound(xs.begin(), xs.end(), x) - xs.begin()) - 1;
  const double slope = (ys[i + 1] - ys[i]) / (xs[i + 1] - xs[i]);
  return slope * (x - xs[i]) + ys[i];
}

Summary compressed(const Summary &s, double epsilon) {
  if (static_cast<double>(s.size()) * epsilon < 1) return s;
  std::vector<double> sums(s.size()), shares(s.size()), edges(s.edges.begin(), s.edges.end());
  float sum = 0;  // Keras's arrays are of float32
  for (size_t i = 0; i < s.size(); ++i) sums[i] = sum += s.weights[i];
  for (size_t i = 0; i < s.size(); ++i) shares[i] = static_cast<float>(sums[i]) / sum;
  const auto n = static_cast<size_t>(std::ceil(1.0 / epsilon));
  Summary made;
  double before = 0;
  for (size_t i = 0; i < n; ++i) {
    const double part = epsilon + static_cast<double>(i) * epsilon, here = interpolated(part, shares, sums);
    made.edges.push_back(static_cast<float>(interpolated(part, shares, edges)));
    made.weights.push_back(static_cast<float>(here - before));
    before = here;
  }
  return made;
}

class Bins final : public Adapter {
 public:
  Bins(Json config, int64_t num_bins, double epsilon)
      : config_(std::move(config)), num_bins_(num_bins), epsilon_(epsilon) {}

  void add(const Tensor &batch) override {
    std::vector<float> values = floats(batch);
    if (values.empty()) return;
    std::sort(values.begin(), values.end(),
              [](float a, float b) { return a < b || (std::isnan(b) && !std::isnan(a)); });
    const double step = std::max(static_cast<double>(values.size()) / (1.0 / epsilon_), 1.0);
    Summary merged;
    for (size_t i = static_cast<size_t>(step - 1); i < values.size(); i += static_cast<size_t>(step)) {
      merged.edges.push_back(values[i]);
      merged.weights.push_back(static_cast<float>(step));
    }
    merge(merged, summary_);
    summary_ = compressed(merged, epsilon_);
  }
  Json config() const override {
    if (summary_.size() == 0) fail(Code::invalid_argument, "expected numbers to learn from, got none");
    const Summary last = compressed(summary_, 1.0 / static_cast<double>(num_bins_));
    Json config = config_;
    config["bin_boundaries"] = std::vector<double>(last.edges.begin(), last.edges.end() - (last.size() ? 1 : 0));
    return config;
  }

 private:
  static std::vector<float> floats(const Tensor &t) {
    std::vector<float> values;
    const auto n = static_cast<size_t>(t.elements());
    auto take = [&](const auto *from) { values.assign(from, from + n); };
    switch (t.dtype) {
      case DType::f32:
        take(t.as<float>());
        break;
      case DType::f64:
        take(t.as<double>());
        break;
      case DType::i32:
        take(t.as<int32_t>());
        break;
      case DType::i64:
        take(t.as<int64_t>());
        break;
      case DType::u8:
      case DType::boolean:
        take(t.as<uint8_t>());
        break;
      case DType::string:
        fail(Code::shape_mismatch, "expected numbers to learn boundaries from, got strings");
    }
    return values;
  }
  static void merge(Summary &to, const Summary &more) {
    to.edges.insert(to.edges.end(), more.edges.begin(), more.edges.end());
    to.weights.insert(to.weights.end(), more.weights.begin(), more.weights.end());
    std::vector<size_t> order(to.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to.edges[a] < to.edges[b]; });
    Summary sorted;
    for (size_t i : order) sorted.edges.push_back(to.edges[i]), sorted.weights.push_back(to.weights[i]);
    to = std::move(sorted);
  }

  const Json config_;
  const int64_t num_bins_;
  const double epsilon_;
  Summary summary_;
};

}  // namespace

std::shared_ptr<Adapter> bins_from_data(Json config, int64_t num_bins, double epsilon) {
  return std::make_shared<Bins>(std::move(config), num_bins, epsilon);
}

}  // namespace dl4::kinds
