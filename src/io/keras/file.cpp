// Reads and writes Keras's files: members, datasets, and the values of a model's weights.
#include "io/keras/file.hpp"

#include <cctype>
#include <cstdlib>

#include "graph/rewrite.hpp"
#include "io/bytes.hpp"
#include "io/keras/json.hpp"
#include "io/keras/paths.hpp"
#include "io/keras/store.hpp"
#include "io/native/safetensors.hpp"

namespace dl4::io {
namespace {

constexpr char keras_version[] = "3.15.1";  // the version whose format is written
constexpr char config_name[] = "config.json", metadata_name[] = "metadata.json", weights_name[] = "model.weights.h5";

// A model's weights in a store, which must contain exactly those.
class Store {
 public:
  // of_file: the model's JSON is that of the file.
  Store(const Hdf5 &file, const Json &model, const Weights &weights, bool of_file)
      : file_(file),
        old_(any_begins(file, old_layers)),
        backslashes_(any_begins(file, "layers\\") || any_begins(file, text(old_layers, '\\'))) {
    const auto is_there = [&](const std::string &path) { return file.contains(spelled(path)); };
    const KerasPaths paths = keras_paths(model, weights, is_there, of_file);
    for (const auto &[path, name] : paths.weights) {
      by_name_.emplace(name, spelled(path));
      paths_.insert(spelled(path));
    }
    for (const auto &w : weights)
      if (const auto it = by_name_.find(w->name); it != by_name_.end()) need_whole(*w, it->second);
  }
  Tensor value(const graph::Weight &w) const { return weight_at(file_, by_name_.at(w.name), w); }

 private:
  // tf.keras 2.13 wrote this for "layers", and on Windows each path up to "vars" as one name with backslashes.
  static constexpr std::string_view old_layers = "_layer_checkpoint_dependencies";
  static bool any_begins(const Hdf5 &file, std::string_view with) {
    const auto it = file.datasets().lower_bound(std::string(with));
    return it != file.datasets().end() && it->first.starts_with(with);
  }
  std::string spelled(std::string path) const {
    constexpr std::string_view now = "layers/";
    for (size_t at = 0; old_ && (at = path.find(now, at)) != path.npos; at += old_layers.size() + 1)
      path.replace(at, now.size() - 1, old_layers);
    if (backslashes_)
      std::replace(path.begin(), path.begin() + std::ssize(path.substr(0, path.rfind("/vars/"))), '/', '\\');
    return path;
  }
  // A layer with more weights in the file than here is another layer.
  void need_whole(const graph::Weight &w, const std::string &path) const {
    const size_t vars = path.rfind('/') + 1;
    const std::string next = path.substr(0, vars) + std::to_string(std::stoll(path.substr(vars)) + 1);
    if (file_.contains(next) && !paths_.count(next))
      throw of_weight(Code::shape_mismatch, w, text("it is the last of its layer, the file has \"", next, "\" too"))
          .with("tensor", next);
  }

  const Hdf5 &file_;
  const bool old_, backslashes_;
  std::set<std::string> paths_;
  std::map<std::string, std::string> by_name_;
};

Weights weights_of(const graph::Graph &g, int64_t limit) {
  Weights all;
  int64_t bytes = 0;
  for (const graph::Layer &l : g.layers())
    for (const auto &w : l.weights) {
      if (w->spec.kept) continue;  // states of stateful layers are in no file
      all.push_back(w);
      bytes = checked_add(bytes, checked_mul(w->spec.shape.elements(), size_of(w->spec.dtype)));
    }
  if (bytes > limit) fail(Code::out_of_memory, "the weights take ", bytes, " bytes, the memory limit is ", limit);
  return all;
}

// fill(graph): sets all its weights.
template <class F>
std::shared_ptr<graph::Model> model_from(const Json &j, const graph::Settings &settings, Budget &budget, F fill) {
  const graph::Architecture a = keras::architecture_of(j);
  take_layers(budget, a);
  auto graph = std::make_shared<graph::Graph>(settings);
  std::vector<graph::Node> in, out;
  graph->merge(a, &in, &out);
  fill(*graph);
  return std::make_shared<graph::Model>(std::move(graph), std::move(in), std::move(out));
}

// Major version of Keras from a text such as "2.15.0"; versions before 1.2 write none.
int major_of(const std::string &version) {
  return version.empty() || !std::isdigit(static_cast<unsigned char>(version[0])) ? 1 : version[0] - '0';
}
int major_of(const Hdf5 &file, const std::string &group) {
  const std::vector<std::string> said = file.texts(group, "keras_version");
  return said.empty() ? 1 : major_of(said[0]);
}

// The values of all weights: from Keras 3's store, or by layers as in .h5 models and Keras 2.
std::map<const graph::Weight *, Tensor> values_of(const Hdf5 &file, const Json &config, const graph::Graph &g,
                                                  const Weights &weights, bool of_file) {
  std::map<const graph::Weight *, Tensor> values;
  const bool whole = file.contains("model_weights");
  if (whole || !file.texts("", "layer_names").empty()) {
    const int major =
        major_of(file, whole && !file.texts("model_weights", "keras_version").empty() ? "model_weights" : "");
    for (const graph::Layer &l : g.layers())
      if (!l.weights.empty()) read_layer(file, whole ? "model_weights/" : "", major, l, values);
    return values;
  }
  const Store store(file, config, weights, of_file);
  // What LoRA learned is already part of the kernels.
  for (const auto &w : weights)
    values[w.get()] = w->spec.lora ? make_zeros(w->spec.dtype, w->spec.shape) : store.value(*w);
  return values;
}

// A file, and the store in it: a member of an archive, else the file itself.
class Opened {
 public:
  Opened(const Source &source, Budget &budget) : source_(source), budget_(budget) {
    if (is_zip(source)) zip = std::make_unique<Zip>(source, budget);
  }
  const Hdf5 &store(bool verified) {
    if (zip && !zip->contains(weights_name))
      fail(Code::unsupported, "the file has no \"", weights_name, "\"; other forms of weights are not read");
    if (zip) member_ = zip->open(weights_name, verified);
    return store_.emplace(zip ? *member_ : source_, budget_);
  }
  std::unique_ptr<Zip> zip;  // null: no archive

