// dl4 diff.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "arrays.hpp"

namespace dl4::tool {
namespace {

struct DiffOptions {
  std::string a, b;
  std::optional<double> tolerance;
  bool run = false;
  std::vector<std::string> inputs;
  int64_t batch = 0, other = 0;  // 0: the default
  double scale = 1;
};

// The layers of an architecture by name.
std::map<std::string, Json> configs_by_name(const Json &architecture) {
  std::map<std::string, Json> all;
  for (const Json &l : architecture.at("layers")) all.emplace(l.at("name").get<std::string>(), l);
  return all;
}

void compare(const std::string &path, const Json &a, const Json &b, Json &to) {
  if (!a.is_object() || !b.is_object()) {
    if (a != b) to.push_back({{"key", path}, {"a", a}, {"b", b}});
    return;
  }
  std::set<std::string> keys;
  for (const Json *side : {&a, &b})
    for (const auto &[key, value] : side->items()) keys.insert(key);
  for (const std::string &key : keys)
    compare(path.empty() ? key : path + "." + key, a.value(key, Json()), b.value(key, Json()), to);
}

Json layers_differ(const Json &a, const Json &b) {
  Json list = Json::array();
  const auto in_a = configs_by_name(a), in_b = configs_by_name(b);
  for (const auto &[name, layer] : in_a) {
    const auto other = in_b.find(name);
    Json keys = Json::array();
    if (other != in_b.end()) compare("", layer, other->second, keys);
    if (other == in_b.end())
      list.push_back({{"layer", name}, {"only", "a"}});
    else if (!keys.empty())
      list.push_back({{"layer", name}, {"keys", std::move(keys)}});
  }
  for (const auto &[name, layer] : in_b)
    if (!in_a.count(name)) list.push_back({{"layer", name}, {"only", "b"}});
  Json ends = Json::array();
  for (const char *key : {"inputs", "outputs"}) compare(key, a.at(key), b.at(key), ends);
  if (!ends.empty()) list.push_back({{"layer", ""}, {"keys", std::move(ends)}});
  return list;
}

// The largest distance; two NaN are equal, one is as far as can be.
template <class T = float>
double distance(const Tensor &a, const Tensor &b) {
  double most = 0;
  const auto x = a.data<T>(), y = b.data<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double d = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    most = std::max(most, std::isnan(d) ? HUGE_VAL : d);
  }
  return most;
}

// JSON has no infinity.
Json json_of(double distance) { return std::isinf(distance) ? Json("inf") : Json(distance); }

Json weights_differ(const Model &a, const Model &b, double tolerance) {
  Json list = Json::array();
  const auto in_a = a.weight_names(), in_b = b.weight_names();
  const std::set<std::string> of_a(in_a.begin(), in_a.end()), of_b(in_b.begin(), in_b.end());
  for (const std::string &name : in_a) {
    if (!of_b.count(name)) {
      list.push_back({{"weight", name}, {"only", "a"}});
      continue;
    }
    const Tensor x = a.weight(name), y = b.weight(name);
    if (x.dims() != y.dims()) {
      list.push_back({{"weight", name}, {"shapes", {x.dims(), y.dims()}}});
      continue;
    }
    const double d = distance(x, y);
    if (d <= tolerance) continue;
    list.push_back({{"weight", name}, {"distance", json_of(d)}});
  }
  for (const std::string &name : in_b)
    if (!of_a.count(name)) list.push_back({{"weight", name}, {"only", "b"}});
  return list;
}

std::string text_of(const Json &layers, const Json &weights) {
  std::string text;
  for (const Json &l : layers) {
    const auto name = l["layer"].get<std::string>();
    const std::string who = name.empty() ? "model" : "layer " + name;
    if (l.contains("only")) text += who + ": only in " + l["only"].get<std::string>() + '\n';
    if (l.contains("keys"))
      for (const Json &k : l["keys"])
        text += who + ", " + k["key"].get<std::string>() + ": " + k["a"].dump() + " and " + k["b"].dump() + '\n';
  }
  for (const Json &w : weights) {
    text += "weight " + w["weight"].get<std::string>() + ": ";
    if (w.contains("only"))
      text += "only in " + w["only"].get<std::string>() + '\n';
    else if (w.contains("shapes"))
      text += w["shapes"][0].dump() + " and " + w["shapes"][1].dump() + '\n';
    else
      text += "differs by " + w["distance"].dump() + '\n';
  }
  return text;
}

Exit diff_layers(const Common &common, const DiffOptions &o, const Model &a, const Model &b) {
  const Json layers = layers_differ(architecture(a), architecture(b)),
             weights = weights_differ(a, b, o.tolerance.value_or(0));
  const bool equal = layers.empty() && weights.empty();
  if (common.json)
    print(Json{{"a", o.a}, {"b", o.b}, {"equal", equal}, {"layers", layers}, {"weights", weights}});
  else
    print(text_of(layers, weights));
  return equal ? done : no;
}

// The inputs that both take, with the axes that either knows.
std::vector<Slot> common_slots(const DiffOptions &o, const Model &a, const Model &b, int32_t direction) {
  std::vector<Slot> of_a = slots(a, direction), of_b = slots(b, direction);
  const char *what = direction == DL4_INPUTS ? "input" : "output";
  const auto refuse = [&](const std::string &one, const std::string &other) {
    throw Refusal(refused, '"' + o.a + "\" has " + one + ", \"" + o.b + "\" has " + other);
  };
  const auto count = [&](const std::vector<Slot> &all) { return std::to_string(all.size()) + ' ' + what + 's'; };
  if (of_a.size() != of_b.size()) refuse(count(of_a), count(of_b));
  for (size_t i = 0; i < of_a.size(); ++i) {
    Dims &dims = of_a[i].dims;
    const Dims &other = of_b[i].dims;
    bool fits = dims.size() == other.size();
    for (size_t axis = 0; fits && axis < dims.size(); ++axis) {
      fits = dims[axis] == other[axis] || dims[axis] < 0 || other[axis] < 0;
      dims[axis] = std::max(dims[axis], other[axis]);
    }
    const auto said = [&](const std::vector<Slot> &all, const Dims &d) {
      return what + (" \"" + all[i].name) + "\" of shape " + shape(d);
    };
    if (!fits) refuse(said(of_a, slots(a, direction)[i].dims), said(of_b, other));
  }
  return of_a;
}

// Random ones; of integers those below `ids`.
Tensors inputs_of(const std::vector<Slot> &all, const DiffOptions &o, int64_t seed, uint64_t ids) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  Tensors made;
  for (const Slot &s : all) {
    const bool whole = s.dtype != DL4_FLOAT32 && s.dtype != DL4_FLOAT64;
    const Tensor t = Tensor::zeros<double>(filled(s.dims, o.batch ? o.batch : 2, o.other ? o.other : 4));
    for (double &v : t.data<double>())
      v = whole ? static_cast<double>(random() % ids) : static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    made.push_back(converted(t, s.dtype, 1, s.name));
  }
  return made;
}

