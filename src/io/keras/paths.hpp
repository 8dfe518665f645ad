// Paths of weights in Keras 3's stores.
#pragma once

#include "graph/model.hpp"

namespace dl4::io {

// Unique names in a list: the first of a class has the plain name, others a number.
class KerasNames {
 public:
  std::string next(const std::string &class_name);
  std::string peek(const std::string &class_name) const;

 private:
  static std::string base(const std::string &class_name);
  std::map<std::string, int64_t> taken_;
};

using Weights = std::vector<std::shared_ptr<graph::Weight>>;

// The weight at each path, for a model in Keras's JSON: {"layers/dense/vars/0": "dense/kernel"}. A weight may have two
// paths; LoRA's have none. Refuses with UNSUPPORTED weights that Keras's files can't store. is_there: whether the file
// has a group. of_file: the JSON is the file's; otherwise an inner model may have been a Sequential.
struct KerasPaths {
  std::map<std::string, std::string> weights;  // by path
  std::vector<std::string> order;              // the weights in Keras's order
};
KerasPaths keras_paths(const Json &model, const Weights &weights,
                       const std::function<bool(const std::string &)> &is_there = nullptr, bool of_file = false);

}  // namespace dl4::io
