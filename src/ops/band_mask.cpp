// band_mask: keys near a query, from the top left also where the two lengths differ.
#include "backend/cpu/kernels/attention/heads.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct BandMaskOp final : StopsGradients<BandMaskOp> {
  int64_t before, after;

  BandMaskOp(int64_t before, int64_t after) : before(before), after(after) {}
  void fields(auto &f) const { f("before", before), f("after", after); }
  std::string_view name() const override { return "band_mask"; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &s = src[0].shape;
    if (s.rank() < 2) fail(Code::shape_mismatch, "band_mask expects scores (..., T, S), got ", s);
    return {{DType::boolean, s.last(2)}};
  }
  bool reads(int) const override { return false; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t queries = site.dst[0].shape[0], keys = site.dst[0].shape[1];
    double us = us_per_byte * static_cast<double>(checked_mul(queries, keys));
    return sliced("band_mask", site, keys ? queries : 0, us,
                  [=, before = before, after = after](int64_t begin, int64_t end, const Run &r) {
                    kernels::band_mask(keys, before, after, r.out<uint8_t>(0), begin, end);
                  });
  }
};

}  // namespace

Id band_mask(Emit &e, Id scores, int64_t before, int64_t after) {
  return e.value(std::make_shared<BandMaskOp>(before, after), {scores});
}

}  // namespace dl4::ops
