// gru_cell: a GRU's step without its products.
#include "ops/ops.hpp"

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct GruCellGradOp final : NotDifferentiable<GruCellGradOp, "gru_cell_grad", attributes::GruCellGrad> {
  std::vector<Operand> infer(Operands src) const override { return {src[0], src[1], src[2]}; }
  int overwrites(int dst) const override { return dst; }
};

struct GruCellOp final : OpOf<GruCellOp, "gru_cell", attributes::GruCell> {
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float(op, o);
    const Shape &h = src[2].shape;
    if (h.rank() != 2 || h[1] == free_dim) fail(Code::shape_mismatch, "gru_cell: expected a state (B, U), got ", h);
    const Shape gates{h[0], checked_mul(3, h[1])};
    for (size_t i : {size_t{0}, size_t{1}})
      if (!compatible(src[i].shape, gates))
        fail(Code::shape_mismatch, "gru_cell: expected gates of shape ", gates, ", got ", src[i].shape);
    return {{DType::f32, h}};
  }
  void gradient(Gradient &g) const override {
    auto d = g.e.step(make<GruCellGradOp>(), {g.src(0), g.src(1), g.src(2), g.diff_dst()});
    for (int i = 0; i < 3; ++i)
      if (g.wants(i)) g.set(i, d[static_cast<size_t>(i)]);
  }
  int overwrites(int) const override { return 2; }
};

}  // namespace

Id gru_cell(Emit &e, Id from_x, Id from_h, Id h) { return e.value(make<GruCellOp>(), {from_x, from_h, h}); }

}  // namespace dl4::ops
