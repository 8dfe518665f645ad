// Reading against a parser of another origin, writing, limits, memory.
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <clocale>
#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "harness/failing_new.hpp"

namespace dl4::DL4_FILE {
namespace {

using Other = nlohmann::ordered_json;

// The message of the refusal; empty where there was none.
std::string refused(std::string_view text, Code code = Code::invalid_argument, const Json::Limits &limits = {}) {
  try {
    Json::parse(text, limits);
    return {};
  } catch (const Error &error) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_EQ(valid_utf8(error.message), error.message);
    return error.message;
  }
}

std::string repeated(const std::string &s, size_t n) {
  std::string all;
  for (size_t i = 0; i < n; ++i) all += s;
  return all;
}

TEST(Json, TextsComeBackAsTheyWere) {
  for (const char *text : {"null",
                           "true",
                           "false",
                           "0",
                           "-1",
                           "9223372036854775807",
                           "-9223372036854775808",
                           "9223372036854775808",
                           "18446744073709551615",
                           "0.0",
                           "-0.0",
                           "1.0",
                           "0.1",
                           "-2.5",
                           "1e-05",
                           "0.0001",
                           "1e-07",
                           "1e+15",
                           "1.5e+20",
                           "100000000000000.0",
                           "123456789.25",
                           "5e-324",
                           "2.2250738585072014e-308",
                           "1.7976931348623157e+308",
                           "3.4028234663852886e+38",
                           R"("")",
                           R"("fourteen bytes")",
                           R"("fifteen bytes !")",
                           R"("\"\\\b\f\n\r\t/\u0000\u001f")",
                           "\"\xC3\x9C\xE2\x82\xAC\xF0\x9F\x98\x80\x7F\"",
                           "[]",
                           "{}",
                           "[[],{}]",
                           R"({"b":1,"a":[2,{"":null}],"c":{"x":{}}})"}) {
    EXPECT_EQ(Json::parse(text).dump(), text);
    EXPECT_EQ(Other::parse(text).dump(), text);
  }
  EXPECT_EQ(Json::parse(" \t\r\n[ 1 , { \"a\" : 2 } ] ").dump(), R"([1,{"a":2}])");
  EXPECT_EQ(Json::parse(R"("\u00dc\/\ud83d\ude00\u0000")").dump(), "\"\xC3\x9C/\xF0\x9F\x98\x80\\u0000\"");
  for (const char *text : {"[]", "{}", R"({"a":[1,[2,{}]],"b":{"c":null}})"})
    EXPECT_EQ(Json::parse(text).dump(1), Other::parse(text).dump(1));
}

TEST(Json, NumbersAreReadAndWrittenExactly) {
  std::mt19937_64 random(1);
  auto same = [](double v) {
    const std::string text = Json(v).dump();
    uint64_t before = 0, after = 0;
    const auto read = Json::parse(text).get<double>();
    std::memcpy(&before, &v, 8);
    std::memcpy(&after, &read, 8);
    EXPECT_EQ(before, after) << text;
    EXPECT_EQ(Other::parse(text).get<double>(), v) << text;
    EXPECT_EQ(Json::parse(Other(v).dump()).get<double>(), v) << text;
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    uint64_t bits = random();
    double v = 0;
    std::memcpy(&v, &bits, 8);
    if (std::isfinite(v)) same(v);
    auto f = static_cast<float>(i) / 977.0f;
    same(static_cast<double>(f));
  }
  for (int power = -12; power <= 10; ++power)
    for (int i : {1, 5, 12, 125, 99999, -3}) {
      double v = std::strtod((std::to_string(i) + "e" + std::to_string(power)).c_str(), nullptr);
      EXPECT_EQ(same(v), Other(v).dump());
    }
  for (double v : {0.0, -0.0, 5e-324, 1.7976931348623157e308}) EXPECT_EQ(same(v), Other(v).dump());
  for (double v : {std::nan(""), std::numeric_limits<double>::infinity()}) EXPECT_EQ(Json(v).dump(), "null");
}

