// Who keeps what alive, and who sees which version of the weights.
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "capi/use.hpp"

namespace dl4_test::DL4_FILE {
namespace {

void count_release(void *user) { ++*static_cast<int *>(user); }

TEST(Wrap, GivesTheMemoryBackOnceWithTheLastReference) {
  int released = 0;
  float data[4] = {1, 2, 3, 4};
  const int64_t dims[2] = {2, 2};
  Own<dl4_dataset> kept;
  {
    Own<dl4_tensor> t;
    ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, nullptr, data, sizeof data, count_release, &released, t.out()));
    EXPECT_EQ(dl4_tensor_data(t), data);
    kept = dataset(t, t);
  }
  EXPECT_EQ(released, 0);
  kept = Own<dl4_dataset>();
  EXPECT_EQ(released, 1);
}

TEST(Wrap, GivesNothingBackWhenRefused) {
  int released = 0;
  float data[2] = {};
  const int64_t dims[1] = {3};
  dl4_tensor *t = nullptr;
  EXPECT_EQ(
      refusal(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 1, dims, nullptr, data, sizeof data, count_release, &released, &t))
          .code,
      DL4_SHAPE_MISMATCH);
  EXPECT_EQ(released, 0);
}

TEST(Wrap, StridesAreFollowed) {
  float data[6] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[2] = {3, 2}, strides[2] = {1, 3};
  Own<dl4_tensor> t, copy;
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, strides, data, sizeof data, nullptr, nullptr, t.out()));
  EXPECT_EQ(floats(t), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  ok(dl4_tensor_clone(t, copy.out()));
  EXPECT_EQ(floats(copy), floats(t));
  const float back[6] = {6, 5, 4, 3, 2, 1};
  ok(dl4_tensor_copy_in(t, back, sizeof back));
  EXPECT_EQ(data[0], 6);
  EXPECT_EQ(data[3], 5);
}

TEST(Wrap, AStridedInputGivesTheSameOutputs) {
  auto model = small_net();
  Own<dl4_session> session;
  ok(dl4_session_create(model, nullptr, session.out()));
  std::vector<float> wide = numbers(3 * 8), dense;
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < 4; ++c) dense.push_back(wide[r * 8 + c * 2]);
  const int64_t dims[2] = {3, 4}, strides[2] = {8, 2};
  Own<dl4_tensor> strided, y, z;
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, strides, wide.data(), static_cast<int64_t>(wide.size() * 4),
                     nullptr, nullptr, strided.out()));
  auto plain = tensor({3, 4}, dense);
  dl4_tensor *a = strided, *b = plain;
  ok(dl4_session_run(session, &a, 1, y.out(), 1, nullptr));
  ok(dl4_session_run(session, &b, 1, z.out(), 1, nullptr));
  EXPECT_EQ(floats(y), floats(z));
}

Own<dl4_tensor> over(float *data, int64_t rows, int64_t columns, const int64_t *strides = nullptr) {
  Own<dl4_tensor> t;
  const int64_t dims[2] = {rows, columns};
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, strides, data, rows * columns * 4, nullptr, nullptr, t.out()));
  return t;
}

TEST(Session, OutputsOverlapNothingAndAreDense) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  Own<dl4_session> s;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {-1, 4});
  const dl4_node ys[2] = {add(g, "Dense", "first", R"({"units": 4})", x),
                          add(g, "Dense", "second", R"({"units": 4})", x)};
  ok(dl4_graph_build(g, &x, 1, ys, 2, m.out()));
  ok(dl4_session_create(m, nullptr, s.out()));
  std::vector<float> memory = numbers(64);
  auto run = [&](dl4_tensor *in, dl4_tensor *a, dl4_tensor *b) {
    dl4_tensor *out[2] = {a, b};
    return refusal(dl4_session_run(s, &in, 1, out, 2, nullptr));
  };
  auto in = over(&memory[16], 2, 4), before = over(&memory[8], 2, 4), after = over(&memory[24], 2, 4);
  auto near = over(&memory[9], 2, 4), far = over(&memory[23], 2, 4), none = over(&memory[18], 0, 4);
  EXPECT_EQ(run(in, before, after).message, "");
  EXPECT_EQ(run(none, over(&memory[16], 0, 4), none).message, "") << "nothing overlaps what is empty";
  for (dl4_tensor *bad : {in.get(), near.get(), far.get()}) {
    Refusal r = run(in, over(&memory[40], 2, 4), bad);
    EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
    EXPECT_NE(r.message.find("output 1 overlaps input 0 (\"x\")"), std::string::npos) << r.message;
  }
  Refusal r = run(in, after, after);
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("output 1 overlaps output 0"), std::string::npos) << r.message;

  const int64_t strides[2] = {1, 2};
  r = run(in, over(&memory[40], 2, 4, strides), after);
  EXPECT_EQ(r.code, DL4_UNSUPPORTED);
  EXPECT_NE(r.message.find("output 0: expected a dense tensor, got a strided one"), std::string::npos) << r.message;
  auto spread = over(&memory[40], 2, 4, strides);  // is copied before anything is written
  EXPECT_EQ(run(spread, over(&memory[40], 2, 4), after).message, "");
}

