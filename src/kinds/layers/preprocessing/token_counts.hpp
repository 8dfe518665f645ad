// A vocabulary from data.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/tokens.hpp"
#include "kinds/adapter.hpp"

namespace dl4::kinds {

// Token: std::string or int64_t.
template <class Token>
struct Learning {
  Json config;                           // to which "vocabulary" and "idf_weights" are added
  std::optional<Tokenizer> tokenizer{};  // none: each element is a token
  std::vector<Token> special{};          // that are not counted
  bool weighs = false;                   // by how many rows have a token
  int64_t most = INT64_MAX;              // tokens
  int64_t memory_limit = INT64_MAX;
};

// Tokens by how often they are there, of equally many the greater first: what Keras's adapt() learns. Rows are along
// the first axis.
std::shared_ptr<Adapter> vocabulary_from_data(Learning<std::string> what);
std::shared_ptr<Adapter> vocabulary_from_data(Learning<int64_t> what);

}  // namespace dl4::kinds
