// gather: rows of a table by number.
#include "backend/cpu/kernels/movement/movement.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct GatherOp final : OpOf<GatherOp> {
  std::string_view name() const override { return "gather"; }
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
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    const Shape &table = site.src[0].shape;
    DType type = site.src[1].dtype;
    int64_t ids = site.src[1].shape.elements(), rows = table[0];
    int64_t row = checked_mul(table.elements(1, table.rank()), size_of(site.src[0].dtype));
    double us = 3 * us_per_byte * static_cast<double>(checked_mul(ids, row));
    return sliced("gather", site, ids, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::gather_rows(row, r.in<void>(0), rows, type, r.in<std::byte>(1) + begin * size_of(type), end - begin,
                           r.out<std::byte>(0) + begin * row, r.report);
    });
  }
};

}  // namespace

Id gather(Emit &e, Id table, Id ids) { return e.value(std::make_shared<GatherOp>(), {table, ids}); }

}  // namespace dl4::ops
