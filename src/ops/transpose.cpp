// transpose: permutes axes.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct TransposeOp final : OpOf<TransposeOp, "transpose", attributes::Transpose> {
  bool takes_strings() const override { return true; }

  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    std::vector<int> axes = perm;
    std::sort(axes.begin(), axes.end());
    bool fits = static_cast<int>(axes.size()) == x.rank();
    for (int i = 0; fits && i < x.rank(); ++i) fits = axes[static_cast<size_t>(i)] == i;
    if (!fits) fail(Code::invalid_argument, "transpose: ", numbers(perm), " is not an order of the axes of ", x);
    std::vector<int64_t> dims;
    for (int p : perm) dims.push_back(x[p]);
    return {{src[0].dtype, Shape(dims)}};
  }

  void gradient(Gradient &g) const override {
    std::vector<int> back(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
    g.set(0, transpose(g.e, g.diff_dst(), back));
  }
};

}  // namespace

Id transpose(Emit &e, Id x, std::vector<int> perm) {
  for (int &p : perm) p = e.shape(x).axis(p);
  return e.value(make<TransposeOp>(std::move(perm)), {x});
}

}  // namespace dl4::ops
