// Open addressing with linear probing; the keys themselves are only compared where 32 bits of the hashes are equal.
#include "base/vocabulary.hpp"

#include <bit>
#include <charconv>

#include "base/error.hpp"
#include "base/fingerprint.hpp"
#include "base/utf8.hpp"

namespace dl4 {
namespace {

uint64_t hash_of(std::string_view s) noexcept { return fingerprint(s); }
uint64_t hash_of(int64_t v) noexcept { return scattered(static_cast<uint64_t>(v)); }

std::string shown(std::string_view s) { return '"' + printable(excerpt(s)) + '"'; }
std::string shown(int64_t v) { return std::to_string(v); }

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

template <class Key>
Numbering<Key>::Numbering(std::vector<Key> keys) : keys_(std::move(keys)) {
  if (keys_.size() > INT32_MAX / 2)
    fail(Code::unsupported, "expected at most ", INT32_MAX / 2, " tokens, got ", keys_.size());
  slots_.resize(std::bit_ceil(2 * keys_.size() + 1));
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < keys_.size(); ++i) {
    const uint64_t h = hash_of(keys_[i]);
    const auto tag = static_cast<uint32_t>(h >> 32);
    size_t at = h & mask;
    for (; slots_[at].place >= 0; at = (at + 1) & mask)
      if (slots_[at].tag == tag && keys_[static_cast<size_t>(slots_[at].place)] == keys_[i])
        fail(Code::invalid_argument, "expected distinct tokens, got ", shown(keys_[i]), " at ", slots_[at].place,
             " and at ", i);
    slots_[at] = {tag, static_cast<int32_t>(i)};
  }
}

template <class Key>
int64_t Numbering<Key>::find(Key key) const noexcept {
  if (slots_.empty()) return -1;
  const size_t mask = slots_.size() - 1;
  const uint64_t h = hash_of(key);
  const auto tag = static_cast<uint32_t>(h >> 32);
  for (size_t at = h & mask; slots_[at].place >= 0; at = (at + 1) & mask)
    if (slots_[at].tag == tag && keys_[static_cast<size_t>(slots_[at].place)] == key) return slots_[at].place;
  return -1;
}

template class Numbering<std::string_view>;
template class Numbering<int64_t>;

Vocabulary::Vocabulary(std::vector<std::string> tokens, Rules rules)
    : strings_(true), rules_(std::move(rules)), owned_(std::move(tokens)), digest_(digest_of(rules_, 1)) {
  texts_ = Numbering<std::string_view>({owned_.begin(), owned_.end()});
  for (const std::string &t : owned_) digest_ = joined(digest_, fingerprint(t));
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
  const int64_t place = texts_.find(token);
  if (place >= 0) return rules_.first + place;
  if (rules_.oov <= 1) return rules_.oov ? rules_.first_oov : unknown;
  return oov_index(token);
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
    s = &owned_[static_cast<size_t>(index - rules_.first)];
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
