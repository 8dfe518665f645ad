// Open addressing by groups of eight slots, whose tags are compared together: where a text is, or that it is nowhere,
// is mostly known without a branch that depends on it. A slot holds what most texts are told by.
#include "base/vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/hash.hpp"
#include "base/utf8.hpp"

namespace dl4 {
namespace {

constexpr size_t in_words = sizeof(Words);

uint64_t hash_of(const Words &w, std::string_view s) noexcept {
  if (s.size() > in_words) return fingerprint(s);
  uint64_t h = (w.low ^ s.size() << 56) * 0xD6E8FEB86659FD93u;
  h = ((h ^ h >> 32) + w.high) * 0xA0761D6478BD642Fu;
  return h ^ h >> 32;
}

uint32_t short_size(std::string_view s) noexcept {
  return static_cast<uint32_t>(std::min<size_t>(s.size(), UINT32_MAX));
}

size_t slots_for(size_t keys) {
  if (keys > INT32_MAX / 2) fail(Code::unsupported, "expected at most ", INT32_MAX / 2, " tokens, got ", keys);
  return std::bit_ceil(2 * keys + 1);
}

template <class Shown>
[[noreturn]] void refuse_again(const Shown &key, int64_t first, size_t second) {
  fail(Code::invalid_argument, "expected distinct tokens, got ", key, " at ", first, " and at ", second);
}

uint64_t digest_of(const Vocabulary::Rules &r, uint64_t d) {
  auto add = [&](uint64_t v) { d = joined(d, v); };
  for (int64_t v : {r.first, r.oov, r.first_oov, r.mask_index, r.oov_number, r.mask_number.value_or(0)})
    add(static_cast<uint64_t>(v));
  add((r.hashes_integers ? 1u : 0u) + (r.salt ? 2u : 0u) + (r.mask ? 4u : 0u) + (r.mask_number ? 8u : 0u));
  if (r.salt) add((*r.salt)[0]), add((*r.salt)[1]);
  add(fingerprint(r.mask.value_or("")));
  add(fingerprint(r.oov_token));
  return d;
}

}  // namespace

Integers::Integers(std::vector<int64_t> keys) : keys_(std::move(keys)), slots_(slots_for(keys_.size()), -1) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    const int64_t before = find(keys_[i]);
    if (before >= 0) refuse_again(keys_[i], before, i);
    size_t at = scattered(static_cast<uint64_t>(keys_[i])) & (slots_.size() - 1);
    while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = static_cast<int32_t>(i);
  }
}

int64_t Integers::find(int64_t key) const noexcept {
  if (slots_.empty()) return -1;
  const size_t mask = slots_.size() - 1;
  for (size_t at = scattered(static_cast<uint64_t>(key)) & mask; slots_[at] >= 0; at = (at + 1) & mask)
    if (keys_[static_cast<size_t>(slots_[at])] == key) return slots_[at];
  return -1;
}

Words words_of(std::string_view s) noexcept {
  Words w;
  const char *p = s.data();
  const size_t n = s.size();
  const auto half = [](const char *at) {
    uint32_t v = 0;
    std::memcpy(&v, at, sizeof v);
    return static_cast<uint64_t>(v);
  };
  if (n >= in_words) {
    std::memcpy(&w, p, in_words);
  } else if (n > 8) {
    std::memcpy(&w.low, p, 8);
    std::memcpy(&w.high, p + n - 8, 8);
    w.high >>= 8 * (in_words - n);
  } else if (n >= 4) {
    w.low = half(p) | half(p + n - 4) << 8 * (n - 4);
  } else if (n) {
    const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << 8 * i; };
    w.low = byte(0) | byte(n / 2) | byte(n - 1);
  }
  return w;
}

namespace {

constexpr size_t in_group = 8;
constexpr uint8_t empty_tag = 0x80;
constexpr uint64_t ones = 0x0101010101010101u;
uint8_t tag_of(uint64_t hash) noexcept { return static_cast<uint8_t>(hash >> 57); }

}  // namespace

