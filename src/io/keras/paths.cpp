// Paths in weight stores, as keras/src/saving/saving_lib.py assigns them: by attribute, and in lists by class name.
#include "io/keras/paths.hpp"

#include <set>

#include "io/keras/operations.hpp"

namespace dl4::io {
namespace {

std::string class_of(const Json &layer) {
  const Json *name = layer.find("class_name");
  if (!name || !name->is_string()) fail(Code::corrupt_file, "a layer has no \"class_name\"");
  return name->get<std::string>();
}

const Json &config_of(const Json &layer, const char *key) {
  const Json *config = layer.find("config"), *found = config ? config->find(key) : nullptr;
  if (!found) fail(Code::corrupt_file, "the config of a ", class_of(layer), " has no \"", key, '"');
  return *found;
}

class Walk {
 public:
  using IsThere = std::function<bool(const std::string &)>;
  Walk(const Weights &weights, const IsThere &is_there, bool of_file)
      : weights_(weights), is_there_(is_there), of_file_(of_file) {
    for (size_t i = 0; i < weights.size(); ++i) by_name_.emplace(weights[i]->name, i);
  }

  // A model's layers; its weights' names start with `prefix`.
  void model(const Json &j, const std::string &prefix, const std::string &path) {
    KerasNames names;
    for (const Json &l : config_of(j, "layers")) {
      if (keras::is_operation(l)) continue;
      const std::string name = config_of(l, "name").get<std::string>();
      const std::string list = path + "layers/";
      const bool other =
          class_of(l) == "Functional" && is_there_ && !of_file_ && !is_there_(list + names.peek("Functional"));
      layer(l, prefix + name + '/', list + names.next(other ? "Sequential" : class_of(l)));
    }
  }

  KerasPaths paths;

 private:
  void layer(const Json &j, const std::string &prefix, const std::string &path) {
    const std::string name = class_of(j);
    const auto is = [&](std::initializer_list<const char *> names) {
      return std::any_of(names.begin(), names.end(), [&](const char *n) { return name == n; });
    };
    if (is({"Functional", "Sequential", "Model"})) return model(j, prefix, path + '/');
    const std::vector<std::string> inside = segments(prefix);
    const std::vector<kinds::InsideOf> places = kinds::facts_of(name).inside;
    size_t n = 0;  // among the inner layers
    for (const kinds::InsideOf &place : places) {
      if (*place.key == 0) return leaf(prefix, path + '/' + place.attribute);
      const Json *given = j["config"].find(place.key);
      // A layer made of the first one.
      const Json &inner = given && !given->is_null() ? *given : config_of(j, places[0].key);
      const auto one = [&](const Json &of, const std::string &below) {
        if (n < inside.size()) layer(of, prefix + inside[n++] + '/', path + '/' + below);
      };
      if (!inner.is_array()) {
        one(inner, place.attribute);
        continue;
      }
      KerasNames names;
      for (const Json &of : inner) {
        const std::string below = text(place.attribute, '/', names.next(class_of(of)));
        // Of a Pipeline's layers some have no weights.
        if (!is({"Pipeline"}) || (n < inside.size() && config_of(of, "name") == inside[n])) one(of, below);
      }
    }
    if (is({"SpectralNormalization"})) return normalized(prefix, path);
    if (!places.empty()) return;
    if (is({"MultiHeadAttention"}))  // tf.keras has no such property
      return heads(prefix, path, inside, is_there_ && is_there_(path + "/_query_dense/vars/0") ? "_" : "");
    if (is({"GroupQueryAttention", "GroupedQueryAttention"})) return heads(prefix, path, inside, "_");
    leaf(prefix, path);
  }
  // Projections: attributes that some classes also expose as properties without the underscore.
  void heads(const std::string &prefix, const std::string &path, const std::vector<std::string> &inside,
             const char *underscore) {
    for (const std::string &part : inside)
      leaf(prefix + part + '/', path + '/' + (part == "gate" ? "_" : underscore) +
                                    (part == "attention_output" ? "output" : part) + "_dense");
  }
  void place(const std::string &path, const std::string &name) {
    paths.weights.emplace(path, name);
    list(name);
  }
  void list(const std::string &name) {
    if (placed_.insert(name).second) paths.order.push_back(name);
  }
  // The inner layer's kernel is also an attribute of this layer.
  void normalized(const std::string &prefix, const std::string &path) {
    for (size_t i : below(prefix)) {
      const std::string &name = weights_[i]->name;
      const bool own = name == prefix + "vector_u";
      if (own || name.ends_with("/kernel") || name.ends_with("/embeddings"))
        place(path + (own ? "/vars/1" : "/vars/0"), name);
    }
  }
  // A layer's own weights: trained ones, then the others. Those of a quantized layer are in the order of creation in
  // Keras. LoRA's have no path, since they are part of the kernel there.
  void leaf(const std::string &prefix, const std::string &path) {
    std::vector<size_t> own = below(prefix);
    std::erase_if(own, [&](size_t i) { return weights_[i]->name.find('/', prefix.size()) != std::string::npos; });
    const auto is_trained = [&](size_t i) { return weights_[i]->spec.trainable; };
    const bool quantized =
        std::any_of(own.begin(), own.end(), [&](size_t i) { return weights_[i]->spec.dtype == DType::u8; });
    if (!quantized) std::stable_partition(own.begin(), own.end(), is_trained);
    int64_t n = 0;
    for (size_t i : own)
      if (!weights_[i]->spec.lora) place(text(path, "/vars/", n++), weights_[i]->name);
    for (size_t i : own)
      if (weights_[i]->spec.lora) list(weights_[i]->name);
  }
  // Indices, in order.
  std::vector<size_t> below(const std::string &prefix) const {
    std::vector<size_t> found;
    for (auto it = by_name_.lower_bound(prefix); it != by_name_.end() && it->first.starts_with(prefix); ++it)
      found.push_back(it->second);
    std::sort(found.begin(), found.end());
    return found;
  }
  // Names of inner layers, in the order of their weights.
  std::vector<std::string> segments(const std::string &prefix) const {
    std::vector<std::string> list;
    for (size_t i : below(prefix)) {
      const size_t end = weights_[i]->name.find('/', prefix.size());
      if (end == std::string::npos) continue;
      std::string name = weights_[i]->name.substr(prefix.size(), end - prefix.size());
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(std::move(name));
    }
    return list;
  }

  const Weights &weights_;
  const IsThere &is_there_;
  const bool of_file_;
  std::map<std::string, size_t> by_name_;
  std::set<std::string> placed_;
};

}  // namespace

std::string KerasNames::next(const std::string &class_name) {
  std::string name = peek(class_name);
  ++taken_[base(class_name)];
  return name;
}

std::string KerasNames::peek(const std::string &class_name) const {
  const std::string name = base(class_name);
  const auto it = taken_.find(name);
  return it == taken_.end() ? name : text(name, '_', it->second);
}

// The only class whose public name differs.
std::string KerasNames::base(const std::string &class_name) {
  return kinds::snake_case(class_name == "GroupQueryAttention" ? "GroupedQueryAttention" : class_name);
}

KerasPaths keras_paths(const Json &model, const Weights &weights,
                       const std::function<bool(const std::string &)> &is_there, bool of_file) {
  Walk walk(weights, is_there, of_file);
  walk.model(model, "", "");
  const std::set<std::string_view> placed(walk.paths.order.begin(), walk.paths.order.end());
  for (const auto &w : weights)
    if (!placed.count(w->name)) fail(Code::unsupported, "weight \"", w->name, "\" cannot be stored in Keras's files");
  return std::move(walk.paths);
}

}  // namespace dl4::io
