// Every registered kind is described, compared with Keras, and has its gradient checked; or is listed with a reason.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "capi/net.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const json &registry() {
  static const json all = [] {
    Own<dl4_blob> b;
    ok(dl4_registry_json(nullptr, nullptr, b.out()));
    return json::parse(dl4_blob_data(b));
  }();
  return all;
}

std::string squeezed(const std::string &name) {
  std::string s;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      s += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

struct GoldenFile {
  fs::path path;
  json header;
  uint64_t data = 0;  // where the tensors begin

  explicit GoldenFile(fs::path at) : path(std::move(at)) {
    std::ifstream in(path, std::ios::binary);
    uint64_t n = 0;
    in.read(reinterpret_cast<char *>(&n), 8);
    std::string text(n, '\0');
    in.read(text.data(), static_cast<std::streamsize>(n));
    header = json::parse(text);
    data = 8 + n;
  }

  Own<dl4_tensor> tensor(const std::string &name) const {
    static const std::map<std::string, int32_t> types{
        {"F32", DL4_FLOAT32}, {"I32", DL4_INT32}, {"I64", DL4_INT64}, {"U8", DL4_UINT8}, {"BOOL", DL4_BOOL}};
    const json &t = header.at(name);
    const auto dims = t.at("shape").get<std::vector<int64_t>>();
    const auto at = t.at("data_offsets").get<std::vector<uint64_t>>();
    std::string bytes(at[1] - at[0], '\0');
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(data + at[0]));
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    Own<dl4_tensor> to;
    ok(dl4_tensor_create(nullptr, types.at(t.at("dtype")), static_cast<int32_t>(dims.size()), dims.data(), to.out()));
    ok(dl4_tensor_copy_in(to, bytes.data(), static_cast<int64_t>(bytes.size())));
    return to;
  }
};

// Every word of the goldens' metadata in which a kind may be named, the words of cases that have gradients, and by
// class name the cases whose model is one layer.
struct Goldens {
  std::set<std::string> named, with_gradient;
  std::vector<GoldenFile> files;
  std::multimap<std::string, std::pair<size_t, json>> of_one_layer;  // file, case

  static void collect(const json &j, std::set<std::string> &words) {
    if (j.is_string()) words.insert(squeezed(j.get<std::string>()));
    if (j.is_object())
      for (const auto &[key, value] : j.items()) collect(value, words), words.insert(squeezed(key));
    if (j.is_array())
      for (const auto &value : j) collect(value, words);
  }

  void add(const json &c) {
    collect(c, named);
    if (!c.contains("model") || !c.at("model").is_object()) return;
    std::vector<std::string> classes;
    for (const json &layer : c.at("model").at("layers")) {
      const std::string name = layer.at("class_name");
      if (name != "Input" && name != "Constant") classes.push_back(name);
    }
    if (classes.size() == 1) of_one_layer.emplace(classes[0], std::pair(files.size() - 1, c));
  }

  Goldens() {
    for (const auto &entry : fs::directory_iterator(fs::path(DL4_SOURCE_DIR) / "tests/golden")) {
      if (entry.path().extension() != ".safetensors") continue;
      const json &header = files.emplace_back(entry.path()).header;
      std::set<std::string> cases;
      for (const auto &[key, value] : header.items())
        if (key.find("/grad/") != std::string::npos || key.find("/input_grad/") != std::string::npos)
          cases.insert(key.substr(0, key.find('/')));
      for (const json &c : json::parse(header.at("__metadata__").at("cases").get<std::string>())) {
        add(c);
        if (cases.count(c.at("name"))) collect(c, with_gradient);
      }
    }
  }
};

const Goldens &goldens() {
  static const Goldens g;
  return g;
}

// Whether a case's model can be trained, and a float32 output of it depends on a float32 input or a weight.
bool is_differentiable(const GoldenFile &file, const json &c) {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  ok(dl4_graph_add_json(g, c.at("model").dump().c_str()));
  ok(dl4_graph_build(g, nullptr, 0, nullptr, 0, m.out()));
  const auto has_floats = [&](int32_t ports) {
    for (int64_t i = 0; i < dl4_port_count(m, ports); ++i)
      if (dl4_port_dtype(m, ports, i) == DL4_FLOAT32) return true;
    return false;
  };
  if (!has_floats(DL4_OUTPUTS)) return false;
  Own<dl4_session> s;
  if (refusal(dl4_session_create(m, R"({"training": true})", s.out())).code == DL4_UNSUPPORTED) return false;
  std::vector<Own<dl4_tensor>> held;
  std::vector<dl4_tensor *> in;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_INPUTS); ++i) {
    held.push_back(file.tensor(c.at("name").get<std::string>() + "/input/" + dl4_port_name(m, DL4_INPUTS, i)));
    in.push_back(held.back());
  }
  Own<dl4_blob> b;
  const Refusal r =
      refusal(dl4_model_check_gradients(m, in.data(), static_cast<int64_t>(in.size()), R"({"samples": 1})", b.out()));
  if (r.code == DL4_UNSUPPORTED) return false;
  EXPECT_EQ(r.code, 0) << r.message;
  if (r.code != 0) return true;
  const json checked = json::parse(dl4_blob_data(b));
  return std::any_of(checked.begin(), checked.end(), [](const json &v) { return v.at("largest_gradient") != 0; });
}

// Whether golden cases show that a layer has no gradient: flags, places, steps, and what trains no model.
bool has_no_gradient(const std::string &layer) {
  const auto [begin, end] = goldens().of_one_layer.equal_range(layer);
  return begin != end && std::none_of(begin, end, [](const auto &one) {
           return is_differentiable(goldens().files[one.second.first], one.second.second);
         });
}