struct Texts::Group {
  uint64_t equal;  // a bit for each slot of that tag, and perhaps for some that are not
  uint64_t empty;
  size_t first;  // slot
  size_t next(uint64_t bits) const noexcept { return first + static_cast<size_t>(std::countr_zero(bits)) / in_group; }
};

Texts::Group Texts::group_of(uint64_t hash, size_t at) const noexcept {
  uint64_t tags = 0;
  std::memcpy(&tags, tags_.data() + at, sizeof tags);
  const uint64_t other = tags ^ (ones * tag_of(hash));
  return {(other - ones) & ~other & ones * empty_tag, tags & ones * empty_tag, at};
}

size_t Texts::first_group(uint64_t hash) const noexcept { return hash & (tags_.size() - 1) & ~(in_group - 1); }

Texts::Texts(std::vector<std::string> keys) : keys_(std::move(keys)) {
  const size_t slots = std::max(slots_for(keys_.size()), in_group);
  slots_.resize(slots + 1);
  tags_.assign(slots, empty_tag);
  for (size_t i = 0; i < keys_.size(); ++i) {
    const std::string_view key = keys_[i];
    const Words words = words_of(key);
    const uint64_t hash = hash_of(words, key);
    if (const int64_t before = find_from(key, words, hash); before >= 0)
      refuse_again('"' + printable(excerpt(key)) + '"', before, i);
    Group group = group_of(hash, first_group(hash));
    while (!group.empty) group = group_of(hash, (group.first + in_group) & (slots - 1));
    const size_t at = group.next(group.empty);
    tags_[at] = tag_of(hash);
    slots_[at] = {words, hash, short_size(key), static_cast<int32_t>(i)};
  }
}

bool Texts::is(const Slot &slot, std::string_view key, const Words &words, uint64_t hash) const noexcept {
  if (slot.words != words || slot.size != short_size(key)) return false;
  return key.size() <= in_words || (slot.hash == hash && keys_[static_cast<size_t>(slot.place)] == key);
}

int64_t Texts::find_from(std::string_view key, const Words &words, uint64_t hash) const noexcept {
  for (Group group = group_of(hash, first_group(hash));;
       group = group_of(hash, (group.first + in_group) & (tags_.size() - 1))) {
    for (uint64_t bits = group.equal; bits; bits &= bits - 1)
      if (const Slot &slot = slots_[group.next(bits)]; slot.place >= 0 && is(slot, key, words, hash)) return slot.place;
    if (group.empty) return -1;
  }
}

int64_t Texts::find(std::string_view key, const Words &words) const noexcept {
  return keys_.empty() ? -1 : find_from(key, words, hash_of(words, key));
}

void Texts::find(std::span<const String> keys, const Words *words, int64_t first, int64_t missing,
                 int64_t *to) const noexcept {
  constexpr size_t block = 64;
  std::array<uint64_t, block> hashes{};
  std::array<uint32_t, block> at{};
  if (keys_.empty()) return void(std::fill_n(to, keys.size(), missing));
  for (size_t begin = 0; begin < keys.size(); begin += block) {
    const size_t n = std::min(block, keys.size() - begin);
    for (size_t i = 0; i < n; ++i) {
      hashes[i] = hash_of(words[begin + i], keys[begin + i].view());
      __builtin_prefetch(tags_.data() + first_group(hashes[i]));
    }
    uint64_t rest = 0;  // which need more than a look at one slot
    for (size_t i = 0; i < n; ++i) {
      const Group group = group_of(hashes[i], first_group(hashes[i]));
      // Without branches that depend on what is there: the last slot of the group where none has the tag.
      const size_t found = group.next(group.equal | uint64_t{empty_tag} << 56);
      const bool several = (group.equal & (group.equal - 1)) != 0, full = group.empty == 0,
                 is_long = keys[begin + i].size > static_cast<int64_t>(in_words);
      rest |= static_cast<uint64_t>(several | full | is_long) << i;
      at[i] = static_cast<uint32_t>(found);
      __builtin_prefetch(&slots_[found]);
    }
    for (size_t i = 0; i < n; ++i) {
      const Slot &slot = slots_[at[i]];
      const Words &w = words[begin + i];
      const uint64_t other = (slot.words.low ^ w.low) | (slot.words.high ^ w.high) |
                             (slot.size ^ static_cast<uint64_t>(keys[begin + i].size));
      const int64_t differs = -static_cast<int64_t>((other | -other) >> 63);  // compilers make a branch of ?:
      to[begin + i] = ((first + slot.place) & ~differs) | (missing & differs);
    }
    for (; rest; rest &= rest - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(rest));
      const int64_t place = find_from(keys[begin + i].view(), words[begin + i], hashes[i]);
      to[begin + i] = place >= 0 ? first + place : missing;
    }
  }
}

