// Optimizers: the update of one flat block of weights, in ops.
#pragma once

#include <functional>
#include <optional>

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
  double learning_rate = 0;
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
  bool use_ema = false;
  double ema_momentum = 0;
  std::optional<int64_t> ema_overwrite_frequency, gradient_accumulation_steps;
  std::optional<double> loss_scale_factor;
  // The new w.
  virtual ops::Id update(Update &u) const = 0;
  // At most one way of clipping, and none of the fields that only a Keras file may bring along.
  void check() const;

 protected:
  double decay() const { return weight_decay.value_or(0); }
};

// The fields that every optimizer has, in Keras's order.
inline auto optimizer_fields(double learning_rate) {
  using O = Optimizer;
  return std::tuple{
      field("learning_rate", &O::learning_rate).otherwise(learning_rate).at_least(0).doc("factor of a step"),
      field("weight_decay", &O::weight_decay)
          .otherwise(nullptr)
          .at_least(0)
          .doc("decoupled: w -= w * weight_decay * learning_rate before each step"),
      field("clipnorm", &O::clipnorm).otherwise(nullptr).at_least(0).doc("greatest norm of each weight's gradient"),
      field("clipvalue", &O::clipvalue).otherwise(nullptr).at_least(0).doc("greatest |element| of a gradient"),
      field("global_clipnorm", &O::global_clipnorm)
          .otherwise(nullptr)
          .at_least(0)
          .doc("greatest norm of all gradients together; a NaN in one of them reaches every weight"),
      field("use_ema", &O::use_ema).otherwise(false).doc("not supported yet: false"),
      field("ema_momentum", &O::ema_momentum).otherwise(0.99).doc("not supported yet: 0.99"),
      field("ema_overwrite_frequency", &O::ema_overwrite_frequency).otherwise(nullptr).doc("not supported yet: null"),
      field("loss_scale_factor", &O::loss_scale_factor).otherwise(nullptr).doc("not supported yet: null"),
      field("gradient_accumulation_steps", &O::gradient_accumulation_steps)
          .otherwise(nullptr)
          .doc("not supported yet: null; the trainer can accumulate by itself"),
  };
}

// One gradient per weight, clipped as the optimizer says.
std::vector<ops::Id> clip(ops::Emit &e, const Optimizer &o, std::vector<ops::Id> gradients);

}  // namespace dl4::kinds
