// dl4_estimates: what each candidate of random products, convolutions and LSTMs is estimated to take, and what it takes
// on one thread. Prints quantiles of estimate / measured by kernel, and of what was chosen / the fastest.
//   dl4_estimates [--sites N] [--seed N] [--list] [--only products|convs|lstms]
// --list: prints each site instead, a line for each candidate.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"
#include "base/tensor.hpp"
#include "harness/random_sizes.hpp"
#include "measure.hpp"

namespace {

using namespace dl4;
using dispatch::Choice, dispatch::Price, dispatch::Site;

using Random = dl4_test::RandomSizes;

// A site: how its kernels are made, and their arguments.
struct Drawn {
  std::string told;
  std::vector<std::vector<float>> buffers;  // sources, then destinations; empty: absent
  int sources = 0;
  std::function<std::unique_ptr<kernels::Kernel>(const Site &)> make;
  std::vector<Tensor> constants;
};

constexpr double most_work = 1 << 27;  // multiplications

// Shared by all sites, so that the drawing of numbers does not take most of the time.
std::vector<float> floats(int64_t n) {
  static const std::vector<float> all = bench::numbers(1 << 20);
  std::vector<float> some(static_cast<size_t>(n));
  for (size_t i = 0; i < some.size(); ++i) some[i] = all[i % all.size()];
  return some;
}

double real(int64_t n) { return static_cast<double>(n); }

Drawn product(Random &r) {
  kernels::Gemm g;
  do g.m = r.log(1, 2048), g.n = r.log(1, 4096), g.k = r.log(1, 4096);
  while (real(g.m) * real(g.n) * real(g.k) > most_work);
  const int64_t kind = r.in(1, 10);
  const bool constant = kind <= 4;
  g.trans_a = kind == 9 || kind == 10, g.trans_b = kind == 7 || kind == 8;
  g.bias = r.one_of(2);
  Drawn d;
  d.told = text("product,", g.m, ',', g.n, ',', g.k, ',', g.trans_a ? 'T' : 'N', g.trans_b ? 'T' : 'N', ',',
                constant ? "constant" : "-", ',', g.bias);
  d.buffers = {floats(g.m * g.k), floats(g.k * g.n)};
  if (g.bias) d.buffers.push_back(floats(g.n));
  d.sources = static_cast<int>(d.buffers.size());
  d.buffers.push_back(floats(g.m * g.n));
  const float *b = d.buffers[1].data();
  d.make = [=](const Site &site) {
    const kernels::Constant c{b};
    return dispatch::product(site, g, 1, constant ? &c : nullptr);
  };
  return d;
}

void lay(int64_t n, int64_t taps, int64_t stride, int64_t dilation, bool same, int64_t &out, int64_t &before,
         int64_t &after) {
  const int64_t reach = (taps - 1) * dilation + 1;
  out = same ? (n + stride - 1) / stride : (n - reach) / stride + 1;
  const int64_t over = same ? std::max<int64_t>(0, (out - 1) * stride + reach - n) : 0;
  before = over / 2, after = (out - 1) * stride + reach - n - before;
}

Drawn convolution(Random &r) {
  kernels::Conv c;
  while (true) {
    c = {};
    const int64_t dims = r.in(1, 5);  // 1: one, 2 to 4: two, 5: three
    const int64_t taps = r.one_of(2) ? 3 : r.in(1, 7), stride = r.one_of(3) ? r.in(2, 3) : 1;
    const int64_t dilation = stride == 1 && r.one_of(6) ? 2 : 1, size = r.log(4, dims == 1  ? 1024
                                                                                 : dims < 5 ? 224
                                                                                            : 24);
    const bool same = r.one_of(2);
    if (!same && size < (taps - 1) * dilation + 1) continue;
    c.n = r.log(1, 64), c.c = r.log(1, 512), c.oc = r.log(1, 512), c.bias = r.one_of(2);
    c.w = size, c.kw = taps, c.stride_w = stride, c.dil_w = dilation;
    lay(c.w, c.kw, stride, dilation, same, c.ow, c.pad_left, c.pad_right);
    if (dims > 1) {
      c.h = size, c.kh = taps, c.stride_h = stride, c.dil_h = dilation;
      lay(c.h, c.kh, stride, dilation, same, c.oh, c.pad_top, c.pad_bottom);
    }
    if (dims == 5) {
      c.d = size, c.kd = taps, c.stride_d = stride, c.dil_d = dilation;
      lay(c.d, c.kd, stride, dilation, same, c.od, c.pad_front, c.pad_back);
    }
    if (r.one_of(6))
      c.groups = c.oc = c.c;
    else if (r.one_of(8))
      c.groups = r.in(2, 4), c.c = round_up(c.c, c.groups), c.oc = round_up(c.oc, c.groups);
    const double work = real(c.n * c.od * c.oh * c.ow) * real(c.kd * c.kh * c.kw) * real(c.c / c.groups) * real(c.oc);
    if (work <= most_work && work > 1000 && c.n * c.d * c.h * c.w * c.c <= 1 << 23) break;
  }
  const int64_t kind = r.in(1, 4);  // 1, 2: forward
  const bool constant = kind == 1;
  const int64_t src = c.n * c.d * c.h * c.w * c.c, dst = c.n * c.od * c.oh * c.ow * c.oc;
  const int64_t weights = c.kd * c.kh * c.kw * (c.c / c.groups) * c.oc;
  Drawn d;
  d.told = text("conv",
                kind <= 2   ? ""
                : kind == 3 ? "_data"
                            : "_weights",
                ',', c.n, ',', c.d, 'x', c.h, 'x', c.w, 'x', c.c, ',', c.kd, 'x', c.kh, 'x', c.kw, 'x', c.oc, ',', c.od,
                'x', c.oh, 'x', c.ow, ",by ", c.stride_w, ' ', c.dil_w, ",groups ", c.groups, ',',
                constant ? "constant" : "-", ',', c.bias);
  if (kind == 3) c.bias = false;
  if (kind <= 2) {
    d.buffers = {floats(src), floats(weights)};
    if (c.bias) d.buffers.push_back(floats(c.oc));
  } else {
    d.buffers = {kind == 3 ? floats(dst) : floats(src), kind == 3 ? floats(weights) : floats(dst)};
  }
  d.sources = static_cast<int>(d.buffers.size());
  d.buffers.push_back(floats(kind <= 2 ? dst : kind == 3 ? src : weights));
  if (kind == 4 && c.bias) d.buffers.push_back(floats(c.oc));
  const float *w = d.buffers[1].data();
  d.make = [=](const Site &site) {
    const kernels::Constant given{w};
    return kind <= 2   ? dispatch::conv(site, c, constant ? &given : nullptr)
           : kind == 3 ? dispatch::conv_data(site, c, nullptr)
                       : dispatch::conv_weights(site, c);
  };
  return d;
}

Drawn recurrent(Random &r) {
  int64_t b, t, i, u;
  do b = r.log(1, 256), t = r.log(1, 200), i = r.log(1, 512), u = r.log(4, 512);
  while (real(b * t) * real(i + u) * real(4 * u) > most_work);
  const bool constant = r.one_of(2);
  Drawn d;
  d.told = text("lstm,", b, ',', t, ',', i, ',', u, ',', constant ? "constant" : "-");
  d.buffers = {floats(b * t * i), floats(i * 4 * u), floats(u * 4 * u), floats(4 * u), {}, {}, {}};
  d.sources = static_cast<int>(d.buffers.size());
  d.buffers.insert(d.buffers.end(), static_cast<size_t>(ops::lstm_dst::count), std::vector<float>{});
  d.buffers[static_cast<size_t>(d.sources + ops::lstm_dst::y)] = floats(b * t * u);
  Tensor w = make_tensor(DType::f32, {i, 4 * u}), recurrent = make_tensor(DType::f32, {u, 4 * u});
  std::copy(d.buffers[1].begin(), d.buffers[1].end(), w.as<float>());
  std::copy(d.buffers[2].begin(), d.buffers[2].end(), recurrent.as<float>());
  d.constants = {w, recurrent};
  d.make = [=](const Site &given) {
    using namespace dispatch;
    Site s = given;
    const auto of = [](Shape shape) { return ops::Operand{DType::f32, std::move(shape)}; };
    s.src = {of({b, t, i}), of({i, 4 * u}), of({u, 4 * u}), of({4 * u}), ops::absent, ops::absent, ops::absent};
    s.constant.assign(src_count, nullptr), s.constant_key.assign(src_count, "");
    if (constant) s.constant[src_kernel] = &w, s.constant[src_recurrent_kernel] = &recurrent;
    s.dst.assign(ops::lstm_dst::count, ops::absent);
    s.dst[ops::lstm_dst::y] = of({b, t, u});
    return lstm(s, false);
  };
  return d;
}

struct Timed {
  std::string name, told;                // of the candidate and of its kernel, which says what a library calls it
  double estimate, measured = INFINITY;  // microseconds
};

// The candidates of a site, the chosen one first. Those that are estimated at ten times the cheapest are left out.
std::vector<Timed> time(const Drawn &d) {
  using Clock = std::chrono::steady_clock;
  struct Side {
    std::unique_ptr<kernels::Kernel> kernel;
    std::unique_ptr<kernels::Bound> bound;
    Bytes scratch;
  };
  std::vector<Choice> choices;
  Site all;
  all.choices = &choices;
  d.make(all);
  if (choices.empty()) return {};
  std::vector<Timed> found;
  std::vector<Side> sides;
  std::vector<std::string> names;
  for (const Price &p : choices.back()) names.emplace_back(p.name);
  for (const Price &p : choices.back()) {
    if (!std::isfinite(p.microseconds) || p.microseconds > 10 * choices.back()[0].microseconds) continue;
    std::vector<std::string> off = names;
    std::erase(off, p.name);
    Site one;
    one.off = off;
    auto kernel = d.make(one);
    if (!kernel->name.starts_with(p.name)) continue;
    auto bound = kernel->bind();
    Bytes scratch = allocate(kernel->scratch);
    found.push_back({std::string(p.name), kernel->name, p.microseconds});
    sides.push_back({std::move(kernel), std::move(bound), std::move(scratch)});
  }
  std::vector<void *> args;
  for (const auto &b : d.buffers) args.push_back(b.empty() ? nullptr : const_cast<float *>(b.data()));
  kernels::Report report;
  const auto run = [&](size_t i) {
    const Side &s = sides[i];
    const kernels::Run r{args.data(), d.sources, s.scratch.get(), s.bound.get(), &report};
    for (int64_t n = 0; n < s.kernel->slices * s.kernel->phases; ++n) s.kernel->run(n, r);
  };
  // The least of many short times: a neighbour takes away whole milliseconds.
  for (int round = 0; round < 7; ++round)
    for (size_t i = 0; i < sides.size(); ++i) {
      run(i);
      const auto begin = Clock::now();
      double spent = 0;
      for (int calls = 0; calls < 3 || spent < 300; ++calls) {
        const double before = spent;
        const int at_once = found[i].measured < 5 ? 16 : 1;
        for (int n = 0; n < at_once; ++n) run(i);
        spent = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        found[i].measured = std::min(found[i].measured, (spent - before) / at_once);
        if (spent > 3000) break;
      }
    }
  return found;
}

std::string quantiles(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  std::string line;
  for (double q : {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0}) {
    char word[32];
    std::snprintf(word, sizeof word, " %.2f |", all[static_cast<size_t>(q * static_cast<double>(all.size() - 1))]);
    line += word;
  }
  return line;
}
double share(const std::vector<double> &all, double least, double most) {
  const auto within = std::count_if(all.begin(), all.end(), [=](double v) { return v >= least && v <= most; });
  return 100 * static_cast<double>(within) / static_cast<double>(all.size());
}

}  // namespace

