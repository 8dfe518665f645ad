// The architecture as JSON and back: the native form.
// Text forms of a graph: a table, and Graphviz's language.
#include <set>

#include "base/utf8.hpp"
#include "graph/model.hpp"

namespace dl4::graph {
namespace {

using Ref = Architecture::Ref;
using Role = Architecture::Role;

constexpr int format = 1;

std::string to_hex(const Tensor &t) {
  constexpr char digits[] = "0123456789abcdef";
  std::string s;
  for (int64_t i = 0; i < t.bytes(); ++i) {
    auto b = static_cast<unsigned char>(t.data.get()[i]);
    s += digits[b >> 4];
    s += digits[b & 15];
  }
  return s;
}

Tensor from_hex(const std::string &s, DType dtype, const Shape &shape) {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (checked_mul(shape.elements(), 2 * size_of(dtype)) != static_cast<int64_t>(s.size()))
    fail(Code::corrupt_file, "\"data\" has ", s.size(), " hex digits for shape ", shape);
  Tensor t = make_tensor(dtype, shape);
  for (size_t i = 0; i < s.size(); i += 2) {
    int hi = digit(s[i]), lo = digit(s[i + 1]);
    if (hi < 0 || lo < 0) fail(Code::corrupt_file, "\"data\" is not hexadecimal");
    t.data.get()[i / 2] = static_cast<std::byte>(hi * 16 + lo);
  }
  return t;
}

Json ref_json(const Ref &ref) { return Json::array({ref.of.layer, ref.of.call, ref.output}); }

Json refs_json(const std::vector<Ref> &refs) {
  Json j = Json::array();
  for (const Ref &ref : refs) j.push_back(ref_json(ref));
  return j;
}

Json call_json(const Architecture::Call &call) {
  Json arguments = call.arguments;
  for (const auto &[key, refs] : call.values) {
    Json list = Json::array();
    for (const auto &ref : refs) list.push_back(ref ? ref_json(*ref) : Json(nullptr));
    arguments[key] = std::move(list);
  }
  return {{"inputs", refs_json(call.inputs)}, {"arguments", std::move(arguments)}};
}

Json layer_json(const Architecture::Layer &l, Constants *constants) {
  if (l.role == Role::input)
    return {{"class_name", "Input"},
            {"name", l.name},
            {"config", {{"shape", shape_json(l.shape)}, {"dtype", to_string(l.dtype)}}}};
  if (l.role == Role::constant) {
    Json config{{"shape", shape_json(l.constant.shape)}, {"dtype", to_string(l.constant.dtype)}};
    if (constants) {
      std::string key = text("constants/", constants->size());
      config["tensor"] = key;
      constants->emplace(std::move(key), l.constant);
    } else {
      config["data"] = to_hex(l.constant);
    }
    return {{"class_name", "Constant"}, {"name", l.name}, {"config", std::move(config)}};
  }
  Json j{{"class_name", l.class_name}, {"name", l.name}, {"version", l.version}, {"config", l.config}};
  if (l.random_seed) j["random_seed"] = *l.random_seed;
  if (!l.frozen.empty()) j["frozen"] = l.frozen;
  if (!l.thawed.empty()) j["thawed"] = l.thawed;
  Json calls = Json::array();
  for (const Architecture::Call &call : l.calls) calls.push_back(call_json(call));
  j["calls"] = std::move(calls);
  return j;
}

const Json &member(const Json &j, const char *key) {
  const Json *found = j.find(key);
  if (!found) fail(Code::corrupt_file, "architecture: \"", key, "\" is missing");
  return *found;
}

const Json &list_member(const Json &j, const char *key) {
  const Json &list = member(j, key);
  if (!list.is_array()) fail(Code::corrupt_file, "architecture: \"", key, "\" must be a list");
  return list;
}

std::string string_member(const Json &j, const char *key) {
  const Json &v = member(j, key);
  if (!v.is_string()) fail(Code::corrupt_file, "architecture: \"", key, "\" must be a string, got ", v.shown());
  return v.get<std::string>();
}

// A version's number, counted from 1.
int64_t counted(const Json &j, const char *key) {
  if (!j.is_int64() || j.get<int64_t>() < 1)
    fail(Code::corrupt_file, "architecture: \"", key, "\" must be an integer of at least 1, got ", j.shown());
  return j.get<int64_t>();
}

Shape shape_from(const Json &j) {
  if (!j.is_array() || j.size() > max_rank)
    fail(Code::corrupt_file, "\"shape\" must be a list of at most ", max_rank, " dims");
  std::vector<int64_t> d;
  for (const Json &dim : j) {
    if (!dim.is_null() && !dim.is_int64()) fail(Code::corrupt_file, "\"shape\" holds ", dim.shown());
    d.push_back(dim.is_null() ? free_dim : dim.get<int64_t>());
  }
  return Shape(d);
}

bool is_ref(const Json &j) {
  return j.is_array() && j.size() == 3 && j[0].is_string() && j[1].is_int64() && j[2].is_int64();
}

// References and nulls, at least one of the first.
bool is_ref_list(const Json &j) {
  return j.is_array() && std::any_of(j.begin(), j.end(), is_ref) &&
         std::all_of(j.begin(), j.end(), [](const Json &item) { return item.is_null() || is_ref(item); });
}

std::vector<std::string> read_names(const Json &j, const char *key) {
  if (!j.is_array() || !std::all_of(j.begin(), j.end(), [](const Json &name) { return name.is_string(); }))
    fail(Code::corrupt_file, '"', key, "\" must be a list of strings, got ", j.shown());
  return j.get<std::vector<std::string>>();
}

Ref read_ref(const Json &j) {
  if (!is_ref(j)) fail(Code::corrupt_file, "expected [layer, call, output], got ", j.shown());
  return {{j[0].get<std::string>(), j[1].get<int64_t>()}, j[2].get<int64_t>()};
}

std::vector<Ref> read_refs(const Json &list) {
  if (!list.is_array()) fail(Code::corrupt_file, "expected a list of references, got ", list.shown());
  std::vector<Ref> refs;
  for (const Json &j : list) refs.push_back(read_ref(j));
  return refs;
}

Architecture::Call read_call(const Json &j) {
  Architecture::Call call{read_refs(member(j, "inputs")), Json::object(), {}};
  const Json *arguments = j.find("arguments");
  if (!arguments) return call;
  for (const auto &[key, value] : arguments->items()) {
    if (!is_ref_list(value)) {
      call.arguments.append(key, value);
      continue;
    }
    auto &refs = call.values[std::string(key)];
    for (const Json &ref : value) refs.push_back(ref.is_null() ? std::nullopt : std::optional(read_ref(ref)));
  }
  return call;
}

Tensor read_constant(const Json &config, DType dtype, const Shape &shape, const Constants &constants) {
  if (!shape.known()) fail(Code::corrupt_file, "a constant of shape ", shape);
  if (!config.contains("tensor")) return from_hex(string_member(config, "data"), dtype, shape);
  const std::string key = string_member(config, "tensor");
  const auto it = constants.find(key);
  if (it == constants.end()) fail(Code::corrupt_file, "tensor \"", key, "\" is missing");
  const Tensor &t = it->second;
  if (t.dtype != dtype || t.shape != shape)
    fail(Code::corrupt_file, "tensor \"", key, "\": expected ", dtype, ' ', shape, ", the file has ", t.dtype, ' ',
         t.shape);
  return t;
}

void read_layer(const Json &j, const Constants &constants, Architecture::Layer &l) {
  l.class_name = string_member(j, "class_name");
  l.config = j.value("config", Json::object());
  if (l.class_name == "Input" || l.class_name == "Constant") {
    l.role = l.class_name == "Input" ? Role::input : Role::constant;
    l.dtype = dtype_from(string_member(l.config, "dtype"));
    l.shape = shape_from(member(l.config, "shape"));
    if (l.role == Role::constant) l.constant = read_constant(l.config, l.dtype, l.shape, constants);
    return;
  }
  if (const Json *version = j.find("version")) l.version = counted(*version, "version");
  if (const Json *seed = j.find("random_seed")) {
    if (!seed->is_uint64())
      fail(Code::corrupt_file, "\"random_seed\" must be an integer of at least 0, got ", seed->shown());
    l.random_seed = seed->get<uint64_t>();
  }
  if (const Json *frozen = j.find("frozen")) l.frozen = read_names(*frozen, "frozen");
  if (const Json *thawed = j.find("thawed")) l.thawed = read_names(*thawed, "thawed");
  for (const Json &call : list_member(j, "calls")) l.calls.push_back(read_call(call));
}

}  // namespace

Json shape_json(const Shape &shape) {
  Json j = Json::array();
  for (int64_t d : shape) j.push_back(d == free_dim ? Json(nullptr) : Json(d));
  return j;
}

Json to_json(const Architecture &a, Constants *constants) {
  Json layers = Json::array();
  for (const Architecture::Layer &l : a.layers) layers.push_back(layer_json(l, constants));
  Json j{{"format", format},
         {"name", "model"},
         {"layers", std::move(layers)},
         {"inputs", refs_json(a.inputs)},
         {"outputs", refs_json(a.outputs)}};
  Json order = Json::array();
  for (const Architecture::CallRef &ref : a.sequence) order.push_back(Json::array({ref.layer, ref.call}));
  if (!order.empty()) j["order"] = std::move(order);
  return j;
}

Architecture read_architecture(const Json &j, const Constants &constants) {
  int64_t its_format = counted(member(j, "format"), "format");
  if (its_format > format)
    fail(Code::version, "the architecture has format ", its_format, ", this library reads up to ", format);
  Architecture a;
  for (const Json &item : list_member(j, "layers")) {
    Architecture::Layer &l = a.layers.emplace_back();
    l.name = string_member(item, "name");
    try {
      read_layer(item, constants, l);
    } catch (Error &error) {
      throw error.in("layer \"" + l.name + "\"").with("layer", l.name);
    }
  }
  a.inputs = read_refs(member(j, "inputs"));
  a.outputs = read_refs(member(j, "outputs"));
  if (j.find("order"))
    for (const Json &ref : list_member(j, "order")) {
      if (!ref.is_array() || ref.size() != 2 || !ref[0].is_string() || !ref[1].is_int64())
        fail(Code::corrupt_file, "architecture: \"order\": expected [layer, call], got ", ref.shown());
      a.sequence.push_back({ref[0].get<std::string>(), ref[1].get<int64_t>()});
    }
  return a;
}

namespace {

std::string kind_of(const Layer &l) { return l.input ? "InputLayer" : !l.kind ? "Constant" : l.kind->entry().name; }

std::string grouped(int64_t n) {
  std::string s = std::to_string(n);
  for (auto at = static_cast<int64_t>(s.size()) - 3; at > 0; at -= 3) s.insert(static_cast<size_t>(at), ",");
  return s;
}

// "(None, 8)".
std::string shape_text(const Shape &shape) {
  std::string s = "(";
  for (int64_t d : shape) s += (s.size() > 1 ? ", " : "") + (d == free_dim ? "None" : std::to_string(d));
  return s + (shape.rank() == 1 ? ",)" : ")");
}

std::string size_text(int64_t elements) {
  constexpr const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  double bytes = 4 * static_cast<double>(elements);
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  auto hundredths = static_cast<int64_t>(bytes * 100 + 0.5);
  std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + "." + (rest.size() < 2 ? "0" : "") + rest + " " + units[unit];
}

// Whether each call reads the one before it, and no layer occurs twice.
bool is_chain(const Graph &g, const std::vector<CallId> &calls) {
  std::set<LayerId> layers;
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call &c = g.calls()[calls[i]];
    if (!layers.insert(c.layer).second) return false;
    auto from = c.sources();
    if (i == 0 ? !from.empty() : from.size() != 1 || g.origin(from[0]).call != calls[i - 1]) return false;
  }
  return true;
}

std::string table(const Graph &g, const std::vector<CallId> &calls) {
  std::vector<std::vector<std::string>> rows{{"Layer (type)", "Output Shape", "Param #", "Connected to"}};
  bool chain = is_chain(g, calls);
  std::set<const Weight *> seen;
  int64_t trainable = 0, fixed = 0;
  for (CallId id : calls) {
    const Call &c = g.calls()[id];
    const Layer &l = g.layers()[c.layer];
    int64_t parameters = 0;
    for (const auto &w : l.weights) {
      if (w->spec.kept) continue;
      parameters += w->spec.shape.elements();
      if (seen.insert(w.get()).second) (w->trainable() ? trainable : fixed) += w->spec.shape.elements();
    }
    std::string shapes, from;
    for (Node n : c.out) shapes += (shapes.empty() ? "" : ", ") + shape_text(g.shape(n));
    for (Node n : c.sources()) {
      Origin o = g.origin(n);
      from += (from.empty() ? "" : ", ") +
              text(printable(g.layer_of(o.call).name), '[', g.calls()[o.call].number, "][", o.output, ']');
    }
    rows.push_back({text(printable(l.name), " (", kind_of(l), ')'), c.out.size() > 1 ? "[" + shapes + "]" : shapes,
                    grouped(parameters), from.empty() ? "-" : from});
  }
  size_t columns = chain ? 3 : 4, total = 0;
  std::vector<size_t> width(columns, 0);
  for (const auto &row : rows)
    for (size_t i = 0; i < columns; ++i) width[i] = std::max(width[i], row[i].size() + 2);
  for (size_t w : width) total += w;
  std::string s = std::string(total, '_') + '\n';
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < columns; ++i) line += row[i] + std::string(width[i] - row[i].size(), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    s += line + '\n';
    if (&row == &rows[0]) s += std::string(total, '=') + '\n';
  }
  s += std::string(total, '=') + '\n';
  auto count = [&](const char *what, int64_t n) {
    s += text(what, " params: ", grouped(n), " (", size_text(n), ")\n");
  };
  count("Total", trainable + fixed);
  count("Trainable", trainable);
  count("Non-trainable", fixed);
  return s;
}

