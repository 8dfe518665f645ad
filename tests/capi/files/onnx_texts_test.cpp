// ONNX's operators on strings: what they give, what they refuse and whether memory_limit holds. Against ONNX Runtime:
// tests/io/onnx_texts.py.
#include "capi/onnx_bytes.hpp"
#include "capi/texts.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using namespace dl4_test::onnx_bytes;

std::string text_of(const std::string &name, const std::string &v) { return attribute(name, field(4, v), 3); }
std::string texts(const std::string &name, const std::vector<std::string> &list) {
  std::string all;
  for (const std::string &s : list) all += field(9, s);
  return attribute(name, all, 8);
}
std::string of_strings(const std::string &graph, std::vector<int64_t> dims, const std::string &out) {
  return model_of(graph, port(11, "x", 8, std::move(dims)) + out);
}
std::string text_node(const std::string &op, const std::string &more = "", const std::string &domain = "") {
  return node(op, {"x"}, more + (domain.empty() ? "" : field(7, domain)));
}

// Output 0 of a model for strings x, and why it failed.
struct Given {
  Own<dl4_tensor> y;
  Refusal why;
  Strings texts() const {
    EXPECT_EQ(why.message, "");
    return y ? strings_of(y) : Strings{why.message};
  }
  std::vector<int64_t> dims() const {
    std::vector<int64_t> all;
    if (y) all.assign(dl4_tensor_dims(y), dl4_tensor_dims(y) + dl4_tensor_rank(y));
    return all;
  }
};
Given given(const std::string &bytes, const std::vector<int64_t> &dims, const Strings &x, dl4_context *c = nullptr) {
  Given g;
  const auto m = load(c, bytes, g.why);
  if (!m) return g;
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const auto in = strings(dims, x);
  dl4_tensor *one = in;
  g.why = refusal(dl4_session_run(s, &one, 1, g.y.out(), 1, nullptr));
  return g;
}
Given given(const std::string &graph, const Strings &x) {
  const auto n = static_cast<int64_t>(x.size());
  return given(of_strings(graph, {-1}, port(12, "y", 8, {-1})), {n}, x);
}
Given normalized(const std::string &more, const Strings &x) { return given(text_node("StringNormalizer", more), x); }

void expect_refused(const std::string &bytes, std::initializer_list<const char *> words) {
  Refusal r;
  load(nullptr, bytes, r);
  EXPECT_NE(r.code, 0);
  for (const char *word : words) EXPECT_NE(r.message.find(word), std::string::npos) << word << " in " << r.message;
}
void expect_fails(const Given &g, std::initializer_list<const char *> words) {
  EXPECT_NE(g.why.code, 0);
  for (const char *word : words)
    EXPECT_NE(g.why.message.find(word), std::string::npos) << word << " in " << g.why.message;
}

TEST(OnnxTexts, AreNormalized) {
  const std::string lower = text_of("case_change_action", "LOWER"), upper = text_of("case_change_action", "UPPER");
  EXPECT_EQ(normalized(lower, {"Ab", "", "ÄÉЖΩŁ", "日本"}).texts(), (Strings{"ab", "", "äéжωł", "日本"}));
  EXPECT_EQ(normalized(upper, {"straŝo", "ÿ"}).texts(), (Strings{"STRAŜO", "Ÿ"}));
  EXPECT_EQ(normalized(lower + text_of("locale", "C"), {"AÄ"}).texts(), (Strings{"aÄ"}));
  const std::string stops = texts("stopwords", {"the", "Of"});
  EXPECT_EQ(normalized(stops, {"The", "a", "OF", "the"}).texts(), (Strings{"a"}));
  EXPECT_EQ(normalized(stops + integer("is_case_sensitive", 1) + lower, {"The", "of", "Of", "the"}).texts(),
            (Strings{"the", "of"}));
  EXPECT_EQ(normalized(stops, {"the", "of"}).texts(), (Strings{""}));
  EXPECT_EQ(normalized(stops, {}).texts(), (Strings{""}));
  const Given row = given(of_strings(text_node("StringNormalizer", stops), {1, -1}, port(12, "y", 8, {1, -1})), {1, 3},
                          {"the", "a", "b"});
  EXPECT_EQ(row.dims(), (std::vector<int64_t>{1, 2}));
  expect_fails(normalized(upper, {"a", "straße"}), {"StringNormalizer", "other case", "ß"});
  expect_fails(normalized(lower, {"Ab\xff"}), {"StringNormalizer", "UTF-8"});
  const auto with = [&](const std::string &more, std::vector<int64_t> dims = {-1}) {
    return of_strings(text_node("StringNormalizer", more), dims, port(12, "y", 8, dims));
  };
  expect_refused(with(lower + text_of("locale", "tr_TR")), {"StringNormalizer", "locale", "tr_TR"});
  expect_refused(with(lower, {-1, 2}), {"StringNormalizer", "other shapes"});
  expect_refused(with(upper + texts("stopwords", {"ß"})), {"StringNormalizer", "stopword", "ß"});
  expect_refused(with(text_of("case_change_action", "TITLE")), {"TITLE"});
  expect_refused(model(node("StringNormalizer", {"x"})), {"StringNormalizer", "has strings for float32"});
}

