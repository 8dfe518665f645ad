// keras.src.layers.preprocessing.index_lookup.
#include "kinds/layers/preprocessing/lookup.hpp"

#include <cmath>
#include <numeric>

#include "base/hash.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

std::string shown(const std::string &s) { return '"' + printable(excerpt(s)) + '"'; }
std::string shown(int64_t v) { return std::to_string(v); }

template <class Token>
Token token_from(const Json &j) {
  if constexpr (std::is_same_v<Token, int64_t>) {
    if (!j.is_int64()) expected("an integer", j);
    return j.get<int64_t>();
  } else {
    if (!j.is_string()) expected("a string", j);
    return j.get<std::string>();
  }
}

template <class Token>
const Conversion &list_conversion() {
  using List = std::optional<TokenList<Token>>;
  static constexpr Conversion c{
      std::is_same_v<Token, int64_t> ? "i64s" : "strs", nullptr,
      [](const Json &j, void *place) {
        List &to = *static_cast<List *>(place);
        to.reset();
        if (j.is_null()) return;
        if (j.is_string())
          throw Error(Code::unsupported, "expected a list of tokens, got a name of a file, which is not read here");
        if (!j.is_array()) expected("a list of tokens", j);
        TokenList<Token> list;
        list.tokens.reserve(j.size());
        for (const Json &item : j) list.tokens.push_back(token_from<Token>(item));
        to = std::move(list);
      },
      [](const void *place) {
        const List &from = *static_cast<const List *>(place);
        return from ? Json(from->tokens) : Json();
      }};
  return c;
}

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
// the first axis. The memory is that of the tokens that differ.
struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const noexcept { return static_cast<size_t>(fingerprint(s)); }
  size_t operator()(int64_t v) const noexcept { return static_cast<size_t>(scattered(static_cast<uint64_t>(v))); }
};

struct Count {
  int64_t tokens = 0, rows = 0;
  int64_t last_row = -1;
};

int64_t size_of_key(std::string_view s) { return static_cast<int64_t>(s.size() > 15 ? s.size() + 1 : 0); }
int64_t size_of_key(int64_t) { return 0; }

template <class Token>
class TokenCounts final : public Adapter {
 public:
  explicit TokenCounts(Learning<Token> what) : what_(std::move(what)) {}

  void add(const Tensor &batch) override {
    if constexpr (std::is_same_v<Token, std::string>) {
      if (batch.dtype != DType::string) fail(Code::shape_mismatch, "expected strings to learn from, got ", batch.dtype);
      const int64_t rows = batch.shape.rank() ? batch.shape[0] : 1;
      const std::span<const String> all = strings(batch);
      const size_t each = rows ? all.size() / static_cast<size_t>(rows) : 0;
      for (size_t i = 0; i < all.size(); i += each) row(all.subspan(i, each));
    } else {
      add_integers(batch);
    }
  }

  Json config() const override {
    std::vector<const Entry *> list;
    for (const Entry &entry : counts_)
      if (std::find(what_.special.begin(), what_.special.end(), entry.first) == what_.special.end())
        list.push_back(&entry);
    if (list.empty()) fail(Code::invalid_argument, "expected tokens to learn from, got none");
    std::sort(list.begin(), list.end(), [](const Entry *a, const Entry *b) {
      return a->second.tokens != b->second.tokens ? a->second.tokens > b->second.tokens : a->first > b->first;
    });
    if (static_cast<int64_t>(list.size()) > what_.most) list.resize(static_cast<size_t>(what_.most));
    if (list.empty()) fail(Code::invalid_argument, "expected \"max_tokens\" with room for a token");
    Json config = what_.config, tokens = Json::array(), weights = Json::array();
    for (const Entry *e : list) {
      need_utf8(e->first);
      tokens.push_back(e->first);
      const auto rows = static_cast<double>(e->second.rows);
      weights.push_back(
          static_cast<double>(static_cast<float>(std::log(1 + static_cast<double>(row_ + 1) / (1 + rows)))));
    }
    config["vocabulary"] = std::move(tokens);
    if (what_.weighs) config["idf_weights"] = std::move(weights);
    return config;
  }

 private:
  using Map = std::unordered_map<Token, Count, Hash, std::equal_to<>>;
  using Entry = typename Map::value_type;

