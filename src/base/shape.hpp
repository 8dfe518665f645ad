// Dimensions of a tensor: up to eight, each known or free.
#pragma once

#include <array>
#include <span>

#include "base/checked.hpp"

namespace dl4 {

inline constexpr int64_t free_dim = -1;
inline constexpr int max_rank = 8;
inline constexpr int64_t max_dim = INT32_MAX;  // BLAS uses 32-bit sizes
inline constexpr int64_t max_elements = int64_t{1} << 40;

class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> d) : Shape(std::span(d.begin(), d.size())) {}
  // Refuses a rank above 8, a dim below -1 or above 2^31 - 1, and more than 2^40 elements.
  explicit Shape(std::span<const int64_t> d);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(axis(i))]; }  // negative: counted from the end
  int64_t last() const { return (*this)[-1]; }
  const int64_t *begin() const { return dims_.data(); }
  const int64_t *end() const { return dims_.data() + rank_; }
  std::span<const int64_t> dims() const { return {begin(), end()}; }

  bool known() const;                           // no free dim
  int64_t elements() const;                     // requires a known shape
  int64_t elements(int first, int last) const;  // product over axes [first, last)

  // The non-negative index of axis i; refuses one out of range.
  int axis(int64_t i) const;

  Shape with(int i, int64_t dim) const;
  Shape without(int i) const;
  Shape inserted(int i, int64_t dim) const;
  Shape first(int n) const { return Shape(dims().first(static_cast<size_t>(n))); }
  Shape last(int n) const { return Shape(dims().last(static_cast<size_t>(n))); }
  Shape joined(const Shape &tail) const;

  bool operator==(const Shape &o) const {
    bool same = rank_ == o.rank_;
    for (size_t i = 0; same && i < static_cast<size_t>(rank_); ++i) same = dims_[i] == o.dims_[i];
    return same;
  }

 private:
  std::array<int64_t, max_rank> dims_{};
  int rank_ = 0;
};

// "(?, 28, 28)".
std::string to_string(const Shape &s);

// Whether the two can be equal if free dims may take any value.
bool compatible(const Shape &a, const Shape &b);
// Whether the second axis, the steps of a sequence, is free.
inline bool is_sequence(const Shape &s) { return s.rank() >= 2 && s[1] == free_dim; }
// Strides in elements of dense row-major memory, and whether the given strides are these.
std::array<int64_t, max_rank> dense_strides(const Shape &s);
bool is_dense(const Shape &s, const int64_t *strides);
// NumPy's rule. A free dim against a known one other than 1 becomes the known one. Refuses shapes that do not
// broadcast.
Shape broadcast(const Shape &a, const Shape &b);

}  // namespace dl4
