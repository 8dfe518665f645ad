// A model's weights from tensors by name, in any safetensors or .npz file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "graph/model.hpp"

namespace dl4::io {

// Maps a model's weights to a file's tensors.
struct Naming {
  Json names = Json::object();  // by weight: a tensor's name, or how to make it from some
  bool partial = false;         // ignores tensors and weights without counterpart

  bool operator==(const Naming &) const = default;
};

// In the order of the model's weights, each a copy; empty where `partial` keeps a weight. Refuses with NOT_FOUND wrong
// names in the table, with INVALID_ARGUMENT other errors in it, and with CORRUPT_FILE tensors that don't fit the model.
std::vector<Tensor> named_weights(const graph::Model &m, const std::map<std::string, Tensor> &file,
                                  const Naming &naming);

}  // namespace dl4::io
