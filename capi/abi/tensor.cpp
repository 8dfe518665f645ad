// Tensors.
#include <algorithm>
#include <cstring>

#include "backend/backend.hpp"
#include "base/strings.hpp"
#include "border.hpp"
#include "dlpack.hpp"
#include "io/zip/npz.hpp"

namespace dl4::capi {

namespace {

// Bytes of all elements laid out densely.
int64_t laid_out(const dl4_tensor &t) { return t.dtype == DType::string ? string_bytes(t.as_dense()) : t.bytes(); }

void need_numbers(DType t, const char *instead) {
  if (t == DType::string) fail(Code::unsupported, "expected a type of numbers, got string: ", instead);
}

}  // namespace

std::string describe(const dl4_tensor &t, int32_t format) {
  if (format == DL4_FORMAT_JSON)
    return dump({{"dtype", to_string(t.dtype)},
                 {"shape", t.shape.dims()},
                 {"strides", std::span(t.strides).first(static_cast<size_t>(t.shape.rank()))},
                 {"bytes", laid_out(t)}});
  if (format == DL4_FORMAT_TEXT) return text(t.dtype, ' ', t.shape);
  refuse_format(Tag::tensor, format);
}

namespace {

void need_known(const Shape &shape) {
  if (!shape.known()) refuse_argument("dims", text("expected dims of at least 0, got ", shape));
}

// Refuses strides that leave [0, bytes) of the memory.
void need_room(const Shape &shape, const int64_t *strides, int64_t size, int64_t bytes) {
  if (bytes < 0) refuse_argument("bytes", text("expected at least 0, got ", bytes));
  if (shape.elements() == 0) return;
  int64_t last = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    if (strides[i] < 0) refuse_argument("strides", text("expected at least 0, got ", strides[i]));
    last = checked_add(last, checked_mul(shape[i] - 1, strides[i]));
  }
  int64_t needed = checked_mul(checked_add(last, 1), size);
  if (needed > bytes) fail(Code::shape_mismatch, "shape ", shape, " needs ", needed, " bytes, the memory has ", bytes);
}

void need_version(int32_t versioned) {
  if (versioned != 0 && versioned != 1) refuse_argument("versioned", text("expected 0 or 1, got ", versioned));
}

void need_bytes(const dl4_tensor &t, int64_t bytes) {
  need_numbers(t.dtype, "dl4_tensor_string() gives each element");
  if (bytes != t.bytes())
    fail(Code::shape_mismatch, "a tensor of shape ", t.shape, " has ", t.bytes(), " bytes, got ", bytes);
}

// Copies between a tensor and dense memory.
void copy_out(const dl4_tensor &t, void *to) {
  if (!t.dense)
    kernels::copy_strided(size_of(t.dtype), t.shape.rank(), t.shape.begin(), t.data.get(), t.strides.data(), to,
                          dense_strides(t.shape).data());
  else if (int64_t n = t.bytes())
    std::memmove(to, t.data.get(), static_cast<size_t>(n));
}

void copy_in(const dl4_tensor &t, const void *from) {
  if (!t.dense)
    kernels::copy_strided(size_of(t.dtype), t.shape.rank(), t.shape.begin(), from, dense_strides(t.shape).data(),
                          t.data.get(), t.strides.data());
  else if (int64_t n = t.bytes())
    std::memmove(t.data.get(), from, static_cast<size_t>(n));
}

}  // namespace
}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_tensor::dl4_tensor(DType dtype, const Shape &shape, const int64_t *given, Bytes data)
    : Object(type), dtype(dtype), shape(shape), strides(dense_strides(shape)), data(std::move(data)) {
  if (given) std::copy_n(given, shape.rank(), strides.begin());
  dense = is_dense(shape, strides.data());
}

dl4_tensor::dl4_tensor(Tensor t) : dl4_tensor(t.dtype, t.shape, nullptr, std::move(t.data)) {}

Tensor dl4_tensor::as_dense() const {
  if (dense) return {dtype, shape, data};
  Tensor t = make_tensor(dtype, shape);
  copy_out(*this, t.data.get());
  return t;
}

void dl4_tensor::assign(const Tensor &t) const { copy_in(*this, t.data.get()); }

dl4_error *dl4_tensor_create(dl4_context *c, int32_t dtype, int32_t rank, const int64_t *dims, dl4_tensor **out) {
  return produce(__func__, out, [&] {
    dl4_context &context = capi::context(c);
    DType type = dtype_of(dtype);
    need_numbers(type, "dl4_tensor_from_strings() makes tensors of strings");
    Shape shape = shape_of(rank, dims, "dims");
    need_known(shape);
    Tensor t = context.core->memory->tensor(type, shape);
    std::ranges::fill(t.memory(), std::byte{0});
    return new dl4_tensor(std::move(t));
  });
}

