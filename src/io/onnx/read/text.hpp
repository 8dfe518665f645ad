// Shared by readers of ops on strings.
#pragma once

#include <map>

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

}  // namespace dl4::io::onnx
