// select: a where the mask is true, else b; the side not taken never leaks.
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/movement/strided.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct SelectOp final : OpOf<SelectOp> {
  std::string_view name() const override { return "select"; }

  std::vector<Operand> infer(Operands src) const override {
    want_type("the mask of select", src[0], DType::boolean);
    if (src[1].dtype != src[2].dtype)
      fail(Code::invalid_argument, "expected values of one dtype, got ", src[1].dtype, " and ", src[2].dtype);
    return {{src[1].dtype, broadcast(src[0].shape, broadcast(src[1].shape, src[2].shape))}};
  }

  void gradient(Gradient &g) const override {
    Emit &e = g.e;
    Id mask = g.src(0), d = g.diff_dst();
    if (d == none) return;
    Id zero = e.scalar(0);
    if (g.wants(1)) g.set(1, sum_like(e, select(e, mask, d, zero), g.src(1)));
    if (g.wants(2)) g.set(2, sum_like(e, select(e, mask, zero, d), g.src(2)));
  }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t size = size_of(site.dst[0].dtype), n = site.dst[0].shape.elements();
    const kernels::Strided s =
        kernels::strided(site.dst[0].shape, {site.src[0].shape, site.src[1].shape, site.src[2].shape});
    double us = us_per_byte * static_cast<double>(checked_mul(n, 1 + size + size + size));
    return sliced(
        "select", site, n, us,
        [=](int64_t begin, int64_t end, const Run &r) {
          kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
            kernels::select_run(size, r.in<uint8_t>(0) + offset[0], s.step(0), r.in<std::byte>(1) + offset[1] * size,
                                s.step(1), r.in<std::byte>(2) + offset[2] * size, s.step(2),
                                r.out<std::byte>(0) + at * size, count);
          });
        },
        line_block);
  }
};

}  // namespace

Id select(Emit &e, Id mask, Id a, Id b) { return e.value(std::make_shared<SelectOp>(), {mask, a, b}); }

}  // namespace dl4::ops
