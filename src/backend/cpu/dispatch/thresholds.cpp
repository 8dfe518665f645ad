// Costs by type of processor. Measured on one core, best of many runs; oneDNN 2.6.3, OpenBLAS 0.3.21.
#include "backend/cpu/dispatch/thresholds.hpp"

#include <array>
#include <limits>

#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"
#include "base/checked.hpp"

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
// and on an EPYC of Zen 5, whose result is used for all:
//             32 84x84 4, 8x8 by 4, 32   857 /  930      1 84x84 4, 8x8 by 4, 32    27.1 / 30.1
//             8 32x32 3, 3x3, 32        65.4 / 76.9      8 28x28 1, 5x5, 32         45.5 / 58.7
// Depthwise, ours / oneDNN on an EPYC of Zen 5 (one image; size, channels, window):
//             7x7 64, 3x3             0.45 / 1.43      28x28 192, 5x5           38.4 / 65.1
//             14x14 256, 3x3          9.0  / 8.2       14x14 384, 7x7           39.3 / 52.0
//             56x56 64, 3x3           36.1 / 35.1      112x112 64, 3x3 by 2     51.5 / 52.6
//             28x28 20, 3x3           4.76 / 6.56      and no code is generated: 0.5 ms less at the first run
// Constant weights, ours (packed) / oneDNN on an EPYC of Zen 5 (one image by default; valid but for strides of 1):
//             224x224 3, 7x7 by 2, 64  987 /  960      28x28 512, 1x1 by 2, 1024   881 /  929
//             56x56 256, 1x1 by 2, 512 887 /  884      7x7 512, 3x3, 512           899 /  876
//             32 20x20 32, 4x4 by 2, 64 710 / 730      112x112 32, 3x3 by 2, 64    531 /  519
//             4 8x8 10, 3x3, 70       16.2 / 19.9      27x27 96, 5x5, 256         3560 / 3420
//             32 32x32 3, 3x3, 48      474 /  438      8 32x32 16, 3x3 by 2, 64     168 /  162
// with weights in the caches; no code is generated: 0.5 ms less at the first run. Within ResNet-50, whose weights
// come from memory, it takes 31.6 ms in all by oneDNN and 28.7 by ours, which read panels ahead; there Winograd's twice
// as many weights don't pay for 7x7 512>512 (1.15 ms, packed 0.95).
// Gradients, ours / oneDNN / by products, on an EPYC of Zen 5 (n h x w c, window, outputs):
//   by weights   8 32x32 3, 3x3, 64    254 /  270 /  524     32 84x84 4, 8x8 by 4, 32  2151 / 2067 / 3223
//                32 14x14 6, 5x5, 16   140 /  142 /  257     32 28x28 1, 5x5, 6         183 /  167 /  724
//                8 32x32 16, 3x3, 32   662 /  637 /  957
//   turned       32 14x14 6, 5x5, 16   410 /  453 / 1296     8 32x32 8, 3x3, 32         395 /  624 / 1069
//                8 32x32 3, 3x3, 64    830 /  564 / 1966     8 16x16 32, 3x3 by depth    31 /   31
constexpr std::array<Thresholds::Convs::Direct, 2> few{{{16, 15}}}, more{{{16, 15}, {32, 8}}};

