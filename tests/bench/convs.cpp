// dl4_convs: the kernels of a convolution side by side, beside what src/backend/cpu/dispatch/conv_costs.cpp computes.
// Convolutions are given as NxHxWxC (the input) and KxKxF (the window and the filters), then "by2", "valid" and
// "constant" (the weights) where they are so, and "depthwise": dl4_convs 4x32x32x3 3x3x8 1x56x56x64 3x3x64 valid.
// Without any, those of a list.
// --data or --weights first: the gradients instead.
#include "backend/cpu/dispatch/conv.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <functional>
#include <sstream>

#include "backend/cpu/kernels/single_threaded.hpp"
#include "measure.hpp"

namespace {

using namespace dl4;
using kernels::Conv;

constexpr const char *of_table =
    "4x32x32x3 3x3x8 32x14x14x6 5x5x16 32x28x28x1 5x5x6 8x32x32x16 3x3x16 8x32x32x3 1x1x16 32x84x84x4 8x8x32 by4 "
    "8x32x32x3 3x3x32 8x32x32x8 3x3x32 8x28x28x1 5x5x32 8x32x32x12 3x3x24 "
    "1x56x56x64 3x3x64 1x14x14x256 3x3x256 32x9x9x64 3x3x64 valid 8x16x16x16 3x3x64 1x4x4x64 3x3x64 32x32x32x16 3x3x16 "
    "8x16x16x3 3x3x32";

// The result's size and the padding of one axis.
void lay(int64_t n, int64_t taps, int64_t stride, bool valid, int64_t &out, int64_t &before, int64_t &after) {
  out = valid ? (n - taps) / stride + 1 : (n + stride - 1) / stride;
  const int64_t padding = (out - 1) * stride + taps - n;
  before = valid ? 0 : std::max<int64_t>(padding, 0) / 2;
  after = padding - before;
}

struct Row {
  std::string name;
  Conv c;
  bool constant = false;
};

Row row(std::string name, int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, int64_t oc, int64_t stride,
        bool valid) {
  Row r{std::move(name), {}};
  r.c.n = n, r.c.h = h, r.c.w = w, r.c.c = c, r.c.kh = r.c.kw = k, r.c.oc = oc;
  r.c.stride_h = r.c.stride_w = stride;
  lay(h, k, stride, valid, r.c.oh, r.c.pad_top, r.c.pad_bottom);
  lay(w, k, stride, valid, r.c.ow, r.c.pad_left, r.c.pad_right);
  return r;
}

std::vector<Row> parse(const std::string &words) {
  std::istringstream in(words);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  std::vector<Row> rows;
  for (size_t i = 0; i + 1 < all.size();) {
    long long x[4], k[3], stride = 1;
    if (std::sscanf(all[i].c_str(), "%lldx%lldx%lldx%lld", x, x + 1, x + 2, x + 3) != 4 ||
        std::sscanf(all[i + 1].c_str(), "%lldx%lldx%lld", k, k + 1, k + 2) != 3)
      fail(Code::invalid_argument, "expected NxHxWxC KxKxF, got ", all[i], ' ', all[i + 1]);
    std::string name = all[i] + ' ' + all[i + 1];
    bool valid = false, constant = false, depthwise = false;
    for (i += 2; i < all.size() && !std::isdigit(static_cast<unsigned char>(all[i][0])); ++i) {
      if (all[i] == "valid")
        valid = true;
      else if (all[i] == "constant")
        constant = true;
      else if (all[i] == "depthwise")
        depthwise = true;
      else if (std::sscanf(all[i].c_str(), "by%lld", &stride) != 1)
        fail(Code::invalid_argument, "expected by2, valid or constant, got ", all[i]);
      name += ' ' + all[i];
    }
    rows.push_back(row(name, x[0], x[1], x[2], x[3], k[0], k[2], stride, valid));
    rows.back().constant = constant;
    if (depthwise) rows.back().c.groups = x[3];
  }
  return rows;
}

struct Side {
  std::unique_ptr<kernels::Kernel> kernel;
  std::unique_ptr<kernels::Bound> bound;
  Bytes scratch;
};

using Kernels = std::vector<std::unique_ptr<kernels::Kernel>>;

// Forward or a gradient: the candidates, the chosen one last.
struct Direction {
  std::vector<std::string> names;
  Kernels (*make)(const Conv &c, const kernels::Constant *weights);
};

template <class... K>
Kernels list(K... kernels) {
  Kernels all;
  (all.push_back(std::move(kernels)), ...);
  return all;
}

const Direction forward{{"direct", "Winograd", "packed", "oneDNN", "blocked", "by channels", "depthwise", "chosen"},
                        [](const Conv &c, const kernels::Constant *w) {
                          return list(kernels::direct_conv(c, 1), kernels::winograd_conv(c, 1, w),
                                      kernels::packed_conv(c, 1, w), kernels::dnnl_conv(c, 1, w),
                                      kernels::blocked_conv(c, 1, w), kernels::channels_conv(c, 1),
                                      kernels::depthwise_conv(c, 1), dispatch::conv({}, c, w));
                        }};
const Direction data{{"Winograd", "oneDNN", "blocked", "by channels", "turned", "chosen"},
                     [](const Conv &c, const kernels::Constant *w) {
                       return list(kernels::winograd_conv_data(c, 1, w), kernels::dnnl_conv_data(c, 1, w),
                                   kernels::blocked_conv_data(c, 1, w), kernels::channels_conv_data(c, 1),
                                   kernels::turned_conv_data(c, 1), dispatch::conv_data({}, c, w));
                     }};
const Direction weights{{"oneDNN", "blocked", "by channels", "direct", "chosen"},
                        [](const Conv &c, const kernels::Constant *) {
                          return list(kernels::dnnl_conv_weights(c, 1), kernels::blocked_conv_weights(c, 1),
                                      kernels::channels_conv_weights(c, 1), kernels::direct_conv_weights(c, 1),
                                      dispatch::conv_weights({}, c));
                        }};

struct Times {
  std::vector<double> us;  // of each of the names, below 0 where it does not apply
  std::string chosen;
};

Times times(const Direction &direction, const Conv &c, bool constant = false) {
  auto x = bench::numbers(c.n * c.h * c.w * c.c), w = bench::numbers(c.kh * c.kw * c.c / c.groups * c.oc);
  auto y = bench::numbers(c.n * c.oh * c.ow * c.oc);
  kernels::Report report;
  void *args[3] = {x.data(), w.data(), y.data()};
  if (&direction == &data) std::swap(args[0], args[2]);
  if (&direction == &weights) std::swap(args[1], args[2]);
  const std::vector<std::string> &names = direction.names;
  const kernels::Constant fixed{w.data()};
  Kernels made = direction.make(c, constant ? &fixed : nullptr);
  const std::string chosen = made[names.size() - 1]->name;
  std::vector<Side> sides;
  std::vector<size_t> column;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!made[i]) continue;
    auto bound = made[i]->bind();
    Bytes scratch = allocate(made[i]->scratch);
    column.push_back(i);
    sides.push_back({std::move(made[i]), std::move(bound), std::move(scratch)});
  }
  std::vector<std::function<void()>> calls;
  for (Side &s : sides)
    calls.push_back([&s, &args, &report] {
      const kernels::Run run{args, 2, s.scratch.get(), s.bound.get(), &report};
      for (int64_t i = 0; i < s.kernel->slices * s.kernel->phases; ++i) s.kernel->run(i, run);
    });
  auto measured = bench::measure(calls, {.rounds = 9, .seconds = 0.01, .cpu = true});
  std::vector<double> us(names.size(), -1);
  for (size_t i = 0; i < column.size(); ++i)
    us[column[i]] = *std::min_element(measured[i].begin(), measured[i].end()) * 1e6;
  return {us, chosen};
}

void print(const Direction &direction, const Row &r) {
  std::string line = "| " + r.name + " |";
  const Times measured = times(direction, r.c, r.constant);
  for (double us : measured.us) {
    char number[32] = "-";
    if (us >= 0) std::snprintf(number, sizeof number, "%.3g", us);
    line += text(' ', number, " |");
  }
  std::printf("%s %s |\n", line.c_str(), measured.chosen.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  kernels::SingleThreaded one;
  const Direction *direction = &forward;
  if (argc > 1 && argv[1] == std::string("--data")) direction = &data, --argc, ++argv;
  if (argc > 1 && argv[1] == std::string("--weights")) direction = &weights, --argc, ++argv;
  std::string words, head = "| convolution |", line = "|---|";
  for (int i = 1; i < argc; ++i) words += std::string(argv[i]) + ' ';
  for (const std::string &name : direction->names) head += ' ' + name + " |", line += "--:|";
  std::printf("Microseconds on one thread, least of nine rounds.\n\n%s |\n%s---|\n", head.c_str(), line.c_str());
  for (const Row &r : parse(words.empty() ? of_table : words)) print(*direction, r);
}
