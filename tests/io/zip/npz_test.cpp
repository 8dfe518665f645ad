// .npz as NumPy writes it (tests/io/data/make.py), and what is refused; weights by name out of it and of safetensors.
#include "io/zip/npz.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "io/bytes.hpp"
#include "io/formats.hpp"
#include "io/native/safetensors.hpp"
#include "io/zip/zip.hpp"

namespace dl4::io::DL4_FILE {
namespace {

Memory memory(const std::string &bytes) { return Memory(std::as_bytes(std::span(bytes))); }

std::string zipped(const std::string &name, const std::string &bytes) {
  std::vector<std::string> heads;
  std::string all;
  for (std::string_view part : zip_parts({{name, {bytes}}}, heads)) all += part;
  return all;
}

std::string npy(const std::string &header, const std::string &data, int version = 1) {
  std::string file("\x93NUMPY");
  put(file, {{static_cast<uint64_t>(version), 2}, {header.size(), version == 1 ? 2u : 4u}});
  return file + header + data;
}

std::map<std::string, Tensor> read(const std::string &bytes, int64_t limit = INT64_MAX) {
  const Memory source = memory(bytes);
  Budget all(INT64_MAX), budget(limit);
  return read_npz(Zip(source, all), budget, true);
}

void expect_refusal(const std::function<void()> &f, Code code, const std::string &words) {
  try {
    f();
    ADD_FAILURE() << "it was not refused: " << words;
  } catch (const Error &e) {
    EXPECT_EQ(e.code, code) << e.message;
    EXPECT_NE(e.message.find(words), std::string::npos) << e.message;
  }
}

TEST(Npz, WhatNumPyWroteIsRead) {
  const File file(DL4_SOURCE_DIR "/tests/io/data/arrays.npz", INT64_MAX);
  Budget budget(INT64_MAX);
  const auto all = read_npz(Zip(file, budget), budget, true);
  const std::pair<const char *, DType> expected[] = {
      {"<f2", DType::f32}, {"<f4", DType::f32},     {">f4", DType::f32},   {"<f8", DType::f64}, {"|i1", DType::i32},
      {"<i2", DType::i32}, {">i4", DType::i32},     {"<i8", DType::i64},   {"|u1", DType::u8},  {"<u2", DType::i32},
      {"<u4", DType::i64}, {"|b1", DType::boolean}, {"turned", DType::f32}};
  ASSERT_EQ(all.size(), std::size(expected) + 2);
  for (const auto &[name, dtype] : expected) {
    ASSERT_TRUE(all.count(name)) << name;
    const Tensor &t = all.at(name);
    EXPECT_EQ(t.dtype, dtype) << name;
    ASSERT_EQ(t.shape, (Shape{2, 3})) << name;
    for (int64_t i = 0; i < 6; ++i) {
      const double value = dtype == DType::f32   ? t.as<float>()[i]
                           : dtype == DType::f64 ? t.as<double>()[i]
                           : dtype == DType::i32 ? t.as<int32_t>()[i]
                           : dtype == DType::i64 ? static_cast<double>(t.as<int64_t>()[i])
                                                 : t.as<uint8_t>()[i];
      EXPECT_EQ(value, static_cast<double>(dtype == DType::boolean ? i % 2 : i)) << name << ' ' << i;
    }
  }
  EXPECT_EQ(all.at("scalar").shape, Shape{});
  EXPECT_EQ(all.at("scalar").as<float>()[0], 2.5f);
  EXPECT_EQ(all.at("deep/nothing").shape, (Shape{0, 3}));
}

TEST(Npz, FilesThatAreNotSoundAreRefused) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", data(8, '\0');
  EXPECT_EQ(read(zipped("a.npy", npy(good, data))).at("a").shape, (Shape{2}));
  EXPECT_EQ(read(zipped("a.npy", npy(good, data, 2))).at("a").shape, (Shape{2}));
  EXPECT_TRUE(read(zipped("a.txt", "1")).empty());
  const auto refused = [&](const std::string &header, const std::string &bytes, Code code, const std::string &words) {
    expect_refusal([&] { read(zipped("a.npy", npy(header, bytes))); }, code, words);
  };
  refused(good, std::string(7, '\0'), Code::corrupt_file, "\"a.npy\": .npy: its shape takes 8 bytes, the file has 7");
  refused("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", data, Code::unsupported, "elements of \"<c8\"");
  refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", data, Code::unsupported, "elements of \"|O\"");
  refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", data, Code::unsupported, "elements of");
  refused("{'descr': '<f4', 'shape': (2,)}", data, Code::corrupt_file, "without descr, fortran_order or shape");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", data, Code::corrupt_file, "a shape of");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}", data, Code::corrupt_file,
          "a shape of");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}", data, Code::corrupt_file,
          "");
  refused("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\2", Code::corrupt_file, "a bool that is 2");
  refused("__import__('os')", data, Code::corrupt_file, "the header");
  expect_refusal([&] { read(zipped("a.npy", "\x93NUMPX\1")); }, Code::corrupt_file, "does not begin with");
  expect_refusal([&] { read(zipped("a.npy", npy(good, data, 9))); }, Code::unsupported, "a file of version 9");
  expect_refusal([&] { read(zipped("a.npy", npy(good, data).substr(0, 20))); }, Code::corrupt_file, "it ends after 20");
  expect_refusal([&] { read(zipped("a.npy", npy(good, data)), 4); }, Code::out_of_memory,
                 "loading this file may take 4 in all");
}

