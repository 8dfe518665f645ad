// fill: one number everywhere, in a shape taken from another value.
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct FillOp final : StopsGradients<FillOp> {
  DType dtype;
  double v;
  int keep;
  Shape tail;

  FillOp(DType dtype, double v, int keep, const Shape &tail) : dtype(dtype), v(v), keep(keep), tail(tail) {}
  void fields(auto &f) const { f("", dtype), f("v", v), f("keep", keep), f("tail", tail); }
  std::string_view name() const override { return "fill"; }
  std::vector<Operand> infer(Operands src) const override {
    if (keep < 0 || keep > src[0].shape.rank())
      fail(Code::invalid_argument, "fill can't keep ", keep, " axes of ", src[0].shape);
    return {{dtype, src[0].shape.first(keep).joined(tail)}};
  }
  bool reads(int) const override { return false; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements(), size = size_of(dtype);
    std::array<std::byte, 8> value{};
    store(v, dtype, value.data());
    double us = us_per_byte * static_cast<double>(checked_mul(n, size));
    return sliced(
        "fill", site, n, us,
        [size, value](int64_t begin, int64_t end, const Run &r) {
          kernels::fill(size, value.data(), r.out<std::byte>(0) + begin * size, end - begin);
        },
        line_block);
  }
};

}  // namespace

Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<FillOp>(dtype, v, keep, tail), {like});
}

}  // namespace dl4::ops