// Winograd's costs fit measurements on the EPYC (ours / oneDNN; n, size, channels; weights that are not constant,
// transformed anew):
//   forward          1 56x56 64>64    1055 / 1966     32 9x9 64>64, valid    740 / 1016     1 4x4 64>64     16 / 10
//                    1 14x14 256>256  1129 / 1938     8 16x16 16>64          228 /  316     1 7x7 512>512 2888 / 3285
//                    32 7x7 512>512  50059 / 57180    32 32x32 16>16        1238 / 1329     8 16x16 3>32    64 / 41
//   by the source    1 56x56 64>64    1075 / 1966     32 9x9 64>64, valid   1191 / 1035     1 4x4 64>64     24 / 14
//                    1 14x14 256>256  1595 / 2003     4 7x7 512>512        11285 / 9185     8 16x16 32>8    88 / 76
// The others, relative to oneDNN: direct 0.57, depthwise 0.31 to 1.1, packed ones with many constant weights
// 0.98 to 1.03, equal to oneDNN but without generated code.
constexpr Thresholds::Convs convs_with(const std::array<Thresholds::Convs::Direct, 2> &direct) {
  return {.direct = direct,
          .direct_weights = 9,
          .winograd_pixels = 16,
          .dnnl = 0.95,
          .direct_part = 0.57,
          .depthwise_part = 0.7,
          .packed_part = 1.05,
          .packed_many_part = 1 - 1e-6,
          .blocked_part = 1.3,
          .channels_part = 3,
          .turned_part = 1.02,
          .direct_weights_part = 1.02,
          .direct_weights_inputs = 16,
          .winograd_weights = 400,
          .winograd_weights_by_source = 800,
          .winograd_in_cache = 1 << 21,
          .winograd_waiting = 32,
          .packed_weights = 1 << 15};
}

// Measured one after the other on one core (AVX-512), microseconds of ours and of oneDNN for batch, time, inputs,
// units: 1x100x128x128 383 and 587; 32x28x28x128 1503 and 1576; 32x100x512x512 127503 and 125737.
constexpr Thresholds::Lstms lstms{1, 1.05};
constexpr Thresholds::ByItem by_item{1, 1.3};

// Measured on one core of an EPYC of Zen 4, times the speed of packed float32, by bfloat16, int8 and int4:
//               with VNNI           AVX-512 alone       AVX2
// 1x1024x1024   1.87  3.99  6.81    1.91  2.68  2.36    1.86  2.61  1.97
// 1x512x128     1.80  3.31  4.91    1.81  2.16  1.90    1.55  1.97  1.45
// 1x128x128     1.80  3.97  3.72    1.80  1.90  1.67    1.52  1.78  1.34
// 1x64x64       1.23  1.78  1.71    1.23  1.17  0.98    1.00  0.96  0.75
// 2x1024x1024   1.33  3.90  3.72    1.35  1.93  1.75    1.18  0.95  1.29
// 4x1024x1024   1.00  3.77  3.56    1.00  1.61  1.33    1.08  0.87  1.17
// 32x1024x1024  0.97  3.83  3.51    0.98  1.57  1.43    0.48  0.95  1.14
// 32x512x128    0.98  3.03  2.84    0.98  1.41  1.27    0.49  0.89  1.02
// 256x64x32     0.98  1.33  1.20
// 1024x32x16    0.99  0.71  0.64
// By sessions on Zen 5: 64x512x28 1.01, 1.49; 64x512x24 1.01, 1.37.
constexpr int64_t narrow_side = 32, narrow_rows = 24, narrow_weights = 1 << 13;
// int4 loses most accuracy on few weights, and saves at most 64 KB there (tests/models/README.md).
constexpr int64_t int4_weights = 1 << 17;
constexpr Thresholds::Narrow narrow_512{2, never}, narrow_256{1, 1};

using Regions = std::array<Measured, static_cast<size_t>(Region::count)>;

constexpr Measured &in(Regions &all, Region r) { return all[static_cast<size_t>(r)]; }

