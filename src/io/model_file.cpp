// Content of the native files besides their tensors.
#include "io/model_file.hpp"

#include <algorithm>
#include <charconv>
#include <span>

#include "io/bytes.hpp"
#include "io/native/safetensors.hpp"
#include "io/onnx/onnx.hpp"
#include "io/quantized.hpp"
#include "io/zip/npz.hpp"
#include "io/zip/zip.hpp"

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

void save_archive(const Archive &a, const std::string &path) {
  const std::string head = head_of(a);
  write_file(path, parts(head, a));
}

Archive archive_of(const graph::Model &m) {
  Archive a;
  graph::Constants constants;
  a.metadata = heading("dl4-model");
  a.metadata["architecture"] = file_text(graph::to_json(m.architecture(), &constants), "\"architecture\"");
  for (const auto &w : m.weights()) a.tensors.emplace_back(w->name, w->value);
  a.tensors.insert(a.tensors.end(), constants.begin(), constants.end());
  return a;
}

NpzFile npz_of(const graph::Model &m) {
  NpzFile file;
  for (const auto &w : m.weights()) file.tensors.emplace_back(w->name, w->value);
  return file;
}

Archive archive_of(const train::Trainer &t) {
  Archive a;
  a.metadata = heading("dl4-checkpoint");
  a.metadata["position"] = t.position_json().dump();
  for (const auto &[name, tensor] : t.state()) a.tensors.emplace_back(name, tensor);
  return a;
}

// Calls `use` with the consecutive parts of a file.
template <class F>
void with_parts(const graph::Model &m, Format format, F use) {
  if (format == Format::native) {
    const Archive a = archive_of(m);
    const std::string head = head_of(a);
    use(parts(head, a));
  } else if (format == Format::npz) {
    NpzFile file = npz_of(m);
    use(file.parts());
  } else if (format == Format::onnx) {
    const std::string bytes = onnx_bytes(m);
    const std::string_view whole[] = {bytes};
    use(whole);
  } else {
    KerasFile file = keras_file(m);
    use(file.parts(format));
  }
}

}  // namespace

std::string save_model(const graph::Model &m, Format format) {
  std::string bytes;
  with_parts(m, format, [&](std::span<const std::string_view> parts) {
    for (std::string_view part : parts) bytes += part;
  });
  return bytes;
}

void save_model(const graph::Model &m, const std::string &path, Format format) {
  with_parts(m, format, [&](std::span<const std::string_view> parts) { write_file(path, parts); });
}

Format format_of(const std::string &path) {
  static const std::vector<std::pair<std::string, Format>> known = {
      {".safetensors", Format::native},       {".dl4", Format::native}, {".keras", Format::keras},
      {".weights.h5", Format::keras_weights}, {".npz", Format::npz},    {".onnx", Format::onnx}};
  std::vector<std::string> suffixes;
  for (const auto &[suffix, format] : known) {
    if (path.ends_with(suffix)) return format;
    suffixes.push_back(suffix);
  }
  expect_suffix(path, suffixes);
  return Format::native;
}

std::shared_ptr<graph::Model> load_model(const Source &source, const graph::Settings &settings, bool verified,
                                         const std::string &outside, Told *told, bool weights) {
  Budget budget = budget_for(settings, source.size());
  if (is_zip(source) || is_hdf5(source)) {
    auto model = load_keras(source, settings, budget, verified, told, weights);
    if (weights) check_quantized(model->weights());
    return model;
  }
  if (is_onnx(source)) return load_onnx(source, settings, budget, outside);
  const auto is_constant = [](const std::string &name) { return name.starts_with("constants/"); };
  const Archive a = read_ours(source, "a model in a file of Keras, ONNX or this library", budget,
                              weights ? std::function<bool(const std::string &)>() : is_constant);
  check_heading(a, "dl4-model");
  if (verified) verify(a, budget);
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
      return weights ? t : zeros_for(w);
    });
    if (known != static_cast<std::ptrdiff_t>(tensors.size()))
      fail(Code::corrupt_file, "the file holds ", tensors.size(), " tensors, the architecture knows ", known);
    if (weights) check_quantized(model->weights());
    return model;
  });
}

namespace {

// A file's tensors by name, without native metadata tensors.
std::map<std::string, Tensor> named_tensors(const Source &source, Budget &budget, bool verified) {
  if (is_zip(source)) return read_npz(Zip(source, budget), budget, verified);
  if (is_onnx(source))
    throw Error(Code::unsupported, "an ONNX file has its weights in its nodes: expected a file of tensors by name")
        .with("expected", "a file of tensors by name")
        .with("got", "an ONNX file");
  const Archive a = read_ours(source, "weights in a file of Keras, safetensors or .npz", budget);
  std::map<std::string, Tensor> all = a.by_name();
  const auto format = a.metadata.find("format");
  if (format == a.metadata.end() || !format->second.starts_with("dl4-")) return all;
  check_heading(a, "dl4-model");
  if (verified) verify(a, budget);
  std::erase_if(all, [](const auto &item) { return item.first.starts_with("constants/"); });
  return all;
}

}  // namespace

void load_weights(graph::Model &m, const Source &source, const Naming &naming, bool verified) {
  Budget budget = budget_for(m.graph().settings(), source.size());
  std::vector<Tensor> values;
  if (is_hdf5(source) || (is_zip(source) && !is_npz(Zip(source, budget)))) {
    for (const char *key : {"names", "partial"})
      if (key == std::string_view("names") ? !naming.names.empty() : naming.partial)
        throw Error(Code::unsupported, text('"', key, "\": Keras's files keep weights by layer, not by name"))
            .with("attribute", key);
    values = keras_weights(m, source, budget, verified);
  } else {
    values = named_weights(m, named_tensors(source, budget, verified), naming);
  }
  check_quantized(m.weights(), values);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].data) m.weights()[i]->set(std::move(values[i]));
}

std::string save_checkpoint(const train::Trainer &t) { return to_bytes(archive_of(t)); }
void save_checkpoint(const train::Trainer &t, const std::string &path) {
  if (!path.ends_with(".keras")) {
    expect_suffix(path, {".safetensors", ".dl4", ".checkpoint", ".keras"});
    return save_archive(archive_of(t), path);
  }
  KerasFile file = keras_file(t);
  write_file(path, file.parts(Format::keras));
}

void load_checkpoint(train::Trainer &t, const Source &source) {
  Budget budget = budget_for(t.model().graph().settings(), source.size());
  if (is_zip(source) || is_hdf5(source)) return load_keras_training(t, source, budget);
  const Archive a = read_ours(source, "a checkpoint of this library, or a file of Keras", budget);
  check_heading(a, "dl4-checkpoint");
  verify(a, budget);
  const Json position = parse_object(metadata(a, "position"), Code::corrupt_file, "\"position\"", budget);
  t.restore(a.by_name(), position);
}

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
