// Random convolutions, and the sums of one and of its gradients in double.
#pragma once

#include <sstream>

#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "dispatch/random_sites.hpp"

namespace dl4::dispatch::testing {

using kernels::Conv;

struct ConvAxis {
  int64_t n = 1, taps = 1, out = 1, stride = 1, dilation = 1, before = 0, after = 0;
};

// As conv_at() of the ops describes an axis: of any padding, with windows that leave cells over, and of a transposed
// convolution; with windows, or all of their taps, outside.
inline ConvAxis random_axis(Random &r, int64_t most, bool usual, bool large) {
  ConvAxis a;
  while (true) {
    a.n = r.one_of(4) ? 1 : r.log(1, most);
    a.taps = r.one_of(4) ? 1 : r.log(1, r.one_of(6) ? most : 5);
    a.stride = r.one_of(2) ? 1 : r.log(1, 5);
    a.dilation = r.one_of(2) ? 1 : r.log(1, r.one_of(8) ? 40 : 4);
    if (usual) a.n = r.in(4, most), a.taps = r.one_of(2) ? 3 : 2 * r.in(0, 3) + 1, a.stride = 1, a.dilation = 1;
    if (large) a.n = r.in(most / 2, most), a.taps = r.one_of(3) ? 3 : 1, a.stride = r.in(1, 3), a.dilation = 1;
    const int64_t reach = (a.taps - 1) * a.dilation + 1;
    int64_t padded = a.n;
    const int64_t kind = r.in(1, 5);
    if (kind == 1) {  // "valid"
      a.before = 0;
    } else if (kind == 2) {  // "same"
      const int64_t over = std::max<int64_t>(0, ((a.n - 1) / a.stride) * a.stride + reach - a.n);
      a.before = over / 2, padded += over;
    } else if (kind == 3) {  // "causal"
      a.before = reach - 1, padded += a.before;
    } else {
      a.before = r.in(0, reach), padded += a.before + r.in(0, reach);
    }
    if (padded < reach) continue;
    a.out = (padded - reach) / a.stride + 1;
    if (a.out > 2 * most) continue;
    if (a.out == 1) a.stride = 1;
    if (a.taps == 1) a.dilation = 1;
    a.after = (a.out - 1) * a.stride + reach - a.n - a.before;
    return a;
  }
}

inline int64_t random_channels(Random &r) { return r.one_of(4) ? 8 * r.in(1, 8) : r.log(1, 70); }

inline Conv random_conv(Random &r) {
  const bool large = r.one_of(40);             // more pixels than a library sums at once
  const double most_work = large ? 5e6 : 1e5;  // multiplications
  while (true) {
    const int64_t dims = r.in(1, 3);
    const bool usual = r.one_of(4);
    ConvAxis axes[3];
    for (int64_t i = 3 - dims; i < 3; ++i)
      axes[i] = random_axis(r, (dims == 3 ? 7 : dims == 2 ? 14 : 60) * (large ? 12 : 1), usual, large);
    Conv c{.n = r.log(1, 9), .h = axes[1].n, .w = axes[2].n, .c = random_channels(r)};
    c.d = axes[0].n, c.kd = axes[0].taps, c.od = axes[0].out, c.stride_d = axes[0].stride, c.dil_d = axes[0].dilation;
    c.pad_front = axes[0].before, c.pad_back = axes[0].after;
    c.kh = axes[1].taps, c.oh = axes[1].out, c.stride_h = axes[1].stride, c.dil_h = axes[1].dilation;
    c.pad_top = axes[1].before, c.pad_bottom = axes[1].after;
    c.kw = axes[2].taps, c.ow = axes[2].out, c.stride_w = axes[2].stride, c.dil_w = axes[2].dilation;
    c.pad_left = axes[2].before, c.pad_right = axes[2].after;
    c.oc = random_channels(r);
    if (r.one_of(5)) {  // each channel by itself
      c.groups = c.c, c.oc = c.c * (r.one_of(2) ? 1 : r.in(1, 3));
    } else if (r.one_of(5)) {
      c.groups = r.in(2, 4);
      c.c = (c.c / c.groups + 1) * c.groups, c.oc = (c.oc / c.groups + 1) * c.groups;
    }
    double work = static_cast<double>(c.n * c.od * c.oh * c.ow) * static_cast<double>(c.kd * c.kh * c.kw);
    work *= static_cast<double>(c.c / c.groups * c.oc);
    if (work <= most_work && c.n * c.d * c.h * c.w * c.c <= (large ? 1 << 21 : 1 << 17)) return c;
  }
}

inline std::string told(const Conv &c) {
  std::ostringstream s;
  s << c.n << "x" << c.d << "x" << c.h << "x" << c.w << "x" << c.c << ", kernel " << c.kd << "x" << c.kh << "x" << c.kw
    << ", to " << c.od << "x" << c.oh << "x" << c.ow << "x" << c.oc << ", strides " << c.stride_d << " " << c.stride_h
    << " " << c.stride_w << ", dilation " << c.dil_d << " " << c.dil_h << " " << c.dil_w << ", pads " << c.pad_front
    << "+" << c.pad_back << " " << c.pad_top << "+" << c.pad_bottom << " " << c.pad_left << "+" << c.pad_right
    << ", groups " << c.groups << (c.bias ? ", bias" : "") << (c.epilogue ? ", epilogue" : "");
  return s.str();
}

struct ConvNumbers {
  Conv c;
  Guarded src, weights, bias, diff_dst;

