// Kernels of ops that move elements unchanged.
#include <algorithm>
#include <cstring>

#include "backend/cpu/dispatch/blocks.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/movement/repeat.hpp"
#include "backend/cpu/kernels/movement/strided.hpp"
#include "backend/cpu/kernels/reduce/reduce.hpp"
#include "backend/cpu/kernels/rows/rows.hpp"
#include "ops/matched.hpp"

namespace dl4::cpu {
namespace {

// For ops that keep all elements in order. A plan that aliases both values runs no kernel.
template <class T>
std::unique_ptr<Kernel> copied(const T &, const Site &site) {
  return dispatch::copy_kernel(site);
}

// The same permutation with axes of size 1 removed and axes that stay adjacent merged.
struct Permutation {
  std::vector<int64_t> dims;
  std::vector<int> perm;
};

Permutation merged(const Shape &x, const std::vector<int> &perm) {
  std::vector<int> order;  // source axes in destination order
  for (int p : perm)
    if (x[p] != 1) order.push_back(p);
  auto follows = [&](int a, int b) {  // is b the next source axis after a, ignoring removed ones?
    for (int i = a + 1; i < b; ++i)
      if (x[i] != 1) return false;
    return a < b;
  };
  std::vector<std::pair<int, int64_t>> groups;  // first source axis and elements
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

// Each part's rectangle in the whole: the parts are sources if `join`, else destinations.
std::vector<kernels::Block> blocks_of(std::span<const Operand> parts, int axis, int64_t row, bool join) {
  std::vector<kernels::Block> blocks;
  int64_t offset = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    Around p = around(parts[i].shape, axis);
    int64_t bytes = checked_mul(p.axis, p.inner, size_of(parts[i].dtype));
    const int part = static_cast<int>(i);
    if (join)
      blocks.push_back({part, 0, p.outer, bytes, 0, bytes, offset, row});
    else
      blocks.push_back({0, part, p.outer, bytes, offset, row, 0, bytes});
    offset = checked_add(offset, bytes);
  }
  return blocks;
}

int64_t row_bytes(const Operand &whole, int axis) {
  Around w = around(whole.shape, axis);
  return checked_mul(w.axis, w.inner, size_of(whole.dtype));
}

// First index of [begin, begin + size) on an axis of `dim`.
int64_t start(int64_t begin, int64_t dim) { return begin < 0 ? begin + dim : begin; }

double repeating(const Shape &large, int64_t size) {
  return 2 * us_per_byte * static_cast<double>(checked_mul(large.elements(), size));
}

std::unique_ptr<Kernel> transpose(const attributes::Transpose &op, const Site &site) {
  Permutation p = merged(site.src[0].shape, op.perm);
  int64_t size = size_of(site.src[0].dtype), n = site.dst[0].shape.elements();
  if (p.dims.size() <= 1 || n == 0) return dispatch::copy_kernel(site);
  double us = 4 * us_per_byte * static_cast<double>(checked_mul(n, size));
  int64_t first = p.dims[static_cast<size_t>(p.perm[0])];
  return sliced("permute", site, first, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::permute(size, static_cast<int>(p.dims.size()), p.dims.data(), p.perm.data(), r.in<void>(0), r.out<void>(0),
                     begin, end);
  });
}

std::unique_ptr<Kernel> concat(const attributes::Concat &op, const Site &site) {
  return dispatch::move_blocks("concat", site, blocks_of(site.src, op.axis, row_bytes(site.dst[0], op.axis), true));
}

std::unique_ptr<Kernel> split_like(const attributes::SplitLike &op, const Site &site) {
  std::span<const Operand> parts(site.src.begin() + 1, site.src.end());
  return dispatch::move_blocks("split", site, blocks_of(parts, op.axis, row_bytes(site.src[0], op.axis), false));
}

std::unique_ptr<Kernel> slice(const attributes::Slice &op, const Site &site) {
  Around part = around(site.dst[0].shape, op.axis), whole = around(site.src[0].shape, op.axis);
  int64_t element = checked_mul(whole.inner, size_of(site.dst[0].dtype)), row = checked_mul(whole.axis, element);
  int64_t before = checked_mul(start(op.begin, whole.axis), element), bytes = checked_mul(part.axis, element);
  return dispatch::move_blocks("slice", site, {{0, 0, whole.outer, bytes, before, row, 0, bytes}});
}

std::unique_ptr<Kernel> pad_like(const attributes::PadLike &op, const Site &site) {
  Around part = around(site.src[0].shape, op.axis), whole = around(site.dst[0].shape, op.axis);
  int64_t element = checked_mul(whole.inner, size_of(site.dst[0].dtype)), row = checked_mul(whole.axis, element);
  int64_t before = checked_mul(start(op.begin, whole.axis), element), bytes = checked_mul(part.axis, element);
  int64_t after = row - before - bytes;
  return dispatch::move_blocks("pad", site,
                               {{-1, 0, whole.outer, before, 0, 0, 0, row},
                                {0, 0, whole.outer, bytes, 0, bytes, before, row},
                                {-1, 0, whole.outer, after, 0, 0, before + bytes, row}});
}

std::unique_ptr<Kernel> pad(const ops::PadOp &op, const Site &site) {
  Around from = around(site.src[0].shape, op.axis), to = around(site.dst[0].shape, op.axis);
  int64_t element = checked_mul(to.inner, size_of(site.dst[0].dtype));
  int64_t from_row = checked_mul(from.axis, element), row = checked_mul(to.axis, element);
  int64_t first = checked_mul(std::max<int64_t>(op.before, 0), element);
  int64_t last = checked_mul(std::max<int64_t>(op.after, 0), element), bytes = row - first - last;
  return dispatch::move_blocks(
      "pad", site,
      {{-1, 0, to.outer, first, 0, 0, 0, row},
       {0, 0, to.outer, bytes, checked_mul(std::max<int64_t>(-op.before, 0), element), from_row, first, row},
       {-1, 0, to.outer, last, 0, 0, first + bytes, row}});
}

std::unique_ptr<Kernel> place_like(const attributes::PlaceLike &op, const Site &site) {
  int64_t size = size_of(site.dst[0].dtype), total = checked_mul(site.dst[0].shape.elements(), size);
  int64_t begin = checked_mul(op.offset, size), bytes = checked_mul(site.src[0].shape.elements(), size);
  return dispatch::move_blocks("place", site,
                               {{.from = -1, .bytes = begin},
                                {.from = 0, .bytes = bytes, .to_offset = begin},
                                {.from = -1, .bytes = total - begin - bytes, .to_offset = begin + bytes}});
}

std::unique_ptr<Kernel> view(const attributes::View &op, const Site &site) {
  int64_t bytes = checked_mul(op.shape.elements(), op.element_bytes);
  return dispatch::move_blocks("view", site,
                               {{.from = 0, .bytes = bytes, .from_offset = checked_mul(op.offset, op.element_bytes)}});
}

std::unique_ptr<Kernel> repeat(const attributes::Repeat &op, const Site &site) {
  auto [outer, n, inner] = around(site.src[0].shape, op.how.axis);
  const int64_t size = size_of(site.src[0].dtype), bytes = checked_mul(inner, size), times = op.how.times;
  const int64_t rows = site.dst[0].shape.elements() ? checked_mul(outer, n) : 0;
  const double us = repeating(site.dst[0].shape, size);
  if (op.how.linear) {
    const kernels::Blend blend{n, inner, times};
    return sliced("repeat_linear", site, rows, us, [blend](int64_t begin, int64_t end, const Run &r) {
      kernels::repeat_linear(blend, r.in<float>(0), r.out<float>(0), begin, end);
    });
  }
  return sliced("repeat", site, rows, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::repeat(size, bytes, times, r.in<void>(0), r.out<void>(0), begin, end);
  });
}

