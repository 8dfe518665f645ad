// All or nothing, and refusals; and archives that are not sound.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "harness/folder.hpp"
#include "io/files.hpp"
#include "io/native/safetensors.hpp"

namespace dl4::io::DL4_FILE {
namespace {

namespace fs = std::filesystem;

using Files = dl4_test::Folder;

TEST_F(Files, WhatWasWrittenIsRead) {
  write(path("a"), "hello");
  EXPECT_EQ(read_file(path("a"), 100), "hello");
  write(path("a"), "");
  EXPECT_EQ(read_file(path("a"), 100), "");
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, AFailedWriteLeavesTheOldFileAndNoOther) {
  EXPECT_THROW(write(path("no/such/folder"), "x"), Error);
  fs::create_directory(path("d"));
  EXPECT_THROW(write(path("d"), "x"), Error);
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, TooLargeOrMissingIsAnError) {
  write(path("a"), "hello");
  EXPECT_THROW(read_file(path("a"), 4), Error);
  EXPECT_THROW(read_file(path("b"), 4), Error);
  EXPECT_THROW(read_file(folder_.string(), 4), Error);
}

TEST_F(Files, PartsAreOneBehindTheOther) {
  write_file(path("a"), std::array<std::string_view, 4>{"one ", "", "two ", "three"});
  EXPECT_EQ(read_file(path("a"), 100), "one two three");
  const File file(path("a"), 100);
  std::string two(3, ' ');
  file.read(4, std::as_writable_bytes(std::span(two)));
  EXPECT_EQ(two, "two");
}

TEST_F(Files, CutWhileItIsReadIsAnError) {
  write(path("a"), "hello");
  const File file(path("a"), 100);
  fs::resize_file(path("a"), 2);
  std::string bytes(5, ' ');
  try {
    file.read(0, std::as_writable_bytes(std::span(bytes)));
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::corrupt_file);
    EXPECT_NE(error.message.find("was cut to 2 bytes"), std::string::npos) << error.message;
  }
}

Archive sample() {
  Archive a;
  a.metadata["format"] = "test";
  a.tensors.emplace_back("w", make_zeros(DType::f32, {2, 3}));
  a.tensors.emplace_back("empty", make_zeros(DType::f32, {0}));
  a.tensors.emplace_back("n", make_zeros(DType::i64, {}));
  a.tensors[0].second.as<float>()[4] = 2.5f;
  return a;
}

Archive read(const std::string &bytes, bool verified = true) {
  Budget budget(INT64_MAX);
  Archive a = read_archive(Memory(std::as_bytes(std::span(bytes))), budget);
  if (verified) verify(a, budget);
  return a;
}

TEST(Safetensors, WhatWasWrittenIsRead) {
  Archive b = read(to_bytes(sample()));
  ASSERT_EQ(b.tensors.size(), 3u);
  EXPECT_EQ(b.by_name().at("w").shape, (Shape{2, 3}));
  EXPECT_EQ(b.by_name().at("w").as<float>()[4], 2.5f);
  EXPECT_EQ(b.metadata.at("format"), "test");
}

TEST(Safetensors, EveryTruncationIsAnError) {
  std::string bytes = to_bytes(sample());
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_THROW(read(bytes.substr(0, n)), Error) << n;
  EXPECT_THROW(read(bytes + "x"), Error);
}

TEST(Safetensors, EveryFlippedBitIsFound) {
  std::string bytes = to_bytes(sample());
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = bytes;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      try {
        read(bad);
        ADD_FAILURE() << "bit " << bit << " of byte " << i;
      } catch (const Error &error) {
        EXPECT_EQ(error.code, Code::corrupt_file);
      }
    }
  }
}

TEST(Safetensors, WhatHasNoChecksumsIsReadButNotVerified) {
  const std::string bare =
      R"({"__metadata__":{"format":"test"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})" +
      std::string(4, '\0');
  uint64_t n = bare.size() - 4;
  std::string file(8, '\0');
  std::memcpy(file.data(), &n, 8);
  file += bare;
  EXPECT_EQ(read(file, false).tensors.size(), 1u);
  try {
    read(file);
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_NE(error.message.find("no \"header_crc32\""), std::string::npos) << error.message;
  }
}

