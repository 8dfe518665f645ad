// Which kernel computes which convolution: by cost, and without those that are off.
#include "backend/cpu/dispatch/conv.hpp"

#include <gtest/gtest.h>

#include <set>

#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/kernels/gemm/amx_gemm.hpp"

namespace dl4::dispatch::DL4_FILE {
namespace {

using kernels::Conv;

// n images of size x size with `c` channels, windows of k x k with zeros around, oc channels.
Conv conv_of(int64_t n, int64_t size, int64_t c, int64_t k, int64_t oc, int64_t stride = 1, int64_t groups = 1) {
  Conv v;
  v.n = n, v.h = v.w = size, v.c = c, v.kh = v.kw = k, v.oc = oc, v.groups = groups;
  v.stride_h = v.stride_w = stride;
  v.oh = v.ow = (size + stride - 1) / stride;
  const int64_t padding = std::max<int64_t>(0, (v.oh - 1) * stride + k - size);
  v.pad_top = v.pad_left = padding / 2;
  v.pad_bottom = v.pad_right = padding - padding / 2;
  return v;
}

struct Expected {
  Conv c;
  bool constant;
  const char *kernel;
};
const Expected expected[] = {
    {conv_of(4, 32, 3, 3, 8), false, "planar_conv"},
    {conv_of(32, 28, 1, 5, 6), true, "planar_conv"},
    {conv_of(1, 64, 3, 3, 32), false, "direct_conv"},
    {conv_of(2, 32, 512, 3, 2), true, "shifted_conv"},
    {conv_of(1, 14, 64, 3, 64, 1, 64), false, "depthwise_conv"},
    {conv_of(1, 56, 64, 3, 64, 2, 64), true, "depthwise_conv"},
    {conv_of(1, 56, 64, 3, 64), false, "winograd_conv"},
    {conv_of(1, 56, 64, 3, 64), true, "winograd_conv"},
    {conv_of(1, 20, 32, 4, 64, 2), true, "packed_conv"},
};

TEST(Convs, TheKernelThatWasTheFastestIsTheCheapest) {
  for (size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(conv_prices(expected[i].c, expected[i].constant, Machine())[0].name, expected[i].kernel) << i;
}

// Few taps of large windows meet the input: kernels that pass over those that do not are taken, by 300 times.
TEST(Convs, OfDepthwiseVolumesAreByChannels) {
  Conv c = conv_of(1, 8, 215, 7, 215, 3, 215);
  c.d = 8, c.kd = 7, c.od = 1, c.oh = c.ow = 1, c.stride_d = 3;
  c.pad_front = c.pad_top = c.pad_left = 0, c.pad_back = c.pad_bottom = c.pad_right = -1;
  EXPECT_EQ(conv_prices(c, false, Machine())[0].name, "channels_conv");
  EXPECT_TRUE(conv_data(Site(), c, nullptr)->name.starts_with("channels_conv_data"));
}

// Sequences and volumes have no rows to be cut by: those of one image are cut along their first axis, if the weights
// are packed once for all parts.
TEST(Convs, OfOneSequenceOrVolumeAreCutIntoParts) {
  const std::vector<float> numbers(3 * 3 * 3 * 64 * 64);
  const kernels::Constant weights{numbers.data()};
  Site two;
  two.cutting.threads = 2;
  Conv sequence = conv_of(1, 1000, 64, 3, 64), volume = conv_of(1, 12, 64, 3, 64);
  sequence.h = sequence.kh = sequence.oh = 1, sequence.pad_top = sequence.pad_bottom = 0;
  volume.d = volume.od = 12, volume.kd = 3, volume.pad_front = volume.pad_back = 1;
  for (Conv c : {sequence, volume})
    for (const auto make : {conv, conv_data}) {
      const auto name = [&](const kernels::Constant *given) { return make(two, c, given)->name; };
      EXPECT_TRUE(name(&weights).ends_with(", by parts")) << name(&weights);
      EXPECT_EQ(make(two, c, &weights)->slices, 2);
      EXPECT_FALSE(name(nullptr).ends_with(", by parts"));
      EXPECT_EQ(make(Site(), c, &weights)->slices, 1);
      c.n = 2;
      EXPECT_FALSE(name(&weights).ends_with(", by parts")) << "whole images are even";
      c.n = 1;
    }
}

TEST(Convs, LongVolumesCanBeCancelled) {
  const std::vector<float> numbers(27 * 512 * 512);
  const kernels::Constant weights{numbers.data()};
  Conv c = conv_of(1, 64, 512, 3, 512);
  c.d = c.od = 64, c.kd = 3, c.pad_front = c.pad_back = 1;
  EXPECT_GT(conv(Site(), c, &weights)->slices, 20);
}

TEST(Convs, OfNumbersThatNoKernelTakesAreRefused) {
  for (int64_t taps : {1, 3}) {
    Conv c = conv_of(1, 8, 4, taps, 4);
    c.dtype = DType::f64;
    EXPECT_THROW(conv(Site(), c, nullptr), Error) << taps;
  }
}

TEST(Convs, OfOneTapAreProductsOfEachGroup) {
  const std::vector<float> numbers(16 * 336);
  const kernels::Constant weights{numbers.data()};
  Site site;
  site.cutting.machine = std::make_shared<Machine>();
  const auto name = [&](const Conv &c) { return conv(site, c, &weights)->name; };
  const std::string groups = name(conv_of(19, 30, 16, 1, 336, 1, 4)), one = name(conv_of(3, 36, 23, 1, 7));
  EXPECT_TRUE(groups.find("_gemm") != groups.npos && groups.ends_with(", by parts")) << groups;
  EXPECT_TRUE(one.find("_gemm") != one.npos) << one;
}

// Where the processor has tiles: by the product that a convolution is, and Winograd's, which multiplies less, before
// it.
TEST(Convs, LargeOnesGoByTiles) {
  const bool own = kernels::has_tiles();
  kernels::pretend_tiles(true);
  const std::vector<float> numbers(3 * 3 * 512 * 512);
  const kernels::Constant weights{numbers.data()};
  struct {
    Conv c;
    const char *forward, *three, *by_source, *by_weights;
  } cases[]{
      {conv_of(8, 56, 128, 3, 256, 2), "amx_conv", "amx_conv", "amx_conv_data", "amx_conv_weights"},
      {conv_of(8, 28, 128, 5, 128), "amx_conv", "amx_conv", "amx_conv_data", "amx_conv_weights"},
      {conv_of(8, 28, 256, 3, 256), "winograd_conv", "amx_conv", "winograd_conv_data", "amx_conv_weights"},
      {conv_of(8, 28, 512, 1, 256, 2), "amx_conv", "amx_conv", "amx_conv_data", "amx_conv_weights"},
      {conv_of(1, 12, 64, 5, 64), "", "", "", ""},           // few multiplications
      {conv_of(32, 56, 64, 5, 32), "", "", "", ""},          // few filters
      {conv_of(32, 56, 256, 3, 256, 2, 8), "", "", "", ""},  // few of a group
  };
  for (const auto &e : cases) {
    Site site, three;
    three.math = kernels::Math::float32x3;
    const auto is = [&](const kernels::Kernel &kernel, const char *name) {
      if (kernels::has_tiles() && *name)
        EXPECT_EQ(kernel.name.substr(0, kernel.name.find(',')), name) << e.c.h << ' ' << e.c.c << ' ' << e.c.oc;
      else
        EXPECT_FALSE(kernel.name.starts_with("amx")) << e.c.h << ' ' << e.c.c << ' ' << e.c.oc;
    };
    is(*conv(site, e.c, nullptr), e.forward);
    if (e.c.kh == 3 && e.c.groups == 1) is(*conv(site, e.c, &weights), e.forward);
    is(*conv(three, e.c, nullptr), e.three);
    is(*conv_data(site, e.c, nullptr), e.by_source);
    is(*conv_weights(site, e.c), e.by_weights);
  }
  kernels::pretend_tiles(own);
}

TEST(Convs, EachCandidateThatIsOffGivesWayToTheNextCheapest) {
  std::vector<float> numbers(3 * 3 * 512 * 512);
  const kernels::Constant weights{numbers.data()};
  for (size_t i = 0; i < std::size(expected); ++i) {
    const Expected &e = expected[i];
    std::vector<std::string> off;
    for (const Price &p : conv_prices(e.c, e.constant, this_machine())) {
      Site site;
      site.off = off;
      const auto kernel = conv(site, e.c, e.constant ? &weights : nullptr);
      EXPECT_TRUE(kernel->name.starts_with(p.name)) << i << ": " << kernel->name << " for " << p.name;
      off.emplace_back(p.name);
    }
    EXPECT_EQ(off.back(), "reference_conv");
    EXPECT_GE(off.size(), 2u);
  }
}

std::string without(std::vector<std::string> off, std::unique_ptr<kernels::Kernel> (*make)(const Site &)) {
  Site site;
  site.off = off;
  return make(site)->name;
}

// Each of them, in whatever order.
TEST(Convs, GradientsGiveWayToTheNextCheapest) {
  const auto names = [](auto make) {
    std::vector<std::string> off{"amx_conv_data", "amx_conv_weights"};
    std::set<std::string> found;
    for (std::string name; !name.starts_with("reference");) {
      name = without(off, make);
      name = name.substr(0, name.find_first_of(" ,"));
      found.insert(name);
      off.push_back(name);
    }
    return found;
  };
  auto by_source = [](const Site &s) { return conv_data(s, conv_of(1, 56, 64, 3, 64), nullptr); };
  auto by_weights = [](const Site &s) { return conv_weights(s, conv_of(1, 56, 64, 3, 64)); };
  std::set<std::string> data{"winograd_conv_data", "blocked_conv_data", "shifted_conv_data", "reference_conv_data"};
  std::set<std::string> weights{"blocked_conv_weights", "reference_conv_weights"};
  if (!libraries().empty()) data.insert("dnnl_conv_data"), weights.insert("dnnl_conv_weights");
  EXPECT_EQ(names(by_source), data);
  EXPECT_EQ(names(by_weights), weights);
}

// Along an axis all taps meet padding alone: the bias, or zeros.
TEST(Convs, WithNothingToMultiplyAreLeftToTheReference) {
  Conv plane;  // one, and 2 taps of dilation 2 with padding "same"
  plane.n = 2, plane.d = 1, plane.h = plane.w = plane.oh = plane.ow = 7, plane.c = 1, plane.oc = 4;
  plane.kd = 2, plane.od = 1, plane.dil_d = 2, plane.pad_front = plane.pad_back = 1;
  Conv image = conv_of(2, 1, 16, 1, 16);  // without depth: a row of padding on top, which the one window is on
  image.pad_top = 1, image.pad_bottom = -1;
  Conv volume = conv_of(2, 7, 16, 3, 16);
  volume.pad_front = 1, volume.pad_back = -1;
  Conv column = conv_of(2, 7, 16, 3, 16, 1, 16);
  column.kh = 1, column.h = column.oh = 1, column.pad_top = 1, column.pad_bottom = -1;
  const std::vector<float> numbers(16 * 16 * 9);
  const kernels::Constant weights{numbers.data()};
  for (const Conv &c : {plane, image, volume, column}) {
    EXPECT_TRUE(c.is_empty());
    for (const kernels::Constant *w : {static_cast<const kernels::Constant *>(nullptr), &weights}) {
      EXPECT_TRUE(conv(Site(), c, w)->name.starts_with("reference_conv"));
      EXPECT_TRUE(conv_data(Site(), c, w)->name.starts_with("reference_conv_data"));
    }
    EXPECT_TRUE(conv_weights(Site(), c)->name.starts_with("reference_conv_weights"));
  }
  plane.kd = 3, plane.pad_front = plane.pad_back = 2;  // the tap in the middle meets it
  EXPECT_FALSE(plane.is_empty());
}

// oneDNN 2.6.3 sums what taps do not meet, or writes where it must not.
TEST(Convs, GradientsByWeightsThatOneDnnGetsWrongAreLeftToOthers) {
  Conv planes;  // with AVX-512
  planes.n = 4, planes.d = 4, planes.h = planes.w = planes.oh = planes.ow = 1, planes.c = planes.oc = 16;
  planes.kd = 4, planes.od = 4, planes.stride_d = 2, planes.pad_front = planes.pad_back = 3;
  Conv row = conv_of(6, 1, 64, 1, 1);
  row.w = 60, row.kw = 4, row.ow = 37, row.stride_w = 2, row.dil_w = 7, row.pad_left = 19, row.pad_right = 15;
  Conv pixels = conv_of(7, 8, 3, 1, 27, 4);  // with AVX2
  Conv dilated = pixels;                     // of whose taps one meets the source
  dilated.kh = dilated.kw = 3, dilated.dil_h = dilated.dil_w = 8;
  dilated.pad_top = dilated.pad_left = 8, dilated.pad_bottom = dilated.pad_right = 5;
  const std::vector<std::string> off{"blocked_conv_weights", "direct_conv_weights"};
  Site site;
  site.off = off;
  for (const Conv &c : {planes, row, pixels, dilated}) EXPECT_EQ(conv_weights(site, c)->name, "reference_conv_weights");
}

TEST(Lstms, GiveWayToTheNextCheapest) {
  auto make = [](const Site &given) {
    Site s = given;
    s.src.assign(src_count, ops::absent);
    s.dst.assign(lstm_dst::count, ops::absent);
    s.constant.assign(src_count, nullptr);
    s.constant_key.assign(src_count, "");
    s.src[src_x] = {DType::f32, {2, 5, 8}};
    s.src[src_kernel] = {DType::f32, {8, 64}};
    s.src[src_recurrent_kernel] = {DType::f32, {16, 64}};
    s.dst[lstm_dst::y] = {DType::f32, {2, 5, 16}};
    return lstm(s, false);
  };
  EXPECT_TRUE(without({}, make).starts_with("own_lstm"));
  EXPECT_TRUE(without({"own_lstm"}, make).starts_with(libraries().empty() ? "own_lstm" : "dnnl_lstm"));
  EXPECT_TRUE(without({"own_lstm", "dnnl_lstm"}, make).starts_with("own_lstm"));
}

}  // namespace
}  // namespace dl4::dispatch::DL4_FILE
