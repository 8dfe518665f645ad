// Gamma and beta with Keras's attributes, for the normalizations.
#pragma once

#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {

struct ScaleAndCenter {
  bool center = true, scale = true;
  Of<Initializer> beta_initializer = parse<Initializer>("Zeros"), gamma_initializer = parse<Initializer>("Ones");
  Of<Regularizer> beta_regularizer, gamma_regularizer;
  Of<Constraint> beta_constraint, gamma_constraint;

  void fields(Fields &f);
  ops::Id gamma(Call &c, const Shape &shape) const;  // none without scale
  ops::Id beta(Call &c, const Shape &shape) const;   // none without center
};

// The dim of an axis that weights share; refuses a free one.
int64_t known_dim(Call &c, int axis);

}  // namespace dl4::kinds