TEST(OnnxTexts, AreJoinedAndSplit) {
  EXPECT_EQ(given(node("StringConcat", {"x", "x"}), {"ab", "", std::string("c\0d", 3)}).texts(),
            (Strings{"abab", "", std::string("c\0dc\0d", 6)}));
  expect_refused(model(node("StringConcat", {"x", "x"})), {"StringConcat", "expects strings"});
  const auto split = [](const std::string &op, const std::string &more, const Strings &x,
                        const std::string &domain = "") {
    const auto n = static_cast<int64_t>(x.size());
    return given(of_strings(text_node(op, more, domain), {-1}, port(12, "y", 8, {-1, -1})), {n}, x);
  };
  const std::string second = field(2, std::string("counts"));
  const Given words = split("StringSplit", second, {" a b\tc ", "", "d"});
  EXPECT_EQ(words.texts(), (Strings{"a", "b", "c", "", "", "", "d", "", ""}));
  EXPECT_EQ(words.dims(), (std::vector<int64_t>{3, 3}));
  EXPECT_EQ(
      split("StringSplit", second + text_of("delimiter", ",,") + integer("maxsplit", 1), {"a,,b,,c", ",,"}).texts(),
      (Strings{"a", "b,,c", "", ""}));
  EXPECT_EQ(split("StringSplit", second, {"", ""}).dims(), (std::vector<int64_t>{2, 0}));
  const std::string all = integer("mark", 0) + integer("mincharnum", 2) + text_of("pad_value", "#");
  const auto tokens = [&](const std::string &expression, const Strings &x) {
    return split("Tokenizer", all + text_of("tokenexp", expression), x, "com.microsoft");
  };
  EXPECT_EQ(tokens("[a-zA-Z0-9_]+", {"ab, c_d e", "été"}).texts(), (Strings{"ab", "c_d", "#", "#"}));
  EXPECT_EQ(tokens("[^ ]+", {"é été"}).texts(), (Strings{"été"}));
  EXPECT_EQ(split("Tokenizer", all + texts("separators", {" ", "[.]", "\\?"}), {"ab.cd?e fg"}, "com.microsoft").texts(),
            (Strings{"ab", "cd", "fg"}));
  expect_fails(tokens("[a-z]+", {"ab\xff"}), {"Tokenizer", "UTF-8"});
  const auto refused = [&](const std::string &more) {
    return of_strings(text_node("Tokenizer", more, "com.microsoft"), {-1}, port(12, "y", 8, {-1, -1}));
  };
  for (const char *expression :
       {"a|b", "(ab)", "ab", "[a-z]*", "[[:alpha:]]+", "\\pL+", "[z-a]", "[a", "é", "\\bx+\\b", ""})
    expect_refused(refused(all + text_of("tokenexp", expression)), {"Tokenizer", "classes of characters"});
  expect_refused(refused(all + texts("separators", {"ab"})), {"Tokenizer", "a separator of several characters"});
  expect_refused(refused(all + texts("separators", {"\\W"})), {"Tokenizer", "past ASCII"});
  expect_refused(refused(all), {"expects one of \"separators\" and \"tokenexp\""});
  expect_refused(
      refused(integer("mark", 1) + integer("mincharnum", 1) + text_of("pad_value", "") + text_of("tokenexp", ".")),
      {"Tokenizer", "\"mark\" 1"});
  expect_refused(
      refused(integer("mark", 0) + integer("mincharnum", 0) + text_of("pad_value", "") + text_of("tokenexp", ".")),
      {"\"mincharnum\" 0"});
  expect_refused(of_strings(text_node("RegexFullMatch", text_of("pattern", "a+")), {-1}, port(12, "y", 9, {-1})),
                 {"RegexFullMatch", "regular expressions are not read"});
}