std::unique_ptr<Kernel> repeat_grad(const attributes::RepeatGrad &op, const Site &site) {
  auto [outer, n, inner] = around(site.dst[0].shape, op.how.axis);
  const int64_t times = op.how.times, rows = inner ? checked_mul(outer, n) : 0;
  const double us = repeating(site.src[0].shape, 4);
  if (!op.how.linear) {
    return sliced("repeat_grad", site, rows, us, [=, inner = inner](int64_t begin, int64_t end, const Run &r) {
      kernels::reduce(ops::Reduce::sum, r.in<float>(0) + begin * times * inner, r.out<float>(0) + begin * inner,
                      end - begin, times, inner);
    });
  }
  const kernels::Blend blend{n, inner, times};
  return sliced("repeat_linear_grad", site, rows, us, [blend](int64_t begin, int64_t end, const Run &r) {
    kernels::repeat_linear_grad(blend, r.in<float>(0), r.out<float>(0), begin, end);
  });
}

std::unique_ptr<Kernel> flip(const attributes::Flip &op, const Site &site) {
  auto [outer, n, inner] = around(site.src[0].shape, op.axis);
  int64_t bytes = checked_mul(inner, size_of(site.src[0].dtype)), rows = bytes ? checked_mul(outer, n) : 0;
  double us = 2 * us_per_byte * static_cast<double>(checked_mul(rows, bytes));
  return sliced("flip", site, rows, us, [n = n, bytes](int64_t begin, int64_t end, const Run &r) {
    kernels::flip(bytes, n, r.in<void>(0), r.out<void>(0), begin, end);
  });
}

