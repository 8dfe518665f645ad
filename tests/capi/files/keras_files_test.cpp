// Files that Keras wrote (tests/io/data/make.py): what their models give, and what becomes of damaged ones.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "capi/damaged.hpp"
#include "capi/use.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;

std::string data(const std::string &name) { return DL4_SOURCE_DIR "/tests/io/data/" + name; }

struct Array {
  std::vector<int64_t> dims;
  std::vector<float> values;  // or other words of four bytes
  int32_t dtype = DL4_FLOAT32;
};

// "<file>/input/0", "<file>/output/0", ...
void add_expected(const std::string &file, std::map<std::string, Array> &all) {
  const std::string bytes = bytes_of(data(file));
  uint64_t head = 0;
  std::memcpy(&head, bytes.data(), 8);
  const json header = json::parse(bytes.substr(8, head));
  for (const auto &[name, j] : header.items()) {
    if (name == "__metadata__") continue;
    Array &a = all[name];
    a.dims = j["shape"].get<std::vector<int64_t>>();
    const size_t begin = j["data_offsets"][0], end = j["data_offsets"][1];
    if (j["dtype"] == "I32") a.dtype = DL4_INT32;
    a.values.resize((end - begin) / 4);
    std::memcpy(a.values.data(), &bytes[8 + head + begin], end - begin);
  }
}

std::map<std::string, Array> expected() {
  std::map<std::string, Array> all;
  for (const char *file : {"expected.safetensors", "expected_old.safetensors", "expected_keras_2.safetensors",
                           "expected_tf_keras.safetensors", "expected_quantized.safetensors"})
    add_expected(file, all);
  return all;
}

// What the model gives for the inputs of a file.
std::vector<std::vector<float>> outputs(const dl4_model *m, const std::string &file,
                                        const std::map<std::string, Array> &all) {
  std::vector<Own<dl4_tensor>> in;
  for (int i = 0; all.count(file + "/input/" + std::to_string(i)); ++i) {
    const Array &a = all.at(file + "/input/" + std::to_string(i));
    in.push_back(tensor(a.dims, a.values, a.dtype));
  }
  Own<dl4_session> s;
  ok(dl4_session_create(m, nullptr, s.out()));
  std::vector<dl4_tensor *> from(in.begin(), in.end()),
      to(static_cast<size_t>(dl4_port_count(m, DL4_OUTPUTS)), nullptr);
  ok(dl4_session_run(s, from.data(), static_cast<int64_t>(from.size()), to.data(), static_cast<int64_t>(to.size()),
                     nullptr));
  std::vector<std::vector<float>> out;
  for (dl4_tensor *t : to) {
    out.push_back(floats(t));
    dl4_release(t);
  }
  return out;
}

void expect_equal(const dl4_model *m, const std::string &file) {
  const auto all = expected();
  const auto out = outputs(m, file, all);
  for (size_t i = 0; i < out.size(); ++i) {
    const Array &wanted = all.at(file + "/output/" + std::to_string(i));
    ASSERT_EQ(out[i].size(), wanted.values.size());
    for (size_t k = 0; k < out[i].size(); ++k)
      EXPECT_NEAR(out[i][k], wanted.values[k], 1e-6f * std::max(1.0f, std::abs(wanted.values[k]))) << file << ' ' << k;
  }
  EXPECT_FALSE(all.count(file + "/output/" + std::to_string(out.size())));
}

using KerasFiles = Folder;

TEST_F(KerasFiles, GiveWhatKerasGave) {
  for (const char *file : {"functional.keras",
                           "masked.keras",
                           "nested.keras",
                           "sequential.keras",
                           "sequential.h5",
                           "scaled.h5",
                           "keras_2_nested.keras",
                           "keras_2.h5",
                           "keras_1_lstm.h5",
                           "keras_1_conv.h5",
                           "keras_2_cudnn.h5",
                           "tf_keras_activations.h5",
                           "tf_keras_depthwise1d.h5",
                           "tf_keras_seq2seq.h5",
                           "tf_keras_mha_scores.h5",
                           "tf_keras_op_slice.h5",
                           "tf_keras_op_arith.h5",
                           "tf_keras_op_shape.h5",
                           "tf_keras_op_nn.h5",
                           "tf_keras_op_logic.h5",
                           "tf_keras_op_gather.h5",
                           "tf_keras_local2d.h5",
                           "tf_keras_td_dense.h5",
                           "tf_keras_ncf.h5",
                           "tf_keras_masked_states.h5",
                           "bfloat16.keras",
                           "float16.keras",
                           "quantizable.keras",
                           "quantized_int8.keras",
                           "quantized_int8_range.keras",
                           "quantized_int8_weights.keras",
                           "quantized_int4.keras",
                           "quantized_int4_blocks.keras",
                           "quantized_int4_columns.keras",
                           "quantized_int4_inputs.keras",
                           "quantized_gptq_3.keras",
                           "quantized_gptq_4.keras",
                           "quantized_gptq_8.keras",
                           "quantized_awq_4.keras",
                           "quantized_map.keras"}) {
    Own<dl4_model> m;
    ok(dl4_model_load(nullptr, data(file).c_str(), nullptr, m.out()));
    expect_equal(m, file);
    Refusal r;  // and as a file of ours
    const auto again = load(nullptr, saved(m), r);
    ASSERT_EQ(r.code, 0) << r.message;
    expect_equal(again, file);
    if (!std::string(file).ends_with(".keras")) continue;
    ok(dl4_model_save(m, path("again.keras").c_str(), nullptr));
    Own<dl4_model> rewritten;
    ok(dl4_model_load(nullptr, path("again.keras").c_str(), nullptr, rewritten.out()));
    expect_equal(rewritten, file);
    // However often: it does not grow.
    ok(dl4_model_save(rewritten, path("again.keras").c_str(), nullptr));
    Own<dl4_model> third;
    ok(dl4_model_load(nullptr, path("again.keras").c_str(), nullptr, third.out()));
    const auto layers = [](const dl4_model *of) {
      return json::parse(described(of, DL4_FORMAT_JSON))["layers"].size();
    };
    EXPECT_EQ(layers(third), layers(rewritten));
  }
}

