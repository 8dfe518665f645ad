// The source gradient of a convolution as products. Source pixels a stride apart meet the same taps; each such class is
// a convolution without strides.
#include <vector>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/patches.hpp"
#include "backend/cpu/kernels/gemm/by_blocks.hpp"
#include "backend/cpu/kernels/gemm/gemm_cut.hpp"
#include "base/error.hpp"

namespace dl4::kernels {
namespace {

struct Tap {
  int64_t index;   // on the weights' axis
  int64_t offset;  // from the position in the class to that in the destination
};

// Positions first, first + stride, ... on an axis of the source.
struct Places {
  int64_t first, count;
  std::vector<Tap> taps;
};

std::vector<Places> places(int64_t n, int64_t taps, int64_t stride, int64_t dilation, int64_t pad, int64_t out) {
  std::vector<Places> all;
  for (int64_t first = 0; first < std::min(n, stride); ++first) {
    Places p{first, (n - first + stride - 1) / stride, {}};
    for (int64_t k = 0; k < taps; ++k) {
      const int64_t at = first + pad - k * dilation, offset = at / stride;
      if (at % stride == 0 && offset < out && offset + p.count > 0) p.taps.push_back({k, offset});
    }
    all.push_back(std::move(p));
  }
  return all;
}

struct TapRange {
  int64_t first, last;
};

struct Class {
  Places z, y, x;
  int64_t m, k;     // pixels, and numbers each one meets in a group
  int64_t form_at;  // offset of its panels in the group's packed weights

