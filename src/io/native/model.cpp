// Content of the native files besides their tensors.
#include "io/native/model.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "io/bytes.hpp"
#include "io/keras/file.hpp"
#include "io/native/safetensors.hpp"

namespace dl4::io {
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
