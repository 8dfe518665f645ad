// The sequential generators.
#include "base/rng.hpp"

#include <utility>

namespace dl4 {

uint32_t PhiloxWords::below(uint32_t n) noexcept {
  // Lemire: the high half of a product. The few low halves that would introduce a bias are drawn again.
  const uint32_t reject = (0u - n) % n;
  for (;;) {
    const uint64_t product = uint64_t{next()} * n;
    if (static_cast<uint32_t>(product) >= reject) return static_cast<uint32_t>(product >> 32);
  }
}

void shuffle(Stream s, std::span<int64_t> order) noexcept {
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  PhiloxWords words(s);
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[words.below(static_cast<uint32_t>(i))]);
}

void Mt19937::init(uint32_t seed) noexcept {
  state_[0] = seed;
  for (uint32_t i = 1; i < 624; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
}

Mt19937::Mt19937(uint32_t seed) noexcept { init(seed); }

Mt19937::Mt19937(std::span<const uint32_t> key) noexcept {
  init(19650218u);
  size_t i = 1, j = 0;
  auto mixed = [&] { return state_[i - 1] ^ (state_[i - 1] >> 30); };
  auto advance = [&] {
    if (++i < 624) return;
    state_[0] = state_[623];
    i = 1;
  };
  for (size_t k = key.size() > 624 ? key.size() : 624; k > 0; --k) {
    state_[i] = (state_[i] ^ (mixed() * 1664525u)) + key[j] + static_cast<uint32_t>(j);
    advance();
    j = j + 1 < key.size() ? j + 1 : 0;
  }
  for (size_t k = 623; k > 0; --k) {
    state_[i] = (state_[i] ^ (mixed() * 1566083941u)) - static_cast<uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
}

uint32_t Mt19937::next() noexcept {
  if (index_ == 624) {
    for (size_t k = 0; k < 624; ++k) {
      const uint32_t y = (state_[k] & 0x80000000u) | (state_[(k + 1) % 624] & 0x7fffffffu);
      state_[k] = state_[(k + 397) % 624] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    index_ = 0;
  }
  uint32_t y = state_[index_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

namespace {
struct Key {
  std::array<uint32_t, 2> words;
  std::span<const uint32_t> span() const { return {words.data(), words[1] ? size_t{2} : size_t{1}}; }
};
}  // namespace

PythonRandom::PythonRandom(uint64_t seed) noexcept
    : mt_(Key{{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}}.span()) {}

uint64_t PythonRandom::bits(int k) noexcept {
  if (k <= 32) return mt_.next() >> (32 - k);
  const uint64_t low = mt_.next();
  return low | static_cast<uint64_t>(mt_.next() >> (64 - k)) << 32;
}

int64_t PythonRandom::randint(int64_t low, int64_t high) noexcept {
  const uint64_t n = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (n == 0) return static_cast<int64_t>(static_cast<uint64_t>(low) + bits(64));
  int k = 0;
  while (k < 64 && n >> k) ++k;
  uint64_t r = bits(k);
  while (r >= n) r = bits(k);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + r);
}

}  // namespace dl4