  int64_t taps() const { return static_cast<int64_t>(z.taps.size() * y.taps.size() * x.taps.size()); }
  // Calls f for the taps in [first, last).
  template <class F>
  void each_tap(TapRange range, const F &f) const {
    int64_t i = 0;
    for (const Tap &tz : z.taps)
      for (const Tap &ty : y.taps)
        for (const Tap &tx : x.taps) {
          if (i >= range.first && i < range.last) f(tz, ty, tx);
          ++i;
        }
  }
};

// Packs panels of columns [j, j + n) for taps of a class; a column is a source channel.
void pack(const Conv &c, const Class &of, TapRange taps, const float *weights, int64_t group, int64_t j, int64_t n,
          float *panels) {
  const int64_t in = c.c / c.groups, out = c.oc / c.groups;
  for (int64_t col = 0; col < n; col += packed_panel) {
    of.each_tap(taps, [&](const Tap &z, const Tap &y, const Tap &x) {
      const int64_t tap = (z.index * c.kh + y.index) * c.kw + x.index;
      pack_b(out, std::min(packed_panel, n - col), weights + (tap * in + j + col) * c.oc + group * out, c.oc, true,
             panels);
      panels += out * packed_panel;
    });
  }
}

// Gathers the destination values that pixels [first, first + count) of the class meet by these taps, in rows ld apart.
void gather(const Conv &c, const Class &of, TapRange taps, const float *diff_dst, int64_t group, int64_t first,
            int64_t count, float *to, int64_t ld) noexcept {
  const int64_t out = c.oc / c.groups;
  Pixel p(first, of.z.count, of.y.count, of.x.count);
  for (int64_t i = 0; i < count; ++i, p.next(of.z.count, of.y.count, of.x.count)) {
    float *at = to + i * ld;
    of.each_tap(taps, [&](const Tap &tz, const Tap &ty, const Tap &tx) {
      const int64_t z = p.z + tz.offset, y = p.y + ty.offset, x = p.x + tx.offset;
      const bool inside = z >= 0 && z < c.od && y >= 0 && y < c.oh && x >= 0 && x < c.ow;
      at = inside ? put(diff_dst + (((p.n * c.od + z) * c.oh + y) * c.ow + x) * c.oc + group * out, out, at)
                  : put_zeros(at, out);
    });
  }
}

}  // namespace

double gathered_rows(const Conv &c) {
  const auto along = [](const std::vector<Places> &axis) {
    double rows = 0;
    for (const Places &p : axis) rows += static_cast<double>(p.count) * static_cast<double>(p.taps.size());
    return rows;
  };
  return static_cast<double>(c.n) * along(places(c.d, c.kd, c.stride_d, c.dil_d, c.pad_front, c.od)) *
         along(places(c.h, c.kh, c.stride_h, c.dil_h, c.pad_top, c.oh)) *
         along(places(c.w, c.kw, c.stride_w, c.dil_w, c.pad_left, c.ow));
}

std::unique_ptr<Kernel> blocked_conv_data(const Conv &c, int64_t slices, const Constant *weights, int tiles) {
  constexpr int64_t most_classes = 4096;
  if (c.is_empty()) return nullptr;
  const int64_t in = c.c / c.groups, out = c.oc / c.groups;
  if (checked_mul(std::min(c.d, c.stride_d), std::min(c.h, c.stride_h), std::min(c.w, c.stride_w)) > most_classes)
    return nullptr;
  const LaidProduct how(c.bfloat16, tiles);
  // Blocks cut k only between taps.
  auto blocks = [=](const Class &of) {
    Blocks most = how.blocks(of.m, in, of.k, of.k);
    if (most.ks < of.k) most = Blocks(of.m, in, round_up(most.ks, out), of.k);
    return most;
  };
  std::vector<Class> classes;
  int64_t form_floats = 0, a_floats = 0, b_floats = 0, c_floats = 0, words = 0;
  for (const Places &z : places(c.d, c.kd, c.stride_d, c.dil_d, c.pad_front, c.od))
    for (const Places &y : places(c.h, c.kh, c.stride_h, c.dil_h, c.pad_top, c.oh))
      for (const Places &x : places(c.w, c.kw, c.stride_w, c.dil_w, c.pad_left, c.ow)) {
        Class of{z, y, x, checked_mul(c.n, z.count, y.count, x.count), 0, form_floats};
        of.k = checked_mul(of.taps(), out);
        const Blocks most = blocks(of);
        form_floats = checked_add(form_floats, packed_floats(of.k, in));
        a_floats = std::max(a_floats, most.a_floats()), b_floats = std::max(b_floats, most.b_floats());
        c_floats = std::max(c_floats, checked_mul(most.rows, most.cols)), words = std::max(words, how.words(most));
        classes.push_back(std::move(of));
      }
  const bool dense = classes.size() == 1;  // its pixels are contiguous
  const Gemm g{
      .batch = c.groups, .m = checked_mul(c.n, c.d, c.h, c.w), .n = in, .k = checked_mul(c.kd, c.kh, c.kw, out)};
  const bool by_channels = in >= checked_mul(slices, packed_panel) && checked_mul(g.k, in) > checked_mul(g.m, out);
  const GemmCut cut = kernels::cut(g, slices, by_channels ? g.m + 1 : 16, 1, packed_panel);

  std::shared_ptr<const Packed> form;
  if (weights && !c.bfloat16 && !tiles) {
    std::string key = "conv data panels";
    for (int64_t v :
         {c.c,  c.oc,       c.groups,   c.d,        c.h,     c.w,     c.od,    c.oh,        c.ow,      c.kd,      c.kh,
          c.kw, c.stride_d, c.stride_h, c.stride_w, c.dil_d, c.dil_h, c.dil_w, c.pad_front, c.pad_top, c.pad_left})
      key += text(' ', v);
    form = weights->packed(key, [&] {
      auto all = std::make_shared<const PackedFloats>(checked_mul(c.groups, form_floats));
      for (int64_t i = 0; i < c.groups; ++i)
        for (const Class &of : classes)
          pack(c, of, {0, of.taps()}, weights->data, i, 0, in, all->floats() + i * form_floats + of.form_at);
      return all;
    });
  }
  a_floats = round_up(a_floats, 16), b_floats = form ? 0 : round_up(b_floats, 16);
  c_floats = dense ? 0 : round_up(c_floats, 16);
  const int64_t each = checked_add(a_floats, b_floats, c_floats, words);

  auto run = [=, classes = std::move(classes)](int64_t slice, const Run &r) noexcept {
    float *const room = static_cast<float *>(r.scratch) + slice * each, *const panels = room + a_floats;
    float *const sums = panels + b_floats, *const diff_src = r.out<float>(0);
    for (const Class &of : classes) {
      Gemm mine = g;
      mine.m = of.m;
      const GemmPart p = cut.part_of(mine, slice);
      const Blocks most = blocks(of);
      LaidProduct multiply = how;
      multiply.lie_at(sums + c_floats, most);
      auto place = [&](const Pixel &at) {
        const int64_t z = of.z.first + at.z * c.stride_d, y = of.y.first + at.y * c.stride_h;
        return diff_src + (((at.n * c.d + z) * c.h + y) * c.w + of.x.first + at.x * c.stride_w) * c.c;
      };
      auto each_pixel = [&](int64_t i, int64_t m, const auto &f) {
        Pixel at(i, of.z.count, of.y.count, of.x.count);
        for (int64_t n = 0; n < m; ++n, at.next(of.z.count, of.y.count, of.x.count)) f(n, place(at));
      };
      for (int64_t item = p.item0; item < p.item1; ++item) {
        if (of.k == 0) {
          each_pixel(p.row0, p.rows(), [&](int64_t, float *to) { put_zeros(to + item * in + p.col0, p.cols()); });
          continue;
        }
        const float *packed =
            form ? static_cast<const PackedFloats &>(*form).floats() + item * form_floats + of.form_at : nullptr;
        by_blocks(
            most, {p.row0, p.row1}, {p.col0, p.col1}, of.k,
            [&](int64_t i, int64_t m, int64_t l, int64_t ks) {
              gather(c, of, {l / out, (l + ks) / out}, r.in<float>(0), item, i, m, room, most.lda);
              multiply.rows(m, ks, room, most.lda);
            },
            [&](int64_t j, int64_t n, int64_t l, int64_t ks) {
              if (packed) return;
              pack(c, of, {l / out, (l + ks) / out}, r.in<float>(1), item, j, n, panels);
              multiply.panels(ks, n, panels);
            },
            [&](int64_t i, int64_t m, int64_t j, int64_t n, int64_t l, int64_t ks) {
              float *to = dense ? diff_src + i * c.c + item * in + j : sums;
              const int64_t ld = dense ? c.c : n;
              if (l && !dense)
                each_pixel(i, m, [&](int64_t row, float *at) { std::copy_n(at + item * in + j, n, sums + row * n); });
              multiply(m, n, ks, room, most.lda, packed ? packed + j * of.k : panels, l ? to : nullptr, ld, to, ld);
              if (!dense)
                each_pixel(i, m, [&](int64_t row, float *at) { std::copy_n(sums + row * n, n, at + item * in + j); });
            });
      }
    }
  };
  return make_kernel(how.name("conv_data"), cut.slices, run, checked_mul(cut.slices, each, 4));
}

}  // namespace dl4::kernels