TEST(OnnxTexts, AreComparedWithConstantsAndChosen) {
  std::string words = field(1, int64_t{2}) + field(2, int64_t{8}) + field(8, std::string("w"));
  for (const char *s : {"a", "b"}) words += field(6, std::string(s));
  const Given g =
      given(of_strings(node("Equal", {"x", "w"}) + field(5, words), {-1}, port(12, "y", 9, {-1})), {2}, {"a", "c"});
  ASSERT_EQ(g.why.message, "");
  std::array<uint8_t, 2> same{};
  ok(dl4_tensor_copy_out(g.y, same.data(), 2));
  EXPECT_EQ(same, (std::array<uint8_t, 2>{1, 0}));
  const std::string chosen = named("Equal", {"x", "w"}, "same") + node("Where", {"same", "x", "w"}) + field(5, words);
  EXPECT_EQ(given(chosen, {"c", "b"}).texts(), (Strings{"a", "b"}));
  const std::string alone = node("Constant", {}, texts("value_strings", {"p", "q", "p"}));
  EXPECT_EQ(given(alone, {"c"}).texts(), (Strings{"p", "q", "p"}));
  EXPECT_EQ(
      given(named("Constant", {}, "c", text_of("value_string", "-")) + node("StringConcat", {"x", "c"}), {"a"}).texts(),
      (Strings{"a-"}));
  expect_refused(of_strings(node("Less", {"x", "w"}) + field(5, words), {-1}, port(12, "y", 9, {-1})),
                 {"Less", "string"});
}

TEST(OnnxTexts, BecomeNumbersAndBack) {
  const auto numbers = named("Cast", {"x"}, "n", integer("to", 1)) + node("Cast", {"n"}, integer("to", 8));
  EXPECT_EQ(given(numbers, {"1.50", " -INF", "nan", "1e8", "-0", "123456789"}).texts(),
            (Strings{"1.5", "-INF", "NaN", "1e+08", "-0", "1.2345679e+08"}));
  const auto whole = named("Cast", {"x"}, "n", integer("to", 6)) + node("Cast", {"n"}, integer("to", 8));
  EXPECT_EQ(given(whole, {"-17", "100.5", "+3"}).texts(), (Strings{"-17", "100", "3"}));
  for (const char *wrong : {"abc", "", "1x", "0x10", "1e99", "--1"}) {
    expect_fails(given(numbers, {wrong}), {"Cast", "expected numbers of float32", wrong});
  }
  for (const char *wrong : {"2147483648", "INF", "one"})
    expect_fails(given(whole, {wrong}), {"Cast", "integers", wrong});
  for (int to : {2 /* uint8 */, 9 /* bool */, 10 /* float16 */})
    expect_refused(of_strings(node("Cast", {"x"}, integer("to", to)), {-1}, port(12, "y", to, {-1})),
                   {"Cast", "from string", "is not supported"});
}

std::string n_grams(const std::vector<int64_t> &counts, const std::vector<int64_t> &columns, int64_t least = 1) {
  return integer("min_gram_length", least) + integer("max_gram_length", 2) + integer("max_skip_count", 0) +
         integers("ngram_counts", counts) + integers("ngram_indexes", columns);
}

TEST(OnnxTexts, NgramsAreCounted) {
  const std::string words = texts("pool_strings", {"a", "b", "a", "b"}), tf = text_of("mode", "TF");
  const auto vectorizer = [](const std::string &more) {
    return of_strings(text_node("TfIdfVectorizer", more), {-1}, port(12, "y", 1, {-1}));
  };
  const Given y = given(vectorizer(words + tf + n_grams({0, 2}, {0, 2, 3})), {5}, {"a", "b", "x", "a", "b"});
  ASSERT_EQ(y.why.message, "");
  std::vector<float> counts(4);
  ok(dl4_tensor_copy_out(y.y, counts.data(), 16));
  EXPECT_EQ(counts, (std::vector<float>{2, 0, 2, 2}));
  expect_refused(vectorizer(words + tf + n_grams({0, 2}, {0, 1})), {"more n-grams"});
  expect_refused(vectorizer(words + tf + n_grams({0, 2}, {0, 1, 2, 3})), {"3 n-grams and 4"});
  expect_refused(vectorizer(words + tf + n_grams({0, 1}, {0, 1, 2})), {"ngram_counts"});
  expect_refused(vectorizer(words + tf + n_grams({0, 2}, {0, 1, 1})), {"have one column, 1"});
  expect_refused(vectorizer(words + tf + n_grams({0, 2}, {0, -1, 1})), {"ngram_indexes"});
  expect_refused(vectorizer(words + tf + n_grams({0, 4}, {0, 1, 2, 3})), {"comes again"});
  expect_refused(vectorizer(words + tf + n_grams({0, 2}, {0, 1, 2}, 3)), {"has n-grams of 3 to 2 items"});
  expect_refused(vectorizer(words + text_of("mode", "BM25") + n_grams({0, 2}, {0, 1, 2})), {"BM25"});
  expect_refused(vectorizer(tf + n_grams({0, 2}, {0, 1, 2})), {"expects one of"});
  expect_refused(vectorizer(integers("pool_int64s", {1, 2, 1, 2}) + tf + n_grams({0, 2}, {0, 1, 2})),
                 {"has numbers for string"});
}

