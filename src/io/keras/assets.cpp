// A layer's path is that of its weights: layers/string_lookup_1.
#include "io/keras/store.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/take.hpp"
#include "base/utf8.hpp"
#include "io/bytes.hpp"
#include "io/keras/operations.hpp"
#include "io/keras/paths.hpp"
#include "kinds/layers/preprocessing/lookup.hpp"

namespace dl4::io {
namespace {

bool is_lookup(std::string_view name) {
  return name == "StringLookup" || name == "IntegerLookup" || name == "TextVectorization";
}

int64_t integer_of(std::string_view line, const std::string &member) {
  int64_t v = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), v);
  if (error != std::errc() || end != line.data() + line.size())
    fail(Code::corrupt_file, '"', member, "\": expected an integer in each line, got \"", printable(excerpt(line)),
         '"');
  return v;
}

// f(layer, class, path) in the place of each layer with a vocabulary.
template <class F>
Json with_lookups(const Json &model, const std::string &path, const F &f) {
  const Json *config = model.find("config"), *layers = config ? config->find("layers") : nullptr;
  if (!layers || !layers->is_array()) return model;
  KerasNames names;
  Json list = Json::array(), to = model, changed = *config;
  for (const Json &l : *layers) {
    const Json *name = l.find("class_name");
    if (!name || !name->is_string() || !l.find("config") || keras::is_operation(l)) {
      list.push_back(l);
      continue;
    }
    const std::string class_name = name->get<std::string>(), below = path + "layers/" + names.next(class_name);
    const bool is_model = class_name == "Functional" || class_name == "Sequential" || class_name == "Model";
    list.push_back(is_model ? with_lookups(l, below + '/', f) : is_lookup(class_name) ? f(l, class_name, below) : l);
  }
  changed["layers"] = std::move(list);
  to["config"] = std::move(changed);
  return to;
}

class Assets {
 public:
  Assets(const Zip &archive, const Hdf5 &store, Budget &budget) : archive_(archive), store_(store), budget_(budget) {}

  Json of_layer(const Json &l, const std::string &class_name, const std::string &path) const {
    Json config = *l.find("config");
    if (!config.value("vocabulary", nullptr).is_null()) return l;
    const std::string member = "assets/" + path + "/vocabulary.txt";
    if (!archive_.contains(member)) {
      if (config.value("vocabulary_size", nullptr).is_null()) return l;  // it was saved without one
      throw Error(Code::corrupt_file, text("layer \"", config.value("name", "").get<std::string>(),
                                           "\": the file has no \"", member, "\", the layer's vocabulary"));
    }
    Json tokens = lines(member, class_name == "IntegerLookup");
    if (tokens.empty()) return l;
    const std::string weights = path + "/vars/idf_weights";
    if (store_.contains(weights)) config["idf_weights"] = first_of(store_.read(weights), tokens.size(), weights);
    config["vocabulary"] = std::move(tokens);
    Json to = l;
    to["config"] = std::move(config);
    return to;
  }

 private:
  Json lines(const std::string &member, bool integers) const {
    const std::string all = archive_.text(member);
    budget_.take(checked_mul(static_cast<int64_t>(all.size()), 2), "the tokens");
    std::string_view rest = all;
    while (!rest.empty() && rest.back() == '\n') rest.remove_suffix(1);
    Json tokens = Json::array();
    bool more = !rest.empty();
    while (more) {
      more = rest.find('\n') != rest.npos;
      const std::string_view line = take(rest, '\n');
      if (!integers && valid_utf8(line) != line)
        fail(Code::corrupt_file, '"', member, "\": expected UTF-8, got \"", excerpt(valid_utf8(line)), '"');
      tokens.push_back(integers ? Json(integer_of(line, member)) : Json(line));
    }
    return tokens;
  }

  // Of vectors that are padded there are more.
  static Json first_of(const Tensor &t, size_t n, const std::string &what) {
    if (t.dtype != DType::f32 || t.elements() < static_cast<int64_t>(n))
      fail(Code::corrupt_file, '"', what, "\": expected ", n, " float32 weights, as the vocabulary has tokens, got ",
           t.elements(), " of ", t.dtype);
    Json list = Json::array();
    for (size_t i = 0; i < n; ++i) list.push_back(static_cast<double>(t.as<float>()[i]));
    return list;
  }

  const Zip &archive_;
  const Hdf5 &store_;
  Budget &budget_;
};

}  // namespace

Json with_assets(const Json &model, const Zip &archive, const Hdf5 &store, Budget &budget) {
  const Assets assets(archive, store, budget);
  return with_lookups(model, "", [&](const Json &l, const std::string &class_name, const std::string &path) {
    return assets.of_layer(l, class_name, path);
  });
}

std::map<std::string, Tensor> token_weights(const Json &model) {
  std::map<std::string, Tensor> all;
  with_lookups(model, "", [&](const Json &l, const std::string &class_name, const std::string &path) {
    const Json *mode = l.find("config")->find("output_mode");
    if (!mode || (!(*mode == "tf_idf") && !(*mode == "tf-idf"))) return l;
    Json config = *l.find("config");
    config.erase("trainable");
    const auto layer = kinds::find("layer", class_name).make(config);
    const Tensor weights = dynamic_cast<const kinds::WithVocabulary &>(*layer).token_weights();
    if (!weights.data) return l;
    all.emplace(path + "/vars/idf_weights", weights);
    if (class_name == "TextVectorization") all.emplace(path + "/_lookup_layer/vars/idf_weights", weights);
    return l;
  });
  return all;
}

}  // namespace dl4::io
