// Keras's activation functions: one table in activation.cpp.
#pragma once

#include "kinds/kind.hpp"
#include "ops/program.hpp"

namespace dl4::ops {
class Emit;
}

namespace dl4::kinds {

class ActivationFunction : public Kind {
 public:
  static constexpr const char *category = "activation";
  virtual ops::Id apply(ops::Emit &e, ops::Id x) const = 0;
};

// An activation function with its parameters, as a field of other kinds.
class Activation {
 public:
  Activation() = default;  // linear
  // A name, null (linear), or {"class_name", "config"} of a function; refuses unknown names.
  static Activation parse(const Json &j);
  // The name, or {"class_name", "config"} if a parameter differs from its default.
  Json to_json() const;

  std::string_view name() const;
  bool is_linear() const { return function_ == nullptr; }
  ops::Id operator()(ops::Emit &e, ops::Id x) const { return function_ ? function_->apply(e, x) : x; }

 private:
  Of<ActivationFunction> function_;  // null: linear
};

}  // namespace dl4::kinds
