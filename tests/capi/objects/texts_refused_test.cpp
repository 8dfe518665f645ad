// Bad input of tensors of strings and of layers for texts: what each error says.
#include "capi/texts.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

void expect_refusal(dl4_error *e, int32_t code, const std::string &says) {
  const Refusal r = refusal(e);
  EXPECT_EQ(r.code, code) << r.message;
  EXPECT_NE(r.message.find(says), std::string::npos) << r.message << "\nexpected: " << says;
}

// A layer "layer" on an input "x" of that type and shape.
dl4_error *added(const char *kind, const json &config, int32_t dtype = DL4_STRING,
                 const std::vector<int64_t> &dims = {-1, 1}, Own<dl4_model> *model = nullptr) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", dims, dtype), y = -1;
  if (dl4_error *e = dl4_graph_add(g, kind, "layer", config.dump().c_str(), nullptr, nullptr, &x, 1, &y, 1)) return e;
  if (model) ok(dl4_graph_build(g, &x, 1, &y, 1, model->out()));
  return nullptr;
}

TEST(TextsRefused, AttributesThatCannotBe) {
  const json two = {"a", "b"};
  struct Bad {
    const char *kind;
    json config;
    int32_t code;
    const char *says;
  };
  const Bad all[] = {
      {"StringLookup",
       {{"vocabulary", json::array()}},
       DL4_INVALID_ARGUMENT,
       "\"vocabulary\": expected at least one token"},
      {"StringLookup", {{"vocabulary", {"a", "b", "a"}}}, DL4_INVALID_ARGUMENT, "got \"a\" at 0 and at 2"},
      {"IntegerLookup", {{"vocabulary", {3, 3}}}, DL4_INVALID_ARGUMENT, "got 3 at 0 and at 1"},
      {"StringLookup", {{"vocabulary", {1, 2}}}, DL4_INVALID_ARGUMENT, "expected a string"},
      {"StringLookup", {{"vocabulary", "words.txt"}}, DL4_UNSUPPORTED, "got a name of a file"},
      {"StringLookup",
       {{"vocabulary", two}, {"max_tokens", 2}},
       DL4_INVALID_ARGUMENT,
       "\"max_tokens\" 2 indices, got 3"},
      {"StringLookup", {{"vocabulary", two}, {"mask_token", "b"}}, DL4_INVALID_ARGUMENT, "mask_token \"b\""},
      {"StringLookup", {{"vocabulary", {"a", "[UNK]"}}, {"invert", true}}, DL4_INVALID_ARGUMENT, "oov_token \"[UNK]\""},
      {"StringLookup",
       {{"vocabulary", two}, {"invert", true}, {"output_mode", "count"}},
       DL4_INVALID_ARGUMENT,
       "\"invert\""},
      {"StringLookup", {{"vocabulary", two}, {"sparse", true}}, DL4_UNSUPPORTED, "\"sparse\""},
      {"StringLookup", {{"vocabulary", two}, {"encoding", "latin-1"}}, DL4_UNSUPPORTED, "\"encoding\""},
      {"StringLookup", {{"vocabulary", two}, {"output_mode", "tf_idf"}}, DL4_INVALID_ARGUMENT, "\"idf_weights\""},
      {"StringLookup",
       {{"vocabulary", two}, {"output_mode", "tf_idf"}, {"idf_weights", {1}}},
       DL4_INVALID_ARGUMENT,
       "expected 2 weights"},
      {"StringLookup",
       {{"vocabulary", two}, {"output_mode", "count"}, {"vocabulary_size", 9}},
       DL4_INVALID_ARGUMENT,
       "expected 3, the size"},
      {"StringLookup", {{"vocabulary", two}, {"pad_to_max_tokens", true}}, DL4_INVALID_ARGUMENT, "\"max_tokens\""},
      {"StringLookup", json::object(), DL4_INVALID_ARGUMENT,
       "layer \"layer\": \"vocabulary\": expected tokens, got null"},
      {"TextVectorization", json::object(), DL4_INVALID_ARGUMENT, "learned from data first"},
      {"TextVectorization", {{"vocabulary", two}, {"ragged", true}}, DL4_UNSUPPORTED, "\"ragged\""},
      {"TextVectorization", {{"vocabulary", two}, {"standardize", "upper"}}, DL4_UNSUPPORTED, "\"standardize\""},
      {"TextVectorization",
       {{"vocabulary", two}, {"ngrams", 0}},
       DL4_INVALID_ARGUMENT,
       "\"ngrams\": expected 1 to 256, got 0"},
      {"TextVectorization",
       {{"vocabulary", two}, {"output_mode", "count"}, {"output_sequence_length", 3}},
       DL4_INVALID_ARGUMENT,
       "\"output_sequence_length\""},
      {"StringSplit",
       {{"expression", "[a-z]+"}, {"delimiter", ","}},
       DL4_INVALID_ARGUMENT,
       "\"delimiter\": expected \"\""},
      {"StringSplit", {{"expression", "[a-z]+"}, {"maxsplit", 1}}, DL4_INVALID_ARGUMENT, "\"maxsplit\": expected -1"},
      {"StringSplit", {{"min_length", 2}}, DL4_INVALID_ARGUMENT, "\"min_length\": expected 1"},
      {"StringSplit", {{"expression", "(a|b)"}}, DL4_UNSUPPORTED, "an operator that is not read"},
      {"StringCase", {{"to", "title"}}, DL4_INVALID_ARGUMENT, "\"to\""},
      {"Hashing", {{"num_bins", 0}}, DL4_INVALID_ARGUMENT, "\"num_bins\""},
      {"Hashing", {{"num_bins", 3}, {"salt", {1, 2, 3}}}, DL4_INVALID_ARGUMENT, "\"salt\""},
      {"Hashing", {{"num_bins", 3}, {"mask_value", 1}}, DL4_INVALID_ARGUMENT, "\"mask_value\": expected a string"},
  };
  for (const Bad &b : all) {
    SCOPED_TRACE(std::string(b.kind) + b.config.dump());
    expect_refusal(added(b.kind, b.config), b.code, b.says);
  }
}

