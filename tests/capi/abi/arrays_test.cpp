// Tensors in NumPy's files, through the ABI.
#include <gtest/gtest.h>

#include <cstring>
#include <dl4/dl4.hpp>
#include <string>

#include "harness/folder.hpp"

namespace DL4_FILE {
namespace {

using dl4::Dims;
using dl4::Tensor;

const std::string arrays = DL4_SOURCE_DIR "/tests/io/data/arrays.npz";

struct Refused {
  int32_t code;
  std::string message;
};

Refused refused(const std::string &path, const char *name, const dl4::Context *c = nullptr) {
  dl4_tensor *t = nullptr;
  dl4_error *e = dl4_tensor_load(c ? c->get() : nullptr, path.c_str(), name, &t);
  EXPECT_EQ(t, nullptr);
  const Refused r{dl4_error_code(e), dl4_error_message(e)};
  dl4_release(e);
  return r;
}

std::string bytes_of(const Tensor &t) {
  std::string bytes(static_cast<size_t>(dl4_tensor_bytes(t)), '\0');
  dl4::check(dl4_tensor_copy_out(t, bytes.data(), static_cast<int64_t>(bytes.size())));
  return bytes;
}

using Arrays = dl4_test::Folder;

TEST_F(Arrays, OfAnArchiveByName) {
  const Tensor floats = Tensor::load(arrays, "<f2"), turned = Tensor::load(arrays, "turned");
  for (const Tensor &t : {floats, turned}) {
    EXPECT_EQ(t.dims(), (Dims{2, 3}));
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(t.data()[i], static_cast<float>(i));
  }
  EXPECT_EQ(Tensor::load(arrays, "<f8").data<double>()[5], 5);
  EXPECT_EQ(Tensor::load(arrays, "<u2").data<int32_t>()[5], 5);
  EXPECT_EQ(Tensor::load(arrays, "scalar").dims(), Dims());
  EXPECT_EQ(Tensor::load(arrays, "deep/nothing").dims(), (Dims{0, 3}));
}

TEST_F(Arrays, ComeBackAsTheyWere) {
  for (const char *name : {"<f4", "<f8", ">i4", "<i8", "|u1", "|b1", "scalar", "deep/nothing"}) {
    const Tensor t = Tensor::load(arrays, name);
    t.save(path("x.npy"));
    const Tensor again = Tensor::load(path("x.npy"));
    EXPECT_EQ(dl4_tensor_dtype(again), dl4_tensor_dtype(t)) << name;
    EXPECT_EQ(again.dims(), t.dims()) << name;
    EXPECT_EQ(bytes_of(again), bytes_of(t)) << name;
  }
}

TEST_F(Arrays, StridedOnesAreSavedDense) {
  float memory[6] = {0, 1, 2, 3, 4, 5};
  const int64_t dims[] = {3, 2}, strides[] = {1, 3};
  dl4_tensor *t = nullptr;
  dl4::check(dl4_tensor_wrap(nullptr, DL4_FLOAT32, 2, dims, strides, memory, sizeof memory, nullptr, nullptr, &t));
  Tensor(t).save(path("x.npy"));
  const Tensor again = Tensor::load(path("x.npy"));
  EXPECT_EQ(again.dims(), (Dims{3, 2}));
  EXPECT_EQ(again.data()[1], 3);
}

TEST_F(Arrays, RefusalsNameWhatThereIs) {
  Refused r = refused(arrays, "weights");
  EXPECT_EQ(r.code, DL4_NOT_FOUND);
  EXPECT_NE(r.message.find("\"weights\""), std::string::npos) << r.message;
  EXPECT_NE(r.message.find("\"turned\""), std::string::npos) << r.message;
  r = refused(arrays, nullptr);
  EXPECT_EQ(r.code, DL4_NOT_FOUND);
  EXPECT_NE(r.message.find("\"turned\""), std::string::npos) << r.message;
  Tensor::of({1, 2}, {2}).save(path("x.npy"));
  EXPECT_EQ(refused(path("x.npy"), "x").code, DL4_NOT_FOUND);
  EXPECT_EQ(refused(path("none.npy"), nullptr).code, DL4_NOT_FOUND);
  EXPECT_EQ(refused(path(""), nullptr).code, DL4_IO);
}

TEST_F(Arrays, OfOtherFilesAreRefused) {
  EXPECT_EQ(refused(DL4_SOURCE_DIR "/tests/io/data/expected.safetensors", nullptr).code, DL4_CORRUPT_FILE);
  EXPECT_EQ(refused(DL4_SOURCE_DIR "/tests/io/data/sequential.keras", "config.json").code, DL4_NOT_FOUND);
  Tensor::of(std::vector<float>(2000), {2000}).save(path("x.npy"));
  const std::string whole = get("x.npy");
  for (size_t size : {size_t{0}, size_t{5}, size_t{30}, whole.size() - 1}) {
    EXPECT_EQ(refused(put("cut.npy", whole.substr(0, size)), nullptr).code, DL4_CORRUPT_FILE) << size;
  }
}

TEST_F(Arrays, OfMoreThanTheLimitAreRefused) {
  Tensor::of(std::vector<float>(2000), {2000}).save(path("x.npy"));
  const dl4::Context small({{"memory_limit", 4096}});
  const Refused r = refused(path("x.npy"), nullptr, &small);
  EXPECT_EQ(r.code, DL4_OUT_OF_MEMORY) << r.message;
  EXPECT_NE(r.message.find("4096"), std::string::npos) << r.message;
}

TEST_F(Arrays, WhereNothingCanBeWritten) {
  dl4_error *e = dl4_tensor_save(Tensor::of({1}, {1}), path("none/x.npy").c_str());
  EXPECT_EQ(dl4_error_code(e), DL4_IO);
  dl4_release(e);
}

}  // namespace
}  // namespace DL4_FILE
