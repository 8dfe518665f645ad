// causal_mask: which keys a query may see, from the top left also where the two lengths differ.
#include <cstring>

#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

struct CausalMaskOp final : StopsGradients<CausalMaskOp> {
  std::string_view name() const override { return "causal_mask"; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &s = src[0].shape;
    if (s.rank() < 2) fail(Code::shape_mismatch, "causal_mask wants scores (..., T, S), got ", s);
    return {{DType::boolean, s.last(2)}};
  }
  bool reads(int) const override { return false; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t queries = site.dst[0].shape[0], keys = site.dst[0].shape[1];
    double us = us_per_byte * static_cast<double>(checked_mul(queries, keys));
    return sliced("causal_mask", site, keys ? queries : 0, us, [=](int64_t begin, int64_t end, const Run &r) {
      for (int64_t t = begin; t < end; ++t) {
        uint8_t *row = r.dst<uint8_t>(1) + t * keys;
        int64_t seen = std::min(t + 1, keys);
        std::memset(row, 1, static_cast<size_t>(seen));
        std::memset(row + seen, 0, static_cast<size_t>(keys - seen));
      }
    });
  }
};

}  // namespace

Id causal_mask(Emit &e, Id scores) { return e.value(std::make_shared<CausalMaskOp>(), {scores}); }

}  // namespace dl4::ops