TEST(TextsRefused, ValuesOfAnotherTypeOrShape) {
  const json two = {{"vocabulary", {"a", "b"}}};
  expect_refusal(added("StringLookup", two, DL4_FLOAT32), DL4_INVALID_ARGUMENT,
                 "input 0: expected strings, got float32");
  expect_refusal(added("IntegerLookup", {{"vocabulary", {1}}}), DL4_INVALID_ARGUMENT, "expected integers, got string");
  expect_refusal(added("TextVectorization", two, DL4_INT64), DL4_INVALID_ARGUMENT, "expected strings, got int64");
  expect_refusal(added("TextVectorization", two, DL4_STRING, {-1, 2}), DL4_SHAPE_MISMATCH, "(B) or (B, 1), got (?, 2)");
  expect_refusal(added("Hashing", {{"num_bins", 3}}, DL4_BOOL), DL4_INVALID_ARGUMENT, "strings or integers, got bool");
  expect_refusal(added("Dense", {{"units", 2}}), DL4_INVALID_ARGUMENT, "expects numbers, got string");
  expect_refusal(added("Embedding", {{"input_dim", 2}, {"output_dim", 2}}), DL4_INVALID_ARGUMENT, "got string");
  expect_refusal(added("Cast", {{"to", "bool"}}), DL4_UNSUPPORTED, "string");
}

TEST(TextsRefused, RunsOfWhatIsNotInAVocabularyOrOfAnotherType) {
  Own<dl4_model> m;
  ok(added("StringLookup", {{"vocabulary", {"a", "b"}}, {"num_oov_indices", 0}}, DL4_STRING, {-1, 1}, &m));
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  auto words = strings({2, 1}, {"a", "zebra"}), good = strings({1, 1}, {"b"});
  auto numbers = tensor({2, 1}, {1, 2});
  dl4_tensor *x = words, *y = nullptr;
  expect_refusal(dl4_session_run(s, &x, 1, &y, 1, nullptr), DL4_SHAPE_MISMATCH, "num_oov_indices is 0, got \"zebra\"");
  x = numbers;
  expect_refusal(dl4_session_run(s, &x, 1, &y, 1, nullptr), DL4_SHAPE_MISMATCH, "expected string, got float32");
  x = good;
  ok(dl4_session_run(s, &x, 1, &y, 1, nullptr));
  dl4_release(y);
  Own<dl4_model> back;
  ok(added("StringLookup", {{"vocabulary", {"a"}}, {"invert", true}}, DL4_INT64, {-1, 1}, &back));
  Own<dl4_session> names;
  ok(dl4_session_create(back, nullptr, names.out()));
  auto ids = tensor_as<int64_t>(DL4_INT64, {1, 1}, json::array({1}));
  dl4_tensor *given = ids, *yours = good, *made = nullptr;
  expect_refusal(dl4_session_run(names, &given, 1, &yours, 1, nullptr), DL4_INVALID_ARGUMENT, "out[0] is read-only");
  Own<dl4_dataset> all;
  ok(dl4_dataset_from_tensors(nullptr, &given, 1, nullptr, 0, nullptr, 0, nullptr, all.out()));
  expect_refusal(dl4_session_predict(names, all, nullptr, &made, 1), DL4_UNSUPPORTED, "the model gives strings");
  EXPECT_EQ(made, nullptr);
  ok(dl4_session_run(names, &given, 1, &made, 1, nullptr));
  names = {}, back = {};
  EXPECT_EQ(strings_of(made), Strings{"a"}) << "what a run gives outlives its model";
  dl4_release(made);
}