std::unique_ptr<Kernel> delay(const attributes::Delay &, const Site &site) {
  const Shape &x = site.src[0].shape;
  const int64_t row = checked_mul(site.src[1].shape.elements(), size_of(site.src[1].dtype));
  if (x[0] == 0) return dispatch::nothing();
  return dispatch::move_blocks(
      "delay", site, {{.from = 1, .bytes = row}, {.from = 0, .bytes = checked_mul(x[0] - 1, row), .to_offset = row}});
}

std::unique_ptr<Kernel> broadcast(const ops::BroadcastOp &op, const Site &site) {
  const Operand &x = site.src[0];
  int64_t n = site.dst[0].shape.elements(), size = size_of(x.dtype);
  if (x.shape.elements() == n) return dispatch::copy_kernel(site);
  double us = us_per_byte * static_cast<double>(checked_mul(n, size));
  const kernels::Strided s = kernels::strided(site.dst[0].shape, {x.shape});
  if (!op.divided) {
    return sliced(
        "broadcast", site, n, us,
        [=](int64_t begin, int64_t end, const Run &r) {
          kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
            const std::byte *from = r.in<std::byte>(0) + offset[0] * size;
            std::byte *to = r.out<std::byte>(0) + at * size;
            if (s.step(0) == 0)
              kernels::fill(size, from, to, count);
            else
              std::copy_n(from, count * size, to);
          });
        },
        line_block);
  }
  float by = n ? static_cast<float>(static_cast<double>(x.shape.elements()) / static_cast<double>(n)) : 0;
  return sliced(
      "mean_grad", site, n, us,
      [=](int64_t begin, int64_t end, const Run &r) {
        kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
          kernels::binary_run(Binary::mul, DType::f32, r.in<float>(0) + offset[0], s.step(0), &by, 0,
                              r.out<float>(0) + at, count);
        });
      },
      line_block);
}

