// Sums over all workers within a Program's run.
#pragma once

#include <exception>
#include <vector>

#include "graph/lower.hpp"
#include "train/steps/workers.hpp"

namespace dl4::train {

// Each sum carries one more number, the count of failed workers. So all workers make the same sums, even one that fails
// or has no rows to run the Program on.
class Exchange final : public ops::Collective {
 public:
  explicit Exchange(Workers &workers) : workers_(workers) {}
  void make_room(const ops::Program &p);
  static bool is_in(const ops::Program &p);

  void begin();  // before each run
  int32_t sum(const float *from, float *to, int64_t n) override;
  // Instead of a run: takes part in the Program's sums with zeros.
  void join(const ops::Program &p);
  // After a run that failed on this worker. If no sum of the run remains, returns, and the next exchange carries the
  // failure; else throws the error that all workers fail with.
  void end(const ops::Program &p, const std::exception_ptr &failure);

 private:
  // Sums numbers_; false if a worker has failed.
  bool make(int64_t n, float failed);
  bool make_without_mine(int64_t n, float failed);

  Workers &workers_;
  std::vector<float> numbers_;
  int64_t done_ = 0;
  bool failed_ = false;        // of a worker
  std::exception_ptr broken_;  // exception of the workers' reduction
};

}  // namespace dl4::train