// A Dense of 2 units over 3 features.
std::shared_ptr<graph::Model> dense() {
  auto g = std::make_shared<graph::Graph>(graph::Settings{});
  const graph::Node x = g->input("x", DType::f32, Shape{free_dim, 3});
  const auto y = g->add("Dense", "dense", {{"units", 2}}, {}, {x});
  return std::make_shared<graph::Model>(g, std::vector{x}, y);
}

// 0, 1, 2, ...
Tensor counted(const Shape &shape) {
  Tensor t = make_tensor(DType::f32, shape);
  std::iota(t.as<float>(), t.as<float>() + t.elements(), 0.0f);
  return t;
}

std::string safetensors(std::vector<std::pair<std::string, Tensor>> tensors) {
  Archive a;
  a.tensors = std::move(tensors);
  return to_bytes(a);
}

std::vector<float> floats(const graph::Model &m, const char *weight) {
  const Tensor t = m.get_weight(weight);
  return {t.as<float>(), t.as<float>() + t.elements()};
}

TEST(NamedWeights, GoOutAndIn) {
  const auto m = dense(), other = dense();
  m->set_weight("dense/kernel", counted({3, 2}));
  for (const char *format : {".npz", ".dl4"}) {
    other->set_weight("dense/kernel", make_zeros(DType::f32, {3, 2}));
    const std::string bytes = save_model(*m, format_of(format));
    load_weights(*other, memory(bytes), {}, true);
    EXPECT_EQ(floats(*other, "dense/kernel"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  }
}

TEST(NamedWeights, ATableSaysHowTheyAreMade) {
  const auto m = dense();
  const std::string file = safetensors({{"fc.weight", counted({2, 3})},
                                        {"fc.bias", counted({2})},
                                        {"fc.other", counted({2})},
                                        {"whole", counted({5, 2})},
                                        {"half", counted({1, 2})}});
  const auto load = [&](Json kernel, Json bias) {
    load_weights(*m, memory(file), {{{"dense/kernel", std::move(kernel)}, {"dense/bias", std::move(bias)}}}, true);
  };
  load({{"tensors", {"fc.weight"}}, {"transpose", {1, 0}}}, "fc.bias");
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(floats(*m, "dense/bias"), (std::vector<float>{0, 1}));
  load({{"tensors", {"fc.weight"}}, {"reshape", {3, 2}}},
       {{"tensors", {"fc.bias", "fc.other"}}, {"join", "add"}, {"gates", {1, 0}}});
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(floats(*m, "dense/bias"), (std::vector<float>{2, 0}));
  load({{"tensors", {"whole"}}, {"rows", {2, 5}}}, {{"tensors", {"half"}}, {"reshape", {2}}});
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{4, 5, 6, 7, 8, 9}));
  load({{"tensors", {"half", "whole", "half"}}, {"rows", {0, 1}}, {"join", "concatenate"}}, "fc.bias");
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 1, 0, 1, 0, 1}));
  load({{"tensors", {"fc.bias", "fc.bias", "fc.other"}}, {"join", "stack"}}, "fc.bias");
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 1, 0, 1, 0, 1}));
}

