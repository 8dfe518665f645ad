// Hazard 7 and every refusal of a file, through the border; and what goes through files unchanged.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "capi/net.hpp"
#include "capi/signed.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

using Files = Folder;

std::string saved(dl4_model *m) {
  Own<dl4_blob> b;
  ok(dl4_model_save_bytes(m, nullptr, b.out()));
  return {dl4_blob_data(b), static_cast<size_t>(dl4_blob_size(b))};
}

dl4_error *load(const std::string &bytes, dl4_model **m) {
  return load_copy(nullptr, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, m);
}

// The code of loading these bytes, 0 if they are a model.
Refusal load_code(const std::string &bytes) {
  dl4_model *m = reinterpret_cast<dl4_model *>(8);
  Refusal r = refusal(load(bytes, &m));
  EXPECT_EQ(r.code != 0, m == nullptr);
  if (m) dl4_release(m);
  return r;
}

// Takes a file apart, lets its header be changed, and puts it together, with checksums that fit.
std::string with_header(const std::string &bytes, const std::function<void(json &)> &change) {
  uint64_t old = 0;
  std::memcpy(&old, bytes.data(), 8);
  json header = json::parse(bytes.substr(8, old));
  change(header);
  return with_sums(header, bytes.substr(8 + old), true);
}

TEST_F(Files, EveryTruncationOfAModelIsRefused) {
  std::string bytes = saved(small_net());
  for (size_t n = 0; n < bytes.size(); ++n) {
    Refusal r = load_code(bytes.substr(0, n));
    ASSERT_EQ(r.code, DL4_CORRUPT_FILE) << n << ": " << r.message;
    ASSERT_FALSE(r.message.empty());
  }
  EXPECT_EQ(load_code(bytes + '\0').code, DL4_CORRUPT_FILE);
  EXPECT_EQ(load_code(bytes).code, 0);
}

