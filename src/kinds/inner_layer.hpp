// A layer as an attribute of another layer. Call::run() runs it.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

struct InnerLayer {
  Of<Layer> kind;         // null: none
  std::string name{};     // prefix of its weights within those of the outer layer
  bool trainable = true;  // initially; whether training changes its weights
  // False: as Keras's layer.call(), without the penalty on its own outputs. Penalties of layers inside it remain.
  bool penalized = true;
  bool carries = true;          // false: non-stateful layers start each call from zeros
  bool mixed_bfloat16 = false;  // its dtype policy; false: the outer layer's

  explicit operator bool() const { return kind != nullptr; }
  const Layer *operator->() const { return kind.get(); }
  // A copy with another name and some attributes changed.
  InnerLayer with(const std::string &new_name, const Json &changes) const;

  // Keras's JSON: null, a class name, or {"class_name", "config"} with "name", "trainable" and "dtype" in the config.
  static InnerLayer parse(const Json &j);
  Json to_json() const;
};

// Makes names in a list unique as Keras does: "lstm_cell", "lstm_cell_1".
void number_names(std::vector<InnerLayer> &list);

// Whether it computes each sample of the first axis independently, according to its facts: shapes start with B.
bool by_sample(const Layer &layer);

// Of a default built-in layer of this class; empty for others.
Facts facts_of(const std::string &class_name);

// Keras's default name for a layer of this class.
std::string snake_case(const std::string &class_name);

}  // namespace dl4::kinds
