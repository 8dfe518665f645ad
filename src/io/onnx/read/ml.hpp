// Shared by readers of ai.onnx.ml.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

Node row(const Op &op, const std::vector<double> &list);
std::vector<double> reals(const Op &op, std::string_view name);  // none: empty
// Scores after "post_transform".
Node transformed(const Op &op, Node x);
// A classifier's classes, integers or strings.
struct Labels {
  Ints numbers;
  int64_t count;

  Labels(const Op &op, const char *as_numbers, const char *as_texts);
  // The first output: each row's label.
  void give(const Op &op, Node place) const;

 private:
  const char *as_texts;
};
Node rows_of_floats(const Op &op, size_t i);
std::vector<Dim> rows_and(const Op &op, int64_t n);  // dims of as many rows with n columns

void tree_regressor(const Op &op);
void tree_classifier(const Op &op);
void tree_ensemble(const Op &op);

}  // namespace dl4::io::onnx
