// Every registered kind is described, compared with Keras, and has its gradient checked; or stands here with a reason.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "capi/net.hpp"

namespace {

using namespace dl4_test;
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

// Every word of the goldens' metadata in which a kind may be named, and the words of cases that have gradients.
struct Goldens {
  std::set<std::string> named, with_gradient;

  static void collect(const json &j, std::set<std::string> &words) {
    if (j.is_string()) words.insert(squeezed(j.get<std::string>()));
    if (j.is_object())
      for (const auto &[key, value] : j.items()) collect(value, words), words.insert(squeezed(key));
    if (j.is_array())
      for (const auto &value : j) collect(value, words);
  }
  Goldens() {
    for (const auto &entry : fs::directory_iterator(fs::path(DL4_SOURCE_DIR) / "tests/golden")) {
      if (entry.path().extension() != ".safetensors") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      uint64_t n = 0;
      in.read(reinterpret_cast<char *>(&n), 8);
      std::string text(n, '\0');
      in.read(text.data(), static_cast<std::streamsize>(n));
      json header = json::parse(text);
      std::set<std::string> cases;
      for (const auto &[key, value] : header.items())
        if (key.find("/grad/") != std::string::npos || key.find("/input_grad/") != std::string::npos)
          cases.insert(key.substr(0, key.find('/')));
      for (const json &c : json::parse(header.at("__metadata__").at("cases").get<std::string>())) {
        collect(c, named);
        if (cases.count(c.at("name"))) collect(c, with_gradient);
      }
    }
  }
};

const Goldens &goldens() {
  static const Goldens g;
  return g;
}

std::string kind_key(const std::string &category, const std::string &name) { return category + ' ' + name; }

// Kinds without a golden case, each for its reason.
const std::map<std::string, std::string> without_golden = {
    {"layer GetMask", "Keras has no such layer: every golden case with an output_mask runs it"},
    {"layer SetLengths", "Keras has no such layer: tests/kinds/set_lengths_test.cpp compares with masks"},
    {"layer SetMask", "Keras has no such layer: tests/capi/objects/graphs_test.cpp compares with what masks do"},
    {"layer GlobalAttention", "Keras has no such layer: tests/kinds/attention_kinds_test.cpp has the formulas"},
    {"layer LocalAttention", "Keras has no such layer: tests/kinds/attention_kinds_test.cpp has the formulas"},
    {"layer JoinHeads", "Keras has no such layer: tests/kinds/attention_kinds_test.cpp has the formulas"},
    {"layer GraphCell", "Keras has no such layer: tests/capi/objects/graph_cells_test.cpp compares it with its steps"},
    {"layer StatelessCall", "Keras has no such layer: tests/kinds/stateless_call_test.cpp compares with the layer"},
    {"layer Cond", "of keras.ops.cond: tests/capi/objects/flow_test.cpp"},
    {"layer WhileLoop", "of keras.ops.while_loop: tests/capi/objects/flow_test.cpp"},
    {"layer Scan", "of keras.ops.scan: tests/capi/objects/flow_test.cpp"},
    {"layer EnsureSize", "Keras has no such layer: tests/capi/objects/flow_test.cpp"},
    {"layer LocalResponseNormalization",
     "Keras has no such layer: tests/kinds/local_response_normalization_test.cpp has the formula"},
    {"layer GraphAttention", "Keras has no such layer: tests/kinds/graph_attention_test.cpp has the formulas"},
    {"layer GraphNetwork", "Keras has no such layer: tests/kinds/graph_network_test.cpp has the formulas"},
    {"layer GridSample", "Keras has no such layer: tests/kinds/sampling_test.cpp has the formulas"},
    {"layer RoiAlign", "Keras has no such layer: tests/kinds/sampling_test.cpp has the formulas"},
    {"layer Range", "its size is computed: tests/capi/objects/computed_sizes_test.cpp"},
    {"layer NonMaxSuppression",
     "Keras has no such layer: tests/capi/objects/computed_sizes_test.cpp, tests/io/onnx_counted.py"},
    {"layer LinearAttention", "Keras has no such layer: tests/kinds/linear_attention_test.cpp has the formulas"},
    {"layer SegmentGather", "Keras has no such layer: tests/kinds/linear_attention_test.cpp has the formula"},
    {"layer LocallyConnected1D", "of Keras 2: tests/io/keras_2.py compares with tf_keras"},
    {"layer LocallyConnected2D", "of Keras 2: tests/io/keras_2.py compares with tf_keras"},
    {"layer Weight",
     "Keras has no such layer: tests/capi/objects/parts_test.cpp compares a layer made of it with Dense"},
    {"layer GetWeight", "of graphs that assign: tests/capi/objects/graph_updates_test.cpp"},
    {"layer Sizes", "of our own: tests/ops/sizes_test.cpp has its formulas"},
    {"layer ReshapeLike",
     "of our own: tests/ops/reshape_test.cpp has its op, tests/capi/files/onnx_sizes_test.cpp nets"},
    {"layer Assign", "of graphs that assign: tests/capi/objects/graph_updates_test.cpp"},
    {"layer After", "of graphs that assign: tests/capi/objects/graph_updates_test.cpp"},
    {"layer ApplyGradients", "of graphs that assign: tests/capi/objects/graph_updates_test.cpp compares with trainers"},
    {"layer Gradients", "tests/capi/objects/graph_gradients_test.cpp compares with differences"},
    {"layer Draws", "counts: tests/capi/objects/graph_updates_test.cpp"},
    {"layer Cast", "Keras's is an operation: tests/capi/objects/parts_test.cpp has its numbers"},
    {"layer ReducePrecision", "Keras has no such layer: tests/capi/objects/parts_test.cpp has its numbers"},
    {"layer StopGradient", "Keras's is an operation: tests/capi/objects/parts_test.cpp"},
    {"callback ModelCheckpoint", "Keras writes files of another kind: tests/capi/training/callbacks_test.cpp"},
    {"callback BackupAndRestore", "Keras loses what others remember: tests/capi/training/callbacks_test.cpp"},
    {"callback CSVLogger", "writes a file: tests/capi/training/callbacks_test.cpp has Keras's"},
    {"callback TerminateOnNaN", "a golden's steps are finite: tests/capi/training/callbacks_test.cpp"},
    {"activation hard_sigmoid_v1",
     "of Keras 1 and 2: Keras 3 has it no more; tests/kinds/activation_test.cpp compares with its definition"},
};

// Layers that have no gradient to check.
const std::map<std::string, std::string> without_gradient = {
    {"layer GetMask", "a mask is not differentiable"},
    {"layer SetLengths", "passes its input on; the mask is not differentiable"},
    {"layer SetMask", "passes its input on; the mask is not differentiable"},
    {"layer Loss",
     "a loss in a graph: tests/capi/objects/measure_test.cpp compares its gradient with that of a trainer"},
    {"layer Metric", "passes on what the metric's ops let through"},
    {"layer AugMix", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer CutMix", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer MixUp", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandAugment", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomBrightness", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomColorDegeneration", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomColorJitter", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomContrast", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomCrop", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomElasticTransform", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomErasing", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomFlip", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomGaussianBlur", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomGrayscale", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomHue", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomInvert", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomPerspective", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomPosterization", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomRotation", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomSaturation", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomSharpness", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomShear", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomTranslation", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer RandomZoom", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer Solarization", "trains no model: tests/kinds/images_test.cpp wants that refused"},
    {"layer StochasticDepth", "draws: tests/kinds/images_test.cpp has its formula"},
    {"layer LocallyConnected1D", "of Keras 2: tests/kinds/locally_connected_test.cpp has the formula"},
    {"layer LocallyConnected2D", "of Keras 2: tests/kinds/locally_connected_test.cpp has the formula"},
    {"layer Argsort", "places have no gradient"},
    {"layer OneHot", "of integers"},
    {"layer Trunc", "its gradient is 0"},
    {"layer Weight", "tests/capi/objects/parts_test.cpp trains one as Dense trains its kernel"},
    {"layer GetWeight", "tests/capi/objects/graph_gradients_test.cpp differentiates by weights"},
    {"layer Assign", "no gradient passes"},
    {"layer After", "passes its input on"},
    {"layer ApplyGradients", "gives the number of updates"},
    {"layer Gradients", "tests/capi/objects/graph_gradients_test.cpp compares with differences"},
    {"layer Draws", "counts the runs"},
    {"layer RandomNormal", "draws numbers, of which none depends on anything"},
    {"layer RandomUniform", "draws numbers, of which none depends on anything"},
    {"layer Cast", "its gradient is that of ops::cast"},
    {"layer ReducePrecision", "passes its gradient on: tests/capi/objects/parts_test.cpp"},
    {"layer StopGradient", "has none: tests/capi/objects/parts_test.cpp"},
    {"loss Functional", "tests/capi/objects/parts_test.cpp trains by one as by MeanSquaredError"},
    {"layer Masking", "passes its input on; the mask it makes is not differentiable"},
    {"layer GlobalAttention", "of our own: tests/kinds/attention_kinds_test.cpp checks its gradients"},
    {"layer LocalAttention", "of our own: tests/kinds/attention_kinds_test.cpp checks its gradients"},
    {"layer JoinHeads", "of our own: tests/kinds/attention_kinds_test.cpp checks its gradients"},
    {"layer GraphCell", "of our own: tests/capi/objects/graph_cells_test.cpp checks its gradients"},
    {"layer StatelessCall", "tests/kinds/stateless_call_test.cpp checks its gradients"},
    {"layer Cond", "it is refused by name"},
    {"layer WhileLoop", "it is refused by name"},
    {"layer Scan", "tests/capi/objects/flow_test.cpp checks its gradients"},
    {"layer EnsureSize", "gives on its input"},
    {"layer LocalResponseNormalization",
     "of our own: tests/kinds/local_response_normalization_test.cpp checks its gradient"},
    {"layer GraphAttention", "of our own: tests/kinds/graph_attention_test.cpp checks its gradients"},
    {"layer GridSample", "of our own: tests/kinds/sampling_test.cpp checks its gradients"},
    {"layer RoiAlign", "of our own: tests/kinds/sampling_test.cpp checks its gradients"},
    {"layer LinearAttention", "of our own: tests/kinds/linear_attention_test.cpp checks its gradients"},
    {"layer SegmentGather", "of our own: tests/kinds/linear_attention_test.cpp checks its gradients"},
    {"layer GraphNetwork", "of our own: tests/kinds/graph_network_test.cpp checks its gradients"},
    {"layer SegmentSum", "its rows are no batch: tests/ops/segment_test.cpp checks its gradients"},
    {"layer SegmentMax", "its rows are no batch: tests/ops/segment_test.cpp checks its gradients"},
    {"layer Argmax", "gives places"},
    {"layer Arange", "gives places"},
    {"layer Range", "gives places"},
    {"layer NonMaxSuppression", "gives places"},
    {"layer Sizes", "gives sizes"},
    {"layer Zeros", "gives flags"},
    {"layer ReshapeLike", "tests/ops/reshape_test.cpp checks the gradient of its op"},
    {"layer Floor", "moves in steps"},
    {"layer Ceil", "moves in steps"},
    {"layer Round", "moves in steps"},
    {"layer Isnan", "gives flags"},
    {"layer Isinf", "gives flags"},
    {"layer Isfinite", "gives flags"},
    {"layer Isposinf", "gives flags"},
    {"layer Isneginf", "gives flags"},
    {"layer LogicalXor", "gives flags"},
    {"layer FloorDivide", "moves in steps"},
    {"layer Heaviside", "moves in steps"},
    {"layer BitwiseNot", "of integers"},
    {"layer BitwiseAnd", "of integers"},
    {"layer BitwiseOr", "of integers"},
    {"layer BitwiseXor", "of integers"},
    {"layer LeftShift", "of integers"},
    {"layer RightShift", "of integers"},
    {"layer LogicalNot", "gives flags"},
    {"layer LogicalAnd", "gives flags"},
    {"layer LogicalOr", "gives flags"},
    {"layer Equal", "gives flags"},
    {"layer NotEqual", "gives flags"},
    {"layer Less", "gives flags"},
    {"layer LessEqual", "gives flags"},
    {"layer GreaterEqual", "gives flags"},
    {"layer Any", "gives flags"},
    {"layer All", "gives flags"},
};

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
  each_kind([](const std::string &category, const std::string &name, const json &) {
    bool has = goldens().named.count(squeezed(name)) != 0;
    bool excused = without_golden.count(kind_key(category, name)) != 0;
    EXPECT_TRUE(has || excused) << category << ' ' << name << " has no golden case and no reason for it";
    EXPECT_FALSE(has && excused) << category << ' ' << name << " is excused and has a golden case: drop the excuse";
  });
}

TEST(Meta, EveryLayerAndLossHasAGradientCase) {
  each_kind([](const std::string &category, const std::string &name, const json &) {
    if (category != "layer" && category != "loss") return;
    bool has = goldens().with_gradient.count(squeezed(name)) != 0;
    bool excused = without_gradient.count(kind_key(category, name)) != 0;
    EXPECT_TRUE(has || excused) << category << ' ' << name << " has no golden case with gradients and no reason for it";
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
