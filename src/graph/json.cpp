// The architecture as JSON and back: the form of the native file.
#include <algorithm>
#include <numeric>
#include <set>

#include "graph/graph.hpp"

namespace dl4::graph {
namespace {

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

void from_hex(const std::string &s, Tensor &t) {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (static_cast<int64_t>(s.size()) != 2 * t.bytes())
    fail(Code::corrupt_file, "\"data\" has ", s.size(), " hex digits for ", t.bytes(), " bytes");
  for (size_t i = 0; i < s.size(); i += 2) {
    int hi = digit(s[i]), lo = digit(s[i + 1]);
    if (hi < 0 || lo < 0) fail(Code::corrupt_file, "\"data\" is not hexadecimal");
    t.data.get()[i / 2] = static_cast<std::byte>(hi * 16 + lo);
  }
}

Json shape_json(const Shape &shape) {
  Json j = Json::array();
  for (int64_t d : shape) j.push_back(d == free_dim ? Json(nullptr) : Json(d));
  return j;
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

const Json &member(const Json &j, const char *key) {
  const Json *found = j.find(key);
  if (!found) fail(Code::corrupt_file, "architecture: \"", key, "\" is missing");
  return *found;
}

std::string string_member(const Json &j, const char *key) {
  const Json &v = member(j, key);
  if (!v.is_string()) fail(Code::corrupt_file, "architecture: \"", key, "\" must be a string, got ", v.shown());
  return v.get<std::string>();
}

bool is_reference(const Json &j) {
  return j.is_array() && j.size() == 3 && j[0].is_string() && j[1].is_int64() && j[2].is_int64();
}

// A version's number, counted from 1.
int64_t counted(const Json &j, const char *key) {
  if (!j.is_int64() || j.get<int64_t>() < 1)
    fail(Code::corrupt_file, "architecture: \"", key, "\" must be an integer of at least 1, got ", j.shown());
  return j.get<int64_t>();
}

// References and nulls, at least one of the first.
bool is_reference_list(const Json &j) {
  return j.is_array() && std::any_of(j.begin(), j.end(), is_reference) &&
         std::all_of(j.begin(), j.end(), [](const Json &item) { return item.is_null() || is_reference(item); });
}

}  // namespace

Json Graph::to_json(const std::vector<Node> &in, const std::vector<Node> &out,
                    const std::vector<int32_t> *calls) const {
  std::vector<int32_t> kept(calls_.size());
  std::iota(kept.begin(), kept.end(), 0);
  if (calls) kept = *calls;

  // Calls are numbered anew among those kept.
  std::vector<int32_t> number(calls_.size(), 0);
  std::vector<std::vector<int32_t>> calls_of(layers_.size());
  for (int32_t c : kept) {
    auto &of_layer = calls_of[static_cast<size_t>(calls_[static_cast<size_t>(c)].layer)];
    number[static_cast<size_t>(c)] = static_cast<int32_t>(of_layer.size());
    of_layer.push_back(c);
  }
  auto reference = [&](Node n) {
    Origin o = origin(n);
    const Call &c = calls_[static_cast<size_t>(o.call)];
    return Json::array({layers_[static_cast<size_t>(c.layer)].name, number[static_cast<size_t>(o.call)], o.output});
  };
  auto references = [&](const std::vector<Node> &list) {
    Json j = Json::array();
    for (Node n : list) j.push_back(n == no_node ? Json(nullptr) : reference(n));
    return j;
  };

  Json layers = Json::array();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer &l = layers_[i];
    if (calls_of[i].empty() && calls) continue;
    Json j = Json::object();
    if (l.is_input) {
      j = {{"kind", "Input"},
           {"name", l.name},
           {"attributes", {{"shape", shape_json(l.input_shape)}, {"dtype", to_string(l.input_dtype)}}}};
    } else if (!l.kind) {
      j = {{"kind", "Constant"},
           {"name", l.name},
           {"attributes",
            {{"shape", shape_json(l.constant.shape)},
             {"dtype", to_string(l.constant.dtype)},
             {"data", to_hex(l.constant)}}}};
    } else {
      Json attributes = l.kind->config();
      attributes["trainable"] = l.trainable;
      j = {{"kind", l.kind->entry().name},
           {"name", l.name},
           {"version", l.kind->entry().version},
           {"attributes", std::move(attributes)}};
      if (l.random_seed) j["random_seed"] = *l.random_seed;
      j["calls"] = Json::array();
      for (int32_t c : calls_of[i]) {
        const Call &call = calls_[static_cast<size_t>(c)];
        Json arguments = call.arguments.plain;
        for (const auto &[key, list] : call.arguments.nodes) arguments[key] = references(list);
        j["calls"].push_back({{"inputs", references(call.in)}, {"arguments", std::move(arguments)}});
      }
    }
    layers.push_back(std::move(j));
  }
  return {{"format", format},
          {"name", "model"},
          {"layers", std::move(layers)},
          {"inputs", references(in)},
          {"outputs", references(out)}};
}

void Graph::merge_json(const Json &j, std::vector<Node> *in, std::vector<Node> *out) {
  int64_t its_format = counted(member(j, "format"), "format");
  if (its_format > format)
    fail(Code::version, "the architecture has format ", its_format, ", this library reads up to ", format);
  const Json &list = member(j, "layers");
  if (!list.is_array()) fail(Code::corrupt_file, "architecture: \"layers\" must be a list");

  Graph g = *this;                                           // all or nothing
  std::map<std::pair<std::string, int64_t>, int32_t> calls;  // by layer name and call number
  struct Pending {
    int32_t layer;
    std::string name;
    int64_t number;
    const Json *call;
  };
  std::vector<Pending> pending;
  for (const Json &item : list) {
    std::string kind = string_member(item, "kind"), name = string_member(item, "name");
    Json attributes = item.value("attributes", Json::object());
    try {
      if (kind == "Input" || kind == "Constant") {
        DType dtype = dtype_from(string_member(attributes, "dtype"));
        Shape shape = shape_from(member(attributes, "shape"));
        if (kind == "Input") {
          g.input(name, dtype, shape);
        } else {
          if (!shape.known()) fail(Code::corrupt_file, "a constant of shape ", shape);
          std::string data = string_member(attributes, "data");
          if (checked_mul(shape.elements(), 2 * size_of(dtype)) != static_cast<int64_t>(data.size()))
            fail(Code::corrupt_file, "\"data\" has ", data.size(), " hex digits for shape ", shape);
          Tensor t = make_tensor(dtype, shape);
          from_hex(data, t);
          g.constant(name, std::move(t));
        }
        calls[{name, 0}] = static_cast<int32_t>(g.calls_.size()) - 1;
        continue;
      }
      const kinds::Entry &entry = kinds::find("layer", kind);
      int64_t stored = counted(item.value("version", Json(entry.version)), "version");
      if (stored > entry.version)
        fail(Code::version, kind, " has version ", stored, ", this library knows up to ", entry.version);
      if (stored < entry.version && entry.upgrade)
        attributes = entry.upgrade(std::move(attributes), static_cast<int>(stored));
      int32_t layer = g.layer(kind, name, std::move(attributes));
      if (const Json *seed = item.find("random_seed")) {
        if (!seed->is_uint64())
          fail(Code::corrupt_file, "\"random_seed\" must be an integer of at least 0, got ", seed->shown());
        g.layers_[static_cast<size_t>(layer)].random_seed = seed->get<uint64_t>();
      }
      const Json &item_calls = member(item, "calls");
      if (!item_calls.is_array()) fail(Code::corrupt_file, "\"calls\" must be a list");
      for (size_t k = 0; k < item_calls.size(); ++k)
        pending.push_back({layer, name, static_cast<int64_t>(k), &item_calls[k]});
    } catch (Error &error) {
      error.with("layer", name);
      if (error.message.find('"' + name + '"') == std::string::npos) error.in("layer \"" + name + "\"");
      throw;
    }
  }

  auto node = [&](const Json &ref) -> std::optional<Node> {
    if (!is_reference(ref)) fail(Code::corrupt_file, "expected [layer, call, output], got ", ref.shown());
    auto it = calls.find({ref[0].get<std::string>(), ref[1].get<int64_t>()});
    if (it == calls.end()) return std::nullopt;
    const auto &outputs = g.calls_[static_cast<size_t>(it->second)].out;
    int64_t i = ref[2].get<int64_t>();
    if (i < 0 || i >= static_cast<int64_t>(outputs.size())) fail(Code::corrupt_file, "no output ", ref.shown());
    return outputs[static_cast<size_t>(i)];
  };
  auto nodes_of = [&](const Json &refs, bool nulls = false) -> std::optional<std::vector<Node>> {
    if (!refs.is_array()) fail(Code::corrupt_file, "expected a list of references, got ", refs.shown());
    std::vector<Node> result;
    for (const Json &ref : refs) {
      if (nulls && ref.is_null()) {
        result.push_back(no_node);
        continue;
      }
      auto n = node(ref);
      if (!n) return std::nullopt;
      result.push_back(*n);
    }
    return result;
  };

  // A call is made once all it reads is there: as if the list were gone through again and again, each time making what
  // can be made. The order decides the seeds of weights.
  using CallId = std::pair<std::string, int64_t>;
  std::map<CallId, std::vector<size_t>> waiting;  // who reads this call
  std::vector<size_t> missing(pending.size(), 0), round(pending.size(), 0);
  std::set<std::pair<size_t, size_t>> ready;  // by round and place in the list
  auto reads = [&](size_t i, CallId id) {
    if (calls.count(id)) return;
    waiting[std::move(id)].push_back(i);
    ++missing[i];
  };
  auto reads_all = [&](size_t i, const Json &refs) {
    if (!refs.is_array()) fail(Code::corrupt_file, "expected a list of references, got ", refs.shown());
    for (const Json &ref : refs) {
      if (ref.is_null()) continue;
      if (!is_reference(ref)) fail(Code::corrupt_file, "expected [layer, call, output], got ", ref.shown());
      reads(i, {ref[0].get<std::string>(), ref[1].get<int64_t>()});
    }
  };
  const Json no_arguments = Json::object();
  auto arguments_of = [&](const Json &call) -> const Json & {
    const Json *given = call.find("arguments");
    return given ? *given : no_arguments;
  };
  for (size_t i = 0; i < pending.size(); ++i) {
    const Pending &item = pending[i];
    reads_all(i, member(*item.call, "inputs"));
    for (const auto &[key, value] : arguments_of(*item.call).items())
      if (is_reference_list(value)) reads_all(i, value);
    if (item.number > 0) reads(i, {item.name, item.number - 1});
    if (missing[i] == 0) ready.insert({0, i});
  }
  size_t made = 0;
  for (; !ready.empty(); ++made) {
    auto [now, i] = *ready.begin();
    ready.erase(ready.begin());
    const Pending &item = pending[i];
    Arguments arguments;
    for (const auto &[key, value] : arguments_of(*item.call).items()) {
      if (is_reference_list(value))
        arguments.nodes[std::string(key)] = *nodes_of(value, true);
      else
        arguments.plain.append(key, value);
    }
    g.call(item.layer, std::move(arguments), *nodes_of(member(*item.call, "inputs")));
    const CallId id{item.name, item.number};
    calls[id] = static_cast<int32_t>(g.calls_.size()) - 1;
    for (size_t reader : waiting[id]) {
      round[reader] = std::max(round[reader], now + (reader < i ? 1 : 0));
      if (--missing[reader] == 0) ready.insert({round[reader], reader});
    }
  }
  if (made < pending.size()) {
    size_t i = 0;
    while (calls.count({pending[i].name, pending[i].number})) ++i;
    fail(Code::corrupt_file, "layer \"", pending[i].name, "\": call ", pending[i].number, " reads what no layer makes");
  }
  auto endpoints = [&](const char *key, std::vector<Node> *to) {
    if (!to) return;
    auto found = nodes_of(member(j, key));
    if (!found) fail(Code::corrupt_file, "architecture: \"", key, "\" names what no layer makes");
    *to = *found;
  };
  endpoints("inputs", in);
  endpoints("outputs", out);
  *this = std::move(g);
}

}  // namespace dl4::graph