TEST_F(Files, ForeignAndNewerFilesAreNamed) {
  std::string bytes = saved(small_net());
  auto meta = [&](const char *key, const std::string &value) {
    return with_header(bytes, [&](json &h) { h["__metadata__"][key] = value; });
  };
  EXPECT_EQ(load_code(with_header(bytes, [](json &) {})).code, 0);
  Refusal newer = load_code(meta("format_version", "2"));
  EXPECT_EQ(newer.code, DL4_VERSION) << newer.message;
  EXPECT_NE(newer.message.find('2'), std::string::npos);
  EXPECT_EQ(load_code(meta("format_version", "two")).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(load_code(meta("architecture", "{")).code, DL4_CORRUPT_FILE);
  Refusal foreign = load_code(with_header(bytes, [](json &h) { h["__metadata__"] = {{"format", "pt"}}; }));
  EXPECT_EQ(foreign.code, DL4_CORRUPT_FILE);
  EXPECT_NE(foreign.message.find("pt"), std::string::npos) << foreign.message;
  EXPECT_EQ(load_code(with_header(bytes, [](json &h) { h.erase("__metadata__"); })).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(load_code(std::string(64, '\0')).code, DL4_CORRUPT_FILE);
  auto architecture = [&](const std::function<void(json &)> &change) {
    return load_code(with_header(bytes, [&](json &h) {
      json a = json::parse(h["__metadata__"]["architecture"].get<std::string>());
      change(a);
      h["__metadata__"]["architecture"] = a.dump();
    }));
  };
  Refusal unknown = architecture([](json &a) { a["layers"][1]["class_name"] = "Dens"; });
  EXPECT_EQ(unknown.code, DL4_UNKNOWN_KIND) << unknown.message;
  EXPECT_NE(unknown.message.find("Dense"), std::string::npos);
  EXPECT_EQ(architecture([](json &a) { a["layers"][1]["config"]["units"] = 9; }).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(architecture([](json &a) { a["layers"][1]["config"]["units"] = 2000000000; }).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(architecture([](json &a) { a["layers"].erase(1); }).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(architecture([](json &a) { a["format"] = 2; }).code, DL4_VERSION);
  for (int64_t below : {0, -1}) {
    EXPECT_EQ(architecture([&](json &a) { a["format"] = below; }).code, DL4_CORRUPT_FILE);
    EXPECT_EQ(architecture([&](json &a) { a["layers"][1]["version"] = below; }).code, DL4_CORRUPT_FILE);
    auto old_kind = [&](json &a) { a["layers"][1]["config"]["kernel_initializer"]["version"] = below; };
    EXPECT_EQ(architecture(old_kind).code, DL4_CORRUPT_FILE);
  }
  EXPECT_EQ(architecture([](json &a) { a["format"] = UINT64_MAX; }).code, DL4_CORRUPT_FILE);
  auto wide = [](json &a) { a["layers"][0]["config"]["shape"][0] = UINT64_MAX; };
  EXPECT_EQ(architecture(wide).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(architecture([](json &a) { a["layers"][1]["random_seed"] = -1; }).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(architecture([](json &a) { a["layers"][1]["random_seed"] = "7"; }).code, DL4_CORRUPT_FILE);
}

TEST_F(Files, WhatIsNoModelIsCorrupt) {
  using namespace std::string_literals;
  const std::string rest(100, '\x01');
  for (const std::string &bytes : {"PK"s, "\x08\x08\x12"s, "\x08\x08\x00\x00\x00\x00\x00\x00{}"s + rest})
    EXPECT_EQ(load_code(bytes).code, DL4_CORRUPT_FILE);
  for (const std::string &bytes : {"\x08\x08\x12\x07pytorch"s + rest, "\x08\x0a\x3a\x90\x01"s + rest})
    EXPECT_EQ(load_code(bytes).code, DL4_ONNX ? DL4_CORRUPT_FILE : DL4_UNSUPPORTED);
}

TEST_F(Files, TheVersionOfProjectHeaderLibraryAndFilesIsOne) {
  Own<dl4_blob> info;
  ok(dl4_build_info(info.out()));
  EXPECT_EQ(json::parse(dl4_blob_data(info))["version"], DL4_PROJECT_VERSION);
  int32_t number = DL4_VERSION_MAJOR * 1000000 + DL4_VERSION_MINOR * 1000 + DL4_VERSION_PATCH;
  EXPECT_EQ(dl4_version(), number);
  std::string library;
  with_header(saved(small_net()), [&](json &h) { library = h["__metadata__"]["library"]; });
  EXPECT_EQ(library, "dl4 " DL4_PROJECT_VERSION);
}

TEST_F(Files, LyingChecksumsAreFoundUnlessVerifyIsOff) {
  std::string bytes = saved(small_net());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  Refusal r = load_code(bytes);
  EXPECT_EQ(r.code, DL4_CORRUPT_FILE);
  EXPECT_NE(r.message.find("checksum"), std::string::npos) << r.message;
  Own<dl4_model> m;
  ok(load_copy(nullptr, bytes.data(), static_cast<int64_t>(bytes.size()), R"({"verify": false})", m.out()));
}

TEST_F(Files, WithoutChecksumsAFileIsNotVerified) {
  const std::string bytes = saved(small_net());
  auto length = [](const std::string &file) { return static_cast<int64_t>(file.size()); };
  auto no_sums = with_header(bytes, [](json &h) { h["__metadata__"].erase("crc32"); });
  std::string no_sum = bytes;
  no_sum[no_sum.find("header_crc32")] = 'H';
  for (const std::string &file : {no_sums, no_sum}) {
    Refusal r = load_code(file);
    EXPECT_EQ(r.code, DL4_CORRUPT_FILE);
    EXPECT_NE(r.message.find("the metadata has no"), std::string::npos) << r.message;
    Own<dl4_model> m;
    ok(load_copy(nullptr, file.data(), length(file), R"({"verify": false})", m.out()));
  }
  std::string changed = bytes;
  changed[changed.find("\\\"units\\\":8") + 10] = '9';
  EXPECT_NE(load_code(changed).message.find("the header's checksum does not fit"), std::string::npos);
}

// No reader waits for a writer.
TEST_F(Files, APipeIsRefusedAtOnce) {
  auto t = trainer(small_net());
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  Own<dl4_model> m;
  for (dl4_error *e :
       {dl4_model_load(nullptr, path("pipe").c_str(), nullptr, m.out()), dl4_trainer_load(t, path("pipe").c_str())}) {
    Refusal r = refusal(e);
    EXPECT_EQ(r.code, DL4_IO);
    EXPECT_NE(r.message.find("expected a regular file"), std::string::npos) << r.message;
  }
}

TEST_F(Files, MissingUnreadableAndForbiddenPathsAreRefusedAndLeaveNothing) {
  auto model = small_net();
  auto t = trainer(model);
  Own<dl4_model> m;
  Refusal r = refusal(dl4_model_load(nullptr, path("missing").c_str(), nullptr, m.out()));
  EXPECT_EQ(r.code, DL4_NOT_FOUND) << r.message;
  EXPECT_NE(r.message.find(path("missing")), std::string::npos) << r.message;
  EXPECT_EQ(refusal(dl4_trainer_load(t, path("missing").c_str())).code, DL4_NOT_FOUND);
  EXPECT_EQ(refusal(dl4_model_load(nullptr, folder_.c_str(), nullptr, m.out())).code, DL4_IO);
  EXPECT_EQ(refusal(dl4_model_save(model, path("no/such/folder").c_str(), nullptr)).code, DL4_IO);
  EXPECT_EQ(refusal(dl4_trainer_save(t, path("no/such/folder").c_str())).code, DL4_IO);
  EXPECT_EQ(refusal(dl4_model_save(model, folder_.c_str(), nullptr)).code, DL4_IO);
  EXPECT_EQ(refusal(dl4_model_save(model, "", nullptr)).code, DL4_IO);
  EXPECT_EQ(refusal(dl4_model_load(nullptr, "", nullptr, m.out())).code, DL4_NOT_FOUND);
  EXPECT_EQ(refusal(dl4_model_save(model, std::string(5000, 'a').c_str(), nullptr)).code, DL4_IO);
  EXPECT_EQ(count(), 0u);
  put("old", "kept");
  chmod(path("old").c_str(), 0400);
  if (geteuid() != 0) {
    EXPECT_EQ(refusal(dl4_model_save(model, path("old").c_str(), nullptr)).code, DL4_IO);
    EXPECT_EQ(get("old"), "kept");
  }
  EXPECT_EQ(count(), 1u);
}

TEST_F(Files, OneKindOfFileIsNotTheOther) {
  auto model = small_net();
  auto t = trainer(model);
  ok(dl4_trainer_save(t, path("checkpoint").c_str()));
  ok(dl4_model_save(model, path("model").c_str(), nullptr));
  Own<dl4_model> m;
  Refusal r = refusal(dl4_model_load(nullptr, path("checkpoint").c_str(), nullptr, m.out()));
  EXPECT_EQ(r.code, DL4_CORRUPT_FILE);
  EXPECT_NE(r.message.find("checkpoint"), std::string::npos) << r.message;
  r = refusal(dl4_trainer_load(t, path("model").c_str()));
  EXPECT_EQ(r.code, DL4_CORRUPT_FILE);
  EXPECT_NE(r.message.find("dl4-model"), std::string::npos) << r.message;
}

// No file of one format comes to lie under the name of another.
TEST_F(Files, ASuffixThatSaysNoFormatIsRefusedAndTheKnownAreListed) {
  auto model = small_net();
  auto t = trainer(model);
  Own<dl4_tensor> x = tensor({2}, {1, 2});
  const auto model_to = [&](const char *name) { return dl4_model_save(model, path(name).c_str(), nullptr); };
  const auto trainer_to = [&](const char *name) { return dl4_trainer_save(t, path(name).c_str()); };
  const auto tensor_to = [&](const char *name) { return dl4_tensor_save(x, path(name).c_str()); };
  const auto refused = [&](dl4_error *e, const char *known, const char *meant = nullptr) {
    const Refusal r = refusal(e);
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << r.message;
    EXPECT_NE(r.message.find(known), std::string::npos) << r.message;
    EXPECT_EQ(json::parse(r.detail)["expected"], std::string(known) + ", or no suffix");
    if (meant) {
      EXPECT_EQ(json::parse(r.detail)["did_you_mean"], meant);
    }
  };
  const char *models = ".safetensors, .dl4, .keras, .weights.h5, .npz, .onnx";
  for (const char *name : {"m.tflite", "m.pt", "m.h5", "m.hdf5", "m.v2", "m.json", "a.keras.zip"})
    refused(model_to(name), models);
  refused(model_to("m.onxx"), models, ".onnx");
  refused(model_to("m.KERAS"), models, ".keras");
  for (const char *name : {"t.onnx", "t.npz", "t.weights.h5", "t.ckpt"})
    refused(trainer_to(name), ".safetensors, .dl4, .checkpoint, .keras");
  for (const char *name : {"x.npz", "x.csv"}) refused(tensor_to(name), ".npy");
  EXPECT_EQ(count(), 0u);
  ok(dl4_model_save(model, path("m.pt").c_str(), R"({"format": "native"})"));  // as was said outright
  EXPECT_EQ(get("m.pt"), saved(model));
  for (const char *name : {"m", ".m", "m-0.35", "m.", "m.dl4", "m.d/m", "m.safetensors"}) {
    fs::create_directory(path("m.d"));
    ok(model_to(name));
    EXPECT_EQ(get(name), saved(model)) << name;
  }
  for (const char *name : {"t", "t-1.5", "t.dl4", "t.checkpoint", "t.safetensors"}) ok(trainer_to(name));
  ok(tensor_to("x"));
}

TEST_F(Files, ACheckpointOfAnotherModelOrOptimizerChangesNothing) {
  auto model = small_net();
  auto t = trainer(model, R"({"optimizer": "Adam", "loss": "MeanSquaredError"})");
  ok(dl4_trainer_save(t, path("checkpoint").c_str()));
  Own<dl4_graph> g;
  Own<dl4_model> wide;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node x = input(g, "x", {-1, 4}), h = add(g, "Dense", "hidden", R"({"units": 9})", x),
           y = add(g, "Dense", "answer", R"({"units": 3})", h);
  ok(dl4_graph_build(g, &x, 1, &y, 1, wide.out()));
  auto other = trainer(wide, R"({"optimizer": "Adam", "loss": "MeanSquaredError"})");
  std::string before = saved(wide);
  Refusal r = refusal(dl4_trainer_load(other, path("checkpoint").c_str()));
  EXPECT_EQ(r.code, DL4_SHAPE_MISMATCH) << r.message;
  EXPECT_NE(r.message.find("hidden/"), std::string::npos) << r.message;
  EXPECT_EQ(saved(wide), before);
  auto twin = small_net();
  auto plain = trainer(twin);  // SGD has no moments
  EXPECT_NE(refusal(dl4_trainer_load(plain, path("checkpoint").c_str())).code, 0);
}

std::vector<float> run(const dl4_model *m) { return dl4_test::run(m, {tensor({7, 4}, numbers(28))})[0]; }

TEST_F(Files, MemoryAndPathHoldTheSameBytesAndGiveTheSameBits) {
  auto model = small_net();
  ok(dl4_model_save(model, path("model").c_str(), nullptr));
  EXPECT_EQ(get("model"), saved(model));
  Own<dl4_model> loaded;
  ok(dl4_model_load(nullptr, path("model").c_str(), nullptr, loaded.out()));
  EXPECT_EQ(saved(loaded), saved(model));
  EXPECT_EQ(run(model), run(loaded));
  EXPECT_EQ(count(), 1u);
}

// A tensor of a file's bytes in memory of the test's, which counts in `gone` that it was given back.
Own<dl4_tensor> wrapped(std::string &bytes, int64_t from = 0, int *gone = nullptr) {
  Own<dl4_tensor> t;
  const int64_t size = static_cast<int64_t>(bytes.size()) - from;
  dl4_release_fn count = [](void *user) { ++*static_cast<int *>(user); };
  ok(dl4_tensor_wrap(nullptr, DL4_UINT8, 1, &size, nullptr, bytes.data() + from, size, gone ? count : nullptr, gone,
                     t.out()));
  return t;
}

TEST_F(Files, AModelOfATensorKeepsItsMemoryAndNothingWritesThere) {
  auto original = small_net();
  std::string bytes = saved(original);
  const std::string before = bytes;
  int gone = 0;
  Own<dl4_model> model;
  ok(dl4_model_load_bytes(nullptr, wrapped(bytes, 0, &gone), nullptr, model.out()));
  EXPECT_EQ(run(model), run(original));
  Own<dl4_session> session;
  ok(dl4_session_create(model, nullptr, session.out()));
  ok(dl4_model_set_weight(model, "answer/bias", tensor({3}, {1, 2, 3})));
  {
    auto t = trainer(model, R"({"optimizer": "sgd", "loss": "mse"})");
    auto x = tensor({4, 4}, numbers(16)), y = tensor({4, 3}, numbers(12));
    dl4_tensor *in = x, *target = y;
    ok(dl4_trainer_step(t, &in, 1, &target, 1, nullptr, 0, nullptr, 0, nullptr));
  }
  EXPECT_NE(run(model), run(original));
  EXPECT_EQ(bytes, before);
  model = {};
  EXPECT_EQ(gone, 0) << "the session has the weights of before";
  session = {};
  EXPECT_EQ(gone, 1);
}

TEST_F(Files, AModelOfATensorNeedsNoAlignmentAndNoDenseness) {
  auto original = small_net();
  const std::string bytes = saved(original);
  for (int64_t from : {0, 1, 2, 4, 12}) {
    std::string moved = std::string(static_cast<size_t>(from), ' ') + bytes;
    Own<dl4_model> model;
    ok(dl4_model_load_bytes(nullptr, wrapped(moved, from), nullptr, model.out()));
    EXPECT_EQ(run(model), run(original)) << from;
  }
  std::string twice(2 * bytes.size(), ' ');
  for (size_t i = 0; i < bytes.size(); ++i) twice[2 * i] = bytes[i];
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t stride = 2;
  Own<dl4_tensor> t;
  Own<dl4_model> model;
  ok(dl4_tensor_wrap(nullptr, DL4_UINT8, 1, &size, &stride, twice.data(), 2 * size, nullptr, nullptr, t.out()));
  ok(dl4_model_load_bytes(nullptr, t, nullptr, model.out()));
  EXPECT_EQ(run(model), run(original));
}

TEST_F(Files, AModelOfATensorIsReadAsStrictly) {
  const std::string bytes = saved(small_net());
  Own<dl4_model> model;
  for (size_t n : {size_t{0}, size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    std::string part = bytes.substr(0, n);
    EXPECT_EQ(refusal(dl4_model_load_bytes(nullptr, wrapped(part), nullptr, model.out())).code, DL4_CORRUPT_FILE) << n;
  }
  std::string flipped = bytes;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  EXPECT_EQ(refusal(dl4_model_load_bytes(nullptr, wrapped(flipped), nullptr, model.out())).code, DL4_CORRUPT_FILE);
  ok(dl4_model_load_bytes(nullptr, wrapped(flipped), R"({"verify": false})", model.out()));
  const Refusal r = refusal(dl4_model_load_bytes(nullptr, tensor({2, 3}, numbers(6)), nullptr, model.out()));
  EXPECT_EQ(r.code, DL4_INVALID_ARGUMENT);
  EXPECT_NE(r.message.find("expected uint8 of rank 1, got float32 (2, 3)"), std::string::npos) << r.message;
}

TEST_F(Files, TensorsBeginWhereVectorsAreAligned) {
  const std::string bytes = saved(small_net());
  uint64_t size = 0;
  std::memcpy(&size, bytes.data(), 8);
  EXPECT_EQ((size + 8) % 64, 0u);
}

TEST_F(Files, ALayersNameMayBeAsLongAsTheHeaderSays) {
  Own<dl4_graph> g;
  Own<dl4_model> m, loaded;
  ok(dl4_graph_create(nullptr, g.out()));
  const std::string name(1024, 'n');
  dl4_node x = input(g, "x", {-1, 4}), y = add(g, "Dense", name.c_str(), R"({"units": 3})", x);
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_model_save(m, path("model").c_str(), nullptr));
  ok(dl4_model_load(nullptr, path("model").c_str(), nullptr, loaded.out()));
  EXPECT_EQ(saved(loaded), saved(m));
  auto t = trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError"})");
  ok(dl4_trainer_save(t, path("checkpoint").c_str()));
  ok(dl4_trainer_load(t, path("checkpoint").c_str()));
}

// However large: the header's limit is no limit of theirs.
TEST_F(Files, ConstantsAreTensorsOfTheFile) {
  Own<dl4_graph> g;
  Own<dl4_model> m, again;
  Own<dl4_session> s;
  ok(dl4_graph_create(nullptr, g.out()));
  auto large = tensor({50'000'001}, {}, DL4_UINT8);
  static_cast<uint8_t *>(dl4_tensor_data(large))[50'000'000] = 7;
  dl4_node y = -1;
  ok(dl4_graph_add_constant(g, "large", large, &y));
  ok(dl4_graph_build(g, nullptr, 0, &y, 1, m.out()));
  ok(dl4_model_save(m, path("model").c_str(), nullptr));
  ok(dl4_model_load(nullptr, path("model").c_str(), nullptr, again.out()));
  ok(dl4_session_create(again, nullptr, s.out()));
  Own<dl4_tensor> out;
  ok(dl4_session_run(s, nullptr, 0, out.out(), 1, nullptr));
  EXPECT_EQ(static_cast<const uint8_t *>(dl4_tensor_data(out))[50'000'000], 7);

  std::string bytes = get("model");
  const auto changed = [&](const char *key, json value) {
    return load_code(with_header(bytes,
                                 [&](json &h) {
                                   json a = json::parse(h["__metadata__"]["architecture"].get<std::string>());
                                   a["layers"][0]["config"][key] = std::move(value);
                                   h["__metadata__"]["architecture"] = a.dump();
                                 }))
        .message;
  };
  EXPECT_NE(changed("tensor", "constants/1").find("tensor \"constants/1\" is missing"), std::string::npos);
  EXPECT_NE(changed("shape", {3}).find("expected uint8 (3,), the file has uint8 (50000001,)"), std::string::npos)
      << changed("shape", {3});
}

// ---- Hazard 7 -----------------------------------------------------------------------------------------------------

TEST_F(Files, Hazard7AModelNamesNoOtherFile) {
  // Whatever a file says, loading it opens nothing: texts that look like paths are names or refusals.
  std::string bytes = saved(small_net());
  put("secret", "a secret");
  for (const std::string &name : {path("secret"), std::string("../secret"), std::string("file://") + path("secret")}) {
    Refusal r = load_code(with_header(bytes, [&](json &h) {
      json a = json::parse(h["__metadata__"]["architecture"].get<std::string>());
      a["name"] = name;
      a["layers"][1]["config"]["weights_path"] = name;
      h["__metadata__"]["architecture"] = a.dump();
      h["__metadata__"]["external_data"] = name;
    }));
    EXPECT_EQ(r.code, DL4_CORRUPT_FILE);
    EXPECT_EQ(r.message.find("a secret"), std::string::npos);
  }
  EXPECT_EQ(count(), 1u);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