TEST(TextsRefused, WhatCannotBeLearned) {
  auto words = strings({2}, {"a", "b"}), none = strings({1}, {""}), ill = strings({1}, {"\xff"});
  auto numbers = tensor({2, 2}, {1, 2, 3, 4});
  dl4_blob *b = nullptr;
  auto learn = [&](const char *kind, const json &config, dl4_tensor *x, dl4_context *c = nullptr) {
    Own<dl4_dataset> d;
    ok(dl4_dataset_from_tensors(nullptr, &x, 1, nullptr, 0, nullptr, 0, nullptr, d.out()));
    return dl4_adapt(c, kind, config.dump().c_str(), d, nullptr, &b);
  };
  const json any = json::object();
  expect_refusal(learn("Nothing", any, words), DL4_UNKNOWN_KIND, "Nothing");
  expect_refusal(learn("Hashing", {{"num_bins", 2}}, words), DL4_UNSUPPORTED, "Hashing learns nothing from data");
  expect_refusal(learn("StringLookup", any, numbers), DL4_SHAPE_MISMATCH,
                 "expected strings to learn from, got float32");
  expect_refusal(learn("IntegerLookup", any, words), DL4_SHAPE_MISMATCH, "expected integers to learn from, got string");
  expect_refusal(learn("Normalization", any, words), DL4_SHAPE_MISMATCH, "got strings");
  expect_refusal(learn("Discretization", {{"num_bins", 2}}, words), DL4_SHAPE_MISMATCH, "got strings");
  expect_refusal(learn("Discretization", any, numbers), DL4_INVALID_ARGUMENT, "\"num_bins\"");
  expect_refusal(learn("StringLookup", {{"vocabulary", {"a"}}}, words), DL4_INVALID_ARGUMENT, "is not learned");
  expect_refusal(learn("Normalization", {{"mean", 1}, {"variance", 1}}, numbers), DL4_INVALID_ARGUMENT,
                 "is not learned");
  expect_refusal(learn("TextVectorization", any, none), DL4_INVALID_ARGUMENT,
                 "expected tokens to learn from, got none");
  expect_refusal(learn("StringLookup", any, ill), DL4_INVALID_ARGUMENT, "expected tokens of UTF-8");
  Strings many;
  for (int i = 0; i < 1000; ++i) many.push_back("a rather long token of the number " + std::to_string(i));
  auto lots = strings({1000}, many);
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"memory_limit": 40000})", c.out()));
  expect_refusal(learn("StringLookup", any, lots, c), DL4_OUT_OF_MEMORY, "tokens that differ take");
  Own<dl4_dataset> two;
  dl4_tensor *xs[] = {words, words};
  ok(dl4_dataset_from_tensors(nullptr, xs, 2, nullptr, 0, nullptr, 0, nullptr, two.out()));
  expect_refusal(dl4_adapt(nullptr, "StringLookup", nullptr, two, nullptr, &b), DL4_SHAPE_MISMATCH,
                 "expected one input, got 2");
  Own<dl4_cancel> stop;
  ok(dl4_cancel_create(stop.out()));
  dl4_cancel_trigger(stop);
  Own<dl4_dataset> d;
  dl4_tensor *x = words;
  ok(dl4_dataset_from_tensors(nullptr, &x, 1, nullptr, 0, nullptr, 0, nullptr, d.out()));
  expect_refusal(dl4_adapt(nullptr, "StringLookup", nullptr, d, stop, &b), DL4_CANCELLED, "cancelled at batch 0");
  Own<dl4_dataset> labelled;
  expect_refusal(dl4_dataset_from_tensors(nullptr, &x, 1, &x, 1, nullptr, 0, nullptr, labelled.out()),
                 DL4_INVALID_ARGUMENT, "expected numbers, got strings at 0");
  EXPECT_EQ(b, nullptr);
}

TEST(TextsRefused, ATextOfMoreTokensThanMemory) {
  Own<dl4_context> c;
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_context_create(R"({"memory_limit": 2000000})", c.out()));
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 1}, DL4_STRING);
  dl4_node y = add(g, "TextVectorization", "layer", R"({"vocabulary": ["a"]})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  std::string many;
  for (int i = 0; i < 300'000; ++i) many += "a ";
  auto all = strings({1, 1}, {many}, c), few = strings({1, 1}, {"a b"}, c);
  dl4_tensor *in = all, *out = nullptr;
  expect_refusal(dl4_session_run(s, &in, 1, &out, 1, nullptr), DL4_OUT_OF_MEMORY, "memory limit is 2000000");
  EXPECT_EQ(out, nullptr);
  in = few;
  ok(dl4_session_run(s, &in, 1, &out, 1, nullptr));
  EXPECT_EQ(dl4_tensor_dims(out)[1], 2);
  dl4_release(out);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
