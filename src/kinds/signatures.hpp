// Keras's kinds with their arguments by position: the lines of signatures.txt, which the library embeds deflated. Those
// that are not registered are "not in this version" rather than unknown.
#pragma once

#include <string_view>
#include <vector>

namespace dl4::kinds {

struct Signature {
  std::string_view category, name;
  std::string_view positional, call;  // words with spaces between; of a layer also the arguments of a call
};

const std::vector<Signature> &signatures();
// Of exactly this name; null: Keras has no such kind.
const Signature *signature(std::string_view category, std::string_view name);

// Keras's public module of a category, "keras.layers".
std::string_view keras_module(std::string_view category);

}  // namespace dl4::kinds
