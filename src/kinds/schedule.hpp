// Schedules: learning rates as functions of the step.
#pragma once

#include "kinds/kind.hpp"

namespace dl4::kinds {

class Schedule : public Kind {
 public:
  static constexpr const char *category = "schedule";
  // In float32, like Keras; step counts from 0.
  virtual float at(int64_t step) const = 0;
};

// A number, or a schedule.
struct Rate {
  double value = 0;
  Of<Schedule> schedule{};
  float at(int64_t step) const { return schedule ? schedule->at(step) : static_cast<float>(value); }
};

}  // namespace dl4::kinds
