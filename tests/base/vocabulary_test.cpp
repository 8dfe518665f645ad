// Tokens by number, against a map.
#include "base/vocabulary.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace dl4::DL4_FILE {
namespace {

std::string some_text(std::mt19937_64 &random, size_t longest) {
  std::string s(random() % (longest + 1), '\0');
  for (char &c : s) c = "\0ab"[random() % 3];
  return s;
}

TEST(Words, AreTheFirstBytesAndZeros) {
  const std::string all = "abcdefghijklmnopqrstuvwxyz";
  for (size_t n = 0; n <= all.size(); ++n) {
    char bytes[16] = {};
    std::memcpy(bytes, all.data(), std::min<size_t>(n, 16));
    Words wanted;
    std::memcpy(&wanted, bytes, sizeof wanted);
    EXPECT_EQ(words_of(all.substr(0, n)), wanted) << n;
  }
}

TEST(Vocabulary, FindsWhatAMapFinds) {
  std::mt19937_64 random(1);
  for (const size_t longest : {0u, 3u, 8u, 17u, 40u})
    for (const size_t count : {1u, 2u, 100u, 3000u}) {
      std::map<std::string, int64_t> places;
      std::vector<std::string> keys;
      for (size_t i = 0; i < count; ++i)
        if (std::string s = some_text(random, longest); places.emplace(s, keys.size()).second) keys.push_back(s);
      Vocabulary::Rules rules{.first = 2, .oov = 1, .first_oov = 1};
      rules.mask = keys[0];
      const Vocabulary v(keys, rules);
      std::vector<std::string> asked = keys;
      for (int i = 0; i < 1000; ++i) asked.push_back(some_text(random, longest + 2));
      std::vector<String> list;
      std::vector<Words> words;
      for (const std::string &s : asked)
        list.push_back({s.data(), static_cast<int64_t>(s.size())}), words.push_back(words_of(s));
      std::vector<int64_t> got(asked.size());
      v.indices(list, words.data(), got.data());
      for (size_t i = 0; i < asked.size(); ++i) {
        const auto at = places.find(asked[i]);
        const int64_t wanted = at == places.end() ? 1 : at->second ? 2 + at->second : 0;
        ASSERT_EQ(v.index(asked[i]), wanted) << i;
        ASSERT_EQ(got[i], wanted) << i;
      }
    }
}

TEST(Vocabulary, FindsIntegers) {
  const Vocabulary v(std::vector<int64_t>{5, -3, INT64_MIN, 0}, {.first = 1});
  EXPECT_EQ(v.index(int64_t{5}), 1);
  EXPECT_EQ(v.index(INT64_MIN), 3);
  EXPECT_EQ(v.index(int64_t{7}), 0);
  EXPECT_THROW(Vocabulary(std::vector<int64_t>{1, 2, 1}, {}), std::exception);
  EXPECT_THROW(Vocabulary(std::vector<std::string>{"a", "", ""}, {}), std::exception);
}

}  // namespace
}  // namespace dl4::DL4_FILE
