// Against zlib, which deflates, and says of damaged bytes whether they are whole.
#include "base/inflate.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>

namespace dl4::DL4_FILE {
namespace {

std::string deflated(const std::string &text, int level, bool raw, int strategy) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, level, Z_DEFLATED, raw ? -MAX_WBITS : MAX_WBITS, MAX_MEM_LEVEL, strategy), Z_OK);
  std::string to(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef *>(to.data());
  z.avail_out = static_cast<uInt>(to.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  to.resize(z.total_out);
  deflateEnd(&z);
  return to;
}

bool by_zlib(const std::string &from, std::string &to, bool raw) {
  z_stream z{};
  char none;
  inflateInit2(&z, raw ? -MAX_WBITS : MAX_WBITS);
  z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(from.data()));
  z.avail_in = static_cast<uInt>(from.size());
  z.next_out = reinterpret_cast<Bytef *>(to.empty() ? &none : to.data());
  z.avail_out = static_cast<uInt>(to.size());
  const bool whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0 && z.avail_out == 0;
  inflateEnd(&z);
  return whole;
}

bool by_us(const std::string &from, std::string &to, bool raw) {
  return inflate(from, std::as_writable_bytes(std::span(to)), raw);
}

using Random = std::mt19937;

// Noise, three letters, words that come again from afar, or skewed counts, for which codes become long.
std::string some_text(Random &random, size_t most) {
  const size_t size = random() % 2 ? random() % 300 : random() % most;
  const unsigned kind = random() % 4;
  std::poisson_distribution<unsigned> skewed(8);
  std::string text;
  while (text.size() < size) {
    if (kind == 0) text += static_cast<char>(random());
    if (kind == 1) text += static_cast<char>('a' + random() % 3);
    if (kind == 2)
      text +=
          text.size() < 100 || random() % 9 == 0 ? std::to_string(random()) : text.substr(random() % text.size(), 40);
    if (kind == 3) text += static_cast<char>(std::min(255u, skewed(random) * skewed(random)));
  }
  return text;
}

TEST(Inflate, GivesWhatZlibDeflated) {
  Random random(1);
  for (int i = 0; i < 600; ++i) {
    const std::string text = i < 20 ? std::string(static_cast<size_t>(i), 'x') : some_text(random, 100000);
    for (const bool raw : {true, false}) {
      std::string to(text.size(), '\0');
      ASSERT_TRUE(by_us(deflated(text, random() % 10, raw, random() % 5), to, raw)) << i;
      ASSERT_EQ(to, text) << i;
    }
  }
}

// A changed bit, fewer bytes, more bytes, another size.
TEST(Inflate, TakesOfDamagedBytesThoseThatZlibTakes) {
  Random random(2);
  int taken = 0, refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const bool raw = random() % 2;
    const std::string text = some_text(random, 2000);
    std::string bytes = deflated(text, random() % 10, raw, random() % 5);
    size_t size = text.size();
    const unsigned kind = random() % 4;
    if (kind == 0) bytes[random() % std::min<size_t>(bytes.size(), 60)] ^= static_cast<char>(1 << random() % 8);
    if (kind == 1) bytes.resize(random() % bytes.size());
    if (kind == 2) bytes += static_cast<char>(random());
    if (kind == 3) size += random() % 3;
    std::string to(size, '\0'), expected(size, '\0');
    const bool whole = by_zlib(bytes, expected, raw);
    ASSERT_EQ(by_us(bytes, to, raw), whole) << i << ", kind " << kind;
    if (whole) {
      ASSERT_EQ(to, expected) << i;
    }
    ++(whole ? taken : refused);
  }
  EXPECT_GT(taken, 200);
  EXPECT_GT(refused, 2000);
}

TEST(Inflate, RefusesNoise) {
  Random random(3);
  for (int i = 0; i < 100000; ++i) {
    std::string bytes(random() % 100, '\0'), to(random() % 100, '\0'), expected = to;
    for (char &c : bytes) c = static_cast<char>(random());
    ASSERT_EQ(by_us(bytes, to, true), by_zlib(bytes, expected, true)) << i;
  }
}

}  // namespace
}  // namespace dl4::DL4_FILE
