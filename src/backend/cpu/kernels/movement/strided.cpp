// Merging the axes of broadcast operands.
#include "backend/cpu/kernels/movement/strided.hpp"

namespace dl4::kernels {

Strided strided(const Shape &dst, std::initializer_list<Shape> operands) {
  Strided s;
  s.elements = dst.elements();
  std::array<int64_t, max_operands> dense;
  dense.fill(1);
  std::vector<Strided::Axis> reversed;
  for (int i = 1; i <= dst.rank(); ++i) {
    Strided::Axis axis{dst[-i], {}};
    size_t o = 0;
    for (const Shape &shape : operands) {
      int64_t dim = i <= shape.rank() ? shape[-i] : 1;
      axis.step[o] = dim == 1 ? 0 : dense[o];
      dense[o] = checked_mul(dense[o], dim);
      ++o;
    }
    if (axis.dim == 1) continue;
    bool merged = !reversed.empty();
    for (o = 0; merged && o < operands.size(); ++o)
      merged = axis.step[o] == checked_mul(reversed.back().step[o], reversed.back().dim);
    if (merged)
      reversed.back().dim = checked_mul(reversed.back().dim, axis.dim);
    else
      reversed.push_back(axis);
  }
  if (reversed.empty()) reversed.push_back({1, {}});
  s.axes.assign(reversed.rbegin(), reversed.rend());
  return s;
}

}  // namespace dl4::kernels
