// Times calls side by side with Google Benchmark.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

struct Pace {
  int rounds = 7;
  double seconds = 0.02;  // a side's share of a round
  bool cpu = false;       // the calling thread's processor time instead: for one thread on a machine that is not idle
};

using Seconds = std::vector<double>;  // of one call, by round

double median(Seconds s);
// Of the rounds' ratios: what is slow for a while is slow for both.
double ratio(const Seconds &a, const Seconds &b);
// Half of the rounds lie within this part of the median.
double spread(const Seconds &s);

// Between -1 and 1, the same ones each time.
std::vector<float> numbers(int64_t n);

// Each round calls every side in turn, as often as fills its share of time.
std::vector<Seconds> measure(const std::vector<std::function<void()>> &sides, const Pace &pace);

}  // namespace bench
