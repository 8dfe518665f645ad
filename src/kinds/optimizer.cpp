// What all optimizers share: checks and clipping.
#include "kinds/optimizer.hpp"

namespace dl4::kinds {
namespace {

using ops::Binary, ops::Emit, ops::Id, ops::Unary;

[[noreturn]] void refuse_key(const char *key) {
  throw Error(Code::unsupported, text('"', key, "\": only the default is supported")).with("attribute", key);
}

// limit / max(norm, limit): 1 where nothing is to be clipped, NaN when the norm is.
Id factor(Emit &e, Id norm, double limit) {
  Id bound = e.scalar(static_cast<float>(limit));
  return div(e, bound, binary(e, Binary::max, norm, bound));
}

}  // namespace

void Optimizer::check() const {
  if (clipnorm.has_value() + clipvalue.has_value() + global_clipnorm.has_value() > 1)
    fail(Code::invalid_argument, "only one of \"clipnorm\", \"clipvalue\" and \"global_clipnorm\" may be given");
  if (use_ema) refuse_key("use_ema");
  if (ema_momentum != 0.99) refuse_key("ema_momentum");
  if (ema_overwrite_frequency) refuse_key("ema_overwrite_frequency");
  if (loss_scale_factor) refuse_key("loss_scale_factor");
  if (gradient_accumulation_steps) refuse_key("gradient_accumulation_steps");
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
