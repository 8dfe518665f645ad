#include "io/crc.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

namespace dl4::io::DL4_FILE {
namespace {

uint32_t expected(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size())));
}

std::vector<std::byte> some_bytes(size_t n) {
  std::vector<std::byte> bytes(n);
  uint32_t x = 1;
  for (std::byte &b : bytes) b = static_cast<std::byte>((x = x * 1664525 + 1013904223) >> 24);
  return bytes;
}

TEST(Crc, OfTheTextThatEveryoneChecks) {
  EXPECT_EQ(crc_of(std::as_bytes(std::span("123456789", 9))), 0xCBF43926u);
  EXPECT_EQ(crc_of({}), 0u);
}

TEST(Crc, IsZlibsForEveryLengthAndPlace) {
  const std::vector<std::byte> bytes = some_bytes(1500);
  for (size_t n = 0; n + 17 <= bytes.size(); ++n)
    for (size_t at : {0, 1, 16, 17}) {
      const std::span part = std::span(bytes).subspan(at, n);
      ASSERT_EQ(crc_of(part), expected(part)) << n << " from " << at;
    }
}

TEST(Crc, GoesOnBehindOthers) {
  const std::vector<std::byte> bytes = some_bytes(100000);
  const std::span all(bytes);
  for (size_t cut : {0, 1, 255, 256, 300, 4096, 77777, 100000})
    EXPECT_EQ(crc_of(all.subspan(cut), crc_of(all.first(cut))), expected(all)) << cut;
  EXPECT_EQ(crc_of(std::vector<std::byte>(1000)), expected(std::vector<std::byte>(1000)));
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
