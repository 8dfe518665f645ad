// Counter-based random numbers (Philox 4x32-10), and the two older generators that Keras and NumPy draw seeds and data
// from.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace dl4 {

// One of 2^64 sequences of a seed, in TensorFlow's layout: key = seed, counter = (block, id), four 32-bit words a
// block.
struct Stream {
  uint64_t seed = 0;
  uint64_t id = 0;
};

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox(Stream s, uint64_t block) noexcept {
  PhiloxBlock c{static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(s.id),
                static_cast<uint32_t>(s.id >> 32)};
  uint32_t k0 = static_cast<uint32_t>(s.seed), k1 = static_cast<uint32_t>(s.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * c[0], p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// The words of a stream in sequence.
class PhiloxWords {
 public:
  explicit PhiloxWords(Stream s, uint64_t first_block = 0) noexcept : stream_(s), block_(first_block) {}
  uint32_t next() noexcept {
    if (used_ == 4) {
      words_ = philox(stream_, block_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  uint32_t below(uint32_t n) noexcept;  // uniform in [0, n), n > 0, without bias

 private:
  Stream stream_;
  uint64_t block_;
  PhiloxBlock words_{};
  size_t used_ = 4;
};

// A uniformly random permutation of 0 .. n-1 (Fisher-Yates). n < 2^32.
void shuffle(Stream s, std::span<int64_t> order) noexcept;

class Mt19937 {
 public:
  explicit Mt19937(uint32_t seed) noexcept;                  // NumPy's legacy seed(): init_genrand
  explicit Mt19937(std::span<const uint32_t> key) noexcept;  // init_by_array
  uint32_t next() noexcept;

 private:
  void init(uint32_t seed) noexcept;
  std::array<uint32_t, 624> state_;
  size_t index_ = 624;
};

// Python's random.Random(seed).
class PythonRandom {
 public:
  explicit PythonRandom(uint64_t seed) noexcept;
  uint64_t bits(int k) noexcept;                        // getrandbits(k), 1 <= k <= 64
  int64_t randint(int64_t low, int64_t high) noexcept;  // bounds included

 private:
  Mt19937 mt_;
};

// The op seeds that TensorFlow gives to random initializers after tf.random.set_seed(seed), in order.
class OpSeeds {
 public:
  explicit OpSeeds(uint64_t seed) noexcept : random_(seed) {}
  int64_t next() noexcept { return random_.randint(0, INT32_MAX); }

 private:
  PythonRandom random_;
};

}  // namespace dl4
