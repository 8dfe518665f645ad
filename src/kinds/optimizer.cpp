// What all optimizers share: checks and clipping.
#include "kinds/optimizer.hpp"

#include "base/error.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

// limit / max(norm, limit): 1 where nothing is to be clipped, NaN when the norm is.
Id factor(Emit &e, Id norm, double limit) {
  Id bound = e.scalar(static_cast<float>(limit));
  return div(e, bound, binary(e, Binary::max, norm, bound));
}

}  // namespace

void Optimizer::fields(Fields &f) {
  f("learning_rate", learning_rate).at_least(0).doc("factor of a step");
  f("weight_decay", weight_decay).at_least(0).doc("decoupled: w -= w * weight_decay * learning_rate before each step");
  f("clipnorm", clipnorm).at_least(0).doc("greatest norm of each weight's gradient");
  f("clipvalue", clipvalue).at_least(0).doc("greatest |element| of a gradient");
  f("global_clipnorm", global_clipnorm)
      .at_least(0)
      .doc("greatest norm of all gradients together; a NaN in one of them reaches every weight");
  f("use_ema", use_ema).default_only().doc("not supported yet: false");
  f("ema_momentum", ema_momentum).default_only().doc("not supported yet: 0.99");
  f("ema_overwrite_frequency", ema_overwrite_frequency).default_only().doc("not supported yet: null");
  f("loss_scale_factor", loss_scale_factor).default_only().doc("not supported yet: null");
  f("gradient_accumulation_steps", gradient_accumulation_steps)
      .default_only()
      .doc("not supported yet: null; the trainer can accumulate by itself");
}

void Optimizer::check() {
  if (clipnorm.has_value() + clipvalue.has_value() + global_clipnorm.has_value() > 1)
    fail(Code::invalid_argument, "only one of \"clipnorm\", \"clipvalue\" and \"global_clipnorm\" may be given");
}

// A limit of 0 clips nothing, as in Keras.
std::vector<Id> clip(Emit &e, const Optimizer &o, std::vector<Id> gradients) {
  if (o.clipnorm.value_or(0) > 0) {
    for (Id &g : gradients) g = mul(e, g, factor(e, unary(e, Unary::sqrt, ops::square_sum(e, g)), *o.clipnorm));
  } else if (o.clipvalue.value_or(0) > 0) {
    auto limit = static_cast<float>(*o.clipvalue);
    for (Id &g : gradients) g = unary(e, Unary::clip, g, {-limit, limit});
  } else if (o.global_clipnorm.value_or(0) > 0 && !gradients.empty()) {
    Id squares = ops::none;
    for (Id g : gradients) {
      Id one = ops::square_sum(e, g);
      squares = squares == ops::none ? one : add(e, squares, one);
    }
    Id norm = unary(e, Unary::sqrt, squares);
    // An infinite norm poisons every weight like a NaN one, rather than stopping those with finite gradients.
    Id by = add(e, factor(e, norm, *o.global_clipnorm), sub(e, norm, norm));
    for (Id &g : gradients) g = mul(e, g, by);
  }
  return gradients;
}

}  // namespace dl4::kinds