TEST(DLPack, ThereAndBackSharesTheMemory) {
  for (int32_t versioned : {0, 1}) {
    Own<dl4_tensor> back;
    void *data = nullptr;
    {
      auto t = tensor({2, 3}, numbers(6));
      data = dl4_tensor_data(t);
      void *managed = nullptr;
      ok(dl4_tensor_to_dlpack(t, versioned, &managed));
      ok(dl4_tensor_from_dlpack(nullptr, versioned, managed, back.out()));
    }
    EXPECT_EQ(dl4_tensor_data(back), data);
    EXPECT_EQ(floats(back), numbers(6));
    EXPECT_EQ(dl4_tensor_dims(back)[1], 3);
  }
}

TEST(DLPack, OfAnAddressForNoFloatIsRefused) {
  auto t = tensor({2, 3}, numbers(6));
  Own<dl4_tensor> back;
  void *managed = nullptr;
  ok(dl4_tensor_to_dlpack(t, 0, &managed));
  uint64_t &byte_offset = static_cast<uint64_t *>(managed)[5];
  byte_offset = 2;
  Refusal r = refusal(dl4_tensor_from_dlpack(nullptr, 0, managed, back.out()));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("\"managed\": expected an address that 4 divides, got one with 2 over"), std::string::npos)
      << r.message;
  byte_offset = 0;
  ok(dl4_tensor_from_dlpack(nullptr, 0, managed, back.out()));
}

TEST(Tensor, StridedOnesAreCopiedToAndFromAnyAddress) {
  float memory[12] = {};
  const int64_t dims[2] = {3, 2}, strides[2] = {1, 4};
  Own<dl4_tensor> t;
  ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, strides, memory, sizeof memory, nullptr, nullptr, t.out()));
  char bytes[25], back[25];
  const std::vector<float> values = numbers(6);
  std::memcpy(bytes + 1, values.data(), 24);
  ok(dl4_tensor_copy_in(t, bytes + 1, 24));
  EXPECT_EQ(std::vector<float>(memory, memory + 8),
            (std::vector<float>{values[0], values[2], values[4], 0, values[1], values[3], values[5], 0}));
  ok(dl4_tensor_copy_out(t, back + 1, 24));
  EXPECT_EQ(0, std::memcmp(back + 1, bytes + 1, 24));
}

TEST(DLPack, WhatIsReadOnlyStaysSo) {
  struct Head {  // of a DLManagedTensorVersioned
    uint32_t major, minor;
    void *manager, *deleter;
    uint64_t flags;
  };
  auto t = tensor({2, 3}, numbers(6));
  Own<dl4_tensor> back, again;
  void *managed = nullptr;
  ok(dl4_tensor_to_dlpack(t, 1, &managed));
  static_cast<Head *>(managed)->flags |= 1;
  ok(dl4_tensor_from_dlpack(nullptr, 1, managed, back.out()));
  EXPECT_EQ(refusal(dl4_tensor_to_dlpack(back, 0, &managed)).code, DL4_UNSUPPORTED);
  EXPECT_EQ(managed, nullptr);
  ok(dl4_tensor_to_dlpack(back, 1, &managed));
  EXPECT_EQ(static_cast<Head *>(managed)->flags & 1, 1u);
  for (int32_t versioned : {-1, 2}) {
    EXPECT_EQ(refusal(dl4_tensor_from_dlpack(nullptr, versioned, managed, again.out())).code, DL4_INVALID_ARGUMENT);
    void *other = nullptr;
    EXPECT_EQ(refusal(dl4_tensor_to_dlpack(t, versioned, &other)).code, DL4_INVALID_ARGUMENT);
  }
  ok(dl4_tensor_from_dlpack(nullptr, 1, managed, again.out()));
}

