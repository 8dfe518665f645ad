// Comparison of ops.
#include "ops/op.hpp"

#include <typeinfo>

#include "ops/emit.hpp"

namespace dl4::ops {

std::vector<Operand> operands(const Program &p, std::span<const Id> values) {
  std::vector<Operand> all;
  for (Id v : values) all.push_back(v == none ? absent : Operand{p[v].dtype, p[v].shape});
  return all;
}

bool equal(const Op &a, const Op &b) { return typeid(a) == typeid(b) && a.attribute_bits() == b.attribute_bits(); }

size_t hash(const Op &op) { return typeid(op).hash_code() ^ std::hash<std::string>{}(op.attribute_bits()); }

void stop_all(Gradient &g) { g.stop_all(); }

}  // namespace dl4::ops
