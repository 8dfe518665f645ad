// SegmentSum, SegmentMax: reduce rows by segment id. SegmentGather: the reverse.
#include "kinds/layer.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

template <class T>
struct Segments : LayerOf<Segments<T>> {
  std::optional<int64_t> num_segments;

  void fields(Fields &f) override {
    f("num_segments", num_segments)
        .at_least(0)
        .at_most(max_dim)
        .doc("number of segments; null = as many as the third input has rows");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"data", "(E, ...) or (B, E, ...)"},
                 {"segment_ids", "(E) or (B, E): each row's segment; a negative one has none"},
                 {"rows", "(num_segments, ...) or (B, num_segments, ...), of which only the shape counts"}},
      .outputs = {{"y", "(num_segments, ...) or (B, num_segments, ...)"}}};
  Arity arity() const override { return {2, 3}; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    c.need_float(0);
    c.need_rank_from(1, 1);
    const int rank = c.shape(1).rank();
    if (rank > 2) fail(Code::shape_mismatch, "segment_ids: expected shape (E) or (B, E), got ", c.shape(1));
    if (e.dtype(c.x(1)) == DType::boolean) fail(Code::invalid_argument, "segment_ids: expected numbers, got bool");
    if (num_segments.has_value() == (c.in.size() == 3))
      fail(Code::invalid_argument, "\"num_segments\": expected either a number or a third input, got ",
           num_segments ? "both" : "neither");
    ops::Id like = num_segments ? ops::fill(e, DType::f32, 0, c.x(1), rank - 1, {*num_segments}) : c.x(2);
    return {{T::emit(e, c.x(0), c.x(1), like)}};
  }
};

struct SegmentSum : Segments<SegmentSum> {
  static constexpr const char *keras = "math.SegmentSum";
  static constexpr const char *doc = "The sum of each segment's rows, 0 of none: keras.ops.segment_sum.";
  static constexpr auto emit = ops::segment_sum;
};
struct SegmentMax : Segments<SegmentMax> {
  static constexpr const char *keras = "math.SegmentMax";
  static constexpr const char *doc =
      "The largest of each segment's rows, the lowest float of none: keras.ops.segment_max.";
  static constexpr auto emit = ops::segment_max;
};

struct SegmentGather final : LayerOf<SegmentGather> {
  static constexpr const char *doc =
      "For each id, the row of that segment; 0 for a negative id. An id past the last row is an error.";

  static constexpr PlainFacts plain{
      .inputs = {{"rows", "(V, ...) or (B, V, ...)"}, {"segment_ids", "(E) or (B, E), integers"}},
      .outputs = {{"y", "(E, ...) or (B, E, ...)"}}};
  Arity arity() const override { return {2, 2}; }
  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    c.need_rank_from(1, 1);
    if (c.shape(1).rank() > 2)
      fail(Code::shape_mismatch, "segment_ids: expected shape (E) or (B, E), got ", c.shape(1));
    if (c.e.dtype(c.x(1)) == DType::boolean) fail(Code::invalid_argument, "segment_ids: expected numbers, got bool");
    c.need_rank_from(0, c.shape(1).rank());
    return {{ops::segment_gather(c.e, c.x(0), c.x(1))}};
  }
};

}  // namespace
DL4_KINDS(segments, SegmentSum, SegmentMax, SegmentGather)
}  // namespace dl4::kinds
