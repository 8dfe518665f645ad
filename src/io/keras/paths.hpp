// Where Keras 3 keeps what: the paths of a store of weights.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "graph/model.hpp"

namespace dl4::io {

using Weights = std::vector<std::shared_ptr<graph::Weight>>;

// The weight of each path, of a model in Keras's JSON: {"layers/dense/vars/0": "dense/kernel"}. A weight may stand at
// two; one of LoRA has none. Refuses with UNSUPPORTED one that cannot be stored in Keras's files.
// is_there: the file's groups. of_file: the JSON is the file's own; else a model inside may have been a Sequential.
struct KerasPaths {
  std::map<std::string, std::string> weights;  // by path
  std::vector<std::string> order;              // the weights as Keras lists them
};
KerasPaths keras_paths(const Json &model, const Weights &weights,
                       const std::function<bool(const std::string &)> &is_there = nullptr, bool of_file = false);

}  // namespace dl4::io