TEST(OnnxTexts, ThatAreMadeCountTowardsTheMemoryLimit) {
  std::string graph;
  std::string last = "x";
  for (int i = 0; i < 12; ++i) {
    const std::string next = i == 11 ? "y" : "t" + std::to_string(i);
    graph += named("StringConcat", {last, last}, next);
    last = next;
  }
  const std::string bytes = of_strings(graph, {-1}, port(12, "y", 8, {-1}));
  EXPECT_EQ(given(bytes, {1}, {"ab"}).texts()[0].size(), 2u << 12);
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"memory_limit": 4000000})", c.out()));
  EXPECT_EQ(given(bytes, {1}, {std::string(100, 'a')}, c).texts()[0].size(), 100u << 12);
  const Given g = given(bytes, {1}, {std::string(2000, 'a')}, c);
  EXPECT_EQ(g.why.code, DL4_OUT_OF_MEMORY);
  expect_fails(g, {"StringConcat", "the strings that it makes take"});
}

// An output that a node reads too stays an output.
TEST(OnnxTexts, OfAnOutputAreReadByOthers) {
  const std::string graph = named("StringConcat", {"x", "x"}, "z") + node("StringConcat", {"z", "x"});
  const std::string bytes = of_strings(graph, {-1}, port(12, "z", 8, {-1}) + port(12, "y", 8, {-1}));
  Refusal why;
  const auto m = load(nullptr, bytes, why);
  ASSERT_EQ(why.message, "");
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  const auto in = strings({1}, {"ab"});
  dl4_tensor *one = in, *y[2] = {};
  ok(dl4_session_run(s, &one, 1, y, 2, nullptr));
  EXPECT_EQ(strings_of(y[0]), Strings{"abab"});
  EXPECT_EQ(strings_of(y[1]), Strings{"ababab"});
  for (dl4_tensor *t : y) dl4_release(t);
}

// The model of a graph, written as ONNX.
std::string written(const std::string &graph, Refusal &why) {
  const auto m = load(nullptr, of_strings(graph, {-1}, port(12, "y", 8, {-1})), why);
  if (!m) return "";
  Own<dl4_blob> b;
  why = refusal(dl4_model_save_bytes(m, R"({"format": "onnx"})", b.out()));
  return b ? std::string(dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))) : "";
}

TEST(OnnxTexts, AreWrittenAsStrings) {
  std::string words = field(1, int64_t{2}) + field(2, int64_t{8}) + field(8, std::string("w"));
  for (const char *s : {"a", ""}) words += field(6, std::string(s));
  const std::string chosen = named("Equal", {"x", "w"}, "same") + node("Where", {"same", "x", "w"}) + field(5, words);
  const std::string number = named("Cast", {"x"}, "n", integer("to", 7)) + node("Cast", {"n"}, integer("to", 8));
  const struct {
    std::string graph;
    Strings x, y;
  } cases[] = {{node("Identity", {"x"}), {"a", "b"}, {"a", "b"}},
               {chosen, {"c", "b"}, {"a", ""}},
               {node("StringConcat", {"x", "w"}) + field(5, words), {"c", "d"}, {"ca", "d"}},
               {number, {"17", "-3"}, {"17", "-3"}}};
  for (const auto &c : cases) {
    Refusal why;
    const std::string bytes = written(c.graph, why);
    ASSERT_EQ(why.message, "");
    EXPECT_EQ(given(bytes, {2}, c.x).texts(), c.y);
  }
  Refusal why;
  written(text_node("StringNormalizer", text_of("case_change_action", "LOWER")), why);
  EXPECT_NE(why.message.find("changes texts by other rules"), std::string::npos) << why.message;
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
