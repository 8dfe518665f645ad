// dl4 kinds: the registry as help.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "models.hpp"

namespace dl4::tool {
namespace {

// A category, and where a kind of it stands in a program: "@" is the kind, "$" the options in C.
struct Category {
  const char *name, *plural, *c, *options, *module, *python;
};
constexpr const char *c_add = "dl4_graph_add(graph, \"Dense\", NULL, $, NULL, NULL, &x, 1, &y, 1)",
                     *c_train = "dl4_trainer_create(model, $, &trainer)";
constexpr Category categories[] = {
    {"layer", "layers", "", "", "keras.layers.", ""},
    {"activation", "activations", c_add, R"({"units": 4, "activation": @})", "", "keras.layers.Dense(4, activation=@)"},
    {"initializer", "initializers", c_add, R"({"units": 4, "kernel_initializer": @})", "keras.initializers.",
     "keras.layers.Dense(4, kernel_initializer=@)"},
    {"regularizer", "regularizers", c_add, R"({"units": 4, "kernel_regularizer": @})", "keras.regularizers.",
     "keras.layers.Dense(4, kernel_regularizer=@)"},
    {"constraint", "constraints", c_add, R"({"units": 4, "kernel_constraint": @})", "keras.constraints.",
     "keras.layers.Dense(4, kernel_constraint=@)"},
    {"loss", "losses", c_train, R"({"optimizer": "Adam", "loss": @})", "keras.losses.", R"(model.compile("adam", @))"},
    {"metric", "metrics", c_train, R"({"optimizer": "Adam", "loss": "MeanSquaredError", "metrics": [@]})",
     "keras.metrics.", R"(model.compile("adam", "mse", metrics=[@]))"},
    {"optimizer", "optimizers", c_train, R"({"optimizer": @, "loss": "MeanSquaredError"})", "keras.optimizers.",
     R"(model.compile(@, "mse"))"},
    {"schedule", "schedules", c_train,
     R"({"optimizer": {"class_name": "SGD", "config": {"learning_rate": @}}, "loss": "MeanSquaredError"})",
     "keras.optimizers.schedules.", R"(model.compile(keras.optimizers.SGD(@), "mse"))"},
    {"callback", "callbacks", "dl4_trainer_fit(trainer, data, NULL, $, NULL, NULL, NULL, NULL)",
     R"({"callbacks": [@]})", "keras.callbacks.", "model.fit(x, y, validation_split=0.2, callbacks=[@])"},
};

const Category &category_of(const std::string &name) {
  return *std::find_if(std::begin(categories), std::end(categories), [&](const Category &c) { return c.name == name; });
}

std::string replaced(std::string text, char mark, const std::string &by) {
  const size_t at = text.find(mark);
  return at == text.npos ? text : text.replace(at, 1, by);
}

// With a space behind "," and ":", as people write it.
std::string spaced(const Json &j) {
  if (!j.is_structured() || j.empty()) return j.dump();
  std::string text;
  for (const auto &[key, value] : j.items())
    text += (text.empty() ? "" : ", ") + (j.is_object() ? Json(key).dump() + ": " : "") + spaced(value);
  return j.is_object() ? '{' + text + '}' : '[' + text + ']';
}

// The attributes that a kind of this name needs, or does little without.
Json config_of(const Json &kind) {
  Json config = Json::object();
  for (const Json &a : kind["attributes"])
    if (a.contains("example")) config[a["name"].get<std::string>()] = a["example"];
  return config;
}

std::string in_python(const Json &value, const std::string &category);

std::string constructor(const Category &c, const std::string &name, const Json &config, const Json &attributes) {
  std::string text;
  for (const auto &[key, value] : config.items()) {
    std::string inner;
    for (const Json &a : attributes)
      if (a["name"] == key) inner = a.value("category", "");
    text += (text.empty() ? "" : ", ") + key + '=' + in_python(value, inner);
  }
  return c.module + name + '(' + text + ')';
}

std::string in_python(const Json &value, const std::string &category) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (!value.is_structured()) return value.dump();
  if (value.is_object() && value.contains("class_name") && !category.empty())
    return constructor(category_of(category), value["class_name"].get<std::string>(),
                       value.value("config", Json::object()), Json::array());
  std::string text;
  for (const auto &[key, one] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? Json(key).dump() + ": " : "") + in_python(one, category);
  return value.is_object() ? '{' + text + '}' : '[' + text + ']';
}

// "update_rule gated or gated_delta": does the config say so, or else the default?
bool holds(const std::string &condition, const Json &kind, const Json &config) {
  const size_t end = std::min(condition.find(' '), condition.size());
  for (const Json &a : kind["attributes"]) {
    if (a["name"] != condition.substr(0, end)) continue;
    const Json value = config.value(a["name"].get<std::string>(), a.value("default", Json()));
    if (end == condition.size()) return !value.is_null() && value != false;
    const std::string words = condition.substr(end) + ' ', said = value.is_string() ? value : Json(value.dump());
    return words.find(' ' + said + ' ') != words.npos;
  }
  return false;
}

// Those that a call can't do without.
std::vector<std::string> inputs_of(const Json &kind, const Json &config) {
  std::vector<std::string> all;
  for (const Json &p : kind["inputs"]) {
    const std::string name = p["name"], shape = p["shape"];
    if ((p.contains("if") && !holds(p["if"], kind, config)) || shape.ends_with("by default") ||
        shape.ends_with("optional"))
      continue;
    if (!name.ends_with("..."))
      all.push_back(name);
    else if (name != "weights...")  // the layers of the examples have none
      all.insert(all.end(), {"a", "b"});
    else
      all.pop_back();  // nor have they a second input
  }
  return all;
}

struct Example {
  std::string c, python;
};

Example layer_example(const std::string &name, const Json &kind) {
  const Category &layers = category_of("layer");
  const Json config = config_of(kind);
  const std::vector<std::string> inputs = inputs_of(kind, config);
  const auto always = [](const Json &p) { return !p.contains("if"); };
  const auto outputs = std::count_if(kind["outputs"].begin(), kind["outputs"].end(), always);
  std::string joined;
  for (const std::string &input : inputs) joined += (joined.empty() ? "" : ", ") + input;
  const Json call = kind.value("call_positional", Json::array());
  const bool apart = inputs.size() < 2 || (!call.empty() && call[0] == inputs.at(0));
  const auto nodes = [](const char *what, auto n) {
    return n == 1 ? '&' + std::string(what) + ", 1" : n == 0 ? "NULL, 0" : what + ("s, " + std::to_string(n));
  };
  return {"dl4_graph_add(graph, \"" + name + "\", NULL, " + Json(spaced(config)).dump() + ", NULL, NULL, " +
              nodes("x", inputs.size()) + ", " + nodes("y", outputs) + ')',
          "y = " + constructor(layers, name, config, kind["attributes"]) + '(' + (apart ? joined : '[' + joined + ']') +
              ')'};
}

Example example_of(const Category &c, const std::string &name, const Json &kind) {
  const Json config = config_of(kind);
  Json as_json = name;
  if (!config.empty()) as_json = {{"class_name", name}, {"config", config}};
  if (c.name == std::string("layer") && (name.ends_with("Cell") || name.ends_with("Cells"))) {
    const Json of_rnn{{"attributes", {{{"name", "cell"}, {"category", "layer"}, {"example", as_json}}}},
                      {"inputs", {{{"name", "x"}, {"shape", "(B, T, ...)"}}}},
                      {"outputs", {Json::object()}}};
    return layer_example("RNN", of_rnn);
  }
  if (c.name == std::string("layer")) return layer_example(name, kind);
  const std::string python = *c.module ? constructor(c, name, config, kind["attributes"]) : as_json.dump();
  return {replaced(c.c, '$', Json(replaced(c.options, '@', spaced(as_json))).dump()), replaced(c.python, '@', python)};
}

std::string type_of(const Json &a) {
  if (a.contains("enum")) {
    std::string words;
    for (const Json &word : a["enum"]) words += (words.empty() ? "" : ", ") + word.dump();
    return words;
  }
  const std::string type = a["type"];
  constexpr std::pair<const char *, const char *> types[] = {
      {"bool", "true or false"}, {"i64", "integer"},  {"i64s", "integers"}, {"f64", "number"},
      {"f64s", "numbers"},       {"str", "string"},   {"strs", "strings"},  {"layer", "layer"},
      {"layers", "layers"},      {"attrs", "object"}, {"json", "JSON"}};
  std::string text = type;
  for (const auto &[key, word] : types)
    if (type == key) text = word;
  if (a.contains("category") && (type == "attrs" || type == "str")) text = a["category"];
  if (a.contains("category") && type == "f64") text += " or " + a["category"].get<std::string>();
  if (a.contains("min") && a.contains("max")) return text + ", " + a["min"].dump() + " to " + a["max"].dump();
  if (a.contains("min")) return text + ", at least " + a["min"].dump();
  return a.contains("max") ? text + ", at most " + a["max"].dump() : text;
}

std::string attribute_lines(const Json &attributes) {
  std::string text;
  for (const Json &a : attributes) {
    std::string line = a["name"].get<std::string>() + ": " + type_of(a);
    line += a.value("required", false) ? "; required" : "; default " + a["default"].dump();
    if (a.contains("default_only")) line += ", no other value is supported";
    text += wrapped(line, 2, 6) + wrapped(a["doc"], 6, 6);
  }
  return text;
}

std::string port_lines(const Json &kind, const char *key, const char *heading) {
  std::string text;
  for (const Json &p : kind.value(key, Json::array())) {
    std::string line = p["name"].get<std::string>() + ": " + p.value("shape", p.value("doc", ""));
    if (p.contains("if")) line += ", if " + p["if"].get<std::string>();
    text += wrapped(line, 2, 6);
  }
  return text.empty() ? "" : heading + ('\n' + text);
}

Json registry(const char *category, const char *name) { return Json::parse(text(dl4_registry_json, category, name)); }

std::string help_of(const Category &c, const std::string &name, const Json &kind) {
  std::string text = std::string(c.name) + ' ' + name;
  for (const Json &alias : kind.value("aliases", Json::array())) text += ", " + alias.get<std::string>();
  text += '\n' + wrapped(kind["doc"], 2, 2);
  const Json elsewhere = kind.value("names", Json::object());
  for (const auto &[where, called] : elsewhere.items())
    text += "  " + (where == "onnx" ? "ONNX: " : std::string()) + called.get<std::string>() + '\n';
  if (kind.contains("log_name")) text += "  in logs: " + kind["log_name"].get<std::string>() + '\n';
  text += port_lines(kind, "inputs", "Inputs") + port_lines(kind, "outputs", "Outputs") +
          port_lines(kind, "weights", "Weights");
  if (kind.contains("mask")) text += wrapped("Mask: " + kind["mask"].get<std::string>(), 0, 2);
  if (!kind["attributes"].empty()) text += "Attributes\n" + attribute_lines(kind["attributes"]);
  if (c.name == std::string("layer"))
    text += "Attributes of every layer\n" + attribute_lines(registry("layer", nullptr)["every_layer"]["attributes"]);
  text += port_lines(kind, "arguments", "Arguments of a call");
  const auto [in_c, python] = example_of(c, name, kind);
  return text + "In C\n  " + in_c + ";\nIn Python\n  " + python + '\n';
}

// What all categories call so.
Json found(const std::string &name) {
  Json all = Json::object();
  std::string only_in_keras;
  for (const Category &c : categories) {
    try {
      all.update(registry(c.name, name.c_str()));
    } catch (const Error &error) {
      if (error.code == DL4_UNSUPPORTED) only_in_keras = error.what();
      if (error.code != DL4_UNSUPPORTED && error.code != DL4_UNKNOWN_KIND) throw;
    }
  }
  if (all.empty() && !only_in_keras.empty()) throw Refusal(refused, only_in_keras);
  if (!all.empty()) return all;
  std::vector<std::string> names;
  for (const Category &c : categories) {
    names.emplace_back(c.plural);
    const Json kinds = registry(c.name, nullptr);
    for (const auto &[one, kind] : kinds[c.name].items()) names.push_back(one);
  }
  throw Refusal(usage, "unknown kind \"" + name + '"' + did_you_mean(name, names));
}

Json with_examples(Json all) {
  for (auto &[category, kinds] : all.items())
    for (auto &[name, kind] : kinds.items()) {
      if (category == "every_layer") continue;
      auto [c, python] = example_of(category_of(category), name, kind);
      kind["examples"] = {{"c", c}, {"python", python}};
    }
  return all;
}

std::string all_names() {
  std::string text;
  for (const Category &c : categories) {
    const Json kinds = registry(c.name, nullptr)[c.name];
    std::string names;
    for (const auto &[name, kind] : kinds.items()) names += (names.empty() ? "" : ", ") + name;
    text += std::string(c.plural) + " (" + std::to_string(kinds.size()) + ")\n" + wrapped(names, 2, 2);
  }
  return text + "dl4 kinds NAME describes one, dl4 kinds losses all of them in a line each.\n";
}

std::string lines_of(const Category &c, const Json &kinds) {
  std::string text;
  for (const auto &[name, kind] : kinds[c.name].items())
    text += wrapped(name + ": " + kind["doc"].get<std::string>(), 0, 4);
  return text;
}

}  // namespace

Command kinds_command(const Common &common) {
  auto name = std::make_shared<std::string>();
  return {"kinds",
          "help on a layer, loss, optimizer, ...: attributes, shapes, an example; without NAME all names",
          {{"NAME", "NAME", "a kind, as LSTM, or all of a category, as losses", name.get()}},
          [=, &common] {
            const auto category = std::find_if(std::begin(categories), std::end(categories),
                                               [&](const Category &c) { return c.plural == *name; });
            const bool whole = category != std::end(categories);
            const Json all = whole           ? registry(category->name, nullptr)
                             : name->empty() ? registry(nullptr, nullptr)
                                             : found(*name);
            if (common.json) {
              print(with_examples(all));
            } else if (name->empty() || whole) {
              print(whole ? lines_of(*category, all) : all_names());
            } else {
              std::string text;
              for (const auto &[c, kinds] : all.items())
                for (const auto &[one, kind] : kinds.items())
                  text += (text.empty() ? "" : "\n") + help_of(category_of(c), one, kind);
              print(text);
            }
            return done;
          }};
}

}  // namespace dl4::tool
