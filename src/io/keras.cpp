#include "io/keras.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/checked.hpp"
#include "graph/keras_json.hpp"
#include "graph/parameters.hpp"
#include "io/bytes.hpp"
#include "io/hdf5.hpp"
#include "io/keras_paths.hpp"
#include "io/safetensors.hpp"
#include "io/zip.hpp"

namespace dl4::io {
namespace {

constexpr char keras_version[] = "3.15.1";  // whose words are written
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

// What a dataset holds, as a weight.
Tensor floats(const Hdf5 &file, const std::string &path, const graph::Weight &w) {
  const auto it = file.datasets().find(path);
  if (it == file.datasets().end())
    throw Error(Code::corrupt_file, text("weight \"", w.name, "\": the file has no \"", path, '"'))
        .with("tensor", path);
  if (!std::ranges::equal(it->second.dims, w.spec.shape.dims()))
    throw Error(Code::corrupt_file, text("weight \"", w.name, "\": expected ", w.spec.shape, ", \"", path, "\" is ",
                                         Json(it->second.dims).dump()))
        .with("tensor", path);
  const Tensor t = file.read(path);
  if (t.dtype == DType::f32) return t;
  Tensor converted = make_tensor(DType::f32, t.shape);
  for (int64_t i = 0; i < t.elements(); ++i) converted.as<float>()[i] = static_cast<float>(t.as<int64_t>()[i]);
  return converted;
}

// The values of a model's weights in a store, and no more than those.
class Store {
 public:
  // of_file: the model's JSON is that of the file.
  Store(const Hdf5 &file, const Json &model, const Weights &weights, bool of_file)
      : file_(file),
        paths_(of_file ? keras_paths(model, weights)
                       : keras_paths(model, weights, [&](const std::string &path) { return file.contains(path); })),
        old_(file.contains("_layer_checkpoint_dependencies")) {
    for (const auto &[name, path] : paths_) taken_.insert(spelled(path));
    for (const auto &w : weights) need_whole(*w);
  }
  Tensor value(const graph::Weight &w) const { return floats(file_, path_of(w), w); }

