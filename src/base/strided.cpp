// Walks over all elements of a strided tensor in row-major order.
#include "base/strided.hpp"

#include <cstring>

namespace dl4 {
namespace {

// copy(bytes from the start of the dense memory, bytes from the first element of the strided one).
template <class F>
void walk(const Shape &shape, const int64_t *strides, int64_t size, F copy) {
  int64_t n = shape.elements();
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, offset = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    copy(i * size, offset * size);
  }
}

}  // namespace

bool is_dense(const Shape &shape, const int64_t *strides) {
  if (shape.elements() == 0) return true;
  int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

void dense_strides(const Shape &shape, int64_t *strides) {
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
}

void gather_strided(std::byte *dense, const std::byte *strided, const Shape &shape, const int64_t *strides,
                    int64_t size) {
  walk(shape, strides, size,
       [&](int64_t d, int64_t s) { std::memcpy(dense + d, strided + s, static_cast<size_t>(size)); });
}

void scatter_strided(std::byte *strided, const std::byte *dense, const Shape &shape, const int64_t *strides,
                     int64_t size) {
  walk(shape, strides, size,
       [&](int64_t d, int64_t s) { std::memcpy(strided + s, dense + d, static_cast<size_t>(size)); });
}

}  // namespace dl4
