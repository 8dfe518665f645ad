// view: part of a flat block under a shape of its own. No copy.
#include "backend/cpu/dispatch/blocks.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Zeros in the shape of source 1 with source 0 from element `offset` on.
struct PlaceLikeOp final : OpOf<PlaceLikeOp> {
  int64_t offset;

  explicit PlaceLikeOp(int64_t offset) : offset(offset) {}
  void fields(auto &f) const { f("offset", offset); }
  std::string_view name() const override { return "place_like"; }
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, view(g.e, g.diff_dst(), offset, g.e.shape(g.src(0))));
  }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t size = size_of(site.dst[0].dtype), total = checked_mul(site.dst[0].shape.elements(), size);
    int64_t begin = checked_mul(offset, size), bytes = checked_mul(site.src[0].shape.elements(), size);
    return dispatch::move_blocks("place", site,
                                 {{.from = -1, .bytes = begin},
                                  {.from = 0, .bytes = bytes, .to_offset = begin},
                                  {.from = -1, .bytes = total - begin - bytes, .to_offset = begin + bytes}});
  }
};

struct ViewOp final : OpOf<ViewOp> {
  int64_t offset;  // in elements
  Shape shape;
  int64_t element_bytes;

  ViewOp(int64_t offset, const Shape &shape, int64_t element_bytes)
      : offset(offset), shape(shape), element_bytes(element_bytes) {}
  void fields(auto &f) const { f("offset", offset), f("shape", shape), f("element_bytes", element_bytes); }
  std::string_view name() const override { return "view"; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x.rank() != 1) fail(Code::shape_mismatch, "view expects a flat block, got ", x);
    int64_t end = checked_add(offset, shape.elements());
    if (offset < 0 || (x[0] != free_dim && end > x[0]))
      fail(Code::shape_mismatch, "view: ", shape, " from element ", offset, " is outside ", x);
    return {{src[0].dtype, shape}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none)
      g.set(0, g.e.value(std::make_shared<PlaceLikeOp>(offset), {g.diff_dst(), g.src(0)}));
  }
  bool is_view() const override { return true; }
  int64_t view_offset() const override { return checked_mul(offset, element_bytes); }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t bytes = checked_mul(shape.elements(), element_bytes);
    return dispatch::move_blocks("view", site, {{.from = 0, .bytes = bytes, .from_offset = view_offset()}});
  }
};

}  // namespace

Id view(Emit &e, Id x, int64_t offset, const Shape &shape) {
  if (!shape.known()) fail(Code::invalid_argument, "view: the shape ", shape, " must be known");
  return e.value(std::make_shared<ViewOp>(offset, shape, size_of(e.dtype(x))), {x});
}

}  // namespace dl4::ops
