// What the two native files hold beyond their tensors.
#include "io/model_file.hpp"

#include <charconv>

#include "io/safetensors.hpp"

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
    fail(Code::corrupt_file, "this is no ", kind, " file but ",
         get("format").empty() ? "a safetensors file of someone else" : "a " + get("format") + " file");
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

const std::string &metadata(const Archive &a, const char *key) {
  auto it = a.metadata.find(key);
  if (it == a.metadata.end()) fail(Code::corrupt_file, "the metadata has no \"", key, '"');
  return it->second;
}

// What the architecture says wrongly is the file's fault, not the caller's.
template <class F>
auto as_file_error(F f) {
  try {
    return f();
  } catch (Error &error) {
    if (error.code == Code::invalid_argument || error.code == Code::shape_mismatch || error.code == Code::internal)
      error.code = Code::corrupt_file;
    throw;
  }
}

}  // namespace

std::string save_model(const graph::Model &m) {
  Archive a;
  a.metadata = heading("dl4-model");
  a.metadata["architecture"] = m.to_json().dump();
  for (const auto &w : m.weights()) a.tensors.emplace_back(w->name, w->value);
  return write_archive(a);
}

std::shared_ptr<graph::Model> load_model(std::span<const std::byte> bytes, const graph::Settings &settings,
                                         bool verify) {
  Archive a = read_archive(bytes, settings.memory_limit);
  check_heading(a, "dl4-model");
  if (verify) verify_archive(a, bytes, settings.memory_limit);
  Json architecture =
      parse_object(metadata(a, "architecture"), Code::corrupt_file, "\"architecture\"", settings.memory_limit);
  return as_file_error([&] {
    auto tensors = a.by_name();
    // The file's bytes bound what the weights take: one that it does not hold is refused before it is made.
    size_t known = 0;
    auto model = graph::model_of(architecture, settings, [&](const graph::Weight &w) {
      auto it = tensors.find(w.name);
      if (it == tensors.end()) fail(Code::corrupt_file, "tensor \"", w.name, "\" is missing");
      const Tensor &t = it->second;
      if (t.dtype != DType::f32 || t.shape != w.spec.shape)
        fail(Code::corrupt_file, "weight \"", w.name, "\": expected float32 ", w.spec.shape, ", the file has ", t.dtype,
             ' ', t.shape);
      ++known;
      return t;
    });
    if (known != tensors.size())
      fail(Code::corrupt_file, "the file holds ", tensors.size(), " tensors, the architecture has ", known, " weights");
    return model;
  });
}

std::string save_checkpoint(const train::Trainer &t) {
  Archive a;
  a.metadata = heading("dl4-checkpoint");
  a.metadata["position"] = t.position_json().dump();
  for (const auto &[name, tensor] : t.state()) a.tensors.emplace_back(name, tensor);
  return write_archive(a);
}

void load_checkpoint(train::Trainer &t, std::span<const std::byte> bytes) {
  const int64_t limit = t.model().graph().settings().memory_limit;
  Archive a = read_archive(bytes, limit);
  check_heading(a, "dl4-checkpoint");
  verify_archive(a, bytes, limit);
  Json position = parse_object(metadata(a, "position"), Code::corrupt_file, "\"position\"", limit);
  t.restore(a.by_name(), position);
}

}  // namespace dl4::io
