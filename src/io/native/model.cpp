// Content of the native files besides their tensors, and naming tables: foreign tensors are sliced, joined, transposed
// and reordered.
#include "io/native/model.hpp"

#include <numeric>
#include <set>

#include "io/bytes.hpp"
#include "io/keras/file.hpp"
#include "io/native/safetensors.hpp"
#include "io/tensors.hpp"

namespace dl4::io {
namespace {

using Named = std::map<std::string, Tensor>;

std::string layer_of(const graph::Weight &w) { return w.name.substr(0, w.name.size() - w.spec.name.size() - 1); }

// How a weight is made, in the order of these fields.
struct Recipe {
  enum class Join { none, add, stack, concatenate } join = Join::none;
  std::vector<std::string> tensors;
  std::vector<int64_t> rows, transpose, gates, reshape;

  void fields(kinds::Fields &f) {
    f("tensors", tensors, "names in the file").required();
    f("rows", rows, "[begin, end) of the first axis of each");
    f("join", join, {"none", "add", "stack", "concatenate"}, "of several").null_means(Join::none);
    f("transpose", transpose, "order of the axes");
    f("gates", gates, "permutation of the equal parts of the last axis");
    f("reshape", reshape, "the weight's shape");
  }
};

template <class... A>
[[noreturn]] void refuse(const A &...a) {
  throw Error(Code::invalid_argument, text(a...)).with("attribute", "names");
}

Recipe recipe_of(const Json &j) {
  Recipe r;
  if (j.is_string())
    r.tensors = {j.get<std::string>()};
  else if (j.is_object())
    kinds::read_fields(r, j);
  else
    refuse("expected a tensor's name or an object, got ", j.shown());
  if (r.tensors.empty()) refuse("\"tensors\" is empty");
  if ((r.tensors.size() > 1) == (r.join == Recipe::Join::none) && r.join != Recipe::Join::stack)
    refuse("\"join\": ", r.tensors.size(), " tensors", r.tensors.size() > 1 ? " and no way to join them" : "");
  return r;
}

std::vector<std::string> names_of(const Named &file) {
  std::vector<std::string> names;
  for (const auto &[name, t] : file) names.push_back(name);
  return names;
}

// A copy as float32.
Tensor floats(const std::string &name, const Tensor &t) try {
  return t.dtype == DType::f32 ? clone(t) : to_float32(t);
} catch (Error &e) {
  e.in(text("tensor \"", name, '"')).with("tensor", name);
  throw;
}

int64_t row_elements(const Tensor &t) { return t.shape[0] == 0 ? 0 : t.elements() / t.shape[0]; }

Tensor cut(const Tensor &t, const std::vector<int64_t> &rows) {
  if (rows.size() != 2 || t.shape.rank() == 0 || rows[0] < 0 || rows[1] < rows[0] || rows[1] > t.shape[0])
    refuse("\"rows\": expected [begin, end) of ", t.shape, ", got ", Json(rows).dump());
  Tensor to = make_tensor(DType::f32, t.shape.with(0, rows[1] - rows[0]));
  std::copy_n(t.as<float>() + rows[0] * row_elements(t), to.elements(), to.as<float>());
  return to;
}

Tensor joined(const std::vector<Tensor> &parts, Recipe::Join how) {
  const Shape &first = parts[0].shape;
  std::vector<int64_t> dims(first.begin(), first.end());
  if (how == Recipe::Join::stack) dims.insert(dims.begin(), static_cast<int64_t>(parts.size()));
  if (how == Recipe::Join::concatenate) {
    if (dims.empty()) refuse("\"join\": numbers have no axis to be concatenated along");
    dims[0] = 0;
  }
  for (const Tensor &t : parts) {
    const bool concatenate = how == Recipe::Join::concatenate;
    const bool fits =
        concatenate ? t.shape.rank() == first.rank() && t.shape.with(0, 0) == first.with(0, 0) : t.shape == first;
    if (!fits) refuse("\"join\": ", first, " and ", t.shape, " do not fit");
    if (concatenate) dims[0] += t.shape[0];
  }
  Tensor to = make_zeros(DType::f32, Shape(dims));
  int64_t at = 0;
  for (const Tensor &t : parts) {
    for (int64_t i = 0; i < t.elements(); ++i) to.as<float>()[at + i] += t.as<float>()[i];
    if (how != Recipe::Join::add) at += t.elements();
  }
  return to;
}

// Whether it is an order of as many things.
bool is_order(const std::vector<int64_t> &list) {
  std::vector<int64_t> all(list.size());
  std::iota(all.begin(), all.end(), 0);
  return std::is_permutation(list.begin(), list.end(), all.begin());
}

// The order of t's axes given by "transpose".
std::vector<int> axes_of(const Tensor &t, const std::vector<int64_t> &perm) {
  if (std::ssize(perm) != t.shape.rank() || !is_order(perm))
    refuse("\"transpose\": expected an order of the axes of ", t.shape, ", got ", Json(perm).dump());
  return {perm.begin(), perm.end()};
}

Tensor reordered(const Tensor &t, const std::vector<int64_t> &gates) {
  const auto n = static_cast<int64_t>(gates.size());
  if (t.shape.rank() == 0 || t.shape.last() % n != 0 || !is_order(gates))
    refuse("\"gates\": expected an order of parts of the last axis of ", t.shape, ", got ", Json(gates).dump());
  Tensor to = make_tensor(DType::f32, t.shape);
  const int64_t last = t.shape.last(), part = last / n;
  for (int64_t row = 0; last > 0 && row < t.elements() / last; ++row)
    for (int64_t g = 0; g < n; ++g)
      std::copy_n(t.as<float>() + row * last + gates[static_cast<size_t>(g)] * part, part,
                  to.as<float>() + row * last + g * part);
  return to;
}

Tensor made(const Recipe &r, const Named &file) {
  std::vector<Tensor> parts;
  for (const std::string &name : r.tensors) {
    const auto it = file.find(name);
    if (it == file.end())
      throw Error(Code::not_found, text("the file has no tensor \"", name, '"'))
          .with("tensor", name)
          .suggest(name, names_of(file));
    parts.push_back(floats(name, it->second));
    if (!r.rows.empty()) parts.back() = cut(parts.back(), r.rows);
  }
  Tensor t = r.join == Recipe::Join::none ? parts[0] : joined(parts, r.join);
  if (!r.transpose.empty()) t = transposed(t, axes_of(t, r.transpose));
  if (!r.gates.empty()) t = reordered(t, r.gates);
  if (r.reshape.empty()) return t;
  const Shape shape(r.reshape);
  if (!shape.known() || shape.elements() != t.elements()) refuse("\"reshape\": ", t.shape, " is not ", shape);
  return reshaped(t, shape);
}

}  // namespace

std::vector<Tensor> named_weights(const graph::Model &m, const Named &file, const Naming &naming) {
  if (!naming.names.is_object()) refuse("\"names\": expected an object, got ", naming.names.shown());
  for (const auto &[name, how] : naming.names.items()) m.weight(std::string(name));
  std::vector<Tensor> values;
  std::set<std::string> used;
  for (const auto &w : m.weights()) {
    const Json *how = naming.names.find(w->name);
    if (!how && !file.count(w->name)) {
      if (!naming.partial)
        throw Error(Code::not_found, text("the file has no tensor \"", w->name, '"'))
            .with("tensor", w->name)
            .with("layer", layer_of(*w))
            .suggest(w->name, names_of(file));
      values.emplace_back();
      continue;
    }
    Tensor t;
    try {
      const Recipe r = recipe_of(how ? *how : Json(w->name));
      used.insert(r.tensors.begin(), r.tensors.end());
      t = w->spec.dtype == DType::f32 ? made(r, file) : file.at(w->name);
    } catch (Error &error) {
      throw error.in("weight \"" + w->name + "\"").with("weight", w->name);
    }
    if (t.dtype != w->spec.dtype || t.shape != w->spec.shape)
      throw Error(Code::shape_mismatch, text("weight \"", w->name, "\": expected ", w->spec.dtype, ' ', w->spec.shape,
                                             ", got ", t.dtype, ' ', t.shape))
          .with("weight", w->name)
          .with("layer", layer_of(*w));
    values.push_back(std::move(t));
  }
  // A table says which tensors are used; without one, an unused tensor belongs to another model.
  if (!naming.partial && naming.names.empty())
    for (const auto &[name, t] : file)
      if (!used.count(name))
        throw Error(Code::not_found, text("the model has no weight for the file's tensor \"", name, '"'))
            .with("tensor", name)
            .with("layer", std::string_view(name).substr(0, name.rfind('/')));
  return values;
}

namespace {

constexpr int file_version = 1;

std::map<std::string, std::string> heading(const char *kind) {
  return {{"format", kind}, {"format_version", std::to_string(file_version)}, {"library", "dl4 " DL4_PROJECT_VERSION}};
}

void check_heading(const Archive &a, const std::string &kind) {
  auto get = [&](const char *key) {
    auto it = a.metadata.find(key);
    return it == a.metadata.end() ? std::string() : it->second;
  };
  if (get("format") != kind)
    fail(Code::corrupt_file, "this is not a ", kind, " file but ",
         get("format").empty() ? "a safetensors file of another program" : "a " + get("format") + " file");
  std::string version = get("format_version");
  int number = 0;
  auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  if (error != std::errc() || end != version.data() + version.size() || number < 1)
    fail(Code::corrupt_file, "\"format_version\" is \"", version, '"');
  if (number > file_version)
    throw Error(Code::version, text("the file has format version ", number, " (", get("library"),
                                    "), this library reads up to ", file_version))
        .with("needed", std::to_string(number));
}

// Format by the first bytes.
std::string looks_like(const Source &source) {
  std::string first(static_cast<size_t>(std::min<int64_t>(source.size(), 64)), '\0');
  source.read(0, std::as_writable_bytes(std::span(first)));
  const auto is_control = [](unsigned char c) { return c < ' ' && c != '\t' && c != '\n' && c != '\r'; };
  const size_t begins = first.find_first_not_of(" \t\r\n");
  if (begins == std::string::npos) return "an empty one";
  if (std::any_of(first.begin(), first.end(), is_control)) return "one of another format";
  return first[begins] == '{' || first[begins] == '[' ? "JSON" : "a text";
}

// Files of no other format are taken as native.
Archive read_ours(const Source &source, const char *wanted, Budget &budget,
                  const std::function<bool(const std::string &)> &tensors = {}) {
  if (!is_safetensors(source)) fail(Code::corrupt_file, "expected ", wanted, ", got ", looks_like(source));
  return read_archive(source, budget, tensors);
}

const std::string &metadata(const Archive &a, const char *key) {
  auto it = a.metadata.find(key);
  if (it == a.metadata.end()) fail(Code::corrupt_file, "the metadata has no \"", key, '"');
  return it->second;
}

}  // namespace

namespace native {

void save(const graph::Model &m, const Write &write) {
  Archive a;
  graph::Constants constants;
  a.metadata = heading("dl4-model");
  a.metadata["architecture"] = file_text(graph::to_json(m.architecture(), &constants), "\"architecture\"");
  for (const auto &w : m.weights()) a.tensors.emplace_back(w->name, w->value());
  a.tensors.insert(a.tensors.end(), constants.begin(), constants.end());
  write_archive(a, write);
}

std::shared_ptr<graph::Model> load(const Source &source, const graph::Settings &settings, Budget &budget,
                                   const Loading &how, Told &) {
  const auto is_constant = [](const std::string &name) { return name.starts_with("constants/"); };
  const Archive a = read_ours(source, "a model in a file of Keras, ONNX or this library", budget,
                              how.weights ? std::function<bool(const std::string &)>() : is_constant);
  check_heading(a, "dl4-model");
  if (how.verified) verify(a, budget);
  const Json json = parse_object(metadata(a, "architecture"), Code::corrupt_file, "\"architecture\"", budget);
  return as_file_error([&] {
    const auto tensors = a.by_name();
    const graph::Architecture architecture = graph::read_architecture(json, tensors);
    take_layers(budget, architecture);
    auto known = std::count_if(architecture.layers.begin(), architecture.layers.end(),
                               [](const auto &l) { return l.role == graph::Architecture::Role::constant; });
    // The file's size limits the weights: a weight that it does not contain is refused before allocation.
    auto model = graph::model_of(architecture, settings, [&](const graph::Weight &w) {
      auto it = tensors.find(w.name);
      if (it == tensors.end()) fail(Code::corrupt_file, "tensor \"", w.name, "\" is missing");
      const Tensor &t = it->second;
      if (t.dtype != w.spec.dtype || t.shape != w.spec.shape)
        fail(Code::corrupt_file, "weight \"", w.name, "\": expected ", w.spec.dtype, ' ', w.spec.shape,
             ", the file has ", t.dtype, ' ', t.shape);
      ++known;
      return how.weights ? t : zeros_for(w);
    });
    if (known != static_cast<std::ptrdiff_t>(tensors.size()))
      fail(Code::corrupt_file, "the file holds ", tensors.size(), " tensors, the architecture knows ", known);
    return model;
  });
}

std::vector<Tensor> weights(const graph::Model &m, const Source &source, Budget &budget, const Naming &naming,
                            bool verified) {
  const Archive a = read_ours(source, "weights in a file of Keras, safetensors or .npz", budget);
  std::map<std::string, Tensor> all = a.by_name();
  if (const auto format = a.metadata.find("format"); format != a.metadata.end() && format->second.starts_with("dl4-")) {
    check_heading(a, "dl4-model");
    if (verified) verify(a, budget);
    std::erase_if(all, [](const auto &item) { return item.first.starts_with("constants/"); });
  }
  return named_weights(m, all, naming);
}

void save_trainer(const train::Trainer &t, const Write &write) {
  Archive a;
  a.metadata = heading("dl4-checkpoint");
  a.metadata["position"] = t.position_json().dump();
  for (const auto &[name, tensor] : t.state()) a.tensors.emplace_back(name, tensor);
  write_archive(a, write);
}

void load_trainer(train::Trainer &t, const Source &source, Budget &budget) {
  const Archive a = read_ours(source, "a checkpoint of this library, or a file of Keras", budget);
  check_heading(a, "dl4-checkpoint");
  verify(a, budget);
  const Json position = parse_object(metadata(a, "position"), Code::corrupt_file, "\"position\"", budget);
  t.restore(a.by_name(), position);
}

}  // namespace native

std::string save_states(States states) {
  Archive a;
  a.metadata = heading("dl4-states");
  a.tensors = std::move(states);
  return to_bytes(a);
}

void load_states(const States &states, const Source &source) {
  Budget budget(INT64_MAX);  // our own bytes: they are checked, and contain no more than they claim
  const Archive a = read_archive(source, budget);
  check_heading(a, "dl4-states");
  verify(a, budget);
  const auto saved = a.by_name();
  for (const auto &[name, to] : states) {
    const auto it = saved.find(name);
    if (it == saved.end()) fail(Code::not_found, "the bytes have no state \"", name, '"');
    if (it->second.dtype != to.dtype || it->second.shape != to.shape)
      fail(Code::shape_mismatch, "state \"", name, "\": expected ", to.dtype, ' ', to.shape, ", the bytes have ",
           it->second.dtype, ' ', it->second.shape);
    if (name != "steps") continue;
    if (const int64_t n = *it->second.as<int64_t>(); n < 0 || n > INT64_MAX / 2)
      fail(Code::corrupt_file, "state \"steps\": expected a number that a stream can have taken, the bytes have ", n);
  }
  if (saved.size() != states.size())
    fail(Code::shape_mismatch, "expected ", states.size(), " states, the bytes have ", saved.size());
  for (const auto &[name, to] : states) std::ranges::copy(saved.at(name).memory(), to.data.get());
}

}  // namespace dl4::io