  static void need_utf8(const std::string &token) {
    if (const std::string valid = valid_utf8(token); valid != token)
      fail(Code::invalid_argument, "expected tokens of UTF-8, as a vocabulary is stored, got \"", excerpt(valid), '"');
  }
  static void need_utf8(int64_t) {}

  template <class Seen>
  void count(Seen token) {
    auto it = counts_.find(token);
    if (it == counts_.end()) {
      bytes_ += static_cast<int64_t>(sizeof(Entry) + 4 * sizeof(void *)) + size_of_key(token);
      if (bytes_ > what_.memory_limit)
        fail(Code::out_of_memory, "the ", counts_.size() + 1, " tokens that differ take ", bytes_,
             " bytes, the memory limit is ", what_.memory_limit);
      it = counts_.emplace(Token(token), Count{}).first;
    }
    Count &c = it->second;
    ++c.tokens;
    if (c.last_row != row_) ++c.rows, c.last_row = row_;
  }
  void row(std::span<const String> texts) {
    ++row_;
    if (what_.tokenizer) {
      what_.tokenizer->each(texts, room_, [&](std::string_view token) { return count(token), true; });
      return;
    }
    for (const String &s : texts) count(s.view());
  }
  void add_integers(const Tensor &batch) {
    const int64_t n = batch.elements(), rows = batch.shape.rank() ? batch.shape[0] : 1, each = rows ? n / rows : 0;
    auto take = [&](const auto *from) {
      for (int64_t i = 0; i < n; ++i) {
        if (each && i % each == 0) ++row_;
        count(static_cast<int64_t>(from[i]));
      }
    };
    switch (batch.dtype) {
      case DType::i32:
        return take(batch.as<int32_t>());
      case DType::i64:
        return take(batch.as<int64_t>());
      case DType::u8:
        return take(batch.as<uint8_t>());
      default:
        fail(Code::shape_mismatch, "expected integers to learn from, got ", batch.dtype);
    }
  }

  const Learning<Token> what_;
  Map counts_;
  Tokenizer::Room room_;
  int64_t row_ = -1, bytes_ = 0;
};

constexpr const char *given_back = "(...); as vectors (..., size of the vocabulary); with invert tokens";

template <class Token>
struct TokenLookup : WithVocabulary {
  Lookup<Token> lookup;

  explicit TokenLookup(Token oov_token) { lookup.oov_token = std::move(oov_token); }
  void fields(Fields &f) override {
    lookup.vocabulary_fields(f);
    lookup.lookup_fields(f);
  }
  void check() override { lookup.check(); }
  std::vector<Symbol> call(Call &c) const override {
    const ops::Tokens &vocabulary = lookup.needed();
    const DType given = c.e.dtype(c.x());
    const bool wants_strings = vocabulary->of_strings() && !lookup.invert;
    if ((given == DType::string) != wants_strings)
      fail(Code::invalid_argument, "input 0: expected ", wants_strings ? "strings" : "integers", ", got ", given);
    if (!lookup.integers()) c.need_rank_from(0, 1);
    const Id x = wants_strings ? c.x() : ops::cast(c.e, c.x(), DType::i64);
    if (lookup.invert) return {{ops::token_at(c.e, x, vocabulary)}};
    return {{lookup.output(c.e, ops::lookup(c.e, x, vocabulary))}};
  }
  Tensor token_weights() const override { return lookup.weights(); }
  std::shared_ptr<Adapter> adapter(int64_t memory_limit) const override {
    return lookup.adapter(config(), nullptr, memory_limit);
  }
};

struct StringLookup final : TokenLookup<std::string> {
  static constexpr const char *doc =
      "Strings as their indices in a vocabulary, or as vectors of these; with invert indices as strings.";
  enum class Encoding { utf_8 } encoding = Encoding::utf_8;
  StringLookup() : TokenLookup("[UNK]") {}

  void fields(Fields &f) override {
    TokenLookup::fields(f);
    f("encoding", encoding, {"utf-8"}, "of the vocabulary").among_others();
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), strings; with invert integers"}},
                                      .outputs = {{"y", given_back}}};
    return plain;
  }
};

struct IntegerLookup final : TokenLookup<int64_t> {
  static constexpr const char *doc =
      "Integers as their indices in a vocabulary, or as vectors of these; with invert indices as integers.";
  enum class Type { int64 } vocabulary_dtype = Type::int64;
  IntegerLookup() : TokenLookup(-1) {}