TEST_F(KerasFiles, HaveNoStatesOfStatefulLayers) {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  const dl4_node x = input(g, "x", {2, 3, 2}), y = add(g, "LSTM", "lstm", R"({"units": 3, "stateful": true})", x);
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  ok(dl4_model_save(m, path("stateful.keras").c_str(), nullptr));
  Own<dl4_model> again;
  ok(dl4_model_load(nullptr, path("stateful.keras").c_str(), nullptr, again.out()));
  std::vector<std::vector<float>> got;
  for (const dl4_model *of : {static_cast<const dl4_model *>(m), static_cast<const dl4_model *>(again)}) {
    Own<dl4_session> s;
    ok(dl4_session_create(of, nullptr, s.out()));
    auto in = tensor({2, 3, 2}, numbers(12));
    dl4_tensor *from = in, *to = nullptr;
    ok(dl4_session_run(s, &from, 1, &to, 1, nullptr));
    got.push_back(floats(Own<dl4_tensor>(to)));
  }
  EXPECT_EQ(got[0], got[1]);
}

TEST_F(KerasFiles, KeepTheNamesOfKeras) {
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, data("sequential.keras").c_str(), nullptr, m.out()));
  std::vector<std::string> names;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) names.push_back(dl4_port_name(m, DL4_WEIGHTS, i));
  EXPECT_EQ(names, (std::vector<std::string>{"conv2d/kernel", "conv2d/bias", "batch_normalization/gamma",
                                             "batch_normalization/beta", "batch_normalization/moving_mean",
                                             "batch_normalization/moving_variance", "dense/kernel", "dense/bias"}));
}

TEST_F(KerasFiles, AreWrittenAsThePathOrTheOptionSays) {
  Own<dl4_model> m;
  ok(dl4_model_load(nullptr, data("functional.keras").c_str(), nullptr, m.out()));
  ok(dl4_model_save(m, path("a.keras").c_str(), nullptr));
  ok(dl4_model_save(m, path("b").c_str(), R"({"format": "keras"})"));
  ok(dl4_model_save(m, path("c.keras").c_str(), R"({"format": "native"})"));
  ok(dl4_model_save(m, path("d.weights.h5").c_str(), nullptr));
  EXPECT_EQ(bytes_of(path("a.keras")), bytes_of(path("b")));
  EXPECT_EQ(bytes_of(path("a.keras")).substr(0, 4), "PK\x03\x04");
  EXPECT_EQ(bytes_of(path("c.keras")), saved(m));
  EXPECT_EQ(bytes_of(path("d.weights.h5")).substr(1, 3), "HDF");
  for (const char *name : {"a.keras", "c.keras"}) {
    Own<dl4_model> again;
    ok(dl4_model_load(nullptr, path(name).c_str(), nullptr, again.out()));
    expect_equal(again, "functional.keras");
  }
  Own<dl4_blob> blob;
  ok(dl4_model_save_bytes(m, R"({"format": "keras"})", blob.out()));
  EXPECT_EQ(std::string(dl4_blob_data(blob), static_cast<size_t>(dl4_blob_size(blob))), bytes_of(path("a.keras")));
  EXPECT_EQ(refusal(dl4_model_save(m, path("f").c_str(), R"({"format": "pb"})")).code, DL4_INVALID_ARGUMENT);
}

TEST(KerasMutations, EndInAModelOrInARefusal) {
  auto c = bounded();
  std::vector<std::string> files;
  for (const char *file : {"functional.keras", "sequential.keras", "sequential.h5", "keras_2.h5", "keras_1_lstm.h5",
                           "keras_2_nested.keras"})
    files.push_back(bytes_of(data(file)));
  std::mt19937_64 random(14);
  const int most = times(1500, 625000);  // two of five are .keras, the others .h5
  int loaded = 0;
  double longest = 0;
  for (int i = 0; i < most; ++i) {
    const std::string bad = damaged(files[static_cast<size_t>(i) % files.size()], random);
    SCOPED_TRACE("mutation " + std::to_string(i));
    const auto start = std::chrono::steady_clock::now();
    Refusal r;
    const auto m = load(c, bad, r);
    longest = std::max(longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (m) ++loaded;
    const bool fair = r.code == 0 || r.code == DL4_CORRUPT_FILE || r.code == DL4_UNSUPPORTED ||
                      r.code == DL4_UNKNOWN_KIND || r.code == DL4_OUT_OF_MEMORY || r.code == DL4_VERSION;
    ASSERT_TRUE(fair) << r.code << ' ' << r.message;
    ASSERT_EQ(r.code == 0, r.message.empty());
  }
  std::printf("%d mutations, %d of them models\n", most, loaded);
  EXPECT_GT(loaded, most / 50);
  EXPECT_LT(longest, 20) << "seconds";
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
