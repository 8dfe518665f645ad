// Weights of a model out of tensors by name: of safetensors files of anyone, and of .npz.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "graph/model.hpp"

namespace dl4::io {

// How a model's weights are found among a file's tensors.
struct Naming {
  Json names = Json::object();  // by weight: a tensor's name, or how to make it of some
  bool partial = false;         // what stands on one side only is left as it is

  bool operator==(const Naming &) const = default;
};

// In the order of the model's weights, each in memory of its own; no data where `partial` leaves a weight as it is.
// Refuses with NOT_FOUND what the table names wrongly, with INVALID_ARGUMENT what it asks for wrongly, and with
// CORRUPT_FILE tensors that are not those of the model.
std::vector<Tensor> named_weights(const graph::Model &m, const std::map<std::string, Tensor> &file,
                                  const Naming &naming);

}  // namespace dl4::io
