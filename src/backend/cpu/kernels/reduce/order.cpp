#include "backend/cpu/kernels/reduce/order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

namespace dl4::kernels {
namespace {

template <class T>
void sort_all(const T *x, T *y, int32_t *places, int64_t rows, int64_t width, bool descending) {
  const auto no_number = [](T v) {
    if constexpr (std::is_floating_point_v<T>)
      return std::isnan(v);
    else
      return static_cast<void>(v), false;
  };
  for (int64_t row = 0; row < rows; ++row, x += width) {
    if (!places) {
      std::copy(x, x + width, y);
      std::sort(y, y + width, [=](T p, T q) {
        if (no_number(p) || no_number(q)) return !no_number(p) && no_number(q);
        return descending ? p > q : p < q;
      });
      y += width;
      continue;
    }
    std::iota(places, places + width, 0);
    std::sort(places, places + width, [=](int32_t a, int32_t b) {
      const T p = x[a], q = x[b];
      if (no_number(p) || no_number(q)) return no_number(p) == no_number(q) ? a < b : no_number(q);
      if (p == q) return a < b;
      return descending ? p > q : p < q;
    });
    for (int64_t i = 0; i < width && y; ++i) y[i] = x[places[i]];
    if (y) y += width;
    places += width;
  }
}

template <class T>
void cumulate_all(const Cumulate &how, const T *x, T *y, int64_t outer, int64_t axis, int64_t inner) {
  // Only unsigned integers wrap by definition.
  using U = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  const T neutral = how.product ? 1 : 0;
  for (int64_t o = 0; o < outer; ++o, x += axis * inner, y += axis * inner)
    for (int64_t i = 0; i < axis; ++i) {
      const int64_t at = (how.reverse ? axis - 1 - i : i) * inner, before = how.reverse ? at + inner : at - inner;
      const int64_t from = how.exclusive ? before : at;
      for (int64_t j = 0; j < inner; ++j) {
        const U sum = static_cast<U>(i == 0 ? neutral : y[before + j]);
        const U v = static_cast<U>(i == 0 && how.exclusive ? neutral : x[from + j]);
        y[at + j] = static_cast<T>(how.product ? sum * v : sum + v);
      }
    }
}

// f(null pointer of the C++ type).
template <class F>
void by_type(DType type, F f) {
  if (type == DType::i32) return f(static_cast<int32_t *>(nullptr));
  if (type == DType::i64) return f(static_cast<int64_t *>(nullptr));
  f(static_cast<float *>(nullptr));
}

}  // namespace

void sort_rows(DType type, const void *x, void *y, int32_t *places, int64_t rows, int64_t width,
               bool descending) noexcept {
  by_type(type, [&]<class T>(T *) {
    sort_all(static_cast<const T *>(x), static_cast<T *>(y), places, rows, width, descending);
  });
}

void cumulate(const Cumulate &how, DType type, const void *x, void *y, int64_t outer, int64_t axis,
              int64_t inner) noexcept {
  by_type(type,
          [&]<class T>(T *) { cumulate_all(how, static_cast<const T *>(x), static_cast<T *>(y), outer, axis, inner); });
}

}  // namespace dl4::kernels
