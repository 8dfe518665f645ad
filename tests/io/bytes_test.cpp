#include "io/bytes.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace dl4::io::DL4_FILE {
namespace {

Code told(Code code) {
  try {
    return as_file_error([&]() -> Code { fail(code, "why"); });
  } catch (const Error &error) {
    return error.code;
  }
}

TEST(AsFileError, IsForWhatTheFileSaysAndHidesNoFaultOfTheLibrary) {
  EXPECT_EQ(told(Code::invalid_argument), Code::corrupt_file);
  EXPECT_EQ(told(Code::shape_mismatch), Code::corrupt_file);
  EXPECT_EQ(told(Code::unsupported), Code::unsupported);
  EXPECT_EQ(told(Code::internal), Code::internal);
}

}  // namespace
}  // namespace dl4::io::DL4_FILE