TEST(NamedWeights, WhatDoesNotFitIsRefusedAndChangesNothing) {
  const auto m = dense();
  m->set_weight("dense/kernel", counted({3, 2}));
  const std::string file = safetensors({{"dense/kernel", make_zeros(DType::f32, {3, 2})}, {"b", counted({2})}});
  const auto refused = [&](const Naming &naming, Code code, const std::string &words) {
    expect_refusal([&] { load_weights(*m, memory(file), naming, true); }, code, words);
    EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  };
  const auto bias = [](Json how) { return Naming{{{"dense/bias", std::move(how)}}}; };
  refused({}, Code::not_found, "the file has no tensor \"dense/bias\"");
  refused({{{"dense/bais", "b"}}}, Code::not_found, "did you mean \"dense/bias\"");
  refused(bias("c"), Code::not_found, "weight \"dense/bias\": the file has no tensor \"c\"");
  refused(bias("dense/kernel"), Code::shape_mismatch,
          "weight \"dense/bias\": expected float32 (2,), got float32 (3, 2)");
  refused(bias(1), Code::invalid_argument, "expected a tensor's name or an object");
  refused(bias({{"tensor", "b"}}), Code::invalid_argument, "\"tensor\"");
  refused(bias({{"tensors", Json::array()}}), Code::invalid_argument, "\"tensors\" is empty");
  refused(bias({{"tensors", {"b", "b"}}}), Code::invalid_argument, "no way to join them");
  refused(bias({{"tensors", {"b"}}, {"join", "add"}}), Code::invalid_argument, "\"join\": 1 tensors");
  refused(bias({{"tensors", {"b", "dense/kernel"}}, {"join", "add"}}), Code::invalid_argument, "do not fit");
  refused(bias({{"tensors", {"b"}}, {"rows", {1, 3}}}), Code::invalid_argument, "\"rows\"");
  refused(bias({{"tensors", {"b"}}, {"transpose", {1, 0}}}), Code::invalid_argument, "\"transpose\"");
  refused(bias({{"tensors", {"b"}}, {"gates", {0, 0}}}), Code::invalid_argument, "\"gates\"");
  refused(bias({{"tensors", {"b"}}, {"gates", {0, 2, 1}}}), Code::invalid_argument, "\"gates\"");
  refused(bias({{"tensors", {"b"}}, {"reshape", {3}}}), Code::invalid_argument, "\"reshape\"");
  load_weights(*m, memory(file), bias("b"), true);  // and that is loaded
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 0, 0, 0, 0, 0}));
}

TEST(NamedWeights, InPartTheRestStaysAsItIs) {
  const auto m = dense();
  m->set_weight("dense/kernel", counted({3, 2}));
  const std::string file = safetensors({{"dense/bias", counted({2})}, {"more", counted({7})}});
  expect_refusal([&] { load_weights(*m, memory(file), {}, true); }, Code::not_found, "dense/kernel");
  load_weights(*m, memory(file), {Json::object(), true}, true);
  EXPECT_EQ(floats(*m, "dense/bias"), (std::vector<float>{0, 1}));
  EXPECT_EQ(floats(*m, "dense/kernel"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  const std::string extra =
      safetensors({{"dense/bias", counted({2})}, {"dense/kernel", counted({3, 2})}, {"more", counted({7})}});
  expect_refusal([&] { load_weights(*m, memory(extra), {}, true); }, Code::not_found,
                 "no weight for the file's tensor \"more\"");
}

TEST(NamedWeights, KerasFilesTakeNoNames) {
  const auto m = load_model(File(DL4_SOURCE_DIR "/tests/io/data/sequential.keras", INT64_MAX));
  const File file(DL4_SOURCE_DIR "/tests/io/data/sequential.weights.h5", INT64_MAX);
  load_weights(*m, file, {}, true);
  expect_refusal([&] { load_weights(*m, file, {Json::object(), true}, true); }, Code::unsupported, "\"partial\"");
  expect_refusal([&] { load_weights(*m, file, {{{"dense/bias", "b"}}}, true); }, Code::unsupported, "\"names\"");
}

TEST(NamedWeights, HalvesOfOtherMakersAreRead) {
  // 1.5 and -2 as float16 and bfloat16.
  std::string header = R"({"f":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                       R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})";
  std::string file;
  put(file, {{header.size(), 8}});
  file += header;
  for (uint64_t n : {0x3E00, 0xC000, 0x3FC0, 0xC000}) put(file, {{n, 2}});
  Budget budget(INT64_MAX);
  const auto all = read_archive(memory(file), budget).by_name();
  for (const char *name : {"f", "b"}) {
    ASSERT_EQ(all.at(name).dtype, DType::f32);
    EXPECT_EQ(all.at(name).as<float>()[0], 1.5f) << name;
    EXPECT_EQ(all.at(name).as<float>()[1], -2.0f) << name;
  }
  expect_refusal([&] { read_archive(memory(file.substr(0, file.size() - 2)), budget); }, Code::corrupt_file,
                 "do not fit");
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