int main(int argc, char **argv) {
  int64_t sites = 500, seed = 1;
  bool list = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--list")
      list = true;
    else if (word == "--sites" && i + 1 < argc)
      sites = std::stoll(argv[++i]);
    else if (word == "--seed" && i + 1 < argc)
      seed = std::stoll(argv[++i]);
    else if (word == "--only" && i + 1 < argc)
      only = argv[++i];
    else
      return std::fprintf(stderr, "expected --sites N, --seed N, --only FAMILY or --list, got %s\n", argv[i]), 2;
  }
  kernels::SingleThreaded one;
  std::map<std::string, std::vector<double>> of_kernel;
  std::vector<double> chosen, all;
  for (int64_t i = 0; i < sites; ++i) {
    Random r(static_cast<uint32_t>(static_cast<uint64_t>(seed * 1000003 + i) * 2654435761u + 1));
    const int64_t kind = only == "products" ? 1 : only == "convs" ? 6 : only == "lstms" ? 10 : r.in(1, 10);
    const Drawn d = kind <= 5 ? product(r) : kind <= 9 ? convolution(r) : recurrent(r);
    const auto times = time(d);
    if (times.empty()) continue;
    double least = INFINITY;
    for (const Timed &t : times) {
      least = std::min(least, t.measured);
      of_kernel[t.name].push_back(t.estimate / t.measured);
      all.push_back(t.estimate / t.measured);
      if (list)
        std::printf("%lld;%s;%s;%.4g;%.4g\n", static_cast<long long>(i), d.told.c_str(), t.told.c_str(), t.estimate,
                    t.measured);
    }
    if (list) std::fflush(stdout);
    chosen.push_back(times[0].measured / least);
  }
  if (list) return 0;
  std::printf(
      "| estimate / measured | times | within 1.3 | least | 5 %% | 25 %% | 50 %% | 75 %% | 95 %% | most |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
  of_kernel["all"] = all;
  for (const auto &[name, ratios] : of_kernel)
    std::printf("| %s | %zu | %.0f %% |%s\n", name.c_str(), ratios.size(), share(ratios, 1 / 1.3, 1.3),
                quantiles(ratios).c_str());
  std::printf(
      "\n| chosen / fastest | sites | within 1.05 | least | 5 %% | 25 %% | 50 %% | 75 %% | 95 %% | most |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n| all | %zu | %.0f %% |%s\n",
      chosen.size(), share(chosen, 0, 1.05), quantiles(chosen).c_str());
}
