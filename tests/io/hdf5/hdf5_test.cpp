// HDF5 as h5py writes it (tests/io/data/make.py), and what is refused.
#include "io/hdf5/hdf5.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace dl4::io::DL4_FILE {
namespace {

std::string data(const std::string &name) { return DL4_SOURCE_DIR "/tests/io/data/" + name; }

struct Opened {
  explicit Opened(const std::string &name) : file(data(name), INT64_MAX), h(file, budget) {}
  File file;
  Budget budget{INT64_MAX};
  Hdf5 h;
};

template <class F>
Error refused(F f) {
  try {
    f();
  } catch (const Error &e) {
    return e;
  }
  return {Code::ok, "it was not refused"};
}

// As make.py fills its plain arrays.
double plain(int64_t i, bool real) {
  const int64_t n = ((i - 6) % 7 + 7) % 7;
  return real ? static_cast<double>(n) / 2 : static_cast<double>(n);
}

TEST(Hdf5, NumbersOfEverySizeAndOrderAreRead) {
  for (const char *name : {"arrays_earliest.h5", "arrays_v110.h5"}) {
    const Opened o(name);
    for (const char *dtype : {"float16", "float32", "float64", ">f4", "int8", "uint16", "int64"}) {
      const std::string path = std::string("plain/") + dtype;
      const bool real = path.find('f') != std::string::npos;
      const Tensor t = o.h.read(path);
      ASSERT_EQ(t.shape, (Shape{3, 4})) << path;
      ASSERT_EQ(t.dtype, real ? DType::f32 : DType::i64) << path;
      for (int64_t i = 0; i < 12; ++i)
        EXPECT_EQ(real ? t.as<float>()[i] : static_cast<double>(t.as<int64_t>()[i]), plain(i, real))
            << path << ' ' << i;
    }
    EXPECT_EQ(o.h.read("plain/bool").as<int64_t>()[0], 1);
    EXPECT_EQ(o.h.read("plain/bool").as<int64_t>()[6], 0);
    EXPECT_EQ(o.h.read("scalar").as<float>()[0], 2.5f);
    EXPECT_EQ(o.h.read("nothing").shape, (Shape{0, 3}));
  }
}

TEST(Hdf5, AGroupOfManyMembersIsReadWhole) {
  for (const char *name : {"arrays_earliest.h5", "arrays_v110.h5"}) {
    const Opened o(name);
    for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(o.h.read(text("many/member_", i)).as<int64_t>()[0], i) << name;
    EXPECT_FALSE(o.h.contains("many/member_24"));
    EXPECT_TRUE(o.h.contains("many"));
  }
}

TEST(Hdf5, AttributesAreTextsAndListsOfTexts) {
  using List = std::vector<std::string>;
  for (const char *name : {"arrays_earliest.h5", "arrays_v110.h5"}) {
    const Opened o(name);
    EXPECT_EQ(o.h.texts("", "text"), List{"one"});
    EXPECT_EQ(o.h.texts("", "list"), (List{"a", "bc", ""}));
    EXPECT_EQ(o.h.texts("", "fixed"), (List{"x", "yz"}));
    EXPECT_EQ(o.h.texts("", "parts"), (List{"p", "q", "r"}));
    EXPECT_EQ(o.h.texts("", "none"), List{});
    EXPECT_EQ(o.h.texts("nowhere", "text"), List{});
  }
}

TEST(Hdf5, ChunksAreJoined) {
  const Opened o("arrays_earliest.h5");
  for (const char *path : {"chunks/plain", "chunks/gzip", "chunks/shuffled"}) {
    const Tensor t = o.h.read(path);
    ASSERT_EQ(t.shape, (Shape{5, 7}));
    for (int64_t i = 0; i < 35; ++i) EXPECT_EQ(t.as<float>()[i], static_cast<float>(i)) << path;
  }
}

TEST(Hdf5, WhatIsNotReadIsRefusedByItsName) {
  const Opened o("arrays_earliest.h5");
  const Error filter = refused([&] { o.h.read("chunks/checked"); });
  EXPECT_EQ(filter.code, Code::unsupported);
  EXPECT_NE(filter.message.find("\"chunks/checked\": HDF5: data behind filter 3"), std::string::npos) << filter.message;
  const Error missing = refused([&] { o.h.read("chunks/missing"); });
  EXPECT_EQ(missing.code, Code::corrupt_file);
  EXPECT_NE(missing.message.find("1 chunks of 4"), std::string::npos) << missing.message;
  EXPECT_EQ(refused([&] { o.h.read("many"); }).code, Code::corrupt_file);

  const std::tuple<const char *, const char *> links[] = {
      {"link_soft.h5", "\"b\" is a soft link"},
      {"link_external.h5", "link"},
      {"link_circle.h5", "one object has two names, \"\" and \"a/b\""}};
  for (const auto &[name, words] : links) {
    const Error e = refused([&, file = name] { Opened{file}; });
    EXPECT_EQ(e.code, Code::unsupported) << e.message;
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  }
}

TEST(Hdf5, TheMemoryLimitHoldsBeforeAnythingIsAllocated) {
  Opened o("arrays_earliest.h5");
  o.budget = Budget(100);
  const Error e = refused([&] { o.h.read("chunks/gzip"); });
  EXPECT_EQ(e.code, Code::out_of_memory);
  EXPECT_NE(e.message.find("takes 140 bytes; loading this file may take 100"), std::string::npos) << e.message;
}

TEST(Hdf5, ACutFileIsRefused) {
  const File whole(data("arrays_earliest.h5"), INT64_MAX);
  std::string bytes(static_cast<size_t>(whole.size()), '\0');
  whole.read(0, std::as_writable_bytes(std::span(bytes)));
  for (size_t n = 0; n < bytes.size(); n += 997) {
    const std::string cut = bytes.substr(0, n);
    const Error e = refused([&] {
      const Memory memory(std::as_bytes(std::span(cut)));
      Budget budget(INT64_MAX);
      const Hdf5 h(memory, budget);
      for (const auto &[path, d] : h.datasets())
        if (path.find("chunks/") == std::string::npos) h.read(path);
      h.read("chunks/shuffled");
      for (const char *a : {"text", "list"}) h.texts("", a);
    });
    EXPECT_TRUE(e.code == Code::corrupt_file || n > bytes.size() * 9 / 10) << n << ' ' << e.message;
  }
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
