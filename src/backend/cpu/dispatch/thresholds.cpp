// Figures by type of processor. Measured on one core, best of many runs; oneDNN 2.6.3, OpenBLAS 0.3.21.
#include "backend/cpu/dispatch/thresholds.hpp"

#include <array>
#include <limits>

#include "base/cpu.hpp"

namespace dl4::dispatch {
namespace {

constexpr int64_t never = INT64_MAX;

// Direct convolutions, microseconds of ours / oneDNN for n h x w c, window, oc, on the EPYC:
//             4 32x32 3, 3x3, 8         21 /   37     32 14x14 6, 5x5, 16    133 /  160
//             32 28x28 1, 5x5, 6       151 /  266      8 32x32 16, 3x3, 16   336 /  332
//             8 32x32 3, 1x1, 16      16.4 / 12.4
// and on the Xeon:
//             32 84x84 4, 8x8 by 4, 32  1763 / 2203      1 84x84 4, 8x8 by 4, 32    50.5 / 52.5
//             8 32x32 3, 3x3, 32        121 /  143     8 32x32 8, 3x3, 32          319 /  398
//             8 28x28 1, 5x5, 32         91 /  120     8 32x32 12, 3x3, 24         557 /  545
// and on an EPYC of Zen 5, whose answer is taken for all:
//             32 84x84 4, 8x8 by 4, 32   857 /  930      1 84x84 4, 8x8 by 4, 32    27.1 / 30.1
//             8 32x32 3, 3x3, 32        65.4 / 76.9      8 28x28 1, 5x5, 32         45.5 / 58.7
// Each channel by itself, ours / oneDNN on an EPYC of Zen 5 (one image; size, channels, window):
//             7x7 64, 3x3             0.45 / 1.43      28x28 192, 5x5           38.4 / 65.1
//             14x14 256, 3x3          9.0  / 8.2       14x14 384, 7x7           39.3 / 52.0
//             56x56 64, 3x3           36.1 / 35.1      112x112 64, 3x3 by 2     51.5 / 52.6
//             28x28 20, 3x3           4.76 / 6.56      and no code is made for it: 0.5 ms less at the first run
// Constant weights, ours (packed) / oneDNN on an EPYC of Zen 5 (one image by default; valid but for strides of 1):
//             224x224 3, 7x7 by 2, 64  987 /  960      28x28 512, 1x1 by 2, 1024   881 /  929
//             56x56 256, 1x1 by 2, 512 887 /  884      7x7 512, 3x3, 512           899 /  876
//             32 20x20 32, 4x4 by 2, 64 710 / 730      112x112 32, 3x3 by 2, 64    531 /  519
//             4 8x8 10, 3x3, 70       16.2 / 19.9      27x27 96, 5x5, 256         3560 / 3420
//             32 32x32 3, 3x3, 48      474 /  438      8 32x32 16, 3x3 by 2, 64     168 /  162
// with weights in the caches; no code is made for it: 0.5 ms less at the first run. Within ResNet-50, whose weights
// come from memory, it takes 31.6 ms in all by oneDNN and 28.7 by ours, which read panels ahead; there Winograd's twice
// as many weights don't pay for 7x7 512>512 (1.15 ms, packed 0.95).
constexpr std::array<Thresholds::Convs::Direct, 2> few{{{16, 15}}}, more{{{16, 15}, {32, 8}}};

// Winograd's fit what was measured on the EPYC (ours / oneDNN; n, size, channels; weights that are no constant,
// transformed anew):
//   forward          1 56x56 64>64    1055 / 1966     32 9x9 64>64, valid    740 / 1016     1 4x4 64>64     16 / 10
//                    1 14x14 256>256  1129 / 1938     8 16x16 16>64          228 /  316     1 7x7 512>512 2888 / 3285
//                    32 7x7 512>512  50059 / 57180    32 32x32 16>16        1238 / 1329     8 16x16 3>32    64 / 41
//   by the source    1 56x56 64>64    1075 / 1966     32 9x9 64>64, valid   1191 / 1035     1 4x4 64>64     24 / 14
//                    1 14x14 256>256  1595 / 2003     4 7x7 512>512        11285 / 9185     8 16x16 32>8    88 / 76
constexpr Thresholds::Convs convs_with(const std::array<Thresholds::Convs::Direct, 2> &direct) {
  return {direct, 9, 16, 0.95, 400, 800, 1 << 21, 32, 1 << 15};
}

// EPYC of Zen 4, 1 MiB L2.
constexpr Thresholds avx512{{by_dnnl, 129, 0, never, true, 12, 1 << 26}, convs_with(more)};

// Xeon of Sapphire Rapids, 2 MiB L2; with a neighbour in its caches oneDNN is ahead of our panels by 15 % from some
// 48 rows on. Microseconds of small / packed / OpenBLAS / oneDNN for m x n x k:
//   not, NN   8x1024x1024       561      -    760    596     16x1024x1024     1080      -    848    750
//             64x512x512        379      -    337    302     16x512x512         82      -    133    131
//   constant  64x1024x1024     2910   1260   2390   1190     128x1024x1024    5850   2520   3800   2550
//             512x1024x1024   23000  10100  10700   9440     1024x2048x512   68700  25500  21700  20100
//             256x512x512      1190   1060   1240   1100     1024x256x256     1500   1090   1330   1250
//             1024x1024x1024  83500  24900  21100  21100     3x1024x1024       275    201    887    209
//   not, TN   784x256x128       431      -    444    409     784x128x32       62.3      -   98.9   75.1
constexpr Thresholds intel_avx512{{by_dnnl, 1, 1 << 24, 48, true, 12, 1 << 24}, convs_with(more)};

// The same Xeon, all three kept from AVX-512:
//   not, NN   16x1024x1024     1690      -    780   1020     64x512x512        468      -    524    459
//             128x1024x1024   12000      -   4050   4700     512x1024x256     3880      -   3820   4120
//   constant  512x1024x1024   55900  18300  15900  16800     3x1024x1024       514    282    672    395
//   not, TN   784x256x128       773      -    742    728
constexpr Thresholds avx2{{by_openblas, 1, 1 << 24, 257, false, 6, 1 << 24}, convs_with(few)};

// No machine was at hand: as without AVX-512, but that oneDNN has no kernels of its own there.
constexpr Thresholds neon{{by_openblas, 1, 1 << 24, never, false, 12, std::numeric_limits<double>::infinity()},
                          convs_with(few)};

}  // namespace

const Thresholds &thresholds() {
  static const Thresholds &here = [type = cpu::type()]() -> const Thresholds & {
    switch (type) {
      case cpu::Type::intel_avx512:
        return intel_avx512;
      case cpu::Type::avx512:
        return avx512;
      case cpu::Type::avx2:
        return avx2;
      default:
        return neon;
    }
  }();
  return here;
}

}  // namespace dl4::dispatch
