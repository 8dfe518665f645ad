// What is saved is loaded: a model of every layer, with inputs of every type, and activation, in every format, gives
// what it gave, or its saving is refused by the layer's name. With DL4_SAVED_MODELS=FOLDER they are left there, for
// tests/io/saved_models.py.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "capi/hostile.hpp"
#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

// The formats of whole models.
constexpr const char *formats[] = {"native", "keras",
#if DL4_ONNX
                                   "onnx"
#endif
};
constexpr int32_t types[] = {DL4_FLOAT32, DL4_INT32, DL4_INT64, DL4_UINT8, DL4_BOOL};

// Beside the config that each kind has.
const std::map<std::string, std::vector<json>> &more_configs() {
  static const json cell{{"class_name", "LSTMCell"}, {"config", {{"units", 3}}}};
  static const json stack{{"class_name", "StackedRNNCells"}, {"config", {{"cells", json::array({cell, cell})}}}};
  static const std::map<std::string, std::vector<json>> all{
      {"LSTM", {{{"return_sequences", true}}, {{"go_backwards", true}}, {{"unroll", true}}, {{"activation", "gelu"}}}},
      {"GRU", {{{"return_sequences", true}}, {{"reset_after", false}}, {{"go_backwards", true}}}},
      {"SimpleRNN", {{{"return_sequences", true}}, {{"activation", "relu"}}, {{"go_backwards", true}}}},
      {"ConvLSTM1D", {{{"return_sequences", true}}, {{"padding", "same"}}, {{"go_backwards", true}}}},
      {"ConvLSTM2D", {{{"return_sequences", true}}, {{"padding", "same"}}, {{"dilation_rate", 2}}}},
      {"ConvLSTM3D", {{{"padding", "same"}}}},
      {"RNN", {{{"cell", cell}}, {{"cell", stack}, {"return_sequences", true}}}},
      {"Conv1D", {{{"padding", "same"}}, {{"padding", "causal"}, {"dilation_rate", 2}}, {{"groups", 2}}}},
      {"Conv2D", {{{"padding", "same"}, {"dilation_rate", 2}}, {{"padding", "same"}, {"strides", 2}}}},
      {"Conv2DTranspose", {{{"padding", "same"}, {"strides", 2}}}},
      {"MaxPooling2D", {{{"padding", "same"}}}},
      {"AveragePooling2D", {{{"padding", "same"}}}},
  };
  return all;
}

struct Saved {
  std::string who;
  json config;
  Own<dl4_graph> g;
  Own<dl4_model> m;
  std::vector<dl4_node> in;
  std::vector<Own<dl4_tensor>> given;
  std::vector<dl4_tensor *> from;
};

std::vector<int64_t> dims_of(const std::string &shape) {
  std::vector<int64_t> dims;
  const size_t first = shape.find('(') + 1;
  const std::string letters = shape.substr(first, shape.find(')') - first) + ',';
  for (size_t at = 0, comma; (comma = letters.find(',', at)) != std::string::npos; at = comma + 1) {
    std::string one = letters.substr(at, comma - at);
    one.erase(0, one.find_first_not_of(' '));
    if (one == "...") {
      if (dims.empty()) dims.push_back(-1);
      dims.insert(dims.end(), {3, 4});
    } else {
      dims.push_back(one == "B" ? -1 : one[0] == 'T' ? 5 : one == "H" || one == "W" || one == "D" ? 6 : 4);
    }
  }
  return dims;
}

void add_input(Saved &s, std::vector<int64_t> dims, int32_t type) {
  s.in.push_back(input(s.g, nullptr, dims, type));
  if (dims[0] < 0) dims[0] = 2;
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  if (type == DL4_FLOAT32) {
    s.given.push_back(tensor(dims, numbers(static_cast<int>(n))));
  } else {
    Own<dl4_tensor> t;
    ok(dl4_tensor_create(nullptr, type, static_cast<int32_t>(dims.size()), dims.data(), t.out()));
    void *to = dl4_tensor_data(t);
    for (int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<uint8_t>(type == DL4_BOOL ? i * 7 % 3 % 2 : i * 7 % 3);
      if (type == DL4_INT32)
        static_cast<int32_t *>(to)[i] = v;
      else if (type == DL4_INT64)
        static_cast<int64_t *>(to)[i] = v;
      else
        static_cast<uint8_t *>(to)[i] = v;
    }
    s.given.push_back(std::move(t));
  }
  s.from.push_back(s.given.back());
}

// False: it is none that can be made alone.
bool build(Saved &s, const Target &target, const json &more, int32_t type) {
  s.config = target.base;
  s.config.update(more);
  s.who = target.category + ' ' + target.name + ' ' + s.config.dump() + " of type " + std::to_string(type);
  ok(dl4_graph_create(nullptr, s.g.out()));
  std::string kind = target.name;
  if (target.category == "layer") {
    for (const std::string &shape : target.inputs)
      add_input(s, dims_of(shape),
                shape.find("integers") != std::string::npos && type == DL4_FLOAT32 ? DL4_INT32 : type);
  } else {
    kind = "Activation";
    add_input(s, {-1, 3, 4}, type);
    s.config = {{"activation", {{"class_name", target.name}, {"config", s.config}}}};
  }
  dl4_node out = -1;
  const Refusal r = refusal(dl4_graph_add(s.g, kind.c_str(), "the_layer", s.config.dump().c_str(), nullptr, nullptr,
                                          s.in.data(), static_cast<int64_t>(s.in.size()), &out, 1));
  if (r.code != 0) return false;
  ok(dl4_graph_build(s.g, s.in.data(), static_cast<int64_t>(s.in.size()), &out, 1, s.m.out()));
  return true;
}

