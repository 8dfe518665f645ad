// Texts as tokens, as Keras's TextVectorization makes them.
// Sequences of integers and how often each stands in a longer one.
#pragma once

#include <unordered_map>

#include "base/strings.hpp"

namespace dl4 {

enum class Split { whitespace, character, none };
inline std::string to_string(Split s) {
  return s == Split::whitespace ? "whitespace" : s == Split::character ? "character" : "none";
}

// What a byte is: white space and punctuation are of ASCII.
struct ByteTable {
  enum Kind : uint8_t { kept, space, mark };
  std::array<Kind, 256> kind{};
  std::array<char, 256> lower{};
};
inline constexpr ByteTable byte_table = [] {
  ByteTable all;
  for (unsigned c = 0; c < 256; ++c) {
    const bool is_mark =
        (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
    all.kind[c] = c == ' ' || (c >= '\t' && c <= '\r') ? ByteTable::space : is_mark ? ByteTable::mark : ByteTable::kept;
    all.lower[c] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return all;
}();
inline bool is_space(char c) { return byte_table.kind[static_cast<unsigned char>(c)] == ByteTable::space; }

class Tokenizer {
 public:
  bool lower = true;              // A to Z alone
  bool strip_punctuation = true;  // of ASCII
  Split split = Split::whitespace;
  std::vector<int64_t> ngrams{};  // their widths, one after the other; empty: the tokens themselves
  void fields(auto &f) const {
    f("lower", lower), f("strip_punctuation", strip_punctuation), f("split", split), f("ngrams", ngrams);
  }

  // What it needs of memory, kept from text to text: as much as the longest text has, twice with n-grams, and where its
  // tokens end.
  struct Room {
    std::string text, joined;
    std::vector<size_t> ends;
  };

  // f(token) for each token of a row of texts, in their order, until it gives false.
  template <class F>
  void each(std::span<const String> texts, Room &room, F f) const {
    if (!ngrams.empty()) return each_ngram(texts, room, f);
    for (const String &text : texts)
      if (!cut(text.view(), room.text, f)) return;
  }

 private:
  // The next character of s and how many bytes it took: U+FFFD for bytes that are none.
  static std::string_view character(std::string_view s, size_t &taken) noexcept;

  // Of one text; false once f gave it. `token` is room for it.
  template <class F>
  bool cut(std::string_view text, std::string &token, F &f) const {
    if (token.size() < text.size()) token.resize(text.size());
    char *const begin = token.data(), *end = begin;
    const auto tell = [&] {
      const std::string_view found(begin, static_cast<size_t>(end - begin));
      end = begin;
      return f(found);
    };
    const bool splits = split == Split::whitespace;
    for (char byte : text) {
      const auto c = static_cast<unsigned char>(byte);
      const ByteTable::Kind kind = byte_table.kind[c];
      if (kind == ByteTable::space && splits) {
        if (end != begin && !tell()) return false;
      } else if (kind != ByteTable::mark || !strip_punctuation) {
        *end++ = lower ? byte_table.lower[c] : byte;
      }
    }
    if (splits) return end == begin || tell();
    if (split == Split::none) return tell();
    const std::string_view all(begin, static_cast<size_t>(end - begin));
    for (size_t i = 0, taken = 0; i < all.size(); i += taken)
      if (!f(character(all.substr(i), taken))) return false;
    return true;
  }

  // The tokens stand in the text one after the other, with a space between: so n of them are one piece of it.
  template <class F>
  void each_ngram(std::span<const String> texts, Room &room, F &f) const {
    room.joined.clear();
    room.ends.clear();
    auto add = [&](std::string_view token) {
      if (!room.ends.empty()) room.joined.push_back(' ');
      room.joined.append(token);
      room.ends.push_back(room.joined.size());
      return true;
    };
    for (const String &text : texts) cut(text.view(), room.text, add);
    each_of(room.joined, room.ends, f);
  }
  template <class F>
  void each_of(std::string_view all, const std::vector<size_t> &ends, F &f) const {
    for (int64_t width : ngrams) {
      const auto w = static_cast<size_t>(width);
      for (size_t i = 0; i + w <= ends.size(); ++i) {
        const size_t begin = i ? ends[i - 1] + 1 : 0;
        if (!f(all.substr(begin, ends[i + w - 1] - begin))) return;
      }
    }
  }
};

class Ngrams {
 public:
  // flat: the items of all n-grams, which have `lengths`; column i: where n-gram i is counted. most_skipped: how many
  // items may lie between two that follow each other, as many between all of an n-gram. Refuses n-grams and columns
  // that come again.
  Ngrams(std::span<const int64_t> flat, std::span<const int64_t> lengths, std::span<const int64_t> columns,
         int64_t most_skipped, int64_t width = 0);

  int64_t width() const { return width_; }
  // Adds 1 to the column of each n-gram in the row; of one item once, whatever may be skipped.
  void count(std::span<const int64_t> row, float *columns) const noexcept;
  void fields(auto &f) const { f("ngrams", ngrams_), f("most_skipped", most_skipped_), f("digest", digest_); }

 private:
  struct Edge {
    int32_t from;
    int64_t item;
    bool operator==(const Edge &) const = default;
  };
  struct Hash {
    size_t operator()(const Edge &e) const noexcept;
  };
  int64_t most_skipped_, width_ = 0, ngrams_;
  uint64_t digest_ = 0;                           // of all that is in it
  std::unordered_map<Edge, int32_t, Hash> next_;  // from node 0: beginnings of n-grams
  std::vector<int64_t> column_of_;                // by node; -1: it ends none
};

}  // namespace dl4
