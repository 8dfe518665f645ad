// Whole numbers that are computed from the sizes of axes, in postfix: what is known as soon as the shapes are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.hpp"
#include "ops/operand.hpp"

namespace dl4::ops {

enum class SizeStep : int64_t { number, axis, add, subtract, multiply, divide, modulo, maximum, minimum, equal, less };

// A formula after the other, each as pairs of a step and what it is of (a number; of an axis source * 64 + axis; else
// 0), and behind it a pair (-1, 0).
using Formulas = std::vector<int64_t>;

// Of "0.1 2 * 1 +": axis 1 of source 0, times 2, plus 1. Division rounds to zero, the rest has the divisor's sign; max,
// min, =, < (1 or 0). Refuses what is none, in the user's words.
Formulas formulas(const std::vector<std::string> &words);
// The number that each gives; none: it depends on a free axis. Refuses an axis that is not there, a division by 0 and
// numbers past 64 bits.
std::vector<std::optional<int64_t>> computed(const Formulas &f, Operands src);

// What formulas make of the sizes of `like`, of which only the shapes are read: int64 (n); or, as the axes of a value,
// flags that are all false.
Id sizes(Emit &e, std::vector<Id> like, Formulas f);
Id zeros_of(Emit &e, std::vector<Id> like, Formulas f);

namespace attributes {

struct Sizes {
  Formulas formulas;
  void fields(auto &f) const { f("formulas", formulas); }
};
struct ZerosOf {
  Formulas formulas;
  void fields(auto &f) const { f("formulas", formulas); }
};

}  // namespace attributes
}  // namespace dl4::ops
