// Tensors of strings, and layers for texts and tables as Keras computes them.
#include <cmath>
#include <cstring>

#include "capi/texts.hpp"

namespace {

using namespace dl4_test;
using nlohmann::json;

TEST(StringTensors, AreCopiesOfStringsWithAndWithoutLengths) {
  const int64_t dims[] = {2, 2}, lengths[] = {3, 0, 1, 2};
  const char *all[] = {"a\0b", nullptr, "c", "\xff\xfe"};
  Own<dl4_tensor> t;
  ok(dl4_tensor_from_strings(nullptr, 2, dims, all, lengths, t.out()));
  EXPECT_EQ(dl4_tensor_dtype(t), DL4_STRING);
  EXPECT_EQ(strings_of(t), (Strings{{"a\0b", 3}, "", "c", "\xff\xfe"}));
  EXPECT_EQ(dl4_tensor_bytes(t), 6);
  EXPECT_EQ(dl4_tensor_data(t), nullptr);
  int64_t bytes = -1;
  EXPECT_EQ(dl4_tensor_string(t, 4, &bytes), nullptr);
  EXPECT_EQ(dl4_tensor_string(t, -1, &bytes), nullptr);
  const char *plain[] = {"é", "", "x", "y"};
  Own<dl4_tensor> ended, copy;
  ok(dl4_tensor_from_strings(nullptr, 2, dims, plain, nullptr, ended.out()));
  ok(dl4_tensor_clone(ended, copy.out()));
  ended = {};
  EXPECT_EQ(strings_of(copy), (Strings{"é", "", "x", "y"}));
  Own<dl4_blob> b;
  ok(dl4_describe(copy, DL4_FORMAT_JSON, b.out()));
  EXPECT_EQ(json::parse(dl4_blob_data(b)).at("dtype"), "string");
  EXPECT_EQ(json::parse(dl4_blob_data(b)).at("bytes"), 4);
}

int released = 0;

TEST(StringTensors, LieInArrowsLayoutWithoutACopy) {
  static const char data[] = "onetwo";
  const int32_t narrow[] = {0, 3, 3, 6};
  const int64_t wide[] = {1, 3, 6, 6}, dims[] = {3};
  Own<dl4_tensor> a, b;
  released = 0;
  const auto release = [](void *) { ++released; };
  ok(dl4_tensor_wrap_strings(nullptr, 1, dims, DL4_INT32, narrow, data, 6, release, nullptr, a.out()));
  ok(dl4_tensor_wrap_strings(nullptr, 1, dims, DL4_INT64, wide, data, 6, nullptr, nullptr, b.out()));
  EXPECT_EQ(strings_of(a), (Strings{"one", "", "two"}));
  EXPECT_EQ(strings_of(b), (Strings{"ne", "two", ""}));
  int64_t bytes = 0;
  EXPECT_EQ(dl4_tensor_string(a, 2, &bytes), data + 3);
  a = {};
  EXPECT_EQ(released, 1);
}

TEST(StringTensors, RefuseWhatTheyCannotBe) {
  const int64_t dims[] = {2}, negative[] = {1, -1};
  const char *all[] = {"a", nullptr}, *some[] = {"a", "b"};
  dl4_tensor *t = nullptr;
  auto refused = [&](dl4_error *e, int32_t code, const std::string &says) {
    const Refusal r = refusal(e);
    EXPECT_EQ(r.code, code) << r.message;
    EXPECT_NE(r.message.find(says), std::string::npos) << r.message;
    EXPECT_EQ(t, nullptr);
  };
  refused(dl4_tensor_from_strings(nullptr, 1, dims, all, nullptr, &t), DL4_INVALID_ARGUMENT, "NULL at 1");
  refused(dl4_tensor_from_strings(nullptr, 1, dims, nullptr, nullptr, &t), DL4_INVALID_ARGUMENT, "got NULL");
  refused(dl4_tensor_from_strings(nullptr, 1, dims, some, negative, &t), DL4_INVALID_ARGUMENT, "got -1 at 1");
  const int64_t falling[] = {0, 2, 1}, past[] = {0, 1, 7};
  auto wrap = [&](int32_t type, const void *offsets) {
    return dl4_tensor_wrap_strings(nullptr, 1, dims, type, offsets, "abcd", 4, nullptr, nullptr, &t);
  };
  refused(wrap(DL4_INT64, falling), DL4_SHAPE_MISMATCH, "got 2 and 1 at 1");
  refused(wrap(DL4_INT64, past), DL4_SHAPE_MISMATCH, "from 0 to 4, got 1 and 7 at 1");
  refused(wrap(DL4_FLOAT32, past), DL4_INVALID_ARGUMENT, "expected int32 or int64");
  refused(wrap(DL4_INT64, nullptr), DL4_INVALID_ARGUMENT, "offsets");
  refused(dl4_tensor_create(nullptr, DL4_STRING, 1, dims, &t), DL4_UNSUPPORTED, "dl4_tensor_from_strings()");
  std::vector<int64_t> memory(4);
  refused(dl4_tensor_wrap(nullptr, DL4_STRING, 1, dims, nullptr, memory.data(), 32, nullptr, nullptr, &t),
          DL4_UNSUPPORTED, "dl4_tensor_wrap_strings()");
  auto good = strings({2}, {"a", "b"});
  refused(dl4_tensor_copy_in(good, memory.data(), 2), DL4_UNSUPPORTED, "string");
  refused(dl4_tensor_copy_out(good, memory.data(), 2), DL4_UNSUPPORTED, "dl4_tensor_string()");
  void *managed = nullptr;
  refused(dl4_tensor_to_dlpack(good, 0, &managed), DL4_UNSUPPORTED, "DLPack has no strings");
  refused(dl4_tensor_save(good, "strings.npy"), DL4_UNSUPPORTED, "a file has numbers");
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"memory_limit": 1000})", c.out()));
  const std::string big(2000, 'x');
  const char *one[] = {big.c_str(), "b"};
  refused(dl4_tensor_from_strings(c, 1, dims, one, nullptr, &t), DL4_OUT_OF_MEMORY, "memory limit is 1000");
  const int64_t ends[] = {0, 1, 2000};
  refused(dl4_tensor_wrap_strings(c, 1, dims, DL4_INT64, ends, big.data(), 2000, nullptr, nullptr, &t),
          DL4_OUT_OF_MEMORY, "memory limit is 1000");
}