TEST(Json, HugeNumbers) {
  EXPECT_TRUE(Json::parse("9223372036854775807").is_int64());
  EXPECT_FALSE(Json::parse("9223372036854775808").is_int64());
  EXPECT_EQ(Json::parse("9223372036854775808").get<uint64_t>(), uint64_t{1} << 63);
  EXPECT_EQ(Json::parse("18446744073709551616").get<double>(), 0x1p64);
  EXPECT_EQ(Json::parse("-9223372036854775809").get<double>(), -0x1p63);
  EXPECT_FALSE(Json::parse("18446744073709551616").is_integer());
  EXPECT_THROW(Json::parse("1.5").get<int64_t>(), Error);
  EXPECT_THROW(Json::parse("9223372036854775808").get<int64_t>(), Error);
  EXPECT_THROW(Json::parse("-1").get<uint64_t>(), Error);
  const std::string nines(400, '9'), zeros(400, '0');
  for (const std::string &huge : std::vector<std::string>{"1e999", "-1e999", nines, nines + ".5", "1e99999999999",
                                                          "0." + zeros + "1e800", "1.8e308"})
    EXPECT_NE(refused("[" + huge + "]").find("past the range of double"), std::string::npos) << huge;
  for (const std::string &tiny : std::vector<std::string>{"1e-999", "0." + zeros + "1", nines + "e-99999", "1e-324",
                                                          "0e99999999999", "0.0e400", "1e-99999999999"})
    EXPECT_EQ(Json::parse(tiny).get<double>(), 0) << tiny;
  EXPECT_TRUE(std::signbit(Json::parse("-1e-999").get<double>()));
  EXPECT_EQ(Json::parse(nines + "e-399").get<double>(), 10);
}

TEST(Json, LocaleAndRoundingOfTheHostDoNotMatter) {
  bool comma = false;
  for (const char *name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"})
    comma |= std::setlocale(LC_ALL, name) != nullptr;
  const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int mode : modes) {
    std::fesetround(mode);
    double v = Json::parse("0.1").get<double>(), w = Json::parse("12345678901234567890123e-5").get<double>();
    std::string text = Json(0.1).dump() + Json(1234567.5).dump();
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(v, 0.1);
    EXPECT_EQ(w, 12345678901234567890123e-5);
    EXPECT_EQ(text, "0.11234567.5");
  }
  std::setlocale(LC_ALL, "C");
  if (!comma) GTEST_SKIP() << "no locale with a decimal comma is installed";
}

TEST(Json, WhatIsNoJsonIsRefusedWithThePlace) {
  struct Case {
    const char *text, *words;
  };
  for (const Case &c : std::vector<Case>{{"", "line 1, column 1: expected a value, got the end"},
                                         {"\xC3\x9C", "line 1, column 1: expected a value, got '\xC3\x9C'"},
                                         {"[1,\n \xC3\x9C]", "line 2, column 2: expected a value, got '\xC3\x9C'"},
                                         {"\"\xC3\x9C\" x", "column 5: expected the end of the text, got 'x'"},
                                         {"[1 2]", "expected ',' or ']', got '2'"},
                                         {"[1", "expected ',' or ']', got the end"},
                                         {"{\"a\":1,}", "expected a key in quotes, got '}'"},
                                         {"{\"a\" 1}", "expected ':', got '1'"},
                                         {"{\"a\":1", "expected ',' or '}', got the end"},
                                         {"[1,]", "expected a value, got ']'"},
                                         {"tru", "expected a value, got 't'"},
                                         {"-", "expected a digit, got the end"},
                                         {"01", "expected the end of the text, got '1'"},
                                         {"1.", "expected"},
                                         {"1e", "expected"},
                                         {".5", "expected a value"},
                                         {"+1", "expected a value"},
                                         {"NaN", "expected a value"},
                                         {"\"a", "expected a character of a string"},
                                         {"\"a\n\"", "expected a character of a string or '\"', got byte 10"},
                                         {"\"\\", "expected an escape, got the end"},
                                         {"\"\\x\"", "expected one of"},
                                         {"\"\\u12G4\"", "four hexadecimal digits"},
                                         {"\"\\u-123\"", "four hexadecimal digits"},
                                         {"\"\\u12", "expected"},
                                         {"\"\\ud800\"", "two surrogates"},
                                         {"\"\\ude00\\ud83d\"", "two surrogates"},
                                         {"\"\\ud800\\u0041\"", "a low surrogate"},
                                         {"\"\xC3\"", "expected UTF-8, got byte 195"},
                                         {"\"\xED\xA0\x80\"", "expected UTF-8, got byte 237"},
                                         {"\"\xC0\x80\"", "expected UTF-8, got byte 192"},
                                         {"\"\xF5\x80\x80\x80\"", "expected UTF-8"},
                                         {"\xFF", "expected a value, got byte 255"},
                                         {"]", "expected a value, got ']'"},
                                         {"{\"a\":1,\"b\":2,\"a\":3}", "the key \"a\" occurs twice"},
                                         {"{\"a\":{\"\\u0061\":1,\"a\":3}}", "the key \"a\" occurs twice"}})
    EXPECT_NE(refused(c.text).find(c.words), std::string::npos) << c.text << ": " << refused(c.text);
  EXPECT_NE(refused(std::string_view("1\0", 2)).find("got byte 0"), std::string::npos);
}

