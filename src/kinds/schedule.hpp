// Schedules: a learning rate as a function of the steps done.
#pragma once

#include "kinds/kind.hpp"

namespace dl4::kinds {

class Schedule : public Kind {
 public:
  static constexpr const char *category = "schedule";
  // In float32, as Keras computes it; step counts from 0.
  virtual float at(int64_t step) const = 0;
};

// A number, or a schedule in its place.
struct Rate {
  double value = 0;
  Of<Schedule> schedule{};
  float at(int64_t step) const { return schedule ? schedule->at(step) : static_cast<float>(value); }
};

}  // namespace dl4::kinds
