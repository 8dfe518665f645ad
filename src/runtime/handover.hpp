// Decides whether the crew helps with a step, and with a run: only where that is faster on this machine under its
// current load. Either way the slices and the bits are the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "base/crew.hpp"

namespace dl4::runtime {

// For one step of a frame, or for all of them: what one core wrote is slow to read for another, so steps that each gain
// may lose together. Every run with help is timed; occasionally a few runs try the alternative.
class Handover {
 public:
  // Runs slice(i) for each i in [0, slices * phases), as Crew::run does. No phase begins once slice.ends() is true.
  template <class F>
  void run(Crew &crew, int64_t slices, F &slice, int64_t phases) noexcept {
    if (slices < 2 || pass()) return alone(slices, phases, slice);
    const auto start = std::chrono::steady_clock::now();
    if (helped_)
      crew.run(slices, slice, phases);
    else
      alone(slices, phases, slice);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    note(spent.count(), static_cast<double>(phases));
  }

  // Whether the crew helps with the next run.
  bool helped() const { return helped_; }
  // Whether the next run is without help and need not be timed; if so, it counts as done.
  bool pass() {
    if (helped_ || trial_ || left_ <= 0) return false;
    left_ -= alone_;
    return true;
  }
  // Records the duration of a run for which pass() was false.
  void note(double nanoseconds, double phases);

  template <class F>
  static void alone(int64_t slices, int64_t phases, F &slice) noexcept {
    for (int64_t phase = 0; phase < phases && !slice.ends(); ++phase)
      for (int64_t i = 0; i < slices; ++i) slice(phase * slices + i);
  }

 private:
  void try_out(bool helped, int runs);
  void try_alone(double large);
  void leave_alone(double at_least);

  static constexpr int trial_runs = 3;
  static constexpr double unknown = std::numeric_limits<double>::infinity();

  bool helped_ = true;
  int trial_ = trial_runs;                          // remaining runs of a trial
  double helped_cost_ = unknown, alone_ = unknown;  // nanoseconds per run with and without help
  double wait_ = 1e6;                               // nanoseconds without help before the next trial
  double left_ = 0;                                 // until the next trial
};

}  // namespace dl4::runtime
