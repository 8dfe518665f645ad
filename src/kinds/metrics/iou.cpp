// Intersection over union of classes, from a confusion matrix.
#include <optional>

#include "base/error.hpp"
#include "kinds/layers/core/masks.hpp"
#include "kinds/metric.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::none;

enum class Type { int64, int32, integer, float32 };

class Confusion : public Metric {
 public:
  Size size(const Shape &) const override { return {num_classes * num_classes, 1}; }
  // Absent classes do not count.
  void result(std::span<const double> sums, std::span<double> to) const override {
    const auto n = static_cast<size_t>(num_classes);
    double total = 0, occurring = 0;
    auto take = [&](size_t c) {
      double united = -sums[c * n + c];
      for (size_t i = 0; i < n; ++i) united += sums[c * n + i] + sums[i * n + c];
      if (!(united > 1e-9)) return;
      total += sums[c * n + c] / (united + 1e-7);
      ++occurring;
    };
    for (int64_t c : target_class_ids) take(static_cast<size_t>(c));
    for (size_t c = 0; target_class_ids.empty() && c < n; ++c) take(c);
    to[0] = total / (occurring + 1e-7);
  }

 protected:
  void type_field(Fields &f) {
    f("dtype", type, {"int64", "int32", "int", "float32"})
        .doc("of the matrix: integers cut class numbers and weights to whole ones");
  }
  // t, p: class indices. Values that are no class, or the ignored one, do not count.
  std::vector<Id> matrix(Emit &e, Id y_true, Id y_pred, Id sample_weight) const {
    const Shape is = e.shape(y_true), said = e.shape(y_pred);
    if (is.known() && said.known() && is.elements() != said.elements())
      fail(Code::shape_mismatch, "targets have classes of shape ", is, ", predictions ", said);
    Id t = number(e, y_true), p = reshape_like(e, number(e, y_pred), t);
    Id valid = both(e, is_class(e, t), is_class(e, p));
    if (ignore_class)
      valid = both(e, valid, binary(e, Binary::not_equal, t, e.scalar(static_cast<double>(*ignore_class))));
    Id row = mul(e, cast(e, t, DType::i32), e.scalar(static_cast<double>(num_classes), DType::i32));
    Id cell = select(e, valid, add(e, row, cast(e, p, DType::i32)), e.scalar(-1, DType::i32));
    Id weight = none;
    if (sample_weight != none)
      weight = mul(e, all_ones(e, t), leading(e, number(e, sample_weight), t, "sample weights"));
    return {bucket_sums(e, cell, weight, num_classes * num_classes)};
  }

  int64_t num_classes = 2;
  std::vector<int64_t> target_class_ids;  // empty: all
  std::optional<int64_t> ignore_class;
  Type type = Type::int64;

 private:
  Id number(Emit &e, Id x) const { return cast(e, type == Type::float32 ? x : cast(e, x, DType::i32), DType::f32); }
  Id is_class(Emit &e, Id x) const {
    return binary(e, Binary::logical_and, binary(e, Binary::greater_equal, x, e.scalar(0)),
                  binary(e, Binary::less, x, e.scalar(static_cast<double>(num_classes))));
  }
};

struct IoU final : Confusion {
  struct Row : Entry {
    bool some, one_hot;  // some: only target_class_ids; one_hot: targets are scores or one-hot
  };
  explicit IoU(const Row &row) : row(row), sparse_y_true(!row.one_hot), sparse_y_pred(!row.one_hot) {}
  const Row &row;
  bool sparse_y_true, sparse_y_pred;
  int64_t axis = -1;

  void fields(Fields &f) override {
    Metric::fields(f);
    f("num_classes", num_classes).required("3").at_least(1).at_most(4096).doc("how many classes");
    if (row.some)
      f("target_class_ids", target_class_ids).required("[0, 1]").at_least(0).doc("the classes that are measured");
    f("ignore_class", ignore_class).doc("a target that does not count");
    if (!row.one_hot) f("sparse_y_true", sparse_y_true).doc("targets are class numbers, not one-hot");
    f("sparse_y_pred", sparse_y_pred).doc("predictions are class numbers, not a score for each class");
    f("axis", axis).doc("axis of the classes, where there is one");
    type_field(f);
  }
  void check() override {
    if (row.some && target_class_ids.empty())
      refuse_attribute("target_class_ids", "expected at least one class, got []");
    for (int64_t c : target_class_ids)
      if (c >= num_classes) refuse_attribute("target_class_ids", "expected classes below ", num_classes, ", got ", c);
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    auto class_of = [&](Id x, bool sparse) {
      return sparse ? x : argmax(e, cast(e, x, DType::f32), e.shape(x).axis(axis));
    };
    return matrix(e, class_of(y_true, sparse_y_true), class_of(y_pred, sparse_y_pred), sample_weight);
  }
};

struct BinaryIoU final : Confusion {
  static constexpr const char *doc =
      "mean over classes 0 and 1 of their hits over what is one in targets or predictions";
  double threshold = 0.5;

  BinaryIoU() { target_class_ids = {0, 1}; }
  void fields(Fields &f) override {
    Metric::fields(f);
    f("target_class_ids", target_class_ids).at_least(0).at_most(1).doc("the classes that are measured");
    f("threshold", threshold).doc("predictions of at least this are class 1");
    type_field(f);
  }
  std::vector<Id> sums(Emit &e, Id y_true, Id y_pred, Id sample_weight, Id) const override {
    Id p = binary(e, Binary::greater_equal, cast(e, y_pred, DType::f32), e.scalar(threshold));
    return matrix(e, y_true, p, sample_weight);
  }
};

constexpr IoU::Row ious[] = {
    {row_of<IoU>("IoU", "mean over some classes of their hits over what is one in targets or predictions"), true,
     false},
    {row_of<IoU>("MeanIoU", "the same over all classes that occur"), false, false},
    {row_of<IoU>("OneHotIoU", "IoU of one-hot targets and scores"), true, true},
    {row_of<IoU>("OneHotMeanIoU", "MeanIoU of one-hot targets and scores"), false, true},
};

}  // namespace

DL4_TABLE(IoUs, ious)
DL4_KINDS(iou, BinaryIoU)

}  // namespace dl4::kinds
