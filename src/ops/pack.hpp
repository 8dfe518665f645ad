// pack, as passes and the placement match it: parts are computed in place, or left out.
#pragma once

#include <vector>

#include "ops/op.hpp"

namespace dl4::ops {

struct PackOp final : OpOf<PackOp, "pack"> {
  std::vector<int64_t> offsets;  // of the parts, in elements
  int64_t total, element_bytes;

  PackOp(std::vector<int64_t> offsets, int64_t total, int64_t element_bytes)
      : offsets(std::move(offsets)), total(total), element_bytes(element_bytes) {}
  void fields(auto &f) const { f("offsets", offsets), f("total", total), f("element_bytes", element_bytes); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;

  int64_t offset_bytes(size_t part) const { return checked_mul(offsets[part], element_bytes); }
};

}  // namespace dl4::ops