  ConvNumbers(const Conv &conv, Random &r)
      : c(conv),
        src(c.n * c.d * c.h * c.w * c.c, r.bits),
        weights(c.kd * c.kh * c.kw * (c.c / c.groups) * c.oc, r.bits),
        bias(c.oc, r.bits),
        diff_dst(c.n * c.od * c.oh * c.ow * c.oc, r.bits) {}

  // f(source pixel, tap, destination pixel) where they meet.
  template <class F>
  void each(const F &f) const {
    for (int64_t n = 0; n < c.n; ++n)
      for (int64_t z = 0; z < c.od; ++z)
        for (int64_t y = 0; y < c.oh; ++y)
          for (int64_t x = 0; x < c.ow; ++x)
            for (int64_t kz = 0; kz < c.kd; ++kz)
              for (int64_t ky = 0; ky < c.kh; ++ky)
                for (int64_t kx = 0; kx < c.kw; ++kx) {
                  const int64_t sz = z * c.stride_d - c.pad_front + kz * c.dil_d;
                  const int64_t sy = y * c.stride_h - c.pad_top + ky * c.dil_h;
                  const int64_t sx = x * c.stride_w - c.pad_left + kx * c.dil_w;
                  if (sz < 0 || sy < 0 || sx < 0 || sz >= c.d || sy >= c.h || sx >= c.w) continue;
                  f(((n * c.d + sz) * c.h + sy) * c.w + sx, (kz * c.kh + ky) * c.kw + kx,
                    ((n * c.od + z) * c.oh + y) * c.ow + x);
                }
  }
  // f(source channel, place of the first weight, first channel of its group's) for the pairs of channels.
  template <class F>
  void channels(int64_t tap, const F &f) const {
    const int64_t in = c.c / c.groups, out = c.oc / c.groups;
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t i = 0; i < in; ++i) f(g * in + i, (tap * in + i) * c.oc + g * out, g * out);
  }

  std::vector<double> forward() const {
    const int64_t out = c.oc / c.groups;
    std::vector<double> want(static_cast<size_t>(diff_dst.size()));
    if (c.bias)
      for (size_t i = 0; i < want.size(); ++i) want[i] = bias[static_cast<int64_t>(i) % c.oc];
    each([&](int64_t s, int64_t tap, int64_t d) {
      channels(tap, [&](int64_t i, int64_t w, int64_t first) {
        const double x = src[s * c.c + i];
        double *to = want.data() + d * c.oc + first;
        const float *from = weights.begin() + w;
        for (int64_t o = 0; o < out; ++o) to[o] += x * static_cast<double>(from[o]);
      });
    });
    if (c.epilogue)
      for (double &v : want) v = 2 * v + 1;
    return want;
  }
  std::vector<double> data() const {
    const int64_t out = c.oc / c.groups;
    std::vector<double> want(static_cast<size_t>(src.size()));
    each([&](int64_t s, int64_t tap, int64_t d) {
      channels(tap, [&](int64_t i, int64_t w, int64_t first) {
        double sum = 0;
        const float *diff = diff_dst.begin() + d * c.oc + first, *from = weights.begin() + w;
        for (int64_t o = 0; o < out; ++o) sum += static_cast<double>(diff[o]) * static_cast<double>(from[o]);
        want[static_cast<size_t>(s * c.c + i)] += sum;
      });
    });
    return want;
  }
  std::vector<double> by_weights() const {
    const int64_t out = c.oc / c.groups;
    std::vector<double> want(static_cast<size_t>(weights.size()));
    each([&](int64_t s, int64_t tap, int64_t d) {
      channels(tap, [&](int64_t i, int64_t w, int64_t first) {
        const double x = src[s * c.c + i];
        const float *diff = diff_dst.begin() + d * c.oc + first;
        double *to = want.data() + w;
        for (int64_t o = 0; o < out; ++o) to[o] += x * static_cast<double>(diff[o]);
      });
    });
    return want;
  }
  std::vector<double> by_bias() const {
    std::vector<double> want(static_cast<size_t>(c.oc));
    for (int64_t i = 0; i < diff_dst.size(); ++i) want[static_cast<size_t>(i % c.oc)] += diff_dst[i];
    return want;
  }
};

