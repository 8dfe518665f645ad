// dl4 tune: measures what kernels are chosen by.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "models.hpp"

namespace dl4::tool {
namespace {

using Clock = std::chrono::steady_clock;

// A layer and its input.
struct Probe {
  const char *layer;
  Attrs config;
  Dims input;
};

Probe dense(int64_t m, int64_t n, int64_t k) { return {"Dense", {{"units", n}}, {m, k}}; }
Probe conv(int64_t n, int64_t size, int64_t c, int64_t window, int64_t filters, int64_t stride = 1) {
  return {"Conv2D",
          {{"filters", filters}, {"kernel_size", window}, {"strides", stride}, {"padding", "same"}},
          {n, size, size, c}};
}
Probe depthwise(int64_t size, int64_t c, int64_t window) {
  return {"DepthwiseConv2D", {{"kernel_size", window}, {"padding", "same"}}, {1, size, size, c}};
}
Probe lstm(int64_t batch, int64_t time, int64_t inputs, int64_t units) {
  return {"LSTM", {{"units", units}}, {batch, time, inputs}};
}

// Of the step of a net with candidates: these, the chosen one first, and the microseconds that it took.
struct Taken {
  Json candidates;
  double microseconds = INFINITY;

  double estimate() const { return candidates.at(0).at("microseconds").get<double>(); }
};

// The step's total: nanoseconds, runs.
std::pair<double, double> total(const Session &s, Json *candidates = nullptr) {
  const Json said = Json::parse(s.describe(DL4_FORMAT_JSON));
  for (const Json &step : said.at("plans").at(0).at("steps")) {
    if (!step.contains("candidates")) continue;
    if (candidates) *candidates = step.at("candidates");
    return {step.at("nanoseconds").get<double>(), step.at("runs").get<double>()};
  }
  return {};
}

class Tuning {
 public:
  Tuning() : json_(Json::parse(text(dl4_build_info)).at("tuning")) {}

  const Json &json() const { return json_; }
  Json &operator[](const char *key) { return json_[key]; }

  // A net by one of its kernels, or by the one that is chosen; seconds: 0 for the estimate alone.
  Taken take(const Probe &net, const std::vector<std::string> &off, double seconds) const {
    const Context c(Attrs{{"threads", 1}, {"kernels_off", off}, {"tuning", json_.dump()}});
    Graph g(c);
    Dims dims = net.input;
    dims[0] = -1;
    const Node x = g.input("x", dims);
    const Model m = g.build({x}, {g.add(net.layer, x, net.config)});
    const Session s(m, Attrs{{"profile", true}});
    const Tensors in = random_inputs(m, net.input[0], net.input.size() > 2 ? net.input[1] : 1, 1);
    const Tensors out = s.run(in);
    Taken taken;
    auto before = total(s, &taken.candidates);
    // The least of short spans: a neighbour takes away whole milliseconds.
    const auto start = Clock::now();
    for (int spans = 0; seconds > 0 && (spans < 3 || Clock::now() - start < std::chrono::duration<double>(seconds));
         ++spans) {
      const auto begin = Clock::now();
      do s.run(in, out);
      while (Clock::now() - begin < std::chrono::milliseconds(1));
      const auto after = total(s);
      taken.microseconds =
          std::min(taken.microseconds, (after.first - before.first) / (after.second - before.second) * 1e-3);
      before = after;
    }
    return taken;
  }

