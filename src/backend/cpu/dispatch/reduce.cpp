// Reductions over any set of axes: one kernel pass for each group of adjacent axes, innermost first.
#include "backend/cpu/dispatch/reduce.hpp"

#include "backend/cpu/dispatch/blocks.hpp"
#include "backend/cpu/dispatch/sliced.hpp"
#include "base/checked.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Reduce;

// One pass: [outer, axis, inner] -> [outer, inner].
struct Pass {
  Reduce f;
  int64_t outer, axis, inner;
};

void run_pass(const Pass &p, DType type, const void *x, void *y) {
  if (type == DType::boolean) {
    auto of_flags = p.f == Reduce::max ? kernels::any : kernels::all;
    of_flags(static_cast<const uint8_t *>(x), static_cast<uint8_t *>(y), p.outer, p.axis, p.inner);
  } else if (type == DType::f32) {
    kernels::reduce(p.f, static_cast<const float *>(x), static_cast<float *>(y), p.outer, p.axis, p.inner);
  } else {
    kernels::reduce_integers(p.f, type, x, y, p.outer, p.axis, p.inner);
  }
}

// The function that combines partial results of f.
Reduce again(Reduce f) { return f == Reduce::sum_squares || f == Reduce::sum_abs ? Reduce::sum : f; }

std::unique_ptr<kernels::Kernel> by_columns(const Site &site, const Pass &p, double us) {
  return sliced(
      "reduce_columns", site, p.inner, us,
      [p](int64_t begin, int64_t end, const Run &r) {
        kernels::reduce(p.f, r.in<float>(0) + begin, r.out<float>(0) + begin, 1, p.axis, end - begin, p.inner);
      },
      16);
}

std::unique_ptr<kernels::Kernel> by_rows(const Site &site, const Pass &p, DType type, double us) {
  int64_t size = size_of(type), inner = checked_mul(p.inner, size), row = checked_mul(p.axis, inner);
  return sliced("reduce_rows", site, p.outer, us, [=](int64_t begin, int64_t end, const Run &r) {
    run_pass({p.f, end - begin, p.axis, p.inner}, type, r.in<std::byte>(0) + begin * row,
             r.out<std::byte>(0) + begin * inner);
  });
}

// Several groups of axes: intermediate results are in the scratch.
std::unique_ptr<kernels::Kernel> in_passes(const Site &site, const std::vector<Pass> &passes, int64_t outer, DType type,
                                           double us) {
  int64_t size = size_of(type), scratch = 0;
  for (size_t i = 0; i + 1 < passes.size(); ++i)
    scratch = checked_add(scratch, checked_mul(passes[i].outer, passes[i].inner, size));
  int64_t slices = site.cutting.short_slices(outer, us);
  return kernels::make_kernel(
      "reduce_passes", slices,
      [=](int64_t slice, const Run &r) {
        auto [begin, end] = kernels::part(outer, slices, slice);
        auto *between = static_cast<std::byte *>(r.scratch);
        const std::byte *x = r.in<std::byte>(0);
        for (size_t i = 0; i < passes.size(); ++i) {
          Pass p = passes[i];
          int64_t scale = p.outer / outer, row = scale * p.inner * size;
          const bool last = i + 1 == passes.size();
          std::byte *y = last ? r.out<std::byte>(0) : between;
          if (!last) between += outer * row;  // nullptr: not kept, without row and offset
          p.outer = scale * (end - begin);
          run_pass(p, type, x + begin * row * p.axis, y + begin * row);
          x = y;
        }
      },
      scratch);
}

}  // namespace

std::unique_ptr<kernels::Kernel> reduce_axes(const Site &site, Reduce f, const std::vector<bool> &over) {
  const Operand &x = site.src[0];
  if (site.dst[0].shape.elements() == 0) return kernels::make_kernel("empty", 0, [](int64_t, const Run &) {});

  // Alternating groups of adjacent axes. Axes of size 1 join any group; empty axes count.
  struct Group {
    bool over;
    int64_t n;
  };
  std::vector<Group> groups;
  for (int i = 0; i < x.shape.rank(); ++i) {
    bool o = over[static_cast<size_t>(i)];
    if (x.shape[i] == 1) continue;
    if (!groups.empty() && groups.back().over == o)
      groups.back().n = checked_mul(groups.back().n, x.shape[i]);
    else
      groups.push_back({o, x.shape[i]});
  }
  std::vector<Pass> passes;
  int64_t inner = 1;
  for (size_t i = groups.size(); i-- > 0;) {
    if (!groups[i].over) {
      inner = checked_mul(inner, groups[i].n);
      continue;
    }
    int64_t outer = 1;
    for (size_t j = 0; j < i; ++j) outer = checked_mul(outer, groups[j].n);
    passes.push_back({passes.empty() ? f : again(f), outer, groups[i].n, inner});
  }
  double us = us_per_byte * static_cast<double>(checked_mul(x.shape.elements(), size_of(x.dtype)));
  if (passes.empty()) {
    // Squares and absolute values still apply to single elements.
    if (f != Reduce::sum_squares && f != Reduce::sum_abs) return copy_kernel(site);
    passes.push_back({f, x.shape.elements(), 1, 1});
    groups.assign({{false, passes[0].outer}});
  }
  bool keeps_first = !groups[0].over;
  if (passes.size() > 1) return in_passes(site, passes, keeps_first ? groups[0].n : 1, x.dtype, us);
  if (passes[0].outer == 1 && x.dtype == DType::f32) return by_columns(site, passes[0], us);
  return by_rows(site, passes[0], x.dtype, us);
}

}  // namespace dl4::dispatch