// Describes a ring kernel for joining with its neighbours.
void let_join(Kernel &kernel, const ops::RingOp &op, const Site &site) {
  const Shape &state = site.src[0].shape, &x = site.src[1].shape;
  const int64_t n = x[op.axis], channels = x.last();
  const bool few = x.rank() == 3 && op.axis == 1 && site.src[0].dtype == DType::f32;
  if (!few || !kernels::are_row_channels(channels)) return;
  if (op.count == 0 || op.dilation != 1) return;
  kernels::RowStep s{.does = kernels::RowStep::Does::ring, .rows = n, .in = channels, .out = channels};
  s.items = x[0];
  s.capacity = state[op.state_axis()], s.each = op.each, s.count = op.count, s.skip = op.skip, s.turned = op.turned;
  if (s.count > (s.turned ? s.capacity : kernels::most_ring_windows * n)) return;
  kernel.rows = std::make_shared<const kernels::RowStep>(std::move(s));
}

struct TurnedRing {
  int64_t batch, channels, capacity, n, count, dilation, each, first;  // first: of the window, from x's first step on

  // known: number of channels at compile time, or 0.
  template <int64_t known>
  void run(const Run &r) const noexcept {
    const int64_t c = known ? known : channels, whole = c * capacity, mask = capacity - 1;
    const int64_t left_out = std::max<int64_t>(0, n - capacity), place = *r.in<int64_t>(2) * each & mask;
    const auto *from = r.in<float>(0), *x = r.in<float>(1);
    auto *state = r.out<float>(0), *window = count ? r.out<float>(1) : nullptr;
    for (int64_t b = 0; b < batch; ++b, x += n * c, from += whole, state += whole) {
      for (int64_t i = 0, at = first; i < count; ++i, at += dilation, window += c) {
        const float *tap = at < 0 ? from + ((place + at) & mask) : x + at * c;
        const int64_t apart = at < 0 ? capacity : 1;
        for (int64_t k = 0; k < c; ++k) window[k] = tap[k * apart];
      }
      if (state != from) std::memcpy(state, from, static_cast<size_t>(whole) * sizeof(float));
      for (int64_t i = left_out; i < n; ++i)
        for (int64_t k = 0; k < c; ++k) state[k * capacity + ((place + i) & mask)] = x[i * c + k];
    }
  }
};

std::unique_ptr<Kernel> turned_ring(const ops::RingOp &op, const Site &site) {
  const Shape &state = site.src[0].shape;
  const int64_t n = site.src[1].shape[1], back = checked_mul(op.count - 1, op.dilation);
  const TurnedRing t{state[0], state[1], state[2], n, op.count, op.dilation, op.each, n - 1 - op.skip - back};
  if (t.batch == 0 || t.channels == 0) return dispatch::nothing();
  const auto make = [&](auto known) {
    constexpr int64_t channels = known;
    return kernels::make_kernel("ring", 1, [t](int64_t, const Run &r) noexcept { t.run<channels>(r); });
  };
  auto kernel = t.channels == 1    ? make(std::integral_constant<int64_t, 1>())
                : t.channels == 2  ? make(std::integral_constant<int64_t, 2>())
                : t.channels == 3  ? make(std::integral_constant<int64_t, 3>())
                : t.channels == 4  ? make(std::integral_constant<int64_t, 4>())
                : t.channels == 8  ? make(std::integral_constant<int64_t, 8>())
                : t.channels == 16 ? make(std::integral_constant<int64_t, 16>())
                                   : make(std::integral_constant<int64_t, 0>());
  let_join(*kernel, op, site);
  return kernel;
}