 private:
  Json json_;
};

double median(std::vector<double> of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2];
}

// Cycles a second: large products of constants take as many as computed.
void measure_clock(Tuning &t) {
  std::vector<double> factors;
  for (const Probe &net : {dense(96, 256, 256), dense(192, 256, 192), dense(48, 512, 256), dense(240, 128, 320)}) {
    const Taken taken = t.take(net, {"small_gemm", "dnnl_gemm"}, 0.3);
    factors.push_back(taken.estimate() / taken.microseconds);
  }
  t["gigahertz"] = std::clamp(t["gigahertz"].get<double>() * median(factors), 0.1, 10.0);
}

// Cycles to read 64 bytes of a cache or of memory: one row by weights of that size. The estimate is linear in them.
void measure_level(Tuning &t, size_t level, int64_t side) {
  const Probe net = dense(1, side, side);
  const std::vector<std::string> off{"small_gemm", "dnnl_gemm"};
  const double usual = t["cycles"][level].get<double>();
  t["cycles"][level] = 0.001;
  const double none = t.take(net, off, 0).estimate();
  t["cycles"][level] = 1;
  const double slope = t.take(net, off, 0).estimate() - none;
  t["cycles"][level] = usual;
  if (slope <= 0) return;  // the weights lie elsewhere
  const double cycles = (t.take(net, off, 1).microseconds - none) / slope;
  t["cycles"][level] = std::clamp(cycles, usual / 4, 16 * usual);
}

// How many times as long as computed each kernel takes.
Json measure_kernels(Tuning &t) {
  std::map<std::string, std::vector<double>> times;
  for (const Probe &net :
       {dense(1, 256, 256),         dense(1, 96, 700),          dense(7, 300, 200),     dense(16, 512, 512),
        dense(64, 64, 64),          dense(100, 333, 500),       dense(128, 512, 256),   dense(300, 10, 100),
        dense(500, 5, 200),         dense(33, 1, 900),          conv(1, 28, 32, 3, 32), conv(1, 28, 64, 3, 96),
        conv(2, 14, 128, 3, 64),    conv(1, 28, 3, 5, 16),      conv(4, 28, 1, 5, 6),   conv(2, 32, 8, 3, 16),
        conv(1, 28, 64, 1, 160, 2), conv(1, 14, 48, 5, 200, 2), conv(1, 9, 96, 3, 33),  depthwise(14, 64, 3),
        depthwise(28, 96, 5),       depthwise(20, 33, 3),       depthwise(11, 256, 7),  lstm(1, 20, 32, 64),
        lstm(8, 10, 64, 128),       lstm(1, 5, 128, 256),       lstm(32, 5, 40, 50)}) {
    std::vector<std::string> names;
    for (const Json &candidate : t.take(net, {}, 0).candidates) names.push_back(candidate.at("kernel"));
    for (const std::string &name : names) {
      std::vector<std::string> off = names;
      std::erase(off, name);
      const Taken taken = t.take(net, off, 0.06);
      if (taken.candidates.at(0).at("kernel") == name) times[name].push_back(taken.microseconds / taken.estimate());
    }
  }
  Json all = Json::object();
  for (const auto &[name, of] : times)
    if (of.size() > 1) all[name] = std::clamp(median(of), 0.02, 50.0);
  return all;
}

Exit tune(const Common &common, const std::string &file) {
  need_writable(file);
  Tuning t;
  measure_clock(t);
  measure_level(t, 1, 256);
  measure_level(t, 2, 1448);
  measure_level(t, 3, 4608);
  t["kernels"] = measure_kernels(t);
  write_text(file, t.json().dump(2) + '\n');
  if (common.json) {
    print(t.json());
    return done;
  }
  std::vector<std::vector<std::string>> rows{{"kernel", "times as long as computed"}};
  for (const auto &[name, times] : t.json().at("kernels").items()) rows.push_back({name, number(times.get<double>())});
  std::string cycles;
  for (const Json &c : t.json().at("cycles")) cycles += ' ' + number(c.get<double>());
  print(t.json().at("processor").get<std::string>() + "\n" + number(t.json().at("gigahertz").get<double>()) +
        " GHz; cycles to read 64 bytes of each cache and of memory:" + cycles + "\n\n" + table(rows));
  return done;
}

}  // namespace

Command tune_command(const Common &common) {
  auto file = std::make_shared<std::string>("dl4-tuning.json");
  return {"tune",
          "measures this machine, in two minutes at most, for the context option \"tuning\"",
          {{"FILE", "FILE", "where the figures go; default dl4-tuning.json", file.get()}},
          [=, &common] { return tune(common, *file); }};
}

}  // namespace dl4::tool
