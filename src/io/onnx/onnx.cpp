#include "io/onnx/onnx.hpp"

#include "io/bytes.hpp"
#include "io/onnx/reader.hpp"

namespace dl4::io {

std::shared_ptr<graph::Model> load_onnx(const Source &source, const graph::Settings &settings, Budget &budget,
                                        const Loading &how, Told &) {
  return as_file_error([&] {
    const int64_t size = source.size();
    budget.take(size, "the file");
    const Tensor bytes = make_tensor(DType::u8, {size});
    source.read(0, bytes.memory());
    const onnx::File file = onnx::parse(bytes.chars(), budget);
    onnx::Outside outside{how.folder, budget};
    return onnx::Reader(file, settings, outside).model();
  });
}

}  // namespace dl4::io
