// Strings as elements of tensors, the bytes of those that a step makes, and decimal numbers as texts, in any locale.
#pragma once

#include "base/bound.hpp"
#include "base/memory.hpp"

namespace dl4 {

// An element: bytes that stand elsewhere and are kept alive with the tensor's memory, UTF-8 by convention, NUL allowed.
// All zeros is the empty string.
struct String {
  const char *data;
  int64_t size;
  std::string_view view() const { return {data, static_cast<size_t>(size)}; }
};
static_assert(sizeof(String) == size_of(DType::string));

inline std::span<const String> strings(const Tensor &t) { return {t.as<String>(), static_cast<size_t>(t.elements())}; }
// The bytes of all elements together.
int64_t string_bytes(const Tensor &strings);
// With the elements' bytes behind them in one block. Refuses with OUT_OF_MEMORY what would pass `limit`.
Tensor copy_of(const Tensor &strings, int64_t limit);
Tensor copy_of(const Shape &shape, std::span<const std::string_view> elements, int64_t limit);

// Of a step in a frame. Its strings live as long as `made`, which whoever runs the frame takes.
struct StringRoom : Bound {
  int64_t *left = nullptr;  // bytes that the run may still take; null: it makes no strings here
  int64_t refused = 0;      // bytes that were more
  Bytes made;

  // Room for so many bytes; null: there is none.
  char *take(int64_t bytes) {
    if (!left || bytes > *left) {
      refused = left ? bytes : 0;
      return nullptr;
    }
    made = allocate(bytes);
    *left -= bytes;
    return reinterpret_cast<char *>(made.get());
  }
};

// What keeps the strings that a run made.
struct MadeStrings {
  std::vector<Bytes> blocks;
  int64_t bytes = 0;

  void take(MadeStrings more) {
    bytes += more.bytes;  // bounded: by the memory limit
    for (Bytes &b : more.blocks) blocks.push_back(std::move(b));
  }
};

// The number (float or double) that `text` is as a whole: digits with a point and an exponent, '-' before them. False,
// with `v` as it was, for other texts and for what is past the type's range or would underflow to 0.
template <class T>
bool read_decimal(std::string_view text, T &v);

}  // namespace dl4
