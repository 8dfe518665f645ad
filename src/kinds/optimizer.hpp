// Optimizers: the update of one flat block of weights, in ops.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kinds/field.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {

// What an optimizer's update reads and may keep.
struct Update {
  ops::Emit &e;
  ops::Id w, g;           // flat float32 blocks, g after clipping
  ops::Id learning_rate;  // float32 scalar
  ops::Id t;              // int64 scalar, counts updates from 1
  // A slot as large as w that starts at `start`; write() keeps its new value.
  std::function<ops::Id(const std::string &name, float start)> slot;
};

class Optimizer : public Kind {
 public:
  static constexpr const char *category = "optimizer";
  explicit Optimizer(double learning_rate) : learning_rate(learning_rate) {}
  double learning_rate;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency, gradient_accumulation_steps;
  std::optional<double> loss_scale_factor;
  // The new w.
  virtual ops::Id update(Update &u) const = 0;
  // Before those of an optimizer's own, in Keras's order.
  void fields(Fields &f) override;
  // Refuses more than one way of clipping.
  void check() override;

 protected:
  double decay() const { return weight_decay.value_or(0); }
};

// One gradient per weight, clipped as the optimizer says.
std::vector<ops::Id> clip(ops::Emit &e, const Optimizer &o, std::vector<ops::Id> gradients);

}  // namespace dl4::kinds
