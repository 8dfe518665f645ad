// Tensors of strings, and layers for texts and tables as Keras computes them.
#include <cmath>
#include <cstring>

#include "capi/texts.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

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
  for (const auto &[word, says] : {std::pair(std::string("a\xff"), "element 1: expected UTF-8"),
                                   std::pair(std::string("a\0", 2), "element 1: a NUL at the end")})
    refused(dl4_tensor_save(strings({2}, {"a", word}), "strings.npy"), DL4_UNSUPPORTED, says);
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"memory_limit": 1000})", c.out()));
  const std::string big(2000, 'x');
  const char *one[] = {big.c_str(), "b"};
  refused(dl4_tensor_from_strings(c, 1, dims, one, nullptr, &t), DL4_OUT_OF_MEMORY, "memory limit is 1000");
  const int64_t ends[] = {0, 1, 2000};
  refused(dl4_tensor_wrap_strings(c, 1, dims, DL4_INT64, ends, big.data(), 2000, nullptr, nullptr, &t),
          DL4_OUT_OF_MEMORY, "memory limit is 1000");
}

class StringFiles : public Folder {
 protected:
  Own<dl4_tensor> read(const std::string &header, const std::string &elements, const std::string &says = "",
                       dl4_context *c = nullptr) {
    const std::string dict = header + '\n', path = folder_.string() + "/t.npy";
    std::ofstream(path, std::ios::binary)
        << "\x93NUMPY\x01" << '\0' << static_cast<char>(dict.size()) << '\0' << dict << elements;
    Own<dl4_tensor> t;
    const Refusal r = refusal(dl4_tensor_load(c, path.c_str(), nullptr, t.out()));
    EXPECT_NE(r.message.find(says), std::string::npos) << r.message;
    EXPECT_EQ(says.empty(), r.message.empty()) << r.message;
    return t;
  }
};

TEST_F(StringFiles, ComeBack) {
  const Strings all = {"", "the cat", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x99\x82", std::string("a\0b", 3), "x", "[UNK]"};
  const std::string path = folder_.string() + "/t.npy";
  ok(dl4_tensor_save(strings({2, 3}, all), path.c_str()));
  Own<dl4_tensor> t, none;
  ok(dl4_tensor_load(nullptr, path.c_str(), nullptr, t.out()));
  EXPECT_EQ(strings_of(t), all);
  EXPECT_EQ(dl4_tensor_rank(t), 2);
  ok(dl4_tensor_save(strings({0}, {}), path.c_str()));
  ok(dl4_tensor_load(nullptr, path.c_str(), nullptr, none.out()));
  EXPECT_EQ(dl4_tensor_dtype(none), DL4_STRING);
}

TEST_F(StringFiles, AreOfAnyOrderAndOfBytes) {
  const std::string dict = ", 'fortran_order': True, 'shape': (2, 2), }";
  std::string little, big;
  for (char c : std::string("abcd")) little += std::string{c, 0, 0, 0}, big += std::string{0, 0, 0, c};
  const Strings turned = {"a", "c", "b", "d"};
  EXPECT_EQ(strings_of(read("{'descr': '<U1'" + dict, little)), turned);
  EXPECT_EQ(strings_of(read("{'descr': '>U1'" + dict, big)), turned);
  const std::string bytes("a\0\xff\0\0\0bcde", 10);
  EXPECT_EQ(strings_of(read("{'descr': '|S5', 'fortran_order': False, 'shape': (2,), }", bytes)),
            (Strings{std::string("a\0\xff", 3), std::string("bcde").insert(0, "\0", 1)}));
}

TEST_F(StringFiles, AreRefused) {
  const std::string dict = "', 'fortran_order': False, 'shape': (1,), }";
  read("{'descr': '<U1" + dict, std::string("\x00\xD8\0\0", 4), "a character 55296 that Unicode has not");
  read("{'descr': '<U1" + dict, "\xff\xff\xff\xff", "a character 4294967295 that Unicode has not");
  read("{'descr': '<U2" + dict, std::string(4, 'a'), "its shape takes 8 bytes, the file has 4");
  read("{'descr': '<U-1" + dict, "", "elements of \"<U-1\"");
  read("{'descr': '|O" + dict, "", "elements of \"|O\"");
  read("{'descr': '<U2000000000" + dict, "", "its shape takes 8000000000 bytes, the file has 0");
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"memory_limit": 3000})", c.out()));
  read("{'descr': '|S2000" + dict, std::string(2000, 'a'), "by the context's memory_limit", c);
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

TEST(Texts, RowsOfFewerPiecesAreFilledWithThePad) {
  auto x = strings({2}, {"a,b,c", "d"});
  for (const json &how : {json{{"delimiter", ","}}, json{{"expression", "[a-z]"}}}) {
    json config = how;
    config["pad"] = "-";
    Own<dl4_graph> g;
    Own<dl4_model> m;
    Own<dl4_session> s;
    ok(dl4_graph_create(nullptr, g.out()));
    const dl4_node in = input(g, "x", {-1}, DL4_STRING);
    dl4_node out[2];
    ok(dl4_graph_add(g, "StringSplit", nullptr, config.dump().c_str(), nullptr, nullptr, &in, 1, out, 2));
    ok(dl4_graph_build(g, &in, 1, out, 2, m.out()));
    ok(dl4_session_create(m, nullptr, s.out()));
    dl4_tensor *from = x, *y[2] = {};
    ok(dl4_session_run(s, &from, 1, y, 2, nullptr));
    EXPECT_EQ(strings_of(y[0]), (Strings{"a", "b", "c", "d", "-", "-"})) << how;
    for (dl4_tensor *t : y) dl4_release(t);
  }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
