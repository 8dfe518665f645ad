// Keras's activation functions by name: one table in activation.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "ops/emit.hpp"

namespace dl4::kinds {

struct ActivationEntry;

class Activation {
 public:
  Activation() = default;  // linear
  // A name, null (linear), or {"class_name", "config"} of a function; refuses unknown names.
  static Activation parse(const Json &j);

  const std::string &name() const;
  bool is_linear() const { return entry_ == nullptr; }
  ops::Id operator()(ops::Emit &e, ops::Id x) const;

 private:
  const ActivationEntry *entry_ = nullptr;
};

// Name and doc of every activation.
std::vector<std::pair<std::string, std::string>> activations();

}  // namespace dl4::kinds
