#include "io/foreign.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace dl4::io {
namespace {

bool has(std::string_view bytes, std::string_view word) { return bytes.find(word) != bytes.npos; }

// A ModelProto: ir_version, a small number, then another of its fields by tag (its number times 8, plus the wire type).
bool is_onnx(std::string_view s) {
  constexpr std::string_view tags("\x12\x1a\x22\x28\x32\x3a\x42\x72");  // producer_name ... graph, opset_import ...
  return s.size() > 8 && s[0] == '\x08' && s[1] > 0 && s[1] < 64 && has(tags, s.substr(2, 1)) &&
         s[8] != '{';  // behind the length of a safetensors header
}

// Up to 64 KiB from `at` on.
std::string some(const Source &source, int64_t at) {
  std::string bytes(static_cast<size_t>(std::min<int64_t>(source.size() - at, 1 << 16)), '\0');
  source.read(at, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

const char *maker(const Source &source) {
  const std::string first = some(source, 0);
  if (first.starts_with("PK\x03\x04")) {
    // The directory of a zip stands at its end.
    const std::string last = some(source, std::max<int64_t>(source.size() - (1 << 16), 0));
    return has(last, "config.json") ? "a Keras file (.keras)" : "a zip archive";
  }
  if (first.starts_with("\x89HDF\r\n\x1a\n"))
    return has(first, "keras_version") ? "a Keras file (.h5, HDF5)" : "an HDF5 file";
  return is_onnx(first) ? "an ONNX file" : nullptr;
}

}  // namespace

void refuse_foreign(const Source &source) {
  const char *what = maker(source);
  if (!what) return;
  throw Error(Code::unsupported, text("this is ", what, ", which this version does not read; expected a dl4 model"))
      .with("expected", "a dl4 model")
      .with("got", what);
}

}  // namespace dl4::io
