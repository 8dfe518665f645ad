// Shared by readers of ops on strings and of ai.onnx.ml.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

// A list of strings, or a tensor of them; empty: there is none. Refuses invalid UTF-8.
std::vector<std::string> texts(const Op &op, const std::string &name);
// A string. Refuses invalid UTF-8.
std::string text(const Op &op, const char *name);
// Texts without repetitions, and a text that is not among them.
struct Vocabulary {
  explicit Vocabulary(const std::vector<std::string> &all);
  std::map<std::string, int64_t> first;
  Json distinct = Json::array();
  Ints places;  // of each text
  std::string other = "[UNK]";
};
// Of texts x their places in a list, from 1 on where others have 0; else others are an error of the run.
Node place_of_text(const Op &op, Node x, const std::vector<std::string> &all, bool takes_others);
// The texts of a list at places in it.
Node text_of_place(const Op &op, Node place, const std::vector<std::string> &all);
// Refuses strings for numbers and numbers for strings.
void need_texts(const Op &op, bool wanted);

void tokenizer(const Op &op);

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