// Texts with something changed are taken by both parsers or by none, and mean the same.
TEST(Json, MutatedTextsAreJudgedAsByAnotherParser) {
  const std::string whole = R"({"kind":"Dense","n":[1,-2.5e3,0.1,18446744073709551615,true,null,"\u00dcx\n"],)"
                            "\"\xC3\x9C\":{\"deep\":[[{}],[]],\"last\":-0.0},\"e\":\"\\ud83d\\ude00\"}";
  const std::string pieces = "{}[]\",:0123456789.eE+-tfnu\\ \xC3\x9C\x80\x01";
  std::mt19937 random(7);
  auto pick = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  int taken = 0;
  for (int i = 0; i < 60'000; ++i) {
    std::string text = whole;
    for (size_t k = 0; k <= pick(3); ++k) {
      size_t at = pick(text.size()), n = pick(4);
      if (pick(2))
        text.replace(at, n, std::string(1, pieces[pick(pieces.size())]));
      else
        text.erase(at, n);
    }
    const Other other = Other::parse(text, nullptr, false);
    bool both = !other.is_discarded();
    try {
      const Json j = Json::parse(text);
      EXPECT_TRUE(both) << text;
      EXPECT_EQ(Other::parse(j.dump()), other) << text;
      ++taken;
    } catch (const Error &error) {
      EXPECT_TRUE(!both || error.message.find("twice") != std::string::npos) << text << ": " << error.message;
    }
  }
  EXPECT_GT(taken, 3'000);
}

// Copies of it are one value until one of them is changed.
TEST(Json, SharedValuesAreCopiedWhenTheyAreChanged) {
  struct Made final : Json::Shared {
    Made(Json j, int &left) : Shared(std::move(j)), left(left) {}
    ~Made() override { ++left; }
    int &left;
  };
  int left = 0;
  const Json plain = Json::parse(R"({"a": [1, {"b": 2}], "c": "a string of more than 14 bytes"})");
  {
    const Json shared = Json::share(std::make_unique<const Made>(plain, left));
    EXPECT_EQ(shared, plain);
    EXPECT_EQ(plain, shared);
    EXPECT_EQ(shared.dump(), plain.dump());
    EXPECT_TRUE(shared.is_object());
    EXPECT_FALSE(shared.is_array() || shared.is_null() || shared.is_string());
    EXPECT_EQ(shared.size(), 2u);
    EXPECT_EQ(shared["a"][1]["b"].get<int64_t>(), 2);
    EXPECT_EQ(shared.find("d"), nullptr);
    const Json outer{{"inside", shared}}, copy = outer;
    EXPECT_EQ(copy["inside"].shared(), shared.shared());
    EXPECT_NE(dynamic_cast<const Made *>(shared.shared()), nullptr);
    const int64_t before = dl4_test::bytes_now;
    std::vector<Json> many(100, shared);
    EXPECT_LE(dl4_test::bytes_now - before, 100 * static_cast<int64_t>(sizeof(Json)) + 64);
    for (size_t i = 0; i < 5; ++i) {
      Json &changed = many[i];
      if (i == 0) changed["a"][1]["b"] = 3;
      if (i == 1) changed.erase("a");
      if (i == 2) changed.append("d", 1);
      if (i == 3) changed.update(Json{{"c", 4}});
      if (i == 4) changed["e"] = nullptr;
      EXPECT_EQ(changed.shared(), nullptr);
      EXPECT_NE(changed, plain);
    }
    EXPECT_EQ(shared, plain);
    EXPECT_EQ(many[5], plain);
    Json list = Json::share(std::make_unique<const Made>(Json::array({1, 2}), left));
    const Json other = list;
    list.push_back(3);
    list[0] = 7;
    EXPECT_EQ(list, Json::array({7, 2, 3}));
    EXPECT_EQ(other, Json::array({1, 2}));
    size_t seen = 0;
    for (const Json &item : other) seen += item.is_number();
    EXPECT_EQ(seen, 2u);
    EXPECT_EQ(other.get<std::vector<int64_t>>(), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(left, 0);
  }
  EXPECT_EQ(left, 2);
}

TEST(Json, Limits) {
  EXPECT_EQ(Json::parse(repeated("[", 64) + repeated("]", 64)).size(), 1u);
  EXPECT_EQ(refused(repeated("[", 65) + repeated("]", 65)), "nested deeper than 64");
  EXPECT_EQ(refused(repeated("{\"a\":", 65)), "nested deeper than 64");
  EXPECT_EQ(refused(repeated("[", 10'000'000)), "nested deeper than 64");
  EXPECT_EQ(refused(R"({"a":1,"b":2})", Code::invalid_argument, {.members = 1}), "an object of more than 1 members");
  EXPECT_EQ(Json::parse(R"([{"a":1},{"b":2}])", {.members = 1}).size(), 2u);
  EXPECT_NE(refused("[" + repeated("1,", 1000) + "1]", Code::out_of_memory, {.memory = 10'000}).find("10000 bytes"),
            std::string::npos);
}

// A walk over an object's keys for each of them would take minutes.
TEST(Json, TimeIsLinearInTheText) {
  std::string text = "{";
  for (int i = 0; i < 500'000; ++i) text += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const std::clock_t start = std::clock();
  Json j = Json::parse(text, {.members = 1'000'000}), half = Json::object();
  EXPECT_EQ(j.size(), 500'000u);
  half.update(j);
  half.update(j);
  EXPECT_EQ(half, j);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20);
}

// What reading takes at its peak, beside the text.
int64_t peak_of(const std::string &text) {
  const int64_t before = dl4_test::bytes_now;
  dl4_test::bytes_at_most = before;
  try {
    Json::parse(text);
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Code::out_of_memory) << error.message;
  }
  EXPECT_EQ(dl4_test::bytes_now, before);
  return dl4_test::bytes_at_most - before;
}

TEST(Json, MemoryIsAtMostFiveTimesTheText) {
  for (const char *piece : {"[],", "{\"a\":{}},", "0,", "\"\",", "\"a string of some length\",", "[[[[1]]]],",
                            "{\"a\":1,\"b\":[1,2,3]},", "-0.5,", "\"\\n\","}) {
    const std::string text = "[" + repeated(piece, (12u << 20) / std::strlen(piece)) + "0]";
    EXPECT_LE(peak_of(text), (int64_t{16} << 20) + 5 * static_cast<int64_t>(text.size())) << piece;
  }
  const std::string name(8'000'000, 'x');
  EXPECT_LE(peak_of("\"" + name + "\""), 8'100'000);
  EXPECT_LE(peak_of("\"\\n" + name + "\""), 16'200'000);
}

// A header of 100,000 tensors, an architecture of 10,000 layers: what is meant to be read is.
TEST(Json, LargeTextsOfThisKindAreRead) {
  std::string header = "{", layers = "[";
  for (int i = 0; i < 100'000; ++i)
    header += "\"dense_" + std::to_string(i) + R"(.w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)";
  header.back() = '}';
  for (int i = 0; i < 50'000; ++i)
    layers +=
        R"({"kind":"ReLU","name":"r)" + std::to_string(i) + R"(","calls":[{"inputs":[["x",0,0]],"arguments":{}}]},)";
  layers.back() = ']';
  EXPECT_EQ(Json::parse(header, {.members = 1'000'000}).size(), 100'000u);
  EXPECT_EQ(Json::parse(layers).size(), 50'000u);
  EXPECT_LE(peak_of(layers), 5 * static_cast<int64_t>(layers.size()));
}

TEST(Json, Values) {
  Json j{{"a", 1}, {"b", {1, 2.5, "x", nullptr, true}}, {"c", {{"d", {"e"}}}}};
  EXPECT_EQ(j.dump(), R"({"a":1,"b":[1,2.5,"x",null,true],"c":{"d":["e"]}})");
  Json copy = j;
  copy["c"]["d"].push_back(3);
  copy.erase("a");
  copy["n"] = std::vector<int64_t>{1, 2};
  EXPECT_EQ(copy.dump(), R"({"b":[1,2.5,"x",null,true],"c":{"d":["e",3]},"n":[1,2]})");
  EXPECT_EQ(j["c"]["d"].size(), 1u);
  EXPECT_NE(copy, j);
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_NE(Json(uint64_t{1} << 63), Json(INT64_MIN));
  EXPECT_EQ(j["b"][2], "x");
  EXPECT_EQ(copy["n"].get<std::vector<double>>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(j.value("z", 7), 7);
  EXPECT_FALSE(j.contains("z"));
  EXPECT_EQ(Json(3).find("z"), nullptr);
  const Json &fixed = j;
  EXPECT_THROW(fixed["z"], Error);
  EXPECT_THROW(fixed["b"][5], Error);
  EXPECT_THROW(fixed[0], Error);
  EXPECT_THROW(fixed["a"].get<std::string>(), Error);
  EXPECT_THROW(j["a"].push_back(1), Error);
  EXPECT_THROW(j["a"]["b"] = 1, Error);
  EXPECT_THROW(Json("\xC3").dump(), Error);
  EXPECT_EQ(Json(repeated("\xC3\x9C", 100)).shown(), "\"" + repeated("\xC3\x9C", 38) + "...");
}

// Each allocation fails once, and then all of them from there on: nothing but bad_alloc comes out, nothing is left.
TEST(Json, FailedAllocationsLeakNothing) {
  const std::string text = R"({"a long key of an object":[1,2,3,"\u00dc and more than fourteen"],"b":{"c":[[],[{}]]}})";
  const Json ready = Json::parse(text), more{{"one more", "with a value of some length"}, {"b", 1}};
  auto work = [&] {
    Json j = Json::parse(text), copy = j;
    copy.update(more);
    copy["key that is new"].push_back({{"x", {1, 2, {{"y", "a string of some length"}}}}});
    copy = Json{{"all", copy}, {"list", {"one string of some length", copy}}};
    EXPECT_FALSE(copy.dump().empty());
  };
  work();
  for (bool stay_short : {false, true}) {
    int64_t n = 0;
    for (bool failed = true; failed; ++n) {
      const int64_t before = dl4_test::blocks_now;
      dl4_test::news_stay_short = stay_short;
      dl4_test::news_granted = n;
      try {
        work();
        failed = false;
      } catch (const std::bad_alloc &) {
      }
      dl4_test::news_granted = -1;
      dl4_test::news_stay_short = false;
      ASSERT_EQ(dl4_test::blocks_now, before) << "allocation " << n;
    }
    EXPECT_GT(n, 50);
  }
}

}  // namespace
}  // namespace dl4::DL4_FILE
