// Conversions that several entries share.
#include "border.hpp"

#include <algorithm>
#include <cstring>

namespace dl4::capi {
namespace {

// The length of the UTF-8 sequence at s, 0 if it is none (overlong, surrogate and past U+10FFFF are none).
size_t sequence(const unsigned char *s) {
  auto follows = [&](size_t n) {
    for (size_t i = 1; i <= n; ++i)
      if ((s[i] & 0xC0) != 0x80) return false;
    return true;
  };
  if (s[0] < 0x80) return 1;
  if (s[0] >= 0xC2 && s[0] <= 0xDF) return follows(1) ? 2 : 0;
  if (s[0] >= 0xE0 && s[0] <= 0xEF) {
    if (!follows(2) || (s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F)) return 0;
    return 3;
  }
  if (s[0] >= 0xF0 && s[0] <= 0xF4) {
    if (!follows(3) || (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F)) return 0;
    return 4;
  }
  return 0;
}

}  // namespace

std::string string(const char *s, const char *argument) {
  if (!s) refuse_argument(argument, "expected a text, got NULL");
  auto *bytes = reinterpret_cast<const unsigned char *>(s);
  size_t i = 0;
  while (bytes[i]) {
    size_t n = sequence(bytes + i);
    if (!n) refuse_argument(argument, text("expected UTF-8, got byte ", static_cast<int>(bytes[i]), " at ", i));
    i += n;
  }
  return {s, i};
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

void give_shape(const Shape &shape, int64_t *dims, int32_t cap, int32_t *rank) {
  std::span<int64_t> to = array(dims, cap, "dims");
  std::copy_n(shape.begin(), std::min(static_cast<int32_t>(to.size()), static_cast<int32_t>(shape.rank())), to.begin());
  *rank = shape.rank();
}

void refuse_format(Tag tag, int32_t format) {
  fail(format >= 0 && format <= 2 ? Code::unsupported : Code::invalid_argument, "a ", name_of(tag),
       " has no description in format ", format);
}

}  // namespace dl4::capi