TEST(Safetensors, WhatWouldNotBeReadIsNotWritten) {
  auto refused = [](const Archive &a, const char *fragment) {
    try {
      to_bytes(a);
      ADD_FAILURE() << fragment;
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::invalid_argument);
      EXPECT_NE(error.message.find(fragment), std::string::npos) << error.message;
    }
  };
  Archive a = sample();
  a.tensors[0].first = std::string(4096, 'w');
  EXPECT_EQ(read(to_bytes(a)).tensors.size(), 3u);
  a.tensors[0].first += 'w';
  refused(a, "4097 bytes");
  a = sample();
  a.tensors[1].first = "w";
  refused(a, "two tensors are named \"w\"");
  a = sample();
  a.metadata["architecture"] = std::string(100'000'000, 'x');
  refused(a, "the limit is 100000000");
}

TEST(Json, AnObjectHasAtMostTenThousandMembers) {
  auto object = [](int n) {
    std::string s = "{\"list\": [{\"a:\": {}}], \"inner\": {";
    for (int i = 0; i < n; ++i) s += (i ? ", \"" : "\"") + std::to_string(i) + "\": {\"x\": 1}";
    return s + "}}";
  };
  EXPECT_EQ(parse_object(object(10'000), Code::corrupt_file, "it")["inner"].size(), 10'000u);
  for (int n : {10'001, 3'000'000}) {
    try {
      parse_object(object(n), Code::corrupt_file, "it");
      ADD_FAILURE() << n;
    } catch (const Error &error) {
      EXPECT_NE(error.message.find("more than 10000 members"), std::string::npos) << error.message;
    }
  }
  for (const char *bad : {"}}}", "]", ":", "{]:", ":::{"})
    EXPECT_THROW(parse_object(bad, Code::corrupt_file, "it"), Error) << bad;
}

TEST(Safetensors, ManyTensorsTakeNoLongerEach) {
  Archive a;
  for (int i = 0; i < 200'000; ++i) a.tensors.emplace_back(text("layer", i), make_zeros(DType::f32, {0}));
  EXPECT_EQ(read(to_bytes(a)).tensors.size(), 200'000u);
}

std::string with_header(const std::string &header, size_t data) {
  uint64_t n = header.size();
  std::string s(8, '\0');
  std::memcpy(s.data(), &n, 8);
  return s + header + std::string(data, '\0');
}

// The system would read the path up to there, another file.
TEST(File, APathWithANulIsRefused) {
  for (const bool writes : {false, true}) try {
      const std::string path("/dev/null\0x", 11);
      if (writes)
        write_file(path, {});
      else
        File(path, 100);
      ADD_FAILURE();
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::io);
      EXPECT_NE(error.message.find("one with a NUL"), std::string::npos) << error.message;
    }
}

TEST(Safetensors, HeadersThatLieAreRefused) {
  for (const char *header :
       {"[]", "{", R"({"w": 3})", R"({"w": {"dtype": "F32", "shape": [1]}})",
        R"({"w": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}})",
        R"({"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})",
        R"({"w": {"dtype": "F32", "shape": [1.5], "data_offsets": [0, 4]}})",
        R"({"w": {"dtype": "F32", "shape": [4294967296, 4294967296, 4294967296], "data_offsets": [0, 4]}})",
        R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})",
        R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})",
        R"({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 9223372036854775807]}})",
        R"({"w": {"dtype": "F32", "shape": [1,1,1,1,1,1,1,1,1], "data_offsets": [0, 4]}})",
        R"({"__metadata__": {"a": 1}})",
        R"({"w": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]},
            "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}})",
        R"({"__metadata__": {"a": "1"}, "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
            "__metadata__": {"a": "2"}})"}) {
    try {
      read(with_header(header, 4), false);
      ADD_FAILURE() << header;
    } catch (const Error &error) {
      EXPECT_EQ(error.code, Code::corrupt_file) << header << ": " << error.message;
    }
  }
  EXPECT_THROW(read(with_header(std::string(100000, '['), 0)), Error);
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
