// gather: rows of a table by index.
#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct GatherOp final : OpOf<GatherOp, "gather", attributes::Gather> {
  bool takes_strings() const override { return true; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &table = src[0].shape;
    if (table.rank() < 1) fail(Code::shape_mismatch, "gather expects a table of rows, got ", table);
    want_index("ids", src[1]);
    return {{src[0].dtype, src[1].shape.joined(table.last(table.rank() - 1))}};
  }
  void gradient(Gradient &g) const override {
    if (g.wants(0)) g.set(0, scatter_add(g.e, g.diff_dst(), g.src(1), g.src(0)));
    g.stop(1);
  }
};

}  // namespace

Id gather(Emit &e, Id table, Id ids) { return e.value(make<GatherOp>(), {table, ids}); }

}  // namespace dl4::ops
