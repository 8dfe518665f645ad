// Weights as inputs of layers that assign them.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

// The weight that input i is; refuses other values.
Variable need_variable(Call &c, int i);
// Refuses an input unlike the weight in type or shape.
void need_like(const Call &c, int i, const Variable &v);

}  // namespace dl4::kinds
