// Integers computed from dims by postfix formulas, known once the shapes are.
#pragma once

#include "ops/op.hpp"

namespace dl4::ops {

enum class SizeStep : int64_t { number, axis, add, subtract, multiply, divide, modulo, maximum, minimum, equal, less };

// Formulas, each as pairs of an operation and its operand (a number; for an axis source * 64 + axis; else 0), ended by
// (-1, 0).
using Formulas = std::vector<int64_t>;

// Parses "0.1 2 * 1 +": axis 1 of source 0, times 2, plus 1. Division truncates, the remainder has the divisor's sign;
// max, min, =, < (1 or 0). Refuses invalid formulas, in the user's terms.
Formulas formulas(const std::vector<std::string> &words);
// The results; none if they depend on a free dim. Refuses missing axes, division by 0 and results past 64 bits.
std::vector<std::optional<int64_t>> computed(const Formulas &f, Operands src);

// Results of formulas over the shapes of `like`: as int64 (n); or, as dims of a value, zeros (booleans).
Id sizes(Emit &e, std::vector<Id> like, Formulas f);
Id zeros_of(Emit &e, std::vector<Id> like, Formulas f);

namespace attributes {

struct Sizes {
  Formulas formulas;
  void fields(auto &f) const { f("formulas", formulas); }
};
struct ZerosOf : Sizes {};

}  // namespace attributes
}  // namespace dl4::ops