TEST(Texts, AreWhatKerasMakesOfThem) {
  const json all = texts_json();
  ASSERT_GT(all.at("cases").size(), 150u);
  for (const json &c : all.at("cases")) {
    SCOPED_TRACE(c.at("name").get<std::string>() + " " +
                 c.at("config").dump(-1, ' ', true, json::error_handler_t::replace));
    std::vector<Own<dl4_tensor>> held;
    std::vector<dl4_tensor *> in;
    std::map<std::string, dl4_tensor *> call;
    for (const json &x : c.at("inputs")) held.push_back(tensor_of(x)), in.push_back(held.back());
    for (const auto &[name, x] : c.at("call").items()) held.push_back(tensor_of(x)), call[name] = held.back();
    json config = c.at("config");
    if (c.contains("batches")) {
      Given given;
      for (const json &b : c.at("batches")) given.batches.push_back(tensor_of(b));
      Own<dl4_blob> learned;
      auto data = given.dataset();
      ok(dl4_adapt(nullptr, c.at("kind").get<std::string>().c_str(), config.dump().c_str(), data, nullptr,
                   learned.out()));
      ASSERT_TRUE(learned.get());
      config = json::parse(dl4_blob_data(learned));
      for (const auto &[key, want] : c.at("learned").items()) {
        const json got = config.at(key).flatten(), expected = want.flatten();
        ASSERT_EQ(got.size(), expected.size()) << key << config.at(key);
        auto a = got.begin();
        for (auto b = expected.begin(); b != expected.end(); ++a, ++b) {
          if (b->is_string())
            EXPECT_EQ(*a, *b) << key;
          else
            EXPECT_NEAR(a->get<double>(), b->get<double>(), 2e-6 * std::max(1.0, std::abs(b->get<double>()))) << key;
        }
      }
    }
    expect_same(layer_on(c.at("kind"), config, in, call), c.at("output"));
  }
}

TEST(Texts, HashAsTensorFlowDoes) {
  constexpr int count = 100'000;
  uint64_t state = 1;
  Strings all(count);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < i % 97; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      all[static_cast<size_t>(i)].push_back(static_cast<char>(state >> 56));
    }
  auto x = strings({count, 1}, all);
  const json want = texts_json().at("hashes");
  for (const char *name : {"farm", "sip"}) {
    json config = {{"num_bins", want.at("bins")}};
    if (std::string(name) == "sip") config["salt"] = {3, -4};
    auto y = layer_on("Hashing", config, {x});
    ASSERT_TRUE(y.get());
    const auto *bins = static_cast<const int64_t *>(dl4_tensor_data(y));
    uint64_t total = 0;
    for (int i = 0; i < count; ++i) total = total * 31 + static_cast<uint64_t>(bins[i]);
    EXPECT_EQ(std::to_string(total), want.at(name).get<std::string>()) << name;
  }
}

}  // namespace
