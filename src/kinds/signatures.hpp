// Keras's kinds with their positional arguments: the lines of signatures.txt, which the library embeds deflated. Kinds
// listed here but not registered are "not in this version" instead of unknown.
#pragma once

#include <string_view>
#include <vector>

namespace dl4::kinds {

struct Signature {
  std::string_view category, name;
  std::string_view positional, call;  // space-separated words; for layers also the call arguments
};

const std::vector<Signature> &signatures();
// By exact name; null: Keras has no such kind.
const Signature *signature(std::string_view category, std::string_view name);

// Keras's public module of a category, "keras.layers".
std::string_view keras_module(std::string_view category);

}  // namespace dl4::kinds
