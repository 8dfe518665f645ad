// Reductions of integers.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "backend/cpu/kernels/reduce/reduce.hpp"

namespace dl4::kernels {
namespace {

template <class T, class F>
void each_of(T first, const T *x, T *y, int64_t outer, int64_t axis, int64_t inner, F f) {
  for (int64_t o = 0; o < outer; ++o, y += inner) {
    std::fill_n(y, inner, first);
    for (int64_t a = 0; a < axis; ++a, x += inner)
      for (int64_t i = 0; i < inner; ++i) y[i] = f(y[i], x[i]);
  }
}

template <class T>
void reduce_all(Reduce f, const T *x, T *y, int64_t outer, int64_t axis, int64_t inner) {
  using U = std::make_unsigned_t<T>;  // wraps by definition
  const auto by = [&](T first, auto g) { each_of(first, x, y, outer, axis, inner, g); };
  switch (f) {
    case Reduce::max:
      return by(std::numeric_limits<T>::min(), [](T a, T b) { return std::max(a, b); });
    case Reduce::min:
      return by(std::numeric_limits<T>::max(), [](T a, T b) { return std::min(a, b); });
    case Reduce::prod:
      return by(1, [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); });
    default:
      return by(0, [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); });
  }
}

template <class T>
void largest(const T *x, int32_t *y, int64_t outer, int64_t axis, int64_t inner) {
  for (int64_t o = 0; o < outer; ++o, x += axis * inner)
    for (int64_t i = 0; i < inner; ++i, ++y) {
      int64_t best = 0;
      for (int64_t a = 1; a < axis; ++a)
        if (x[a * inner + i] > x[best * inner + i]) best = a;
      *y = static_cast<int32_t>(best);
    }
}

}  // namespace

void reduce_integers(Reduce f, DType type, const void *x, void *y, int64_t outer, int64_t axis,
                     int64_t inner) noexcept {
  if (type == DType::i64)
    reduce_all(f, static_cast<const int64_t *>(x), static_cast<int64_t *>(y), outer, axis, inner);
  else
    reduce_all(f, static_cast<const int32_t *>(x), static_cast<int32_t *>(y), outer, axis, inner);
}

void argmax_integers(DType type, const void *x, int32_t *y, int64_t outer, int64_t axis, int64_t inner) noexcept {
  if (type == DType::i64)
    largest(static_cast<const int64_t *>(x), y, outer, axis, inner);
  else
    largest(static_cast<const int32_t *>(x), y, outer, axis, inner);
}

}  // namespace dl4::kernels