TEST(Session, KeepsTheWeightsItWasMadeWith) {
  auto model = small_net();
  auto x = tensor({2, 4}, numbers(8)), y = tensor({2, 3}, numbers(6));
  dl4_tensor *in = x, *target = y;
  Own<dl4_session> session;
  Own<dl4_tensor> first, second, third;
  ok(dl4_session_create(model, nullptr, session.out()));
  ok(dl4_session_run(session, &in, 1, first.out(), 1, nullptr));
  ok(dl4_model_set_weight(model, "hidden/kernel", tensor({4, 8})));
  ok(dl4_session_run(session, &in, 1, second.out(), 1, nullptr));
  EXPECT_EQ(floats(first), floats(second)) << "after set_weight";

  auto t = trainer(model);
  ok(dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  Own<dl4_session> between;
  Own<dl4_tensor> before, after;
  ok(dl4_session_create(model, nullptr, between.out()));
  ok(dl4_session_run(between, &in, 1, before.out(), 1, nullptr));
  for (int i = 0; i < 3; ++i) ok(dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  ok(dl4_session_run(between, &in, 1, after.out(), 1, nullptr));
  EXPECT_EQ(floats(before), floats(after)) << "after training steps";
  ok(dl4_session_run(session, &in, 1, third.out(), 1, nullptr));
  EXPECT_EQ(floats(first), floats(third));
}

TEST(Model, ACloneHasWeightsOfItsOwn) {
  auto model = small_net();
  Own<dl4_model> copy;
  Own<dl4_tensor> mine, theirs;
  ok(dl4_model_clone(model, copy.out()));
  ok(dl4_model_get_weight(model, "answer/kernel", mine.out()));
  ok(dl4_model_get_weight(copy, "answer/kernel", theirs.out()));
  EXPECT_EQ(floats(mine), floats(theirs));
  ok(dl4_model_set_weight(copy, "answer/kernel", tensor({8, 3})));
  ok(dl4_model_get_weight(model, "answer/kernel", theirs.out()));
  EXPECT_EQ(floats(mine), floats(theirs));
}

TEST(Model, GoesThroughMemoryUnchanged) {
  auto model = small_net();
  Own<dl4_blob> bytes, again;
  Own<dl4_model> loaded;
  ok(dl4_model_save_bytes(model, nullptr, bytes.out()));
  ok(load_copy(nullptr, dl4_blob_data(bytes), dl4_blob_size(bytes), nullptr, loaded.out()));
  ok(dl4_model_save_bytes(loaded, nullptr, again.out()));
  EXPECT_EQ(std::string(dl4_blob_data(bytes), static_cast<size_t>(dl4_blob_size(bytes))),
            std::string(dl4_blob_data(again), static_cast<size_t>(dl4_blob_size(again))));
}

TEST(Model, ATrainerOutlivesEverythingItWasMadeOf) {
  Own<dl4_trainer> t;
  Own<dl4_dataset> data;
  {
    auto model = small_net();
    auto x = tensor({4, 4}, numbers(16)), y = tensor({4, 3}, numbers(12));
    t = trainer(model);
    data = dataset(x, y);
  }
  Own<dl4_blob> history;
  ok(dl4_trainer_fit(t, data, nullptr, nullptr, nullptr, nullptr, nullptr, history.out()));
  EXPECT_NE(std::string(dl4_blob_data(history)).find("\"loss\""), std::string::npos);
}

TEST(Model, ModelsThatShareWeightsHaveOneTrainer) {
  Own<dl4_graph> g;
  Own<dl4_model> whole, front, apart;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), h = add(g, "Dense", "hidden", R"({"units": 8})", x);
  dl4_node y = add(g, "Dense", "answer", R"({"units": 3})", h), z = add(g, "Dense", "other", R"({"units": 3})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, whole.out()));
  ok(dl4_graph_build(g, &x, 1, &h, 1, front.out()));
  ok(dl4_graph_build(g, &x, 1, &z, 1, apart.out()));
  const char *how = R"({"optimizer": "SGD", "loss": "MeanSquaredError"})";
  auto t = trainer(whole);
  dl4_trainer *second = nullptr;
  EXPECT_EQ(refusal(dl4_trainer_create(front, how, &second)).code, DL4_BUSY);
  ok(dl4_model_set_weight(front, "hidden/kernel", tensor({4, 8})));
  auto beside = trainer(apart);
  t = Own<dl4_trainer>();
  ok(dl4_model_set_weight(front, "hidden/kernel", tensor({4, 8})));
  t = trainer(front);
}

// What a callback drops is the last reference of the program's to everything that is in use.
struct Dropping {
  Own<dl4_model> model = small_net();
  Own<dl4_tensor> x = tensor({8, 4}, numbers(32)), y = tensor({8, 3}, numbers(24)), out = tensor({8, 3});
  Own<dl4_trainer> t;
  Own<dl4_session> session;
  Own<dl4_dataset> data, valid;
  Own<dl4_cancel> cancel;
  std::vector<float> expected;
  int released = 0;

  Dropping() {
    ok(dl4_session_create(model, nullptr, session.out()));
    ok(dl4_dataset_from_callback(nullptr, batches, this, count, nullptr, data.out()));
    ok(dl4_cancel_create(cancel.out()));
  }
  void drop() {
    t = {};
    session = {};
    data = {};
    valid = {};
    cancel = {};
    model = {};
    out = {};
  }
  static void count(void *user) { ++static_cast<Dropping *>(user)->released; }
  static int32_t batches(void *user, int64_t index, dl4_tensor **x, int64_t, dl4_tensor **y, int64_t, dl4_tensor **,
                         int64_t) {
    auto &self = *static_cast<Dropping *>(user);
    self.drop();
    EXPECT_EQ(self.released, 0) << "while in use";
    if (index == 2) return 1;
    for (dl4_tensor *t : {self.x.get(), self.y.get()}) dl4_retain(t);
    x[0] = self.x;
    y[0] = self.y;
    return 0;
  }
  static int32_t progress(void *user, int32_t, int64_t, int64_t, const double *, int64_t) {
    static_cast<Dropping *>(user)->drop();
    return 0;
  }
};

TEST(Lifetime, ACallbackMayReleaseWhatItsCallWorksOn) {
  for (bool from_the_start : {true, false}) {
    Dropping d;
    d.t = trainer(d.model);
    ok(dl4_dataset_from_callback(nullptr, Dropping::batches, &d, Dropping::count, nullptr, d.valid.out()));
    auto progress = from_the_start ? Dropping::progress : nullptr;
    ok(dl4_trainer_fit(d.t, d.data, d.valid, nullptr, progress, &d, d.cancel, nullptr));
    EXPECT_EQ(d.released, 2);
  }
  {
    Dropping d;
    d.t = trainer(d.model);
    ok(dl4_trainer_evaluate(d.t, d.data, d.cancel, nullptr, 0, nullptr));
    EXPECT_EQ(d.released, 1);
  }
  {
    Dropping d;
    dl4_tensor *in = d.x, *y = nullptr;
    Own<dl4_tensor> expected, got, kept = tensor({16, 3});
    ok(dl4_session_run(d.session, &in, 1, expected.out(), 1, nullptr));
    ok(dl4_session_predict(d.session, d.data, d.cancel, &y, 1));
    got = y;
    EXPECT_EQ(d.released, 1);
    auto twice = floats(expected);
    twice.insert(twice.end(), twice.begin(), twice.end());
    EXPECT_EQ(floats(got), twice);
  }
  {
    Dropping d;
    d.out = tensor({16, 3});
    dl4_tensor *y = d.out;
    ok(dl4_session_predict(d.session, d.data, d.cancel, &y, 1));
    EXPECT_EQ(d.released, 1);
  }
}

TEST(Graph, ANodeMayBeReplacedByWhatIsMadeOfIt) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node y = input(g, "x", {-1, 4});
  ok(dl4_graph_add(g, "Dense", nullptr, R"({"units": 3})", nullptr, nullptr, &y, 1, &y, 1));
  EXPECT_EQ(y, 1);
  EXPECT_EQ(refusal(dl4_graph_add(g, "Dense", nullptr, R"({"units": 0})", nullptr, nullptr, &y, 1, &y, 1)).code,
            DL4_INVALID_ARGUMENT);
  EXPECT_EQ(y, -1);
}

TEST(Describe, EveryObjectHasJsonAndText) {
  auto model = small_net();
  auto x = tensor({4, 4}), y = tensor({4, 3});
  auto bag = refs("a", model);
  auto data = dataset(x, y);
  auto t = trainer(model);
  Own<dl4_session> session;
  Own<dl4_context> context;
  Own<dl4_cancel> cancel;
  Own<dl4_graph> graph;
  ok(dl4_session_create(model, nullptr, session.out()));
  ok(dl4_context_create(nullptr, context.out()));
  ok(dl4_cancel_create(cancel.out()));
  ok(dl4_graph_create(nullptr, graph.out()));
  const std::pair<const char *, const void *> objects[] = {
      {"dl4_model", model},     {"dl4_tensor", x},      {"dl4_refs", bag},
      {"dl4_dataset", data},    {"dl4_trainer", t},     {"dl4_session", session},
      {"dl4_context", context}, {"dl4_cancel", cancel}, {"dl4_graph", graph}};
  Own<dl4_blob> api;
  ok(dl4_api_description(api.out()));
  std::map<std::string, std::set<std::string>> members;
  const auto all = nlohmann::json::parse(dl4_blob_data(api));
  for (const auto &object : all.at("objects"))
    members[object.at("name")] = object.at("describe").get<std::set<std::string>>();
  members["dl4_session"].erase("stream");  // it can't run step by step
  for (const auto &[name, o] : objects) {
    std::set<std::string> keys;
    const auto json = nlohmann::json::parse(described(o, DL4_FORMAT_JSON));
    for (const auto &[key, value] : json.items()) keys.insert(key);
    EXPECT_EQ(keys, members[name]) << name;
    for (int32_t format : {0, 1}) {
      Own<dl4_blob> text;
      ok(dl4_describe(o, format, text.out()));
      EXPECT_GT(dl4_blob_size(text), 0);
      if (format == 0) {
        EXPECT_EQ(dl4_blob_data(text)[0], '{');
      }
    }
  }
  Own<dl4_blob> summary, drawing;
  ok(dl4_describe(model, DL4_FORMAT_TEXT, summary.out()));
  EXPECT_NE(std::string(dl4_blob_data(summary)).find("Total params: 67 (268.00 B)"), std::string::npos)
      << dl4_blob_data(summary);
  ok(dl4_describe(model, DL4_FORMAT_DOT, drawing.out()));
  EXPECT_EQ(std::string(dl4_blob_data(drawing)).rfind("digraph", 0), 0u);
}

// Memory that counts, and refuses when told to.
struct Purse {
  int64_t held = 0, taken = 0;
  std::set<const void *> blocks;
  bool empty = false;
  static void *take(void *user, int64_t bytes, int64_t align) {
    auto &p = *static_cast<Purse *>(user);
    if (p.empty) return nullptr;
    p.held += bytes;
    ++p.taken;
    void *memory = std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(bytes));
    p.blocks.insert(memory);
    return memory;
  }
  static void give(void *user, void *memory, int64_t bytes) {
    auto &p = *static_cast<Purse *>(user);
    p.held -= bytes;
    p.blocks.erase(memory);
    std::free(memory);
  }
  Own<dl4_context> context() {
    Own<dl4_context> c;
    ok(dl4_context_create(nullptr, c.out()));
    ok(dl4_context_set_allocator(c, take, give, this));
    return c;
  }
};