Vocabulary::Vocabulary(std::vector<std::string> tokens, Rules rules)
    : strings_(true), rules_(std::move(rules)), texts_(std::move(tokens)), digest_(digest_of(rules_, 1)) {
  if (rules_.mask) mask_ = words_of(*rules_.mask);
  for (const std::string &t : texts_.keys()) digest_ = joined(digest_, fingerprint(t));
}

Vocabulary::Vocabulary(std::vector<int64_t> tokens, Rules rules)
    : strings_(false), rules_(std::move(rules)), numbers_(std::move(tokens)), digest_(digest_of(rules_, 2)) {
  for (int64_t t : numbers_.keys()) digest_ = joined(digest_, static_cast<uint64_t>(t));
}

int64_t Vocabulary::oov_index(std::string_view token) const noexcept {
  return rules_.first_oov + bin_of(token, rules_.oov, rules_.salt);
}

int64_t Vocabulary::index(std::string_view token) const noexcept {
  if (rules_.mask && token == *rules_.mask) return rules_.mask_index;
  const int64_t place = texts_.find(token, words_of(token));
  if (place >= 0) return rules_.first + place;
  if (rules_.oov <= 1) return rules_.oov ? rules_.first_oov : unknown;
  return oov_index(token);
}

void Vocabulary::indices(std::span<const String> tokens, const Words *words, int64_t *to) const noexcept {
  texts_.find(tokens, words, rules_.first, rules_.oov == 1 ? rules_.first_oov : unknown, to);
  if (rules_.oov > 1)
    for (size_t i = 0; i < tokens.size(); ++i)
      if (to[i] == unknown) to[i] = oov_index(tokens[i].view());
  if (!rules_.mask) return;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (words[i] == mask_ && tokens[i].view() == *rules_.mask) to[i] = rules_.mask_index;
}

int64_t Vocabulary::index(int64_t token) const noexcept {
  if (rules_.mask_number && token == *rules_.mask_number) return rules_.mask_index;
  const int64_t place = numbers_.find(token);
  if (place >= 0) return rules_.first + place;
  if (rules_.oov <= 1) return rules_.oov ? rules_.first_oov : unknown;
  if (rules_.hashes_integers) {
    std::array<char, 24> room;
    return oov_index(decimal(token, room));
  }
  const int64_t rest = token % rules_.oov;
  return rules_.first_oov + (rest < 0 ? rest + rules_.oov : rest);
}

String Vocabulary::token(int64_t index) const noexcept {
  const std::string *s = &rules_.oov_token;
  if (rules_.mask && index == 0)
    s = &*rules_.mask;
  else if (index >= rules_.first && index < size())
    s = &texts_.keys()[static_cast<size_t>(index - rules_.first)];
  return {s->data(), static_cast<int64_t>(s->size())};
}

int64_t Vocabulary::number(int64_t index) const noexcept {
  if (rules_.mask_number && index == 0) return *rules_.mask_number;
  if (index >= rules_.first && index < size()) return numbers_.keys()[static_cast<size_t>(index - rules_.first)];
  return rules_.oov_number;
}

int64_t bin_of(std::string_view s, int64_t bins, const std::optional<std::array<uint64_t, 2>> &salt) noexcept {
  const uint64_t h = salt ? sip_hash(s, *salt) : fingerprint(s);
  return static_cast<int64_t>(h % static_cast<uint64_t>(bins));
}

std::string_view decimal(int64_t v, std::array<char, 24> &room) noexcept {
  return {room.data(), static_cast<size_t>(std::to_chars(room.data(), room.data() + room.size(), v).ptr - room.data())};
}

}  // namespace dl4