dl4_error *dl4_tensor_wrap(dl4_context *c, int32_t dtype, int32_t rank, const int64_t *dims, const int64_t *strides,
                           void *data, int64_t bytes, dl4_release_fn release, void *user, dl4_tensor **out) {
  clear(out);
  return guard(__func__, [&] {
    dl4_tensor *&to = needed(out, "out");
    capi::context(c);
    DType type = dtype_of(dtype);
    need_numbers(type, "dl4_tensor_wrap_strings() makes tensors of strings");
    Shape shape = shape_of(rank, dims, "dims");
    need_known(shape);
    need_room(shape, strides ? strides : dense_strides(shape).data(), size_of(type), bytes);
    if (!data && bytes) refuse_argument("data", "expected memory, got NULL");
    need_aligned(data, type, "data");
    auto borrowed = std::make_shared<Release>(user);
    to = new dl4_tensor(type, shape, strides, Bytes(borrowed, static_cast<std::byte *>(data)));
    borrowed->f = release;  // `release` is set only once the object exists
  });
}

dl4_error *dl4_tensor_from_dlpack(dl4_context *c, int32_t versioned, void *managed, dl4_tensor **out) {
  return produce(__func__, out, [&] {
    capi::context(c);
    need_version(versioned);
    if (!managed) refuse_argument("managed", "expected a DLPack tensor, got NULL");
    return versioned ? dlpack::import(static_cast<dlpack::ManagedVersioned *>(managed))
                     : dlpack::import(static_cast<dlpack::Managed *>(managed));
  });
}

dl4_error *dl4_tensor_to_dlpack(dl4_tensor *t, int32_t versioned, void **out) {
  clear(out);
  return guard(__func__, [&] {
    void *&to = needed(out, "out");
    dl4_tensor &tensor = object(t, "tensor");
    need_version(versioned);
    need_numbers(tensor.dtype, "DLPack has no strings");
    if (!versioned && tensor.read_only)
      fail(Code::unsupported, "\"t\" is read-only: only versioned = 1 can say so, got 0");
    if (versioned)
      to = dlpack::share<dlpack::ManagedVersioned>(tensor);
    else
      to = dlpack::share<dlpack::Managed>(tensor);
  });
}

dl4_error *dl4_tensor_clone(const dl4_tensor *t, dl4_tensor **out) {
  clear(out);
  return guard(__func__, [&] {
    dl4_tensor *&to = needed(out, "out");
    const dl4_tensor &tensor = object(t, "tensor");
    if (tensor.dtype == DType::string) {
      to = new dl4_tensor(copy_of(tensor.as_dense(), INT64_MAX));
      to->read_only = true;
      return;
    }
    to = new dl4_tensor(tensor.dense ? clone(tensor.as_dense()) : tensor.as_dense());
  });
}

dl4_error *dl4_tensor_copy_in(dl4_tensor *t, const void *src, int64_t bytes) {
  return guard(__func__, [&] {
    dl4_tensor &to = object(t, "tensor");
    need_bytes(to, bytes);
    if (to.read_only) refuse_argument("tensor", "the tensor is read-only");
    if (!bytes) return;
    if (!src) refuse_argument("src", "expected memory, got NULL");
    copy_in(to, src);
  });
}

dl4_error *dl4_tensor_copy_out(const dl4_tensor *t, void *dst, int64_t bytes) {
  return guard(__func__, [&] {
    const dl4_tensor &from = object(t, "tensor");
    need_bytes(from, bytes);
    if (!bytes) return;
    if (!dst) refuse_argument("dst", "expected memory, got NULL");
    copy_out(from, dst);
  });
}

int32_t dl4_tensor_dtype(const dl4_tensor *t) { return cast(t) ? static_cast<int32_t>(t->dtype) : 0; }

int32_t dl4_tensor_rank(const dl4_tensor *t) { return cast(t) ? t->shape.rank() : 0; }

const int64_t *dl4_tensor_dims(const dl4_tensor *t) { return cast(t) ? t->shape.begin() : nullptr; }

const int64_t *dl4_tensor_strides(const dl4_tensor *t) { return cast(t) ? t->strides.data() : nullptr; }

void *dl4_tensor_data(const dl4_tensor *t) {
  return guard_or<void *>(nullptr, [&]() -> void * {
    return cast(t) && t->dtype != DType::string && t->shape.elements() ? t->data.get() : nullptr;
  });
}

int64_t dl4_tensor_bytes(const dl4_tensor *t) {
  return guard_or<int64_t>(0, [&] { return cast(t) ? laid_out(*t) : int64_t{0}; });
}

dl4_error *dl4_tensor_load(dl4_context *c, const char *path, const char *name, dl4_tensor **out) {
  return produce(__func__, out, [&] {
    const graph::Settings settings = capi::context(c).core->settings();
    const std::string which = string_or_empty(name, "name");
    const std::string from = string(path, "path");
    return with_path(from, [&] {
      const io::File file(from, settings.memory_limit);
      io::Budget budget = io::budget_for(settings, file.size());
      return new dl4_tensor(io::read_numpy(file, name ? &which : nullptr, budget));
    });
  });
}

dl4_error *dl4_tensor_save(const dl4_tensor *t, const char *path) {
  return guard(__func__, [&] {
    const std::string to = string(path, "path");
    const Tensor tensor = object(t, "tensor").as_dense();
    io::expect_suffix(to, {".npy"});
    const io::NpyArray array = io::npy_array(tensor);
    const std::string_view parts[] = {array.header, array.elements.chars()};
    io::write_file(to, parts);
  });
}
