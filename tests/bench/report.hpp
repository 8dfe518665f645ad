// The table as Markdown and as JSON, with the machine it was measured on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

struct Line {
  std::string row, mode;  // "run" or "train"
  int threads = 1;
  Seconds ours, floor;
  Seconds alone;                                      // ours in one thread, in the same rounds: scaling alone
  double own_allocations = 0, other_allocations = 0;  // a call
  int64_t arena_bytes = 0;
  double creation = 0;    // seconds: the first call less a later one
  double difference = 0;  // of the two sides' numbers, relative
  std::string routines;   // what the floor calls
};

struct Machine {
  std::string cpu, kernel, date, build_info;
  int cores = 1;
  double load = 0;  // average of the last minute, before the run
};

Machine machine();
std::string markdown(const Machine &m, const std::vector<Line> &lines, bool scaling, bool busy);
std::string json(const Machine &m, const std::vector<Line> &lines, bool scaling, bool busy);

}  // namespace bench
