// Ops that take strings, and those that count what they were made into.
#pragma once

#include "base/pieces.hpp"
#include "base/vocabulary.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

using Tokens = std::shared_ptr<const Vocabulary>;

namespace attributes {

// Of a vocabulary what tells it from any other.
struct Lookup {
  Tokens vocabulary;
  void fields(auto &f) const { f("tokens", vocabulary->tokens()), f("digest", vocabulary->digest()); }
};
struct TokenAt : Lookup {};
struct HashBins {
  int64_t bins = 1;
  std::optional<std::array<uint64_t, 2>> salt{};
  // Of the bins the first is that of the mask.
  std::optional<std::string> mask{};
  std::optional<int64_t> mask_number{};
  void fields(auto &f) const { f("bins", bins), f("salt", salt), f("mask", mask), f("mask_number", mask_number); }
};
struct CrossBins {
  int64_t bins = 1;
  void fields(auto &f) const { f("bins", bins); }
};
struct CountTokens {
  Tokenizer tokenizer;
  void fields(auto &f) const { tokenizer.fields(f); }
};
struct Vectorize {
  Tokenizer tokenizer;
  Tokens vocabulary;
  int64_t length = -1;  // of the sequences; -1: that of the second source
  int64_t depth = 0;    // of vectors; 0: sequences
  bool binary = false;  // vectors of 0 and 1
  void fields(auto &f) const {
    tokenizer.fields(f), f("tokens", vocabulary->tokens()), f("digest", vocabulary->digest());
    f("length", length), f("depth", depth), f("binary", binary);
  }
};
// Which indices are a fault: none, those below 0, all outside of the vectors.
enum class Outside { dropped, negative_refused, refused };
inline std::string to_string(Outside o) {
  return o == Outside::dropped ? "dropped" : o == Outside::negative_refused ? "negative refused" : "refused";
}
struct Encode {
  int64_t depth = 1;
  bool each = false;    // a vector for each index, not for the last axis
  bool binary = false;  // 0 and 1, whatever the number
  Outside outside = Outside::dropped;
  DType dtype = DType::f32;
  void fields(auto &f) const {
    f("depth", depth), f("each", each), f("binary", binary), f("outside", outside), f("dtype", dtype);
  }
};

struct TextsEqual : None {};
struct JoinTexts : None {};
struct ChangeCase {
  bool upper = false, ascii = false;
  void fields(auto &f) const { f("upper", upper), f("ascii", ascii); }
};
struct NumbersAsTexts : None {};
struct TextsAsNumbers {
  DType dtype = DType::f32;
  void fields(auto &f) const { f("dtype", dtype); }
};
struct CountPieces {
  Splitter splitter;
  void fields(auto &f) const { splitter.fields(f); }
};
struct Pieces : CountPieces {};
struct CountNgrams {
  std::shared_ptr<const Ngrams> ngrams;
  void fields(auto &f) const { ngrams->fields(f); }
};

}  // namespace attributes

// x (...) of the vocabulary's type, string or int64 -> int64 (...). A token without an index is a fault of the run.
Id lookup(Emit &e, Id x, Tokens vocabulary);
// ids (...) int64 -> (...) string or int64.
Id token_at(Emit &e, Id ids, Tokens vocabulary);
// x (...) string or int64 -> int64 (...) in [0, bins).
Id hash_bins(Emit &e, Id x, attributes::HashBins how);
// Two or more of equal shape, string or int64 each -> int64 of that shape in [0, bins).
Id cross_bins(Emit &e, std::vector<Id> xs, int64_t bins);
// texts (B, N): int64 (), how many tokens the row with the most of them has.
Id count_tokens(Emit &e, Id texts, Tokenizer tokenizer);
// texts (B, N) -> int64 (B, length), cut off or filled up with 0, or (B, depth): how often each index is in a row.
// like: as long as the sequences are to be; none where `how` says it.
Id vectorize(Emit &e, Id texts, attributes::Vectorize how, Id like = none);
// ids (..., N) int64 -> (..., depth), with `each` (..., N, depth): how often each index is there; weights (..., N)
// float32 or none: their sums.
Id encode(Emit &e, Id ids, attributes::Encode how, Id weights = none);

// Two whose shapes broadcast, string -> bool of both shapes.
Id texts_equal(Emit &e, Id a, Id b);
// Two whose shapes broadcast, string -> each of a with that of b behind it.
Id join_texts(Emit &e, Id a, Id b);
// x (...) string -> (...) string. ascii: all other characters stay; else those of which the case is not known are a
// fault of the run, as bytes are that are no UTF-8.
Id change_case(Emit &e, Id x, bool upper, bool ascii);
// x (...) of numbers -> string (...): integers and flags in decimal digits, floats with at most 8, "INF" and "NaN".
Id numbers_as_texts(Emit &e, Id x);
// x (...) string -> (...) float32, int32 or int64, of which a fraction is cut off. What is no number is a fault.
Id texts_as_numbers(Emit &e, Id x, DType to);
// x (...) string -> int64 (...), how many pieces each has.
Id count_pieces(Emit &e, Id x, Splitter splitter);
// x (...) string -> (..., N), filled up with the splitter's pad. like: (N).
Id pieces(Emit &e, Id x, Splitter splitter, Id like);
// ids (N, L) int64 -> float32 (N, width): how often each n-gram is in a row.
Id count_ngrams(Emit &e, Id ids, std::shared_ptr<const Ngrams> ngrams);

}  // namespace dl4::ops