// Those of convolutions whose names end so.
inline std::vector<std::string> conv_names(std::string_view suffix) {
  std::vector<std::string> found;
  for (const std::string &name : conv_switches()) {
    const bool data = name.ends_with("_data"), by_weights = name.ends_with("_weights");
    if (suffix.empty() ? !data && !by_weights : name.ends_with(suffix)) found.push_back(name);
  }
  return found;
}

inline void check_conv_sites(int64_t count) {
  const auto names = conv_names("");
  Tally tally(names);
  check_sites(tally, of_libraries(names), count, [](Tally &t, Random &r) {
    ConvNumbers x(random_conv(r), r);
    x.c.bias = r.one_of(2);
    if (r.one_of(3)) x.c.epilogue.run = kernels::testing::doubled_plus_one;
    const kernels::Constant constant{x.weights.begin()}, *weights = r.one_of(2) ? &constant : nullptr;
    Wanted wanted{{x.src.begin(), x.weights.begin()}, {x.forward()}};
    if (x.c.bias) wanted.sources.push_back(x.bias.begin());
    wanted.terms = static_cast<double>(x.c.kd * x.c.kh * x.c.kw * (x.c.c / x.c.groups));
    t.check(told(x.c) + (weights ? ", constant" : ""), r, wanted,
            [&](const Site &site) { return conv(site, x.c, weights); });
  });
}

// Those of one tap, or of one window, that products compute, of each group by itself.
inline void check_conv_product_sites(int64_t count) {
  const auto names = product_switches();
  Tally tally(names);
  check_sites(tally, {}, count, [](Tally &t, Random &r) {
    Conv c{.n = r.log(1, 9), .h = r.log(1, 12), .w = r.log(1, 12), .c = random_channels(r)};
    c.d = r.one_of(3) ? r.in(2, 4) : 1, c.oc = random_channels(r);
    if (r.one_of(4)) {
      c.kd = c.d, c.kh = c.h, c.kw = c.w, c.od = c.oh = c.ow = 1;
    } else {
      c.kh = c.kw = 1, c.od = c.d, c.oh = c.h, c.ow = c.w, c.groups = r.one_of(2) ? r.in(2, 4) : 1;
      c.c = round_up(c.c, c.groups), c.oc = round_up(c.oc, c.groups);
    }
    ConvNumbers x(c, r);
    x.c.bias = r.one_of(2);
    if (r.one_of(3)) x.c.epilogue.run = kernels::testing::doubled_plus_one;
    const kernels::Constant constant{x.weights.begin()}, *weights = r.one_of(2) ? &constant : nullptr;
    Wanted wanted{{x.src.begin(), x.weights.begin()}, {x.forward()}};
    if (x.c.bias) wanted.sources.push_back(x.bias.begin());
    wanted.terms = static_cast<double>(c.kd * c.kh * c.kw * (c.c / c.groups));
    t.check(told(x.c) + (weights ? ", constant" : ""), r, wanted,
            [&](const Site &site) { return conv(site, x.c, weights); });
  });
  EXPECT_GT(tally.sites("small_gemm"), count / 8);
  EXPECT_GT(tally.sites("packed_gemm"), count / 40);
}

inline void check_conv_data_sites(int64_t count) {
  const auto names = conv_names("_data");
  Tally tally(names);
  check_sites(tally, of_libraries(names), count, [](Tally &t, Random &r) {
    ConvNumbers x(random_conv(r), r);
    const kernels::Constant constant{x.weights.begin()}, *weights = r.one_of(2) ? &constant : nullptr;
    Wanted wanted{{x.diff_dst.begin(), x.weights.begin()}, {x.data()}};
    wanted.terms = static_cast<double>(x.c.kd * x.c.kh * x.c.kw * (x.c.oc / x.c.groups));
    t.check(told(x.c) + (weights ? ", constant" : ""), r, wanted,
            [&](const Site &site) { return conv_data(site, x.c, weights); });
  });
}

inline void check_conv_weights_sites(int64_t count) {
  const auto names = conv_names("_weights");
  Tally tally(names);
  check_sites(tally, of_libraries(names), count, [](Tally &t, Random &r) {
    ConvNumbers x(random_conv(r), r);
    x.c.bias = r.one_of(2);
    Wanted wanted{{x.src.begin(), x.diff_dst.begin()}, {x.by_weights()}};
    if (x.c.bias) wanted.dst.push_back(x.by_bias());
    wanted.terms = static_cast<double>(x.c.n * x.c.od * x.c.oh * x.c.ow);
    t.check(told(x.c), r, wanted, [&](const Site &site) { return conv_weights(site, x.c); });
  });
}

}  // namespace dl4::dispatch::testing
