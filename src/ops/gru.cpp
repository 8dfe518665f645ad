// gru_cell: all of a GRU's step but its products.
#include "ops/ops.hpp"

#include "backend/cpu/kernels/recurrent/gru.hpp"
#include "ops/op.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// Three functions for each unit.
double cost(const Shape &h) { return 3 * us_per_function * static_cast<double>(h.elements()); }

struct GruCellGradOp final : NotDifferentiable<GruCellGradOp> {
  std::string_view name() const override { return "gru_cell_grad"; }
  std::vector<Operand> infer(Operands src) const override { return {src[0], src[1], src[2]}; }
  int overwrites(int dst) const override { return dst; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &h = site.src[2].shape;
    return sliced("gru_cell_grad", site, h[0], cost(h), [units = h[1]](int64_t begin, int64_t end, const Run &r) {
      auto gates = [&](float *p) { return p ? p + begin * 3 * units : nullptr; };
      float *dh = r.out<float>(2);
      kernels::gru_cell_grad(end - begin, units, r.in<float>(0) + begin * 3 * units, r.in<float>(1) + begin * 3 * units,
                             r.in<float>(2) + begin * units, r.in<float>(3) + begin * units, gates(r.out<float>(0)),
                             gates(r.out<float>(1)), dh ? dh + begin * units : nullptr);
    });
  }
};

struct GruCellOp final : OpOf<GruCellOp> {
  std::string_view name() const override { return "gru_cell"; }
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float("gru_cell", o);
    const Shape &h = src[2].shape;
    if (h.rank() != 2 || h[1] == free_dim) fail(Code::shape_mismatch, "gru_cell: expected a state (B, U), got ", h);
    const Shape gates{h[0], checked_mul(3, h[1])};
    for (size_t i : {size_t{0}, size_t{1}})
      if (!compatible(src[i].shape, gates))
        fail(Code::shape_mismatch, "gru_cell: expected gates of shape ", gates, ", got ", src[i].shape);
    return {{DType::f32, h}};
  }
  void gradient(Gradient &g) const override {
    if (g.diff_dst() == none) return;
    auto d = g.e.step(std::make_shared<GruCellGradOp>(), {g.src(0), g.src(1), g.src(2), g.diff_dst()});
    for (int i = 0; i < 3; ++i)
      if (g.wants(i)) g.set(i, d[static_cast<size_t>(i)]);
  }
  int overwrites(int) const override { return 2; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &h = site.dst[0].shape;
    return sliced("gru_cell", site, h[0], cost(h), [units = h[1]](int64_t begin, int64_t end, const Run &r) {
      kernels::gru_cell(end - begin, units, r.in<float>(0) + begin * 3 * units, r.in<float>(1) + begin * 3 * units,
                        r.in<float>(2) + begin * units, r.out<float>(0) + begin * units);
    });
  }
};

}  // namespace

Id gru_cell(Emit &e, Id from_x, Id from_h, Id h) { return e.value(std::make_shared<GruCellOp>(), {from_x, from_h, h}); }

}  // namespace dl4::ops
