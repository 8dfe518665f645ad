// The source gradient of a convolution without strides is a convolution by flipped weights, computed by the direct and
// depthwise kernels.
#include <array>

#include "backend/cpu/kernels/conv/conv.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "base/checked.hpp"

namespace dl4::kernels {

std::optional<Conv> turned(const Conv &c) {
  if (c.is_3d() || c.is_empty() || c.stride_h != 1 || c.stride_w != 1) return {};
  Conv t = c;
  t.h = c.oh, t.w = c.ow, t.c = c.oc, t.oh = c.h, t.ow = c.w, t.oc = c.c;
  const int64_t over = checked_mul(c.kh - 1, c.dil_h), across = checked_mul(c.kw - 1, c.dil_w);
  t.pad_top = over - c.pad_top, t.pad_left = across - c.pad_left;
  t.pad_bottom = checked_add(c.h, over) - c.oh - t.pad_top, t.pad_right = checked_add(c.w, across) - c.ow - t.pad_left;
  t.bias = false, t.epilogue = {};
  if (t.pad_top < 0 || t.pad_left < 0) return {};
  return t;
}

std::unique_ptr<Kernel> turned_conv_data(const Conv &c, int64_t slices) {
  const auto t = turned(c);
  if (!t) return nullptr;
  std::shared_ptr<const Kernel> inner = c.groups == 1 ? direct_conv(*t, slices) : depthwise_conv(*t, slices);
  if (!inner) return nullptr;
  const int64_t in = c.c / c.groups, taps = checked_mul(c.kh, c.kw), tap = checked_mul(in, c.oc);
  const int64_t floats = round_up(checked_mul(taps, tap), 16), inner_bytes = round_up(inner->scratch, 64);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    float *turned = reinterpret_cast<float *>(static_cast<char *>(r.scratch) + inner_bytes) + slice * floats;
    for (int64_t i = 0; i < taps; ++i) {
      const int64_t dims[2] = {c.oc, in}, across[2] = {1, c.oc}, to[2] = {in, 1};
      copy_strided(sizeof(float), 2, dims, r.in<float>(1) + (taps - 1 - i) * tap, across, turned + i * tap, to);
    }
    const std::array<void *, 3> args{r.args[0], turned, r.out<void>(0)};
    inner->run(slice, {args.data(), 2, r.scratch, nullptr, r.report});
  };
  return make_kernel("turned_conv_data", inner->slices, run,
                     checked_add(inner_bytes, checked_mul(inner->slices, floats, 4)));
}

}  // namespace dl4::kernels
