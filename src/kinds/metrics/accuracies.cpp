// Accuracies: 1 where predictions are right, else 0.
#include <limits>

#include "base/error.hpp"
#include "kinds/metric.hpp"
#include "kinds/targets.hpp"

namespace dl4::kinds {

namespace {

using ops::Binary, ops::Emit, ops::Id;

Id as_float(Emit &e, Id flags) { return cast(e, flags, DType::f32); }

Id binary_matches(Emit &e, Id y_true, Id y_pred, float threshold) {
  auto [t, p] = matched(e, y_true, y_pred);
  return as_float(e, binary(e, Binary::equal, t, as_float(e, binary(e, Binary::greater, p, e.scalar(threshold)))));
}

Id categorical_matches(Emit &e, Id y_true, Id y_pred) {
  auto [t, p] = matched(e, y_true, y_pred);
  return as_float(e, binary(e, Binary::equal, argmax(e, t, -1), argmax(e, p, -1)));
}

Id sparse_matches(Emit &e, Id y_true, Id y_pred) {
  Id labels = class_numbers(e, y_true, y_pred);
  DType t = e.dtype(labels);
  if (t == DType::u8 || t == DType::boolean) labels = cast(e, labels, t = DType::i32);
  return as_float(e, binary(e, Binary::equal, labels, cast(e, argmax(e, y_pred, -1), t)));
}

// labels: class indices. Whether the class is among the k largest predictions; equal values count as larger.
Id top_k_matches(Emit &e, Id labels, Id y_pred, int64_t k) {
  Id rows = reshape(e, y_pred, 0, {free_dim, e.shape(y_pred).last()});
  Id own = pick(e, rows, reshape(e, labels, 0, {free_dim}));
  Id larger = as_float(e, binary(e, Binary::greater, rows, expand_dims(e, own, 1)));
  Id among = binary(e, Binary::less, reduce(e, ops::Reduce::sum, larger, {1}), e.scalar(static_cast<float>(k)));
  Id finite = binary(e, Binary::less, unary(e, ops::Unary::abs, own), e.scalar(std::numeric_limits<float>::infinity()));
  return reshape_like(e, as_float(e, binary(e, Binary::logical_and, among, finite)), labels);
}

// Whether the class is one of the first k ids of its row.
Id among_first(Emit &e, Id labels, Id ids, int64_t k) {
  const int64_t width = e.shape(ids).last();
  Id first = width == free_dim || width > k ? slice(e, ids, -1, 0, k) : ids;
  Id equal = binary(e, Binary::equal, expand_dims(e, as_float(e, labels), e.rank(labels)), as_float(e, first));
  return as_float(e, reduce(e, ops::Reduce::max, equal, {-1}));
}

struct Accuracy : MeanMetric {
  static constexpr const char *doc =
      "share of predictions that equal their targets; the words \"accuracy\" and \"acc\" in a trainer's metrics mean "
      "by_shape";
  bool by_shape = false;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("by_shape", by_shape)
        .doc(
            "be BinaryAccuracy for one output a sample, SparseCategoricalAccuracy for "
            "class numbers, else CategoricalAccuracy");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    if (!by_shape) {
      auto [t, p] = matched(e, y_true, y_pred);
      return {cast(e, binary(e, ops::Binary::equal, t, p), DType::f32), ops::none};
    }
    switch (targets_for(e.shape(y_true), e.shape(y_pred))) {
      case Targets::binary:
        return {binary_matches(e, y_true, y_pred, 0.5f), ops::none};
      case Targets::sparse:
        return {sparse_matches(e, y_true, y_pred), ops::none};
      case Targets::categorical:
        break;
    }
    return {categorical_matches(e, y_true, y_pred), ops::none};
  }
};

struct BinaryAccuracy : MeanMetric {
  static constexpr const char *doc = "share of predictions that lie above the threshold exactly where the target is 1";
  double threshold = 0.5;
  void fields(Fields &f) override {
    Metric::fields(f);
    f("threshold", threshold).doc("predictions above it say 1");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return {binary_matches(e, y_true, y_pred, static_cast<float>(threshold)), ops::none};
  }
};

struct CategoricalAccuracy : MeanMetric {
  static constexpr const char *doc = "share of samples whose largest prediction is at the largest target";
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return {categorical_matches(e, y_true, y_pred), ops::none};
  }
};

struct SparseCategoricalAccuracy : MeanMetric {
  static constexpr const char *doc = "share of samples whose largest prediction is at the class number";
  Items items(Emit &e, Id y_true, Id y_pred) const override { return {sparse_matches(e, y_true, y_pred), ops::none}; }
};

struct TopK : MeanMetric {
  int64_t k = 5;
  void fields(Fields &f) override {
    Metric::fields(f);
    f("k", k).at_least(1).doc("how many count");
  }
};

struct TopKCategoricalAccuracy : TopK {
  static constexpr const char *doc = "share of samples whose largest target is among the k largest predictions";
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    auto [t, p] = matched(e, y_true, y_pred);
    return {top_k_matches(e, argmax(e, t, -1), p, k), ops::none};
  }
};

struct SparseTopKCategoricalAccuracy : TopK {
  static constexpr const char *doc = "share of samples whose class number is among the k largest predictions";
  bool from_sorted_ids = false;
  void fields(Fields &f) override {
    TopK::fields(f);
    f("from_sorted_ids", from_sorted_ids)
        .doc("predictions are class numbers, the best first: the class is to be among the first k");
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    Id labels = class_numbers(e, y_true, y_pred);
    return {from_sorted_ids ? among_first(e, labels, y_pred, k) : top_k_matches(e, labels, y_pred, k), ops::none};
  }
};

}  // namespace
DL4_KINDS(accuracies, Accuracy, BinaryAccuracy, CategoricalAccuracy, SparseCategoricalAccuracy, TopKCategoricalAccuracy,
          SparseTopKCategoricalAccuracy)
}  // namespace dl4::kinds
