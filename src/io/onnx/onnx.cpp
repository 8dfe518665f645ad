#include "io/onnx/onnx.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/bytes.hpp"
#include "io/onnx/reader.hpp"

namespace dl4::io {

// A ModelProto: ir_version, a small number, followed by another of its fields, recognised by its tag (number times 8
// plus wire type).
bool is_onnx(const Source &source) {
  constexpr std::string_view tags("\x12\x1a\x22\x28\x32\x3a\x42\x72");  // producer_name ... graph, opset_import ...
  std::string first(static_cast<size_t>(std::min<int64_t>(source.size(), 16)), '\0');
  source.read(0, std::as_writable_bytes(std::span(first)));
  return first.size() > 8 && first[0] == '\x08' && first[1] > 0 && first[1] < 64 && tags.find(first[2]) != tags.npos &&
         first[8] != '{';  // follows the length of a safetensors header
}

std::shared_ptr<graph::Model> load_onnx(const Source &source, const graph::Settings &settings, Budget &budget,
                                        const std::string &folder) {
  return as_file_error([&] {
    const int64_t size = source.size();
    budget.take(size, "the file");
    const Tensor bytes = make_tensor(DType::u8, {size});
    source.read(0, bytes.memory());
    const onnx::File file = onnx::parse(bytes.chars(), budget);
    onnx::Outside outside{folder, budget};
    return onnx::Reader(file, settings, outside).model();
  });
}

}  // namespace dl4::io
