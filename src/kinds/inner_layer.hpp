// A layer as an attribute of a layer. Call::run() runs it.
#pragma once

#include "kinds/layer.hpp"

namespace dl4::kinds {

struct InnerLayer {
  Of<Layer> kind;         // null: there is none
  std::string name{};     // of its weights, inside those of the layer it is an attribute of
  bool trainable = true;  // does training change its weights, at the start?
  // False: as Keras's layer.call(), without the penalty on its own outputs; those of layers inside it stay.
  bool penalized = true;
  bool carries = true;  // false: what is not stateful begins at zeros in each call
  bool mixed_bfloat16 = false;  // its policy; false: that of the layer around it

  explicit operator bool() const { return kind != nullptr; }
  const Layer *operator->() const { return kind.get(); }
  // Made anew under another name, with some attributes changed.
  InnerLayer with(const std::string &new_name, const Json &changes) const;

  // As Keras writes it: null, a class name, or {"class_name", "config"} with "name", "trainable" and "dtype" in the config.
  static InnerLayer parse(const Json &j);
  Json to_json() const;
};

// Gives layers of one list that have the same name others, as in Keras: "lstm_cell", "lstm_cell_1".
void number_names(std::vector<InnerLayer> &list);

// Does it compute each sample of the first axis by itself? As its facts say, where shapes begin with the letter B.
bool by_sample(const Layer &layer);

// Of a fresh layer of the library's by its class; nothing of another.
Facts facts_of(const std::string &class_name);

// Keras's name for a layer of that class.
std::string snake_case(const std::string &class_name);

}  // namespace dl4::kinds
