// Integer convolution: each image is quantized with zeros around it, and its windows are multiplied in place.
#include <algorithm>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"
#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"

namespace dl4::kernels {

bool is_for_narrow(const Conv &c) {
  return c.groups == 1 && !c.is_3d() && !c.is_empty() && (c.kw == 1 || c.dil_w == 1) && c.kw * c.c % 4 == 0 &&
         c.pad_top >= 0 && c.pad_left >= 0;
}

std::unique_ptr<Kernel> narrow_conv(const Conv &c, int64_t slices, const Constant &weights) {
  const int64_t taps = checked_mul(c.kh, c.kw, c.c);
  auto form = narrow_weights(weights, WeightType::int8, taps, c.oc, c.oc);
  auto more = [](int64_t pad) { return std::max<int64_t>(0, pad); };
  const NarrowImage image{c.h,
                          checked_mul(c.w, c.c),
                          c.pad_top,
                          more(c.pad_bottom),
                          checked_mul(c.pad_left, c.c),
                          checked_mul(more(c.pad_right), c.c)};
  const ConvCut cut(c, slices, c.oh);
  const int64_t bytes = round_up(narrow_scratch(*form, image), 64);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    const ConvPart p = cut.by_destination(c, slice);
    auto *codes = static_cast<std::byte *>(r.scratch) + slice * bytes;
    const float *bias = c.bias ? r.in<float>(2) : nullptr;
    const bool relu = c.epilogue.relu;
    const int64_t width = image.width(), code = narrow_code(*form);
    for (int64_t n = p.n0; n < p.n1; ++n) {
      // Each slice of an image quantizes the whole image, since the scale is global.
      const float scale = narrow_codes(*form, image, r.in<float>(0) + n * c.h * c.w * c.c, codes);
      NarrowRows a{nullptr, &scale, c.stride_w * c.c, c.kh, c.dil_h * width, true};
      for (int64_t j = 0; j < c.oc; j += packed_panel)
        for (int64_t y = p.dst0; y < p.dst1; ++y) {
          const int64_t cols = std::min(packed_panel, c.oc - j);
          float *dst = r.out<float>(0) + ((n * c.oh + y) * c.ow) * c.oc + j;
          a.codes = codes + y * c.stride_h * width * code;
          narrow_gemm(*form, c.ow, j, cols, a, bias ? bias + j : nullptr, 0, dst, c.oc, relu);
          if (c.epilogue && !relu) c.epilogue(dst, c.ow, cols, c.oc);
        }
    }
  };
  return make_kernel("int8_conv" + cut.name(), cut.slices, run, checked_mul(cut.slices, bytes));
}

}  // namespace dl4::kernels
