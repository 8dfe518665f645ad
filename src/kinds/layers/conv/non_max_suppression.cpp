// NonMaxSuppression: selects a detector's boxes.
#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct NonMaxSuppression final : LayerOf<NonMaxSuppression> {
  static constexpr const char *name = "NonMaxSuppression";
  static constexpr const char *doc =
      "Of each class the boxes of the largest scores that overlap no better one: ONNX's NonMaxSuppression. How many "
      "there "
      "are is known once a run has computed it (see Range).";
  int64_t max_output_boxes_per_class = 0;
  double iou_threshold = 0;
  std::optional<double> score_threshold;
  bool center_point_box = false;

  void fields(Fields &f) override {
    f("max_output_boxes_per_class", max_output_boxes_per_class)
        .required("2")
        .at_least(0)
        .at_most(max_dim)
        .doc("at most so many of each class");
    f("iou_threshold", iou_threshold)
        .at_least(0)
        .at_most(1)
        .doc("of two boxes with a larger intersection over union the one of the smaller score goes");
    f("score_threshold", score_threshold).doc("boxes of this score or less are left out; null: none");
    f("center_point_box", center_point_box)
        .doc("whether boxes are (x_center, y_center, width, height), not two corners (y1, x1, y2, x2)");
  }
  Arity arity() const override { return {2, 2}; }
  static constexpr PlainFacts plain{.inputs = {{"boxes", "(B, N, 4)"}, {"scores", "(B, C, N)"}},
                                    .outputs = {{"y", "(n, 3) int64: which of B, of C and of N"}}};

  std::vector<Symbol> call(Call &c) const override {
    ops::Suppression how{max_output_boxes_per_class, static_cast<float>(iou_threshold), {}, center_point_box};
    if (score_threshold) how.least = static_cast<float>(*score_threshold);
    const ops::Chosen all = ops::non_max_suppression(c.e, c.x(0), c.x(1), how);
    return {{ops::gather(c.e, all.places, ops::range(c.e, all.count))}};
  }
};

}  // namespace
DL4_KIND(NonMaxSuppression)
}  // namespace dl4::kinds