  void fields(Fields &f) override {
    TokenLookup::fields(f);
    f("vocabulary_dtype", vocabulary_dtype, {"int64"}, "the type of the vocabulary");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...), integers"}}, .outputs = {{"y", given_back}}};
    return plain;
  }
};

}  // namespace

template <>
const Conversion &conversion<std::optional<TokenList<std::string>>>() {
  return list_conversion<std::string>();
}
template <>
const Conversion &conversion<std::optional<TokenList<int64_t>>>() {
  return list_conversion<int64_t>();
}

template <class Token>
void Lookup<Token>::vocabulary_fields(Fields &f) {
  f("max_tokens", max_tokens,
    "how many indices there are at most, those of the mask and of unknown tokens included; null: any number")
      .within(2, max_dim);
  f("output_mode", output_mode, {"int", "one_hot", "multi_hot", "count", "tf_idf", "binary", "tf-idf"},
    "\"int\": the indices, int64; \"one_hot\": a vector for each, int64; \"multi_hot\" (also \"binary\"): 1 for "
    "each of the last axis, int64; \"count\": how often each is there, int64; \"tf_idf\" (also \"tf-idf\"): the "
    "counts times idf_weights, float32");
  f("pad_to_max_tokens", pad_to_max_tokens, "vectors have max_tokens numbers, however many tokens there are");
  f("vocabulary", vocabulary,
    "the tokens in the order of their indices, with or without those of the mask and of unknown tokens before "
    "them; null: what is learned from data")
      .example(std::is_same_v<Token, int64_t> ? "[3, 7]" : R"(["a", "b"])");
  f("idf_weights", idf_weights, "of \"tf_idf\" a weight for each token of the vocabulary as it is given");
  f("sparse", sparse, sparse_doc).default_only();
  f("vocabulary_size", vocabulary_size,
    "as Keras writes it: how many indices there were; vectors of another size are refused")
      .at_least(0);
}

template <class Token>
void Lookup<Token>::lookup_fields(Fields &f) {
  f("num_oov_indices", num_oov_indices,
    "indices of unknown tokens: with several a hash chooses, with 0 they are an error of the run")
      .within(0, max_dim);
  f("mask_token", mask_token, "a token that has index 0 of \"int\" and is left out of vectors; null: there is none");
  f("oov_token", oov_token, "what unknown indices become with invert");
  f("invert", invert, "indices become tokens");
  f("oov_method", oov_method, {"floormod", "farmhash"},
    "of unknown integers: their remainder, or a hash as strings have it");
  f("salt", salt, "the key of SipHash: two integers, or one for both; null: FarmHash");
}

template <class Token>
void Lookup<Token>::check_options() const {
  const bool of_tf_idf = without_old(output_mode) == OutputMode::tf_idf;
  if (pad_to_max_tokens && !max_tokens)
    refuse_attribute("pad_to_max_tokens", "expected \"max_tokens\" with it, got null");
  if (invert && !integers()) refuse_attribute("output_mode", "expected \"int\" with \"invert\"");
  if (idf_weights && !of_tf_idf) refuse_attribute("idf_weights", "expected null without output_mode \"tf_idf\"");
  if (vocabulary && of_tf_idf && !idf_weights)
    refuse_attribute("idf_weights", "expected weights of the vocabulary for output_mode \"tf_idf\", got null");
  if (std::is_same_v<Token, int64_t> && salt.key && oov_method != OovMethod::farmhash)
    refuse_attribute("salt", "expected null without oov_method \"farmhash\"");
}

template <class Token>
bool Lookup<Token>::has_special_tokens() const {
  const auto &given = vocabulary->tokens;
  const auto first = static_cast<size_t>(first_token()), oov = static_cast<size_t>(first_oov());
  if (given.size() < first) return false;
  for (size_t i = 0; i < first; ++i)
    if (given[i] != (i < oov ? *mask_token : oov_token)) return false;
  return true;
}

template <class Token>
void Lookup<Token>::check() {
  check_options();
  if (vocabulary) make();
}

