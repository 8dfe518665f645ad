// cast: the same values in another dtype.
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct CastOp final : StopsGradients<CastOp> {
  DType to;

  explicit CastOp(DType to) : to(to) {}
  void fields(auto &f) const { f("", to); }
  std::string_view name() const override { return "cast"; }
  std::vector<Operand> infer(Operands src) const override {
    if (src[0].dtype == DType::f64 || to == DType::f64)
      fail(Code::unsupported, "cast from ", src[0].dtype, " to ", to, ": float64 is not computed with");
    return {{to, src[0].shape}};
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    DType from = site.src[0].dtype;
    int64_t n = site.dst[0].shape.elements();
    double us = us_per_byte * static_cast<double>(checked_mul(n, size_of(from) + size_of(to)));
    return sliced(
        "cast", site, n, us,
        [from, to = to](int64_t begin, int64_t end, const Run &r) {
          kernels::cast_run(from, to, r.in<std::byte>(0) + begin * size_of(from),
                            r.out<std::byte>(0) + begin * size_of(to), end - begin);
        },
        line_block);
  }
};

}  // namespace

Id cast(Emit &e, Id x, DType to) { return e.dtype(x) == to ? x : e.value(std::make_shared<CastOp>(to), {x}); }

}  // namespace dl4::ops