// EPYC, Zen 4. Each row represents its region. N, T: as stored, transposed; constant: B is constant and packed.
constexpr Regions epyc = [] {
  using enum Region;
  Regions all{};
  //                                      m     n     k    small packed OpenBLAS oneDNN
  // TT: oneDNN took 305 here, but OpenBLAS stays until more shapes are measured.
  in(all, both_transposed) = {256, 256, 256, 0, 350, 329, 330};
  in(all, transposed_few_columns) = {64, 10, 128, 2.28, 6, 1.77, 3.30};       // TN
  in(all, transposed) = {784, 128, 32, 57.1, 70, 69.2, 60.7};                 // TN
  in(all, transposed_large) = {512, 2048, 800, 103780, 69300, 67853, 64509};  // TN
  in(all, constant_few_columns) = {4, 2, 8192, 7.8, 1.8, 4.1, 11.0};          // NN, packed column by column
  in(all, one_column) = {32, 1, 1000, 1.40, 8.77, 1.41, 9.5};                 // NN; OpenBLAS is equal
  in(all, few_columns) = {32, 2, 1000, 5.36, 2.9, 1.68, 9.13};                // NN, packed column by column
  in(all, constant_short) = {4096, 8, 3, 2.3, 7.5, 4.9, 6.3};                 // NN, constant
  in(all, constant) = {32, 128, 784, 55.0, 54.6, 69.2, 55.4};                 // NN, constant
  in(all, constant_large) = {512, 1024, 1024, 14100, 11300, 11400, 9780};     // NN, constant
  in(all, short_dots) = {4, 8192, 2, 7.6, 40, 10.7, 58.6};                    // NT
  in(all, little_work) = {4, 256, 256, 8.2, 20, 4.98, 10.2};                  // NT
  in(all, few_rows) = {8, 512, 512, 54.3, 106, 96.7, 59.2};                   // NT
  in(all, rows) = {64, 256, 256, 216, 84, 89.9, 78.0};                        // NT
  in(all, plain) = {64, 1024, 1024, 1266, 1525, 1677, 1389};                  // NN
  in(all, plain_large) = {256, 1024, 1024, 6037, 5450, 5544, 5040};           // NN
  return all;
}();

// Xeon, Sapphire Rapids, 2 MiB L2, where measured.
constexpr Regions xeon = [] {
  using enum Region;
  Regions all = epyc;
  in(all, transposed_large) = {784, 256, 128, 431, 450, 444, 409};
  in(all, plain) = {8, 1024, 1024, 561, 1000, 760, 596};
  in(all, plain_large) = {16, 1024, 1024, 1080, 1300, 848, 750};
  return all;
}();

// The same Xeon limited to AVX2.
constexpr Regions xeon_avx2 = [] {
  using enum Region;
  Regions all = epyc;
  in(all, transposed_large) = {784, 256, 128, 773, 800, 742, 728};
  // OpenBLAS took 15900; on an EPYC limited to AVX2 it equals oneDNN, which therefore stays.
  in(all, constant_large) = {512, 1024, 1024, 55900, 18300, 16900, 16800};
  in(all, plain_large) = {128, 1024, 1024, 12000, 4900, 4050, 4700};
  return all;
}();

// EPYC, Zen 4, 1 MiB L2.
constexpr Thresholds avx512{
    {.measured = epyc, .rows = 129, .work = 0, .constant_rows = never, .tile_rows = 12, .transposed_work = 1 << 26},
    convs_with(more),
    lstms,
    by_item,
    narrow_512};

// EPYC of Zen 5, 1 MiB L2, microseconds of small / blocked / OpenBLAS / oneDNN, NN:
//    16x1024x1024   180 /  226 /  261 /  205      64x1024x1024  1140 /  724 /  947 /  641
//    24x1024x1024   272 /  304 /  312 /  268      64x512x512     157 /  146 /  170 /  143
//    32x1024x1024   357 /  357 /  400 /  341     128x512x512     315 /  278 /  309 /  276
//    32x512x512      79 /   84 /  115 /   84     128x256x1024    316 /  292 /  312 /  280
//    64x256x256    31.7 / 36.4 / 38.2 / 32.9     256x1024x1024  3650 / 2640 / 2490 / 2460
constexpr Thresholds wide_avx512 = [] {
  Thresholds t = avx512;
  t.products.rows = 24, t.products.work = 1 << 24;
  in(t.products.measured, Region::plain_large) = {256, 1024, 1024, 3650, 2640, 2490, 2460};
  return t;
}();

