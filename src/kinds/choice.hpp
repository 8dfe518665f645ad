// Keras's choice between binary, categorical and sparse, for "accuracy" and "crossentropy".
#pragma once

#include <initializer_list>
#include <string>

#include "base/json.hpp"
#include "base/shape.hpp"

namespace dl4::kinds {

enum class Choice { binary, categorical, sparse };

inline Choice choice(const Shape &y_true, const Shape &y_pred) {
  if (y_pred.last() == 1) return Choice::binary;
  bool sparse = y_true.rank() < y_pred.rank() || (y_true.last() == 1 && y_pred.last() > 1);
  return sparse ? Choice::sparse : Choice::categorical;
}

// Is j one of the words, whatever its case?
inline bool is_word(const Json &j, std::initializer_list<const char *> words) {
  if (!j.is_string()) return false;
  std::string s;
  for (char c : j.get<std::string>()) s += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const char *word : words)
    if (s == word) return true;
  return false;
}

}  // namespace dl4::kinds
