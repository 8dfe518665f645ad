// Models with layers for texts and tables in files: Keras's, and back.
#include <sstream>

#include "capi/damaged.hpp"
#include "capi/texts.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path golden = fs::path(DL4_SOURCE_DIR) / "tests/golden/texts.keras";

std::string bytes_of_file(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void expect_keras_outputs(const dl4_model *m, const json &want = texts_json().at("file")) {
  std::vector<Own<dl4_tensor>> held;
  std::vector<dl4_tensor *> in, out(want.at("outputs").size(), nullptr);
  for (const json &x : want.at("inputs")) held.push_back(tensor_of(x)), in.push_back(held.back());
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  ok(dl4_session_run(s, in.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(out.size()),
                     nullptr));
  for (size_t i = 0; i < out.size(); ++i) {
    SCOPED_TRACE(i);
    expect_same(out[i], want.at("outputs")[i]);
    dl4_release(out[i]);
  }
}

TEST(TextFiles, AreReadWithTheirVocabulariesAndWrittenWithThem) {
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, golden.string().c_str(), nullptr, m.out()));
  ASSERT_TRUE(m.get());
  expect_keras_outputs(m);
  for (const char *name : {"texts_again.keras", "texts_again.safetensors"}) {
    SCOPED_TRACE(name);
    const std::string path = (fs::temp_directory_path() / name).string();
    ok(dl4_model_save(m, path.c_str(), nullptr));
    Own<dl4_model> again;
    ok(dl4_model_load(nullptr, path.c_str(), nullptr, again.out()));
    ASSERT_TRUE(again.get());
    expect_keras_outputs(again);
    fs::remove(path);
  }
}

TEST(TextFiles, OfAFeatureSpaceOfKerasAreRead) {
  std::ifstream in(golden.parent_path() / "features.json");
  const json want = json::parse(in);
  Own<dl4_model> m, again;
  ok(dl4_model_load(nullptr, (golden.parent_path() / "features.keras").string().c_str(), nullptr, m.out()));
  ASSERT_TRUE(m.get());
  expect_keras_outputs(m, want);
  const std::string path = (fs::temp_directory_path() / "features_again.keras").string();
  ok(dl4_model_save(m, path.c_str(), nullptr));
  ok(dl4_model_load(nullptr, path.c_str(), nullptr, again.out()));
  expect_keras_outputs(again, want);
  fs::remove(path);
}

// The archive with another name of each member of assets, or other bytes.
std::string replaced(std::string file, const std::string &from, const std::string &to) {
  EXPECT_EQ(from.size(), to.size());
  EXPECT_NE(file.find(from), file.npos) << from;
  for (size_t at = 0; (at = file.find(from, at)) != file.npos; at += to.size()) file.replace(at, to.size(), to);
  return file;
}

Refusal refused(const std::string &file, const char *options = nullptr, dl4_context *c = nullptr) {
  dl4_model *m = nullptr;
  const Refusal r = refusal(load_copy(c, file.data(), static_cast<int64_t>(file.size()), options, &m));
  EXPECT_EQ(m, nullptr);
  return r;
}

TEST(TextFiles, AreRefusedWithoutTheirAssets) {
  const std::string file = bytes_of_file(golden);
  const Refusal missing = refused(replaced(file, "assets/layers/text_vectorization/vocabulary.txt",
                                           "assets/layers/text_vectorization/vocabulary.tx_"));
  EXPECT_EQ(missing.code, DL4_CORRUPT_FILE) << missing.message;
  EXPECT_NE(missing.message.find("\": the file has no \"assets/layers/text_vectorization/vocabulary.txt\""),
            std::string::npos)
      << missing.message;
  const Refusal outside = refused(replaced(file, "assets/layers/text_vectorization/vocabulary.txt",
                                           "assets/../../../../text_vectorization/vocab.txt"));
  EXPECT_EQ(outside.code, DL4_CORRUPT_FILE) << outside.message;
  const Refusal cut = refused(file.substr(0, file.size() / 2));
  EXPECT_EQ(cut.code, DL4_CORRUPT_FILE) << cut.message;
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"memory_limit": 20000})", c.out()));
  EXPECT_EQ(refused(file, nullptr, c).code, DL4_OUT_OF_MEMORY);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