 private:
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

// fill(graph): gives each of its weights a value.
template <class F>
std::shared_ptr<graph::Model> model_from(const Json &j, const graph::Settings &settings, F fill) {
  const graph::Architecture a = architecture_of(j);
  auto graph = std::make_shared<graph::Graph>(settings);
  std::vector<graph::Node> in, out;
  graph->merge(a, &in, &out);
  fill(*graph);
  return std::make_shared<graph::Model>(std::move(graph), std::move(in), std::move(out));
}

// "dense/kernel" of "dense/kernel:0": what the weight is called in its layer.
std::string last_word(const std::string &name) {
  const size_t slash = name.rfind('/') + 1;
  return name.substr(slash, name.find(':', slash) - slash);
}

// A layer of a .h5 file: its weights in the order of Keras's layer.trainable_weights, then the others.
void read_layer(const Hdf5 &file, const std::string &group, const graph::Layer &l,
                std::map<const graph::Weight *, Tensor> &values) {
  std::vector<const graph::Weight *> weights;
  for (bool trained : {true, false})
    for (const auto &w : l.weights)
      if (w->trainable() == trained) weights.push_back(w.get());
  const std::string path = group + l.name;
  const std::vector<std::string> names = file.texts(path, "weight_names");
  if (names.size() != weights.size())
    throw Error(Code::corrupt_file,
                text("layer \"", l.name, "\" has ", weights.size(), " weights, the file ", names.size()))
        .with("layer", l.name);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string wanted = last_word(weights[i]->name), found = last_word(names[i]);
    if (wanted != found)
      throw Error(Code::unsupported, text("layer \"", l.name, "\": weight ", i, " is \"", names[i],
                                          "\" in the file, expected \"", weights[i]->name, '"'))
          .with("layer", l.name);
    values[weights[i]] = floats(file, path + '/' + names[i], *weights[i]);
  }
}

// The values of all weights: in Keras 3's store, or by layers, as .h5 files of whole models and of Keras 2 have them.
std::map<const graph::Weight *, Tensor> values_of(const Hdf5 &file, const Json &config, const graph::Graph &g,
                                                  const Weights &weights, bool of_file) {
  std::map<const graph::Weight *, Tensor> values;
  const bool whole = file.contains("model_weights");
  if (whole || !file.texts("", "layer_names").empty()) {
    for (const graph::Layer &l : g.layers())
      if (!l.weights.empty()) read_layer(file, whole ? "model_weights/" : "", l, values);
    return values;
  }
  const Store store(file, config, weights, of_file);
  for (const auto &w : weights) values[w.get()] = store.value(*w);
  return values;
}

// The store of a file: of an archive a member, else the file itself. `member` keeps it.
const Source &store_of(const Source &source, int64_t memory_limit, bool verified, std::unique_ptr<Source> &member,
                       std::unique_ptr<Zip> &zip) {
  if (!is_zip(source)) return source;
  zip = std::make_unique<Zip>(source, memory_limit);
  if (!zip->contains(weights_name))
    fail(Code::unsupported, "the file has no \"", weights_name, "\"; other forms of weights are not read");
  member = zip->open(weights_name, verified);
  return *member;
}

// The JSON of a .h5 file.
std::string whole_model(const Hdf5 &file) {
  const std::vector<std::string> said = file.texts("", "model_config"), version = file.texts("", "keras_version");
  if (said.size() != 1)
    fail(Code::unsupported, "this HDF5 file has no \"model_config\"; expected a whole model of Keras");
  if (version.empty() || version[0].starts_with("1."))
    fail(Code::unsupported, "the file is of Keras 1; save it again with Keras 2 or later");
  return said[0];
}

}  // namespace

bool is_zip(const Source &source) { return begins(source, "PK\x03\x04"); }
bool is_hdf5(const Source &source) { return begins(source, "\x89HDF\r\n\x1a\n"); }

std::shared_ptr<graph::Model> load_keras(const Source &source, const graph::Settings &settings, bool verified) {
  return as_file_error([&] {
    const int64_t limit = settings.memory_limit;
    std::unique_ptr<Source> member;
    std::unique_ptr<Zip> zip;
    std::string said;
    if (is_zip(source)) {
      const Zip archive(source, limit);
      if (!archive.contains(config_name))
        fail(Code::unsupported, "this is a zip archive without \"", config_name, "\", not a Keras file");
      said = archive.text(config_name);
    }
    const Hdf5 file(store_of(source, limit, verified, member, zip), limit);
    if (!zip) said = whole_model(file);
    const Json config =
        graph::modern(parse_object(said, Code::corrupt_file, zip ? config_name : "\"model_config\"", limit));
    return model_from(config, settings, [&](const graph::Graph &g) {
      const Weights all = weights_of(g, limit);
      for (auto &[w, value] : values_of(file, config, g, all, true))
        const_cast<graph::Weight *>(w)->value = std::move(value);
    });
  });
}

KerasFile keras_file(const graph::Model &m) {
  KerasFile file;
  const Json config = graph::keras_json(m);
  const std::map<std::string, std::string> paths = keras_paths(config, m.weights());
  for (const auto &w : m.weights()) {
    const auto it = paths.find(w->name);
    if (it == paths.end()) fail(Code::unsupported, "weight \"", w->name, "\" has no place in Keras's files");
    file.tensors.emplace(it->second, w->value);
  }
  file.config = config.dump();
  file.metadata = Json{{"keras_version", keras_version}}.dump();
  return file;
}

std::vector<std::string_view> KerasFile::parts(Format format) {
  const std::vector<std::string_view> store = hdf5_parts(tensors, head);
  if (format == Format::keras_weights) return store;
  return zip_parts({{"metadata.json", {metadata}}, {config_name, {config}}, {weights_name, store}}, heads);
}

namespace {

// In the order of the model's weights.
std::vector<Tensor> weights_in(const graph::Model &m, const Hdf5 &file) {
  const Json config = graph::keras_json(m);
  auto values = values_of(file, config, m.graph(), m.weights(), false);
  std::vector<Tensor> list;
  for (const auto &w : m.weights()) {
    const auto it = values.find(w.get());
    if (it == values.end()) fail(Code::corrupt_file, "the file has no weight \"", w->name, '"');
    list.push_back(std::move(it->second));
  }
  return list;
}

// All of them: from here on nothing fails. What others keep by a pin stays as it was.
void set_weights(const graph::Model &m, std::vector<Tensor> values) noexcept {
  for (size_t i = 0; i < values.size(); ++i) {
    graph::Weight &w = *m.weights()[i];
    if (!w.block || w.block->pinned()) {
      w.value = std::move(values[i]);
      w.block.reset();
    } else if (int64_t n = w.value.bytes()) {
      std::memcpy(w.value.data.get(), values[i].data.get(), static_cast<size_t>(n));
    }
  }
}

}  // namespace

void load_keras_weights(graph::Model &m, const Source &source, int64_t memory_limit, bool verified) {
  as_file_error([&] {
    if (!is_zip(source) && !is_hdf5(source))
      fail(Code::corrupt_file, "expected a .keras, .weights.h5 or .h5 file of Keras");
    std::unique_ptr<Source> member;
    std::unique_ptr<Zip> zip;
    const Hdf5 file(store_of(source, memory_limit, verified, member, zip), memory_limit);
    set_weights(m, weights_in(m, file));
  });
}

}  // namespace dl4::io
