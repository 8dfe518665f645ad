// Weights as inputs of layers that assign them.
#pragma once

#include <initializer_list>
#include <utility>

#include "kinds/layer.hpp"
#include "kinds/optimizer.hpp"

namespace dl4::kinds {

// The weight that input i is; refuses other values.
Variable need_variable(Call &c, int i);
// Refuses an input unlike the weight in type or shape.
void need_like(const Call &c, int i, const Variable &v);

// A layer's optimizer; refuses null.
const Optimizer &needed(const Of<Optimizer> &optimizer);
// Refuses the settings of an optimizer that only trainers act on: keys, and whether they are set.
void refuse_of_trainers(std::initializer_list<std::pair<const char *, bool>> settings);

}  // namespace dl4::kinds