Tensors run(const Model &m, const Tensors &inputs) {
  const std::vector<Slot> all = slots(m, DL4_INPUTS);
  Tensors own;
  for (size_t i = 0; i < all.size(); ++i) own.push_back(converted(inputs[i], all[i].dtype, 1, all[i].name));
  return Session(m).run(own);
}

// Inputs, and what a computes from them. What integers a layer takes is not known before it is asked.
std::pair<Tensors, Tensors> tried(const Common &common, const DiffOptions &o, const Model &a,
                                  const std::vector<Slot> &all) {
  if (!o.inputs.empty()) {
    Tensors inputs = read_inputs(all, o.inputs, o.scale);
    Tensors outputs = run(a, inputs);
    return {std::move(inputs), std::move(outputs)};
  }
  for (const uint64_t ids : {100U, 10U, 2U}) {
    try {
      Tensors inputs = inputs_of(all, o, common.seed, ids);
      Tensors outputs = run(a, inputs);
      return {std::move(inputs), std::move(outputs)};
    } catch (const Error &error) {
      if (error.code != DL4_INVALID_ARGUMENT || ids == 2) throw;
    }
  }
  return {};
}

Exit diff_run(const Common &common, const DiffOptions &o, const Model &a, const Model &b) {
  const std::vector<Slot> takes = common_slots(o, a, b, DL4_INPUTS), outputs = common_slots(o, a, b, DL4_OUTPUTS);
  const auto [inputs, of_a] = tried(common, o, a, takes);
  const Tensors of_b = run(b, inputs);
  Json all = Json::array();
  bool equal = true;
  std::string text;
  for (size_t i = 0; i < of_a.size(); ++i) {
    const Tensor x = converted(of_a[i], DL4_FLOAT64, 1, ""), y = converted(of_b[i], DL4_FLOAT64, 1, "");
    const std::string &name = outputs[i].name;
    if (x.dims() != y.dims())
      throw Refusal(refused, "output \"" + name + "\" has the shapes " + shape(x.dims()) + " and " + shape(y.dims()));
    double largest = 0;
    for (const double v : x.data<double>())
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    const double d = distance<double>(x, y);
    const bool fits = d <= o.tolerance.value_or(1e-5) * largest;
    equal = equal && fits;
    all.push_back({{"output", name}, {"equal", fits}, {"distance", json_of(d)}, {"largest", largest}});
    text += "output " + name + ": " + (fits ? "equal" : "DIFFERENT") + ", largest difference " + number(d) +
            ", largest number " + number(largest) + '\n';
  }
  if (common.json)
    print(Json{{"a", o.a}, {"b", o.b}, {"equal", equal}, {"outputs", all}});
  else
    print(text);
  return equal ? done : no;
}

Exit diff(const Common &common, const DiffOptions &o) {
  if (!o.run && (!o.inputs.empty() || o.batch || o.other || o.scale != 1))
    throw Refusal(usage, "--input, --batch-size, --free and --scale need --run");
  if (o.inputs.empty() ? o.scale != 1 : o.batch || o.other)
    throw Refusal(usage, "--batch-size and --free are for random inputs, --scale for those of --input");
  const Model a = open_model(common, o.a), b = open_model(common, o.b);
  return o.run ? diff_run(common, o, a, b) : diff_layers(common, o, a, b);
}

}  // namespace

Command diff_command(const Common &common) {
  auto o = std::make_shared<DiffOptions>();
  return {"diff",
          "where two models differ, in layers and weights or in outputs; ends with 1 if they do",
          {{"A", "A", "a model", &o->a, true},
           {"B", "B", "another", &o->b, true},
           {"--run", "", "compare their outputs, on random inputs or on those of --input", &o->run},
           {"-i,--input", "[NAME=]FILE", "an input for --run, as of dl4 run", &o->inputs},
           {"--batch-size", "N", "samples of random inputs; default 2", &o->batch},
           {"--free", "N", "elements of other free axes of random inputs; default 4", &o->other},
           {"--scale", "S", "what numbers of --input are multiplied by; default 1", &o->scale},
           {"--tolerance", "T",
            "largest distance that counts as none: of two weights, default 0; of two outputs, by their largest number, "
            "default 1e-5",
            &o->tolerance}},
          [=, &common] { return diff(common, *o); }};
}

}  // namespace dl4::tool
