#include "io/keras.hpp"

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "graph/keras_json.hpp"
#include "io/bytes.hpp"
#include "io/hdf5.hpp"
#include "io/keras_paths.hpp"
#include "io/safetensors.hpp"
#include "io/zip.hpp"

namespace dl4::io {
namespace {

constexpr char config_name[] = "config.json", weights_name[] = "model.weights.h5";

bool begins(const Source &source, std::string_view mark) {
  std::string first(mark.size(), '\0');
  if (source.size() < static_cast<int64_t>(first.size())) return false;
  source.read(0, std::as_writable_bytes(std::span(first)));
  return first == mark;
}

graph::Architecture architecture_of(const Json &j) {
  const Json *name = j.find("class_name"), *config = j.find("config");
  if (!name || !name->is_string() || !config || !config->is_object())
    fail(Code::corrupt_file, "expected a model's \"class_name\" and \"config\"");
  const Json *layers = config->find("layers");
  if (!layers || !(*name == "Functional" || *name == "Sequential" || *name == "Model"))
    throw Error(Code::unsupported, text("the model is a class of its own, ", name->shown(),
                                        ": its code is not in the file; only functional and sequential models can be "
                                        "read"))
        .with("got", name->get<std::string>());
  return graph::keras_architecture(*layers, config->value("input_layers", nullptr),
                                   config->value("output_layers", nullptr),
                                   config->value("build_input_shape", nullptr));
}

// The values of a model's weights in a store, and no more than those.
class Store {
 public:
  Store(const Hdf5 &file, const Json &model, const Weights &weights)
      : file_(file), paths_(keras_paths(model, weights)), old_(file.contains("_layer_checkpoint_dependencies")) {
    for (const auto &[name, path] : paths_) taken_.insert(spelled(path));
    for (const auto &w : weights) need_whole(*w);
  }
  Tensor value(const graph::Weight &w) const {
    const std::string path = path_of(w);
    const auto it = file_.datasets().find(path);
    if (it == file_.datasets().end()) missing(w, path);
    if (!std::ranges::equal(it->second.dims, w.spec.shape.dims()))
      throw Error(Code::corrupt_file, text("weight \"", w.name, "\": expected ", w.spec.shape, ", \"", path, "\" is ",
                                           Json(it->second.dims).dump()))
          .with("tensor", path);
    Tensor t = file_.read(path);
    if (t.dtype == DType::f32) return t;
    Tensor floats = make_tensor(DType::f32, t.shape);
    for (int64_t i = 0; i < t.elements(); ++i) floats.as<float>()[i] = static_cast<float>(t.as<int64_t>()[i]);
    return floats;
  }

 private:
  [[noreturn]] static void missing(const graph::Weight &w, const std::string &path) {
    throw Error(Code::corrupt_file, text("weight \"", w.name, "\": the file has no \"", path, '"'))
        .with("tensor", path);
  }
  std::string path_of(const graph::Weight &w) const {
    const auto it = paths_.find(w.name);
    if (it == paths_.end()) fail(Code::unsupported, "weight \"", w.name, "\" has no place in Keras's files");
    return spelled(it->second);
  }
  // tf.keras 2.13 wrote "_layer_checkpoint_dependencies" for "layers".
  std::string spelled(std::string path) const {
    constexpr std::string_view now = "layers/", then = "_layer_checkpoint_dependencies/";
    for (size_t at = 0; old_ && (at = path.find(now, at)) != path.npos; at += then.size())
      path.replace(at, now.size(), then);
    return path;
  }
  // A layer that has more in the file than here is another layer.
  void need_whole(const graph::Weight &w) const {
    const std::string path = path_of(w);
    const size_t vars = path.rfind('/') + 1;
    const std::string next = path.substr(0, vars) + std::to_string(std::stoll(path.substr(vars)) + 1);
    if (file_.contains(next) && !taken_.count(next))
      throw Error(Code::corrupt_file,
                  text("weight \"", w.name, "\" is the last of its layer, the file has \"", next, "\" too"))
          .with("tensor", next);
  }

  const Hdf5 &file_;
  const std::map<std::string, std::string> paths_;
  const bool old_;
  std::set<std::string> taken_;
};

Weights weights_of(const graph::Graph &g, int64_t limit) {
  Weights all;
  int64_t bytes = 0;
  for (const graph::Layer &l : g.layers())
    for (const auto &w : l.weights) {
      all.push_back(w);
      bytes = checked_add(bytes, checked_mul(w->spec.shape.elements(), size_of(DType::f32)));
    }
  if (bytes > limit) fail(Code::out_of_memory, "the weights take ", bytes, " bytes, the memory limit is ", limit);
  return all;
}

std::shared_ptr<graph::Model> model_from(const Json &j, const Hdf5 &file, const graph::Settings &settings) {
  const graph::Architecture a = architecture_of(j);
  auto graph = std::make_shared<graph::Graph>(settings);
  std::vector<graph::Node> in, out;
  graph->merge(a, &in, &out);
  const Weights weights = weights_of(*graph, settings.memory_limit);
  const Store store(file, j, weights);
  for (const auto &w : weights) w->value = store.value(*w);
  return std::make_shared<graph::Model>(std::move(graph), std::move(in), std::move(out));
}

}  // namespace

bool is_zip(const Source &source) { return begins(source, "PK\x03\x04"); }
bool is_hdf5(const Source &source) { return begins(source, "\x89HDF\r\n\x1a\n"); }

std::shared_ptr<graph::Model> load_keras(const Source &source, const graph::Settings &settings, bool verified) {
  const Zip zip(source, settings.memory_limit);
  if (!zip.contains(config_name))
    fail(Code::unsupported, "this is a zip archive without \"", config_name, "\", not a Keras file");
  const Json config = parse_object(zip.text(config_name), Code::corrupt_file, config_name, settings.memory_limit);
  if (!zip.contains(weights_name))
    fail(Code::unsupported, "the file has no \"", weights_name, "\"; other forms of weights are not read");
  const std::unique_ptr<Source> weights = zip.open(weights_name, verified);
  const Hdf5 file(*weights, settings.memory_limit);
  return as_file_error([&] { return model_from(config, file, settings); });
}

}  // namespace dl4::io
