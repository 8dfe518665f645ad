// Counts of tokens: the memory is that of the tokens that differ.
#include "kinds/layers/preprocessing/token_counts.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/utf8.hpp"
#include "base/vocabulary.hpp"

namespace dl4::kinds {
namespace {

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

}  // namespace

std::shared_ptr<Adapter> vocabulary_from_data(Learning<std::string> what) {
  return std::make_shared<TokenCounts<std::string>>(std::move(what));
}
std::shared_ptr<Adapter> vocabulary_from_data(Learning<int64_t> what) {
  return std::make_shared<TokenCounts<int64_t>>(std::move(what));
}

}  // namespace dl4::kinds