 private:
  const Source &source_;
  Budget &budget_;
  std::unique_ptr<Source> member_;
  std::optional<Hdf5> store_;
};

// The compile config, or null.
Json compiled(const Hdf5 &file, const Json &config, Budget &budget) {
  const std::vector<std::string> said = file.texts("", "training_config");
  if (said.empty()) return config.value("compile_config", nullptr);
  return parse_object(said[0], Code::corrupt_file, "\"training_config\"", budget);
}

// The optimizer's variables, in Keras 3's order.
std::vector<Tensor> variables_of(const Hdf5 &file) {
  std::vector<Tensor> all;
  for (int64_t i = 0; file.contains(text("optimizer/vars/", i)); ++i)
    all.push_back(file.read(text("optimizer/vars/", i)));
  const std::vector<std::string> names = file.texts("optimizer_weights", "weight_names"),
                                 version = file.texts("", "keras_version");
  if (!names.empty() && (version.empty() || !version[0].starts_with("3.")))
    fail(Code::unsupported, "the state of the optimizers of Keras ", version.empty() ? "1" : version[0],
         " is not read; save the model again with Keras 3");
  for (const std::string &name : names) all.push_back(file.read("optimizer_weights/" + name));
  if (all.empty()) fail(Code::not_found, "the file has no state of an optimizer");
  return all;
}

// Like Keras 3, converts Infinity, -Infinity and NaN outside of strings to texts.
std::string as_json(const std::string &json) {
  std::string to;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i);
    const std::string_view word = in_text                         ? ""
                                  : rest.starts_with("Infinity")  ? "Infinity"
                                  : rest.starts_with("-Infinity") ? "-Infinity"
                                  : rest.starts_with("NaN")       ? "NaN"
                                                                  : "";
    if (!word.empty()) {
      to += text('"', word, '"');
      i += word.size() - 1;
      continue;
    }
    if (json[i] == '"') in_text = !in_text;
    to += json[i];
    if (in_text && json[i] == '\\' && i + 1 < json.size()) to += json[++i];
  }
  return to;
}

// The model's JSON in a .h5 file.
std::string whole_model(const Hdf5 &file) {
  const std::vector<std::string> said = file.texts("", "model_config");
  if (said.size() != 1)
    fail(Code::unsupported, "this HDF5 file has no \"model_config\"; expected a whole model of Keras");
  if (const auto backend = file.texts("", "backend"); !backend.empty() && backend[0] == "theano")
    fail(Code::unsupported,
         "the file is of Keras on Theano, whose convolutions turn their kernels; expected TensorFlow");
  return said[0];
}

}  // namespace

Tensor zeros_for(const graph::Weight &w) {
  constexpr size_t align = 64;
  Tensor t{w.spec.dtype, w.spec.shape, nullptr};
  void *const room = std::calloc(static_cast<size_t>(t.bytes()) + align, 1);
  if (!room) throw std::bad_alloc();
  auto *const first = static_cast<std::byte *>(room);
  t.data = Bytes(first + (align - reinterpret_cast<uintptr_t>(room) % align) % align,
                 [room](std::byte *) { std::free(room); });
  return t;
}

graph::Architecture read_architecture(const Json &j) {
  if (graph::is_architecture(j) || !j.find("class_name")) return graph::read_architecture(j);
  const Json *version = j.find("keras_version");
  return keras::architecture_of(
      keras::modern(j, version && version->is_string() ? major_of(version->get<std::string>()) : 3));
}

