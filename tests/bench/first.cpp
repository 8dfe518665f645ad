// From weights in memory to the first result, in a process of its own: makes a row's model, then
// times the session (or the trainer) and its first call. Prints milliseconds: creation, first call.
//   dl4_first --list                       rows by name, with what is timed
//   dl4_first ROW run|train THREADS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "model.hpp"
#include "row.hpp"

namespace {

using namespace bench;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void list() {
  for (const Row &r : table())
    for (int threads : r.threads) {
      if (r.runs) std::printf("%s\trun\t%d\n", r.name.c_str(), threads);
      if (r.trains()) std::printf("%s\ttrain\t%d\n", r.name.c_str(), threads);
    }
}

void first(const std::string &name, bool training, int threads) {
  auto row = std::ranges::find(table(), name, &Row::name);
  if (row == table().end()) throw std::runtime_error("no row " + name);
  Data data(*row);
  Model model(*row, data, threads, training);
  auto start = Clock::now();
  training ? static_cast<void>(model.step()) : static_cast<void>(model.new_outputs());
  std::printf("%.4f %.4f\n", model.creation() * 1e3, milliseconds_since(start));
}

}  // namespace

int main(int argc, char **argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "--list" && argc == 2)
      list();
    else if (argc == 4)
      first(what, std::string(argv[2]) == "train", std::stoi(argv[3]));
    else
      throw std::runtime_error("expected --list, or ROW run|train THREADS");
    return 0;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "dl4_first: %s\n", e.what());
    return 2;
  }
}
