// transpose: axes in another order.
#include <algorithm>

#include "backend/cpu/dispatch/blocks.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// The same permutation over fewer axes: those of one element go, and neighbours that stay neighbours become one.
struct Permutation {
  std::vector<int64_t> dims;
  std::vector<int> perm;
};

Permutation merged(const Shape &x, const std::vector<int> &perm) {
  std::vector<int> order;  // source axes in the destination's order
  for (int p : perm)
    if (x[p] != 1) order.push_back(p);
  auto follows = [&](int a, int b) {  // is b the next source axis after a that counts?
    for (int i = a + 1; i < b; ++i)
      if (x[i] != 1) return false;
    return a < b;
  };
  std::vector<std::pair<int, int64_t>> groups;  // the first source axis, and the elements
  for (size_t i = 0; i < order.size(); ++i) {
    if (i && follows(order[i - 1], order[i]))
      groups.back().second = checked_mul(groups.back().second, x[order[i]]);
    else
      groups.emplace_back(order[i], x[order[i]]);
  }
  auto sorted = groups;
  std::sort(sorted.begin(), sorted.end());
  Permutation p;
  for (const auto &g : sorted) p.dims.push_back(g.second);
  for (const auto &g : groups)
    p.perm.push_back(static_cast<int>(std::find(sorted.begin(), sorted.end(), g) - sorted.begin()));
  return p;
}

struct TransposeOp final : OpOf<TransposeOp> {
  std::vector<int> perm;

  explicit TransposeOp(std::vector<int> perm) : perm(std::move(perm)) {}
  void fields(auto &f) const { f("perm", perm); }
  std::string_view name() const override { return "transpose"; }

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
    if (!g.wants(0) || g.diff_dst() == none) return;
    std::vector<int> back(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int>(i);
    g.set(0, transpose(g.e, g.diff_dst(), back));
  }

  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    Permutation p = merged(site.src[0].shape, perm);
    int64_t size = size_of(site.src[0].dtype), n = site.dst[0].shape.elements();
    if (p.dims.size() <= 1 || n == 0) return dispatch::copy_kernel(site);
    double us = 4 * us_per_byte * static_cast<double>(checked_mul(n, size));
    int64_t first = p.dims[static_cast<size_t>(p.perm[0])];
    return sliced("permute", site, first, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::permute(size, static_cast<int>(p.dims.size()), p.dims.data(), p.perm.data(), r.in<void>(0),
                       r.out<void>(0), begin, end);
    });
  }
};

}  // namespace

Id transpose(Emit &e, Id x, std::vector<int> perm) {
  for (int &p : perm) p = e.shape(x).axis(p);
  return e.value(std::make_shared<TransposeOp>(std::move(perm)), {x});
}

}  // namespace dl4::ops
