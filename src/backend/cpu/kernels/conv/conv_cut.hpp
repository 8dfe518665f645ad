// Cuts a convolution into slices, each a smaller convolution.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "base/checked.hpp"

namespace dl4::kernels {

// One slice: images [n0, n1), rows [src0, src1) of the source and [dst0, dst1) of the destination of each, with these
// rows of padding above and below.
struct ConvPart {
  int64_t n0, n1, src0, src1, dst0, dst1, pad_top, pad_bottom;
  int64_t images() const { return n1 - n0; }
  int64_t src_rows() const { return src1 - src0; }
  int64_t dst_rows() const { return dst1 - dst0; }
  bool operator==(const ConvPart &) const = default;
};

inline int64_t reach(int64_t kernel, int64_t dilation) { return checked_add(checked_mul(kernel - 1, dilation), 1); }

// Whole images or volumes if there are enough for even slices, else each image in `pieces` ranges of rows.
struct ConvCut {
  int64_t slices = 1, pieces = 1;

  // whole: images stay so if there are enough.
  ConvCut(const Conv &c, int64_t wanted, int64_t rows, bool whole = false) {
    if (c.n <= 0 || rows <= 0) {
      slices = 0;
      return;
    }
    if (!c.is_3d() && !(whole && c.n >= wanted)) pieces = std::min(even_pieces(c.n, wanted), rows);
    slices = pieces > 1 ? checked_mul(c.n, pieces) : std::clamp<int64_t>(wanted, 1, c.n);
  }

  // Suffix of the kernel's name.
  std::string name() const { return slices < 2 ? "" : pieces > 1 ? ", by rows" : ", by images"; }

  // A range of destination rows with the source rows that they read.
  ConvPart by_destination(const Conv &c, int64_t slice) const {
    const ConvPart p = images(c, slice, c.oh);
    return pieces > 1 ? reading(c, p) : padded(c, p);
  }

  // Completes p with the source rows that its destination rows read.
  static ConvPart reading(const Conv &c, ConvPart p) {
    int64_t first = checked_mul(p.dst0, c.stride_h) - c.pad_top;
    int64_t last = checked_add(checked_mul(p.dst1 - 1, c.stride_h), reach(c.kh, c.dil_h)) - c.pad_top;
    p.src0 = std::clamp<int64_t>(first, 0, c.h);
    p.src1 = std::clamp<int64_t>(last, p.src0, c.h);
    return padded(c, p);
  }

  // A range of source rows with the destination rows that read them.
  ConvPart by_source(const Conv &c, int64_t slice) const {
    ConvPart p = images(c, slice, c.h);
    if (pieces > 1) {
      p.src0 = p.dst0;
      p.src1 = p.dst1;
      int64_t first = p.src0 + c.pad_top - reach(c.kh, c.dil_h) + 1, last = p.src1 - 1 + c.pad_top;
      p.dst0 = std::clamp<int64_t>(first <= 0 ? 0 : (first + c.stride_h - 1) / c.stride_h, 0, c.oh);
      p.dst1 = std::clamp<int64_t>(last < 0 ? 0 : last / c.stride_h + 1, p.dst0, c.oh);
    } else {
      p.dst0 = 0;
      p.dst1 = c.oh;
    }
    return padded(c, p);
  }

 private:
  ConvPart images(const Conv &c, int64_t slice, int64_t rows) const {
    if (pieces == 1) {
      auto [first, last] = part(c.n, slices, slice);
      return {first, last, 0, c.h, 0, c.oh, 0, 0};
    }
    auto [first, last] = part(rows, pieces, slice % pieces);
    return {slice / pieces, slice / pieces + 1, 0, c.h, first, last, 0, 0};
  }

  // Computes the padding from the row ranges.
  static ConvPart padded(const Conv &c, ConvPart p) {
    p.pad_top = checked_add(p.src0, c.pad_top) - checked_mul(p.dst0, c.stride_h);
    int64_t rows = checked_add(checked_mul(p.dst_rows() - 1, c.stride_h), reach(c.kh, c.dil_h));
    p.pad_bottom = rows - p.src_rows() - p.pad_top;
    return p;
  }
};

// A zero-padded copy of the source rows of a part; its rows have `padded_width` pixels.
inline int64_t padded_width(const Conv &c) { return checked_add(c.w, c.pad_left, std::max<int64_t>(0, c.pad_right)); }
inline void pad_rows(const Conv &c, const ConvPart &p, const float *src, float *to) {
  const int64_t left = c.pad_left * c.c, row = c.w * c.c, width = padded_width(c) * c.c;
  auto zero = [&](int64_t n) { to = std::fill_n(to, std::max<int64_t>(0, n), 0.0f); };
  zero(p.pad_top * width);
  for (int64_t y = 0; y < p.src_rows(); ++y) {
    zero(left);
    to = std::copy_n(src + y * row, row, to);
    zero(width - left - row);
  }
  zero(p.pad_bottom * width);
}

}  // namespace dl4::kernels
