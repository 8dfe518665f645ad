// slice: part of an axis.
#include "backend/cpu/dispatch/blocks.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Where [begin, begin + size) of an axis of `dim` starts.
int64_t start(int64_t begin, int64_t dim) { return begin < 0 ? begin + dim : begin; }

// Zeros in the shape of source 1 with source 0 as the part.
struct PadLikeOp final : OpOf<PadLikeOp> {
  int axis;
  int64_t begin, size;

  PadLikeOp(int axis, int64_t begin, int64_t size) : axis(axis), begin(begin), size(size) {}
  void fields(auto &f) const { f("axis", axis), f("begin", begin), f("size", size); }
  std::string_view name() const override { return "pad_like"; }
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, slice(g.e, g.diff_dst(), axis, begin, size));
  }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around part = around(site.src[0].shape, axis), whole = around(site.dst[0].shape, axis);
    int64_t element = checked_mul(whole.inner, size_of(site.dst[0].dtype)), row = checked_mul(whole.axis, element);
    int64_t before = checked_mul(start(begin, whole.axis), element), bytes = checked_mul(part.axis, element);
    int64_t after = row - before - bytes;
    return dispatch::move_blocks("pad", site,
                       {{-1, 0, whole.outer, before, 0, 0, 0, row},
                        {0, 0, whole.outer, bytes, 0, bytes, before, row},
                        {-1, 0, whole.outer, after, 0, 0, before + bytes, row}});
  }
};

struct SliceOp final : OpOf<SliceOp> {
  int axis;
  int64_t begin, size;

  SliceOp(int axis, int64_t begin, int64_t size) : axis(axis), begin(begin), size(size) {}
  void fields(auto &f) const { f("axis", axis), f("begin", begin), f("size", size); }
  std::string_view name() const override { return "slice"; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    int64_t dim = x[axis];
    if (size < -1) fail(Code::invalid_argument, "slice: size ", size, " (expected at least 0, or -1: to the end)");
    if (dim == free_dim) return {{src[0].dtype, x.with(axis, size >= 0 ? size : begin < 0 ? -begin : free_dim)}};
    int64_t from = start(begin, dim), taken = size >= 0 ? size : dim - from;
    if (from < 0 || from > dim || taken > dim - from)
      fail(Code::shape_mismatch, "slice: ", size >= 0 ? text(size, " from ", begin) : text("all from ", begin),
           " is outside axis ", axis, " of ", x);
    return {{src[0].dtype, x.with(axis, taken)}};
  }

  void gradient(Gradient &g) const override {
    if (!g.wants(0) || g.diff_dst() == none) return;
    g.set(0, g.e.value(std::make_shared<PadLikeOp>(axis, begin, size), {g.diff_dst(), g.src(0)}));
  }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Around part = around(site.dst[0].shape, axis), whole = around(site.src[0].shape, axis);
    int64_t element = checked_mul(whole.inner, size_of(site.dst[0].dtype)), row = checked_mul(whole.axis, element);
    int64_t before = checked_mul(start(begin, whole.axis), element), bytes = checked_mul(part.axis, element);
    return dispatch::move_blocks("slice", site, {{0, 0, whole.outer, bytes, before, row, 0, bytes}});
  }
};

}  // namespace

Id slice(Emit &e, Id x, int axis, int64_t begin, int64_t size) {
  return e.value(std::make_shared<SliceOp>(e.shape(x).axis(axis), begin, size), {x});
}

}  // namespace dl4::ops
