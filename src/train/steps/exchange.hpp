// Sums over all workers in the middle of a Program's run.
#pragma once

#include <exception>
#include <vector>

#include "graph/lower.hpp"
#include "train/steps/workers.hpp"

namespace dl4::train {

// Each sum carries one number more: how many workers have failed and take part for the last time. So all make the same
// sums, whoever fails, or has no rows to run the Program with.
class Exchange final : public ops::Collective {
 public:
  explicit Exchange(Workers &workers) : workers_(workers) {}
  void make_room(const ops::Program &p);
  static bool is_in(const ops::Program &p);

  void begin();  // before each run
  int32_t sum(const float *from, float *to, int64_t n) override;
  // The Program's sums with nothing to add to them, instead of a run.
  void join(const ops::Program &p);
  // After a run that failed here: comes back if it has no sum left to make, so that what follows it tells the others;
  // else throws what all fail with.
  void end(const ops::Program &p, const std::exception_ptr &failure);

 private:
  // Of n numbers of mine, which are in place. False if one has failed.
  bool make(int64_t n, float failed);
  bool make_without_mine(int64_t n, float failed);

  Workers &workers_;
  std::vector<float> numbers_;
  int64_t done_ = 0;
  bool failed_ = false;        // a worker has
  std::exception_ptr broken_;  // what the workers' reduction threw
};

}  // namespace dl4::train