// The bytes of the first output, as floats where they are that.
struct Given {
  int32_t type = -1;
  std::vector<int64_t> dims;
  std::string bytes;
};
Given outputs(const Saved &s, const dl4_model *m, Refusal &r) {
  Own<dl4_session> session;
  ok(dl4_session_create(m, nullptr, session.out()));
  Own<dl4_tensor> out;
  r = refusal(dl4_session_run(session, s.from.data(), static_cast<int64_t>(s.from.size()), out.out(), 1, nullptr));
  if (r.code != 0) return {};
  Given g{dl4_tensor_dtype(out), {dl4_tensor_dims(out), dl4_tensor_dims(out) + dl4_tensor_rank(out)}, {}};
  if (const auto n = static_cast<size_t>(dl4_tensor_bytes(out)))
    g.bytes.assign(static_cast<const char *>(dl4_tensor_data(out)), n);
  return g;
}

void expect_equal(const Given &a, const Given &b, const std::string &who) {
  EXPECT_EQ(a.type, b.type) << who;
  EXPECT_EQ(a.dims, b.dims) << who;
  // ONNX says of draws how they are distributed, not which numbers they are.
  if (who.starts_with("onnx layer RandomNormal ") || who.starts_with("onnx layer RandomUniform ")) return;
  ASSERT_EQ(a.bytes.size(), b.bytes.size()) << who;
  if (a.type == DL4_UINT8 && who.find("SpectralNormalization") != std::string::npos) return;  // of floats below 0
  if (a.type != DL4_FLOAT32) {
    EXPECT_EQ(a.bytes, b.bytes) << who;
    return;
  }
  for (size_t i = 0; i < a.bytes.size(); i += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &a.bytes[i], sizeof x), std::memcpy(&y, &b.bytes[i], sizeof y);
    const bool same =
        (std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= 2e-6f * std::max(1.0f, std::abs(x));
    ASSERT_TRUE(same) << who << ": " << x << ", again " << y << " at " << i / sizeof(float);
  }
}

void leave(const Saved &s, const std::string &format, const dl4_blob *bytes) {
  const char *folder = std::getenv("DL4_SAVED_MODELS");
  if (!folder || format == "native") return;
  static int count = 0;
  const std::string path = std::string(folder) + '/' + std::to_string(count++);
  std::ofstream(path + '.' + format, std::ios::binary)
      .write(static_cast<const char *>(dl4_blob_data(bytes)), static_cast<std::streamsize>(dl4_blob_size(bytes)));
  std::ofstream(path + ".txt") << s.who;
  Own<dl4_session> session;
  ok(dl4_session_create(s.m, nullptr, session.out()));
  Own<dl4_tensor> out;
  ok(dl4_session_run(session, s.from.data(), static_cast<int64_t>(s.from.size()), out.out(), 1, nullptr));
  ok(dl4_tensor_save(out, (path + ".out.npy").c_str()));
  for (size_t i = 0; i < s.from.size(); ++i)
    ok(dl4_tensor_save(s.from[i], (path + ".in" + std::to_string(i) + ".npy").c_str()));
}

void expect_loaded_again(const Saved &s, const char *format, std::map<std::string, int> &counts) {
  const std::string who = std::string(format) + ' ' + s.who;
  Refusal r;
  const Given before = outputs(s, s.m, r);
  if (r.code != 0) return;  // it does not run on these
  Own<dl4_blob> bytes;
  r = refusal(dl4_model_save_bytes(s.m, json{{"format", format}}.dump().c_str(), bytes.out()));
  if (r.code != 0) {
    EXPECT_EQ(r.code, DL4_UNSUPPORTED) << who << r.message;
    EXPECT_NE(r.message.find("\"the_layer"), std::string::npos) << who << r.message;
    EXPECT_STRNE(format, "native") << who << r.message;
    ++counts[std::string(format) + " refused"];
    if (std::getenv("DL4_SHOW_REFUSED")) std::printf("%s: %s\n", who.c_str(), r.message.c_str());
    return;
  }
  leave(s, format, bytes);
  Own<dl4_model> again;
  r = refusal(load_copy(nullptr, dl4_blob_data(bytes), dl4_blob_size(bytes), nullptr, again.out()));
  ASSERT_EQ(r.code, 0) << who << ": saved, but " << r.message;
  const Given after = outputs(s, again, r);
  ASSERT_EQ(r.code, 0) << who << ": loaded, but " << r.message;
  expect_equal(before, after, who);
  ++counts[format];
}

TEST(SavedKinds, AreLoadedAgainOrRefusedByName) {
  std::map<std::string, int> counts;
  for (const Target &target : all_targets()) {
    if (target.category != "layer" && target.category != "activation") continue;
    std::vector<json> configs{json::object()};
    const auto more = more_configs().find(target.name);
    if (more != more_configs().end()) configs.insert(configs.end(), more->second.begin(), more->second.end());
    for (const json &config : configs)
      for (const int32_t type : types) {
        if (!config.empty() && type != DL4_FLOAT32) continue;
        Saved s;
        if (!build(s, target, config, type)) {
          EXPECT_TRUE(config.empty()) << s.who;
          ++counts[type == DL4_FLOAT32 ? "not alone" : "type not taken"];
          continue;
        }
        for (const char *format : formats) expect_loaded_again(s, format, counts);
      }
  }
  for (const auto &[what, n] : counts) std::printf("%s: %d\n", what.c_str(), n);
  EXPECT_GT(counts["native"], 150);
  EXPECT_GT(counts["onnx"], DL4_ONNX ? 100 : -1);
  EXPECT_GT(counts["keras"], 250);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