namespace keras {

bool is_file(const Source &source, Budget &) { return is_zip(source) || is_hdf5(source); }

std::shared_ptr<graph::Model> load(const Source &source, const graph::Settings &settings, Budget &budget,
                                   const Loading &how, Told &told) {
  return as_file_error(
      [&] {
        std::string said;
        int major = 3;
        Opened file(source, budget);
        if (file.zip) {
          if (!file.zip->contains(config_name))
            fail(Code::unsupported, "this is a zip archive without \"", config_name, "\", not a Keras file");
          said = file.zip->text(config_name);
          if (file.zip->contains(metadata_name))
            major = major_of(parse_object(file.zip->text(metadata_name), Code::corrupt_file, metadata_name, budget)
                                 .value("keras_version", "3")
                                 .get<std::string>());
        }
        const Hdf5 &store = file.store(how.verified && how.weights);
        if (!file.zip) said = whole_model(store), major = major_of(store, "");
        Json config =
            modern(parse_object(as_json(said), Code::corrupt_file, file.zip ? config_name : "\"model_config\"", budget),
                   major);
        if (file.zip) config = with_assets(config, *file.zip, store, budget);
        told.training = compiled(store, config, budget), told.types = other_floats(config);
        return model_from(config, settings, budget, [&](const graph::Graph &g) {
          const Weights all = weights_of(g, settings.memory_limit);
          if (!how.weights) {
            for (const auto &w : all) w->value() = zeros_for(*w);
            return;
          }
          for (auto &[w, value] : values_of(store, config, g, all, true)) w->value() = std::move(value);
        });
      },
      {Code::invalid_argument, Code::shape_mismatch, Code::not_found});
}

namespace {

// The bytes of a .keras or .weights.h5 file: its parts lie in it and in the model's weights.
struct KerasFile {
  std::map<std::string, Tensor> tensors;  // by their place in the store
  std::set<std::string> natural{};        // which of bytes have no sign
  std::string config, metadata, head;
  std::vector<std::string> heads;

  std::vector<std::string_view> store() { return hdf5_parts(tensors, natural, head); }
  std::vector<std::string_view> whole() {
    return zip_parts({{metadata_name, {metadata}}, {config_name, {config}}, {weights_name, store()}}, heads);
  }
};

// order: gets the weights as Keras lists them.
KerasFile file_of(const graph::Model &m, Json config, std::vector<std::string> *order = nullptr) {
  KerasFile file;
  KerasPaths paths = keras_paths(config, m.weights());
  const bool lora = std::ranges::any_of(m.weights(), [](const auto &w) { return w->spec.lora; });
  const auto merged = lora ? graph::without_lora(m) : nullptr;
  for (const auto &[path, name] : paths.weights) {
    file.tensors.emplace(path, (merged ? *merged : m).weight(name)->value());
    for (const char *natural : kinds::natural_weights)
      if (name.ends_with(text('/', natural))) file.natural.insert(path);
  }
  for (auto &[path, weights] : token_weights(config)) file.tensors.emplace(path, std::move(weights));
  if (order) *order = std::move(paths.order);
  file.config = file_text(without_slashes(config), config_name);
  file.metadata = Json{{"keras_version", keras_version}}.dump();
  return file;
}

// Errors of a valid file that belongs to another model; other codes are unchanged.
constexpr std::initializer_list<Code> of_another_model = {Code::invalid_argument};

// In the order of the model's weights.
std::vector<Tensor> weights_in(const graph::Model &m, const Hdf5 &file) {
  auto values = values_of(file, json_of(m), m.graph(), m.weights(), false);
  std::vector<Tensor> list;
  for (const auto &w : m.weights()) {
    const auto it = values.find(w.get());
    if (it == values.end()) throw of_weight(Code::not_found, *w, "the file does not have it");
    list.push_back(std::move(it->second));
  }
  return list;
}

}  // namespace

void save(const graph::Model &m, const Write &write) { write(file_of(m, json_of(m)).whole()); }
void save_weights(const graph::Model &m, const Write &write) { write(file_of(m, json_of(m)).store()); }

void save_trainer(const train::Trainer &t, const Write &write) {
  Json config = json_of(t.model());
  config["compile_config"] = compile_config(t);
  std::vector<std::string> order;
  KerasFile file = file_of(t.model(), std::move(config), &order);
  int64_t n = 0;
  for (Tensor &v : keras_variables(t, order)) file.tensors.emplace(text("optimizer/vars/", n++), std::move(v));
  write(file.whole());
}

void load_trainer(train::Trainer &t, const Source &source, Budget &budget) {
  auto state = as_file_error(
      [&] {
        Opened file(source, budget);
        const Hdf5 &store = file.store(true);
        const graph::Model &m = t.model();
        const std::vector<std::string> order = keras_paths(json_of(m), m.weights()).order;
        return state_with(t, order, variables_of(store), weights_in(m, store));
      },
      of_another_model);
  t.restore(state, t.position_json());
}

std::vector<Tensor> weights(const graph::Model &m, const Source &source, Budget &budget, const Naming &naming,
                            bool verified) {
  for (const auto &[key, given] : {std::pair("names", !naming.names.empty()), std::pair("partial", naming.partial)})
    if (given)
      throw Error(Code::unsupported, text('"', key, "\": Keras's files keep weights by layer, not by name"))
          .with("attribute", key);
  return as_file_error([&] { return weights_in(m, Opened(source, budget).store(verified)); }, of_another_model);
}

}  // namespace keras
}  // namespace dl4::io
