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

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
// An axis of a convolution, and the places of one side that belong to places of the other.
struct CutAxis {
  int64_t src, taps, dst, stride, dilation, before;

  Range read_by(Range of_dst) const {
    const int64_t first = checked_mul(of_dst.begin, stride) - before;
    const int64_t last = checked_add(checked_mul(of_dst.end - 1, stride), reach(taps, dilation)) - before;
    const int64_t begin = std::clamp<int64_t>(first, 0, src);
    return {begin, std::clamp<int64_t>(last, begin, src)};
  }
  Range that_read(Range of_src) const {
    const int64_t first = of_src.begin + before - reach(taps, dilation) + 1, last = of_src.end - 1 + before;
    const int64_t begin = std::clamp<int64_t>(first <= 0 ? 0 : (first + stride - 1) / stride, 0, dst);
    return {begin, std::clamp<int64_t>(last < 0 ? 0 : last / stride + 1, begin, dst)};
  }
  // Padding of the convolution of these places.
  int64_t padding_before(Range of_src, Range of_dst) const {
    return checked_add(of_src.begin, before) - checked_mul(of_dst.begin, stride);
  }
  int64_t padding_after(Range of_src, Range of_dst) const {
    const int64_t padded = checked_add(checked_mul(of_dst.size() - 1, stride), reach(taps, dilation));
    return padded - of_src.size() - padding_before(of_src, of_dst);
  }
};
inline CutAxis rows_of(const Conv &c) { return {c.h, c.kh, c.oh, c.stride_h, c.dil_h, c.pad_top}; }

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
    const Range src = rows_of(c).read_by({p.dst0, p.dst1});
    p.src0 = src.begin, p.src1 = src.end;
    return padded(c, p);
  }

  // A range of source rows with the destination rows that read them.
  ConvPart by_source(const Conv &c, int64_t slice) const {
    ConvPart p = images(c, slice, c.h);
    if (pieces > 1) {
      p.src0 = p.dst0, p.src1 = p.dst1;
      const Range dst = rows_of(c).that_read({p.src0, p.src1});
      p.dst0 = dst.begin, p.dst1 = dst.end;
    } else {
      p.dst0 = 0, p.dst1 = c.oh;
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
    const Range src{p.src0, p.src1}, dst{p.dst0, p.dst1};
    p.pad_top = rows_of(c).padding_before(src, dst), p.pad_bottom = rows_of(c).padding_after(src, dst);
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