TEST(Allocator, IsAskedAndGetsEverythingBack) {
  Purse purse;
  {
    auto c = purse.context();
    auto model = small_net(c);
    Own<dl4_session> session;
    ok(dl4_session_create(model, nullptr, session.out()));
    auto x = tensor({2, 4});
    dl4_tensor *in = x, *y = nullptr;
    purse.empty = true;
    EXPECT_EQ(refusal(dl4_session_run(session, &in, 1, &y, 1, nullptr)).code, DL4_OUT_OF_MEMORY);
    EXPECT_EQ(y, nullptr);
    purse.empty = false;
    ok(dl4_session_run(session, &in, 1, &y, 1, nullptr));
    EXPECT_GT(purse.taken, 0);
    dl4_release(y);
  }
  EXPECT_EQ(purse.held, 0);
}

TEST(Allocator, GivesOutputsAndRoomForStridedInputs) {
  Purse purse;
  {
    auto c = purse.context();
    auto model = small_net(c);
    Own<dl4_session> session;
    Own<dl4_tensor> strided, run, whole, y = tensor({8, 3});
    ok(dl4_session_create(model, nullptr, session.out()));
    auto x = tensor({8, 4}, numbers(32)), target = tensor({8, 3});
    auto data = dataset(x, target, R"({"batch_size": 4})");
    dl4_tensor *in = x, *out = y;
    ok(dl4_session_run(session, &in, 1, run.out(), 1, nullptr));
    EXPECT_EQ(purse.blocks.count(dl4_tensor_data(run)), 1u);
    ok(dl4_session_predict(session, data, nullptr, whole.out(), 1));
    EXPECT_EQ(purse.blocks.count(dl4_tensor_data(whole)), 1u);
    const int64_t dims[2] = {8, 4}, strides[2] = {1, 8};
    auto values = numbers(32);
    ok(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, strides, values.data(), 128, nullptr, nullptr, strided.out()));
    int64_t before = purse.taken;
    in = strided;
    ok(dl4_session_run(session, &in, 1, &out, 1, nullptr));
    EXPECT_EQ(purse.taken, before + 1);
  }
  EXPECT_EQ(purse.held, 0);
}