template <class Token>
void Lookup<Token>::make() {
  const auto &given = vocabulary->tokens;
  if (given.empty()) refuse_attribute("vocabulary", "expected at least one token, got none");
  const bool special = has_special_tokens();
  std::vector<Token> tokens(given.begin() + (special ? first_token() : 0), given.end());
  auto need_absent = [&](const char *key, const Token &token) {
    const auto at = std::find(tokens.begin(), tokens.end(), token);
    if (at != tokens.end())
      refuse_attribute("vocabulary", "expected the ", key, ' ', shown(token),
                       " only before all others, with those of unknown tokens, got it at ",
                       given.end() - (tokens.end() - at) - given.begin());
  };
  if (mask_token) need_absent("mask_token", *mask_token);
  if (invert) need_absent("oov_token", oov_token);
  const int64_t size = first_token() + static_cast<int64_t>(tokens.size());
  if (max_tokens && size > *max_tokens)
    refuse_attribute("vocabulary", "expected at most \"max_tokens\" ", *max_tokens, " indices, got ", size);
  if (vocabulary_size && !integers() && !pad_to_max_tokens && *vocabulary_size != size)
    refuse_attribute("vocabulary_size", "expected ", size, ", the size of the vocabulary, got ", *vocabulary_size);
  Vocabulary::Rules rules{.first = first_token(), .oov = num_oov_indices, .first_oov = first_oov()};
  rules.hashes_integers = oov_method == OovMethod::farmhash;
  rules.salt = salt.words();
  rules.mask_index = integers() ? 0 : INT64_MAX;  // past all vectors
  if constexpr (std::is_same_v<Token, int64_t>)
    rules.mask_number = mask_token, rules.oov_number = oov_token;
  else
    rules.mask = mask_token, rules.oov_token = oov_token;
  try {
    made_ = std::make_shared<const Vocabulary>(std::move(tokens), std::move(rules));
  } catch (Error &error) {
    error.with("attribute", "vocabulary").in("\"vocabulary\"");
    throw;
  }
  if (idf_weights) make_weights(special, given.size());
}

template <class Token>
void Lookup<Token>::make_weights(bool special, size_t given) {
  if (idf_weights->size() != given)
    refuse_attribute("idf_weights", "expected ", given, " weights, as \"vocabulary\" has tokens, got ",
                     idf_weights->size());
  weights_ = make_zeros(DType::f32, {depth()});
  auto *to = weights_.template as<float>();
  if (!special) {
    const double mean = std::accumulate(idf_weights->begin(), idf_weights->end(), 0.0) / static_cast<double>(given);
    to = std::fill_n(to, first_token(), static_cast<float>(mean));
  }
  std::transform(idf_weights->begin(), idf_weights->end(), to, [](double v) { return static_cast<float>(v); });
}

template <class Token>
int64_t Lookup<Token>::depth() const {
  return pad_to_max_tokens ? *max_tokens : made_->size();
}

template <class Token>
const ops::Tokens &Lookup<Token>::needed() const {
  if (!made_)
    refuse_attribute("vocabulary", "expected tokens, got null: they are learned from data first, as adapt() does");
  return made_;
}

template <class Token>
ops::Id Lookup<Token>::weighted(ops::Emit &e, ops::Id counts) const {
  return ops::mul(e, ops::cast(e, counts, DType::f32), e.constant(weights_));
}

template <class Token>
ops::Id Lookup<Token>::output(ops::Emit &e, ops::Id indices) const {
  const OutputMode mode = without_old(output_mode);
  if (mode == OutputMode::integer) return indices;
  const bool weighs = mode == OutputMode::tf_idf;
  const ops::Id y = encoded(e, indices, weighs ? OutputMode::count : mode, depth(), DType::i64);
  return weighs ? weighted(e, y) : y;
}

template <class Token>
std::shared_ptr<Adapter> Lookup<Token>::adapter(Json config, const Tokenizer *tokenizer, int64_t memory_limit) const {
  if (vocabulary) refuse_attribute("vocabulary", "expected null, for a vocabulary that is given is not learned");
  Learning<Token> what;
  what.config = std::move(config);
  if (tokenizer) what.tokenizer = *tokenizer;
  if (mask_token) what.special.push_back(*mask_token);
  what.special.push_back(oov_token);
  what.weighs = without_old(output_mode) == OutputMode::tf_idf;
  if (max_tokens) what.most = std::max<int64_t>(*max_tokens - first_token(), 0);
  what.memory_limit = memory_limit;
  return std::make_shared<TokenCounts<Token>>(std::move(what));
}

template struct Lookup<std::string>;
template struct Lookup<int64_t>;

DL4_KINDS(lookups, StringLookup, IntegerLookup)

}  // namespace dl4::kinds