// Whether Keras's numbers for the kind are in a golden of another form: tests/capi/objects/texts_test.cpp and
// augmentations_test.cpp.
bool is_in_another_golden(const std::string &name) {
  static const std::string cases = [] {
    std::string all;
    for (const char *file : {"texts.json", "augmentations.json"}) {
      std::ifstream in(fs::path(DL4_SOURCE_DIR) / "tests/golden" / file);
      all.append(std::istreambuf_iterator<char>(in), {});
    }
    return all;
  }();
  return cases.find('"' + name + '"') != std::string::npos;
}

// Whether a kind that Keras lacks is named in a test of its numbers.
bool is_tested_elsewhere(const std::string &name, const json &kind) {
  static const std::string sources = [] {
    std::string all;
    for (const char *folder : {"kinds", "ops", "graph", "capi/objects"})
      for (const auto &entry : fs::directory_iterator(fs::path(DL4_SOURCE_DIR) / "tests" / folder)) {
        if (entry.path().extension() != ".cpp") continue;
        std::ifstream in(entry.path());
        all.append(std::istreambuf_iterator<char>(in), {});
      }
    return all;
  }();
  return !kind.value("names", json::object()).contains("keras") && sources.find('"' + name + '"') != std::string::npos;
}

std::string kind_key(const std::string &category, const std::string &name) { return category + ' ' + name; }

// Kinds without a golden case, each for its reason.
const std::map<std::string, std::string> without_golden = {
    {"layer ReshapeLike",
     "of our own: tests/ops/reshape_test.cpp has its op, tests/capi/files/onnx_sizes_test.cpp nets"},
    {"layer Cast", "Keras's is an operation: tests/ops/cast_test.cpp has its numbers"},
    {"layer StopGradient", "Keras's is an operation: tests/graph/inference_test.cpp"},
    {"layer Pipeline", "tests/golden/augmentations.keras has one: tests/capi/objects/augmentations_test.cpp"},
    {"callback ModelCheckpoint", "Keras writes files of another kind: tests/capi/training/callbacks_test.cpp"},
    {"callback BackupAndRestore", "Keras loses what others remember: tests/capi/training/callbacks_test.cpp"},
    {"callback CSVLogger", "writes a file: tests/capi/training/callbacks_test.cpp has Keras's"},
    {"callback TerminateOnNaN", "a golden's steps are finite: tests/capi/training/callbacks_test.cpp"},
};

// Layers and losses with a golden case, none of which has gradients.
const std::map<std::string, std::string> without_gradient = {
    {"layer StochasticDepth", "draws: tests/kinds/images_test.cpp has its formula"},
    {"layer SegmentSum", "its rows are no batch: tests/ops/segment_test.cpp checks its gradients"},
    {"layer SegmentMax", "its rows are no batch: tests/ops/segment_test.cpp checks its gradients"},
};

// Whose gradients tests/capi/objects/augmentations_test.cpp compares with differences.
bool changes_images_in_training(const json &kind) {
  return kind.at("doc").get<std::string>().starts_with("In training") &&
         kind.at("inputs").at(0).at("shape").get<std::string>().starts_with("(B, H, W, ");
}

template <class F>
void each_kind(F f) {
  for (const auto &[category, kinds] : registry().items())
    for (const auto &[name, kind] : kinds.items())
      if (category != "every_layer") f(category, name, kind);
}

TEST(Meta, EveryKindAndAttributeIsDocumented) {
  each_kind([](const std::string &category, const std::string &name, const json &kind) {
    EXPECT_FALSE(kind.value("doc", std::string()).empty()) << category << ' ' << name;
    for (const auto &a : kind.value("attributes", json::array())) {
      EXPECT_FALSE(a.value("doc", std::string()).empty())
          << category << ' ' << name << ' ' << a.value("name", std::string());
      EXPECT_TRUE(a.contains("type")) << category << ' ' << name << ' ' << a.dump();
    }
  });
}

TEST(Meta, EveryKindHasAGolden) {
  each_kind([](const std::string &category, const std::string &name, const json &kind) {
    const bool has = goldens().named.count(squeezed(name)) != 0 || is_in_another_golden(name) ||
                     is_tested_elsewhere(name, kind);
    const bool excused = without_golden.count(kind_key(category, name)) != 0;
    EXPECT_TRUE(has || excused) << category << ' ' << name << " has no golden case and no reason for it";
    EXPECT_FALSE(has && excused) << category << ' ' << name << " is excused and has a test: drop the excuse";
  });
}

TEST(Meta, EveryLayerAndLossHasAGradientCase) {
  each_kind([](const std::string &category, const std::string &name, const json &kind) {
    if ((category != "layer" && category != "loss") || without_golden.count(kind_key(category, name))) return;
    if (!goldens().named.count(squeezed(name)) && is_in_another_golden(name)) return;
    if (goldens().with_gradient.count(squeezed(name)) || is_tested_elsewhere(name, kind)) return;
    const bool has_none = category == "layer" && has_no_gradient(name);
    const bool excused = without_gradient.count(kind_key(category, name)) != 0 ||
                         (category == "layer" && changes_images_in_training(kind));
    EXPECT_TRUE(has_none || excused) << category << ' ' << name << " has no golden case with gradients";
    EXPECT_FALSE(has_none && excused) << category << ' ' << name << " is excused and has no gradient: drop the excuse";
  });
}

TEST(Meta, ExcusesAreOfKindsThatExist) {
  for (const auto *list : {&without_golden, &without_gradient})
    for (const auto &[key, why] : *list) {
      auto space = key.find(' ');
      Own<dl4_blob> b;
      ok(dl4_registry_json(key.substr(0, space).c_str(), key.substr(space + 1).c_str(), b.out()));
      EXPECT_GT(why.size(), 10u);
    }
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