size_t plans(const void *object) {
  Own<dl4_blob> listing;
  ok(dl4_describe(object, DL4_FORMAT_TEXT, listing.out()));
  size_t n = 0;
  for (const char *s = dl4_blob_data(listing); (s = std::strstr(s, "plan for")) != nullptr; ++s) ++n;
  return n;
}

TEST(Context, TrimGivesBackPlansAndFramesOfSessionsAndTrainers) {
  Purse purse;
  Own<dl4_context> c;
  ok(dl4_context_create(nullptr, c.out()));
  ok(dl4_context_set_allocator(c, Purse::take, Purse::give, &purse));
  auto model = small_net(c);
  auto t = trainer(model);
  Own<dl4_session> session;
  ok(dl4_session_create(model, nullptr, session.out()));
  std::vector<std::vector<float>> expected;
  for (int round = 0; round < 2; ++round) {
    for (int64_t rows : {2, 3}) {
      auto x = tensor({rows, 4}, numbers(static_cast<size_t>(rows) * 4)), y = tensor({rows, 3});
      auto out = tensor({rows, 3});
      dl4_tensor *in = x, *target = y, *to = out;
      ok(dl4_session_run(session, &in, 1, &to, 1, nullptr));
      ok(dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
      if (round == 0) expected.push_back(floats(out));
      EXPECT_EQ(floats(out), expected[static_cast<size_t>(rows - 2)]);
    }
    EXPECT_EQ(plans(session), 2u);
    EXPECT_EQ(plans(t), 2u);
    EXPECT_GT(purse.held, 0);
    ok(dl4_context_trim(c));
    EXPECT_EQ(plans(session), 0u);
    EXPECT_EQ(plans(t), 0u);
    EXPECT_EQ(purse.held, 0);
  }
}

TEST(Refs, SettingAgainReplaces) {
  Own<dl4_model> m = small_net();
  auto r = refs("k", {1});
  ok(dl4_refs_set_nodes(r, "k", std::vector<dl4_node>{3, -1}.data(), 2));
  EXPECT_EQ(described(r, DL4_FORMAT_JSON), R"({"models":{},"nodes":{"k":[3,-1]}})");
  ok(dl4_refs_set_model(r, "k", m));
  ok(dl4_refs_set_model(r, "k", small_net()));
  const auto text = nlohmann::json::parse(described(r, DL4_FORMAT_JSON));
  EXPECT_EQ(text["models"]["k"], nlohmann::json::parse(described(m, DL4_FORMAT_JSON)));
  EXPECT_EQ(text["nodes"]["k"].size(), 2u);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
