// How layers of categories give their indices: as they are, or as vectors.
// A vocabulary as an attribute, as Keras's IndexLookup has it, and as it is learned.
#pragma once

#include <variant>

#include "kinds/layer.hpp"
#include "ops/text.hpp"

namespace dl4::kinds {

// The last two are old words for those before.
enum class OutputMode { integer, one_hot, multi_hot, count, tf_idf, binary, old_tf_idf };
OutputMode without_old(OutputMode mode);

// keras.src.utils.numerical_utils.encode_categorical_inputs: indices int64 as numbers of that type, or vectors of
// `depth`. weights: of count.
ops::Id encoded(ops::Emit &e, ops::Id indices, OutputMode mode, int64_t depth, DType dtype,
                ops::Id weights = ops::none);

// Keras's `salt`: two integers, or one for both.
struct Salt {
  std::optional<std::array<int64_t, 2>> key{};
  std::optional<std::array<uint64_t, 2>> words() const;
};
// A text or an integer, or neither.
using TextOrInteger = std::variant<std::monostate, std::string, int64_t>;
// The type of a result, by its name or Keras's policy of that name; none: as the layer has it.
struct ResultType {
  std::optional<DType> dtype{};
};

// Refuses sparse = true, which is Keras's on TensorFlow alone.
inline constexpr const char *sparse_doc = "only false: there are no sparse tensors";

template <>
const Conversion &conversion<Salt>();
template <>
const Conversion &conversion<TextOrInteger>();
template <>
const Conversion &conversion<ResultType>();

// A layer with a vocabulary.
class WithVocabulary : public Layer {
 public:
  // Of output_mode "tf_idf" the weight of each index; without data of others, and without a vocabulary.
  virtual Tensor token_weights() const = 0;
};

// Token: std::string or int64_t.
template <class Token>
struct TokenList {
  std::vector<Token> tokens;
};

// The attributes that layers with a vocabulary share, and what follows from them.
template <class Token>
struct Lookup {
  std::optional<int64_t> max_tokens;
  int64_t num_oov_indices = 1;
  std::optional<Token> mask_token;
  Token oov_token{};
  std::optional<TokenList<Token>> vocabulary;
  std::optional<std::vector<double>> idf_weights;
  bool invert = false, pad_to_max_tokens = false, sparse = false;
  OutputMode output_mode = OutputMode::integer;
  enum class OovMethod { floormod, farmhash } oov_method = OovMethod::floormod;
  Salt salt;
  std::optional<int64_t> vocabulary_size;

  void vocabulary_fields(Fields &f);  // those of TextVectorization too
  void lookup_fields(Fields &f);      // the others
  // Refuses what no attribute alone can tell, and makes the vocabulary.
  void check();

  const Tensor &weights() const { return weights_; }
  int64_t depth() const;
  // Refused while there is none.
  const ops::Tokens &needed() const;
  // Indices as the layer gives them.
  ops::Id output(ops::Emit &e, ops::Id indices) const;
  // Counts times the weights of the tokens.
  ops::Id weighted(ops::Emit &e, ops::Id counts) const;
  // Of the whole config `config`. tokenizer: of texts; null: each element is a token.
  std::shared_ptr<Adapter> adapter(Json config, const Tokenizer *tokenizer, int64_t memory_limit) const;

  bool integers() const { return without_old(output_mode) == OutputMode::integer; }
  int64_t first_oov() const { return mask_token && integers() ? 1 : 0; }
  int64_t first_token() const { return first_oov() + num_oov_indices; }

 private:
  void check_options() const;
  bool has_special_tokens() const;
  void make();
  void make_weights(bool special, size_t given);

  ops::Tokens made_;
  Tensor weights_;  // of all indices
};

extern template struct Lookup<std::string>;
extern template struct Lookup<int64_t>;

}  // namespace dl4::kinds
