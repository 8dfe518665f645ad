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

}  // namespace

void refuse_foreign(const Source &source) {
  std::string first(static_cast<size_t>(std::min<int64_t>(source.size(), 16)), '\0');
  source.read(0, std::as_writable_bytes(std::span(first)));
  if (!is_onnx(first)) return;
  constexpr char what[] = "an ONNX file";
  throw Error(Code::unsupported, text("this is ", what, ", which this version does not read; expected a dl4 model"))
      .with("expected", "a dl4 model")
      .with("got", what);
}

}  // namespace dl4::io