std::string quoted(const std::string &s) {
  std::string q = "\"";
  for (char c : printable(s)) {
    if (c == '"' || c == '\\') q += '\\';
    q += c;
  }
  return q + '"';
}

std::string drawing(const Graph &g, const std::vector<CallId> &calls) {
  std::string s = "digraph model {\n  node [shape=box];\n";
  for (CallId id : calls) {
    const Call &c = g.calls()[id];
    const Layer &l = g.layers()[c.layer];
    std::string label = quoted(l.name + " (" + kind_of(l) + ")");
    label.insert(label.size() - 1, c.out.empty() ? "" : "\\n" + shape_text(g.shape(c.out[0])));
    s += text("  c", id, " [label=", label, "];\n");
    for (Node n : c.in) s += text("  c", g.origin(n).call, " -> c", id, ";\n");
    for (const auto &[key, list] : c.arguments.nodes)
      for (Node n : list)
        if (n != no_node)
          s += text("  c", g.origin(n).call, " -> c", id, " [style=dashed, label=", quoted(key), "];\n");
  }
  return s + "}\n";
}

}  // namespace

std::string Graph::summary() const { return "Graph\n" + table(*this, calls_.ids()); }
std::string Graph::dot() const { return drawing(*this, calls_.ids()); }
std::string Model::summary() const { return "Model\n" + table(*graph_, needed_calls(*graph_, in_, out_)); }
std::string Model::dot() const { return drawing(*graph_, needed_calls(*graph_, in_, out_)); }

}  // namespace dl4::graph