// Sapphire Rapids. Constant weights, GF/s of ours / oneDNN, on Emerald Rapids:
//   512x1024x1024 168 / 153     64x1024x1024 167 / 144     16x1024x1024 143 / 101     16x512x512    170 / 167
//   100x1000x333  174 / 152     128x128x128  158 / 152     32x1024x4096 152 / 100
constexpr Thresholds intel_avx512{
    {.measured = xeon, .rows = 1, .work = 1 << 24, .constant_rows = never, .tile_rows = 12, .transposed_work = 1 << 24},
    convs_with(more),
    lstms,
    by_item,
    narrow_512};

constexpr Thresholds avx2{{.measured = xeon_avx2,
                           .rows = 1,
                           .work = 1 << 24,
                           .constant_rows = 257,
                           .tile_rows = 6,
                           .transposed_work = 1 << 24},
                          convs_with(few),
                          lstms,
                          by_item,
                          narrow_256};

// Not measured: as without AVX-512, except that oneDNN has no kernels of its own on arm64.
constexpr Thresholds neon{{.measured = xeon_avx2,
                           .rows = 1,
                           .work = 1 << 24,
                           .constant_rows = never,
                           .tile_rows = 12,
                           .transposed_work = std::numeric_limits<double>::infinity()},
                          convs_with(few),
                          lstms,
                          by_item,
                          narrow_256};

constexpr int64_t dot = 64;            // least multiplications that make a dot product worthwhile
constexpr int64_t vector = 8;          // columns
constexpr double much_b = 1 << 18;     // numbers of B that exceed the L2 cache
constexpr int64_t page_floats = 1024;  // between rows that share a line of the L1 cache

double product(int64_t a, int64_t b) { return static_cast<double>(a) * static_cast<double>(b); }
double work_of(const kernels::Gemm &g) { return product(checked_mul(g.batch, g.m), g.n) * static_cast<double>(g.k); }

}  // namespace

bool few_columns(const kernels::Gemm &g) { return g.n > 1 && g.n < vector && g.k >= dot; }

// Whether more rows of A than the L1 cache has ways start at the same offset in a page; oneDNN then copies them. On
// the EPYC of Zen 4, whose L1 cache has 8 ways (packed / oneDNN, B constant):
//   12x1024x1024   244 /  221      64x1024x1024  1200 / 1170     512x1024x1024  10200 / 9310
//   24x1024x1024   479 /  438     128x1024x1024  2530 / 2330     512x512x2048   10200 / 9320
//   16x1024x1024   293 /  292     512x512x512    2330 / 2310     512x2048x512    9500 / 9310  short of a page
bool Thresholds::Products::crowded(const kernels::Gemm &g) const {
  static const int64_t ways = cpu::first_cache_ways();
  return !any_processor && ways > 0 && ways < tile_rows && g.m > ways && g.lda % page_floats == 0;
}

// Further products measured on the EPYC, microseconds of small / packed / OpenBLAS / oneDNN:
//   1x256x256 NN       2.3    2.4    2.4    2.8  ours without its 0.3 a call
//   1024^3 NN        25124  19501  21829  19373
//   1x1024x1024 NN    55.3   44.8   53.1   48.2
//   1x2048x2048 NN     350    350    387    460
//   2x1024x1024 NN     117   52.5    386   52.0
//   3x1024x1024 NN     121   75.8    452   63.7  on Zen 5 69.5 and 77.4 for oneDNN; 4 rows 52.2 and 65.8
//   64x16x16 NN       0.31   0.30   0.35   0.57
//   64x4x32 NN        0.39   0.61   0.54   0.89  few columns: panels would be padding for the most part, and 1x2x8192
//   1024x16x4 NN       1.1    2.0    1.7    1.9  would read 16 times the bytes of B; so columns are packed whole there
Region Thresholds::Products::constant_region(const kernels::Gemm &g, double b) const {
  if (g.m > 1 && !g.trans_b && (g.n <= vector || (g.n <= 2 * vector && g.k <= 4))) return Region::constant_short;
  return crowded(g) || (g.m >= constant_rows && b >= much_b) ? Region::constant_large : Region::constant;
}

