// Gamma and beta.
#include "kinds/layers/normalization/scale_and_center.hpp"

namespace dl4::kinds {

void ScaleAndCenter::fields(Fields &f) {
  f("center", center).doc("whether beta is added");
  f("scale", scale).doc("whether the result is multiplied by gamma");
  f("beta_initializer", beta_initializer).doc("fills beta at the start");
  f("gamma_initializer", gamma_initializer).doc("fills gamma at the start");
  f("beta_regularizer", beta_regularizer).doc("penalty on beta, added to the loss");
  f("gamma_regularizer", gamma_regularizer).doc("penalty on gamma, added to the loss");
  f("beta_constraint", beta_constraint).doc("applied to beta after every update");
  f("gamma_constraint", gamma_constraint).doc("applied to gamma after every update");
}

ops::Id ScaleAndCenter::gamma(Call &c, const Shape &shape) const {
  if (!scale) return ops::none;
  return c.weight("gamma", shape, gamma_initializer, gamma_regularizer, gamma_constraint);
}

ops::Id ScaleAndCenter::beta(Call &c, const Shape &shape) const {
  if (!center) return ops::none;
  return c.weight("beta", shape, beta_initializer, beta_regularizer, beta_constraint);
}

int64_t known_dim(Call &c, int axis) {
  const int64_t dim = c.shape()[axis];
  if (dim == free_dim)
    fail(Code::shape_mismatch, "axis ", axis, " of input 0 should be known. Full shape received: ", c.shape());
  return dim;
}

}  // namespace dl4::kinds
