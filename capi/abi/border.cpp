// Conversions shared by several functions.
#include "border.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace dl4::capi {

void Entry::failed(const dl4_error &error) noexcept {
  if (!log_) return;
  const Log::Level level = error.code == Code::internal    ? Log::error
                           : error.code == Code::cancelled ? Log::info
                                                           : Log::warning;
  try {
    Log::write(*log_, level, error.message);
  } catch (...) {
  }
}

std::span<const std::byte> bytes_of(const void *data, int64_t bytes) {
  if (bytes < 0) refuse_argument("bytes", text("expected at least 0, got ", bytes));
  if (!data) refuse_argument("data", "expected memory, got NULL");
  return {static_cast<const std::byte *>(data), static_cast<size_t>(bytes)};
}

std::string string(const char *s, const char *argument) {
  if (!s) refuse_argument(argument, "expected a text, got NULL");
  const std::string_view all(s);
  for (size_t i = 0, n; i < all.size(); i += n)
    if (n = utf8_length(all.substr(i)); !n)
      refuse_argument(argument,
                      text("expected UTF-8, got byte ", static_cast<int>(static_cast<unsigned char>(s[i])), " at ", i));
  return std::string(all);
}

std::vector<dl4_tensor *> tensors(dl4_tensor *const *list, int64_t n, const char *argument) {
  std::vector<dl4_tensor *> found;
  for (dl4_tensor *t : array(list, n, argument)) found.push_back(&element(t, argument, found.size()));
  return found;
}

void need_aligned(const void *p, DType dtype, const char *argument) {
  const auto size = static_cast<uintptr_t>(size_of(dtype)), rest = reinterpret_cast<uintptr_t>(p) % size;
  if (rest)
    refuse_argument(argument, text("expected an address that ", size, " divides, got one with ", rest, " over"));
}

Shape shape_of(int32_t rank, const int64_t *dims, const char *argument) {
  if (rank < 0 || rank > max_rank) refuse_argument("rank", text("expected 0 to ", max_rank, ", got ", rank));
  return Shape(array(dims, rank, argument));
}

DType dtype_of(int32_t number) {
  if (number == DL4_FLOAT16 || number == DL4_BFLOAT16)
    fail(Code::unsupported, "dtype ", number == DL4_FLOAT16 ? "float16" : "bfloat16", " is reserved");
  return dtype_from(number);
}

void give_shape(const Shape &shape, int64_t *dims, int64_t cap, int32_t *rank) {
  std::span<int64_t> to = array(dims, cap, "dims");
  std::copy_n(shape.begin(), std::min(static_cast<int32_t>(to.size()), static_cast<int32_t>(shape.rank())), to.begin());
  *rank = shape.rank();
}

void need_index(int64_t i, int64_t count) {
  if (i < 0 || i >= count) refuse_argument("i", text("expected less than ", count, ", got ", i));
}

void refuse_format(Tag tag, int32_t format) {
  fail(format >= 0 && format <= 2 ? Code::unsupported : Code::invalid_argument, "a ", name_of(tag),
       " has no description in format ", format);
}

}  // namespace dl4::capi