// If the state is updated in place, only the new steps are written.
std::unique_ptr<Kernel> ring(const ops::RingOp &op, const Site &site) {
  if (op.turned) return turned_ring(op, site);
  const auto [outer, capacity, inner] = around(site.src[0].shape, op.axis);
  const int64_t n = site.src[1].shape[op.axis], row = checked_mul(inner, size_of(site.src[0].dtype));
  const int64_t whole = checked_mul(capacity, row), count = op.count, dilation = op.dilation, skip = op.skip;
  if (outer == 0 || row == 0) return dispatch::nothing();
  const int64_t mask = capacity - 1, each = op.each;            // a power of 2
  const int64_t first = n - 1 - skip - (count - 1) * dilation;  // start of the window, relative to x's first step
  const int64_t left_out = std::max<int64_t>(0, n - capacity), kept = n - left_out;
  auto run = [=, outer = outer, capacity = capacity](int64_t, const Run &r) noexcept {
    const int64_t place = *r.in<int64_t>(2) * each & mask, to = (place + left_out) & mask;
    const auto *from = r.in<std::byte>(0), *x = r.in<std::byte>(1);
    auto *state = r.out<std::byte>(0), *window = count ? r.out<std::byte>(1) : nullptr;
    auto copy = [&](std::byte *target, const std::byte *source, int64_t rows) {
      if (rows > 0) std::memcpy(target, source, static_cast<size_t>(rows * row));
    };
    for (int64_t o = 0; o < outer; ++o, from += whole, state += whole, x += n * row) {
      if (window && dilation == 1) {
        const int64_t before = std::min(count, std::max<int64_t>(0, -first)), begin = (place + first) & mask;
        const int64_t head = std::min(before, capacity - begin);
        copy(window, from + begin * row, head);
        copy(window + head * row, from, before - head);
        copy(window + before * row, x + std::max<int64_t>(0, first) * row, count - before);
      } else if (window) {
        for (int64_t i = 0, at = first; i < count; ++i, at += dilation)
          copy(window + i * row, at < 0 ? from + ((place + at) & mask) * row : x + at * row, 1);
      }
      if (window) window += count * row;
      if (state != from) copy(state, from, capacity);
      const int64_t before_end = std::min(kept, capacity - to);
      copy(state + to * row, x + left_out * row, before_end);
      copy(state, x + (left_out + before_end) * row, kept - before_end);
    }
  };
  auto kernel = kernels::make_kernel("ring", 1, run);
  let_join(*kernel, op, site);
  return kernel;
}

std::unique_ptr<Kernel> pack(const ops::PackOp &op, const Site &site) {
  std::vector<kernels::Block> blocks;
  int64_t end = 0;
  auto zeros_to = [&](int64_t begin) { blocks.push_back({.from = -1, .bytes = begin - end, .to_offset = end}); };
  for (int i = 0; i < static_cast<int>(site.src.size()); ++i) {
    int64_t begin = op.offset_bytes(static_cast<size_t>(i));
    int64_t bytes = checked_mul(site.src[static_cast<size_t>(i)].shape.elements(), op.element_bytes);
    zeros_to(begin);
    blocks.push_back({.from = i, .bytes = bytes, .to_offset = begin});
    end = begin + bytes;
  }
  zeros_to(checked_mul(op.total, op.element_bytes));
  return dispatch::move_blocks("pack", site, std::move(blocks));
}

}  // namespace

std::span<const Row> movement_kernels() {
  static const Row rows[] = {
      row<attributes::Copy, copied<attributes::Copy>>(),
      row<attributes::StopGradient, copied<attributes::StopGradient>>(),
      row<attributes::StraightThrough, copied<attributes::StraightThrough>>(),
      row<attributes::Reshape, copied<attributes::Reshape>>(),
      row<attributes::ReshapeLike, copied<attributes::ReshapeLike>>(),
      row<attributes::ExpandDims, copied<attributes::ExpandDims>>(),
      row<attributes::Squeeze, copied<attributes::Squeeze>>(),
      row<attributes::Transpose, transpose>(),
      row<attributes::Concat, concat>(),
      row<attributes::SplitLike, split_like>(),
      row<attributes::Slice, slice>(),
      row<attributes::PadLike, pad_like>(),
      row<ops::PadOp, pad>(),
      row<attributes::PlaceLike, place_like>(),
      row<attributes::View, view>(),
      row<attributes::Repeat, repeat>(),
      row<attributes::RepeatGrad, repeat_grad>(),
      row<attributes::Flip, flip>(),
      row<attributes::Delay, delay>(),
      row<ops::BroadcastOp, broadcast>(),
      row<ops::PackOp, pack>(),
      row<ops::RingOp, ring>(),
  };
  return rows;
}

}  // namespace dl4::cpu
