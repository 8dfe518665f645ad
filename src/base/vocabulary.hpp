// Tokens by number, as Keras's lookups number them.
#pragma once

#include <optional>

#include "base/strings.hpp"

namespace dl4 {

// A hash of an integer that has all of it in all bits.
constexpr uint64_t scattered(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93u;
  return x ^ (x >> 32);
}

// Distinct integers by their place.
class Integers {
 public:
  Integers() = default;
  explicit Integers(std::vector<int64_t> keys);  // refuses a key that comes again
  int64_t find(int64_t key) const noexcept;      // -1: there is none
  const std::vector<int64_t> &keys() const { return keys_; }

 private:
  std::vector<int64_t> keys_;
  std::vector<int32_t> slots_;  // places; a power of two, at most half full
};

// The first 16 bytes of a text, zeros behind its end.
struct Words {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Words &, const Words &) = default;
};
Words words_of(std::string_view s) noexcept;

// Distinct texts by their place.
class Texts {
 public:
  Texts() = default;
  explicit Texts(std::vector<std::string> keys);                          // refuses a key that comes again
  int64_t find(std::string_view key, const Words &words) const noexcept;  // -1: there is none
  // Of many, for which the waits for memory overlap: `first` + place, or `missing`.
  void find(std::span<const String> keys, const Words *words, int64_t first, int64_t missing,
            int64_t *to) const noexcept;
  const std::vector<std::string> &keys() const { return keys_; }

 private:
  struct Slot {
    Words words;
    uint64_t hash = 0;
    uint32_t size = UINT32_MAX;  // of an empty slot: longer than any text that is found by its words alone
    int32_t place = -1;
  };
  struct Group;  // of slots
  Group group_of(uint64_t hash, size_t at) const noexcept;
  size_t first_group(uint64_t hash) const noexcept;
  bool is(const Slot &slot, std::string_view key, const Words &words, uint64_t hash) const noexcept;
  int64_t find_from(std::string_view key, const Words &words, uint64_t hash) const noexcept;

  std::vector<std::string> keys_;
  std::vector<Slot> slots_;    // a power of two, at most half full, and an empty one behind
  std::vector<uint8_t> tags_;  // of each slot seven bits of the hash
};

// What becomes of a token; immutable.
class Vocabulary {
 public:
  struct Rules {
    int64_t first = 0;                              // index of the first token
    int64_t oov = 1, first_oov = 0;                 // how many indices unknown tokens have, and the first of them
    bool hashes_integers = false;                   // those of unknown integers; else by the remainder
    std::optional<std::array<uint64_t, 2>> salt{};  // of SipHash; none: FarmHash
    std::optional<std::string> mask{};              // a token that has an index of its own
    std::optional<int64_t> mask_number{};
    int64_t mask_index = 0;
    std::string oov_token = "[UNK]";  // what any other index stands for
    int64_t oov_number = -1;
  };
  static constexpr int64_t unknown = -1;

  Vocabulary(std::vector<std::string> tokens, Rules rules);
  Vocabulary(std::vector<int64_t> tokens, Rules rules);

  // The index of a token; `unknown` only if oov is 0.
  int64_t index(std::string_view token) const noexcept;
  int64_t index(int64_t token) const noexcept;
  // Of many; words: of each.
  void indices(std::span<const String> tokens, const Words *words, int64_t *to) const noexcept;
  // The token of an index, as long as this lives.
  String token(int64_t index) const noexcept;
  int64_t number(int64_t index) const noexcept;

  bool of_strings() const { return strings_; }
  int64_t tokens() const { return static_cast<int64_t>(strings_ ? texts_.keys().size() : numbers_.keys().size()); }
  int64_t size() const { return rules_.first + tokens(); }  // of all indices
  const Rules &rules() const { return rules_; }
  uint64_t digest() const { return digest_; }  // of all that is in it

 private:
  int64_t oov_index(std::string_view token) const noexcept;
  bool strings_;
  Rules rules_;
  Words mask_;  // of the mask
  Texts texts_;
  Integers numbers_;
  uint64_t digest_;
};

// The number of one of `bins`, by FarmHash or, with a salt, by SipHash.
int64_t bin_of(std::string_view s, int64_t bins, const std::optional<std::array<uint64_t, 2>> &salt) noexcept;
// An integer in decimal digits, in `room`.
std::string_view decimal(int64_t v, std::array<char, 24> &room) noexcept;

}  // namespace dl4