//   512x1024x256 NN   2660      -   2650   2460
//   32x10x84 NN       0.76      -   0.82   1.01
//   4x1024x1024 NT     138      -    703    186
//   4x384x256 NT      12.5      -   25.4   15.1
//   128x128x10 NT      3.8      -    4.9    3.8  short rows: ours transposes a few at a time
//   128x128x64 NT     19.4      -   22.6   19.4
//   64x64x64 TN       4.66      -   4.62   5.29
//   3x8x4096 TN        3.6      -    9.3    9.5
//   784x256x128 TN     447      -    507    465
// and on the Xeon:
//   64x512x512 NN      379      -    337    302     16x512x512 NN       82      -    133    131
//   64x1024x1024 NN   2910   1260   2390   1190     128x1024x1024 NN  5850   2520   3800   2550  constant, as the next
//   1024x2048x512    68700  25500  21700  20100     1024x1024x1024   83500  24900  21100  21100
//   256x512x512       1190   1060   1240   1100     1024x256x256      1500   1090   1330   1250
//   3x1024x1024        275    201    887    209     784x128x32 TN     62.3      -   98.9   75.1
// and there limited to AVX2:
//   16x1024x1024 NN   1690      -    780   1020     64x512x512 NN      468      -    524    459
//   512x1024x256 NN   3880      -   3820   4120     3x1024x1024 NN     514    282    672    395  constant
Region Thresholds::Products::region(const kernels::Gemm &g, bool constant) const {
  const double work = work_of(g), b = product(g.n, g.k);
  if (g.trans_a) {
    if (g.trans_b) return Region::both_transposed;
    if (g.n > vector && g.n < 13 && g.k >= dot) return Region::transposed_few_columns;
    return work >= transposed_work ? Region::transposed_large : Region::transposed;
  }
  if (constant && few_columns(g)) return Region::constant_few_columns;
  if (!g.trans_b && g.n < vector && g.k >= dot) return g.n == 1 ? Region::one_column : Region::few_columns;
  if (constant) return constant_region(g, b);
  if (g.trans_b) {
    if ((g.m >= 16 && g.k <= 128) || (g.m >= 4 && g.k <= 16)) return Region::short_dots;
    if (g.m == 1 || work <= 1 << 18) return Region::little_work;
    return g.m <= 8 && b > 1 << 16 ? Region::few_rows : Region::rows;
  }
  return g.m < rows || b < much_b || work < this->work ? Region::plain : Region::plain_large;
}

double narrow_conv_part() {
  static const bool bytes = kernels::multiplies_bytes();
  return bytes ? 0.35 : 0.7;
}

kernels::WeightType Thresholds::narrowed(kernels::WeightType wanted, int64_t m, int64_t n, int64_t k) const {
  using enum kernels::WeightType;
  const int64_t rows = wanted == bfloat16 ? narrow.bfloat16_rows : narrow.integer_rows;
  const double weights = product(n, k);
  const bool pays = m <= rows && n >= narrow_side && k >= narrow_rows &&
                    weights >= static_cast<double>(narrow_weights) && k <= kernels::most_int8_rows;
  if (!pays) return float32;
  return wanted == int4 && weights < static_cast<double>(int4_weights) ? int8 : wanted;
}

const Thresholds &thresholds(cpu::Type type) {
  switch (type) {
    case cpu::Type::intel_avx512:
      return intel_avx512;
    case cpu::Type::wide_avx512:
      return wide_avx512;
    case cpu::Type::avx512:
      return avx512;
    case cpu::Type::avx2:
      return avx2;
    default:
      return neon;
  }
}

const Thresholds &thresholds() {
  static const Thresholds &here = thresholds(cpu::type());
  return here;
}

const Thresholds &thresholds(const Cutting &cutting) {
  static const Thresholds portable = [] {
    Thresholds t = thresholds(cpu::Type::avx512);
    t.products.any_processor = true;
    in(t.products.measured, Region::few_columns).packed = 50;  // fixed: results with these bits are published
    return t;
  }();
  return cutting.portable ? portable : thresholds();
}

}  // namespace dl4::dispatch
