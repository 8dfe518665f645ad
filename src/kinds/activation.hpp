// Keras's activation functions by name: one table in activation.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "kinds/kind.hpp"
#include "ops/emit.hpp"

namespace dl4::kinds {

struct ActivationFunction;

class Activation {
 public:
  Activation() = default;  // linear
  // A name, null (linear), or {"class_name", "config"} of a function; refuses unknown names.
  static Activation parse(const Json &j);
  // The name; {"class_name", "config"} where a parameter is not the default.
  Json to_json() const;

  const std::string &name() const;
  bool is_linear() const { return function_ == nullptr; }
  ops::Id operator()(ops::Emit &e, ops::Id x) const;

 private:
  const ActivationFunction *function_ = nullptr;
  std::vector<double> parameters_;
};

// The activations as the registry shows them; they are functions, so their entries make no Kind.
const std::vector<const Entry *> &activation_entries();

}  // namespace dl4::kinds
