// A build with DL4_ONNX=OFF.
#include <gtest/gtest.h>

#include "io/formats.hpp"

namespace dl4::io::DL4_FILE {
namespace {

void expect_refusal(const std::function<void()> &f) {
  try {
    f();
    ADD_FAILURE() << "it was not refused";
  } catch (const Error &e) {
    EXPECT_EQ(e.code, Code::unsupported);
    EXPECT_NE(e.message.find("no ONNX"), std::string::npos) << e.message;
  }
}

TEST(WithoutOnnx, FilesAreRefusedByName) {
  const File file(DL4_SOURCE_DIR "/tests/io/data/onnx/mlp.onnx", INT64_MAX);
  expect_refusal([&] { load_model(file); });
  const auto model = load_model(File(DL4_SOURCE_DIR "/tests/io/data/sequential.keras", INT64_MAX));
  expect_refusal([&] { save_model(*model, format_of("m.onnx")); });
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
