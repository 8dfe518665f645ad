// One benchmark a side; a round is one run of all of them.
#include "measure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>
#include <thread>

namespace bench {
namespace {

class Collector final : public benchmark::BenchmarkReporter {
 public:
  Collector(std::vector<Seconds> &to, bool cpu) : to_(to), cpu_(cpu) {}
  bool ReportContext(const Context &) override { return true; }
  void ReportRuns(const std::vector<Run> &runs) override {
    for (const Run &r : runs)
      to_[std::stoul(r.run_name.function_name)].push_back((cpu_ ? r.cpu_accumulated_time : r.real_accumulated_time) /
                                                          static_cast<double>(r.iterations));
  }

 private:
  std::vector<Seconds> &to_;
  const bool cpu_;
};

// Calls that take about so many seconds. The first ones, which may plan and pack, don't count.
int64_t calls_for(double seconds, const std::function<void()> &side) {
  using Clock = std::chrono::steady_clock;
  for (int64_t n = 1;; n *= 4) {
    side();
    auto start = Clock::now();
    for (int64_t i = 0; i < n; ++i) side();
    double spent = std::chrono::duration<double>(Clock::now() - start).count();
    if (spent > seconds / 8) return std::max<int64_t>(1, std::llround(static_cast<double>(n) * seconds / spent));
  }
}

double quantile(Seconds s, double q) {
  if (s.empty()) return std::nan("");
  std::sort(s.begin(), s.end());
  double at = q * static_cast<double>(s.size() - 1);
  auto i = static_cast<size_t>(at);
  return i + 1 < s.size() ? s[i] + (at - std::floor(at)) * (s[i + 1] - s[i]) : s[i];
}

}  // namespace

double median(Seconds s) { return quantile(std::move(s), 0.5); }
double spread(const Seconds &s) { return (quantile(s, 0.75) - quantile(s, 0.25)) / quantile(s, 0.5); }

double ratio(const Seconds &a, const Seconds &b) {
  Seconds all;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) all.push_back(a[i] / b[i]);
  return median(std::move(all));
}

std::vector<float> numbers(int64_t n) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> v(static_cast<size_t>(n));
  for (float &x : v) x = uniform(random);
  return v;
}

std::vector<Seconds> measure(const std::vector<std::function<void()>> &sides, const Pace &pace) {
  benchmark::ClearRegisteredBenchmarks();
  for (size_t i = 0; i < sides.size(); ++i) {
    const auto &side = sides[i];
    benchmark::RegisterBenchmark(std::to_string(i).c_str(),
                                 [&side](benchmark::State &state) {
                                   // OpenMP's threads spin for some milliseconds after a region and would hold the
                                   // other side's second core.
                                   std::this_thread::sleep_for(std::chrono::milliseconds(20));
                                   side();  // brings back what the other sides put out of the cache
                                   for (auto _ : state) side();
                                 })
        ->Iterations(calls_for(pace.seconds, side))
        ->UseRealTime();
  }
  std::vector<Seconds> times(sides.size());
  Collector collector(times, pace.cpu);
  for (int round = 0; round < pace.rounds; ++round) benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::ClearRegisteredBenchmarks();
  return times;
}

}  // namespace bench
