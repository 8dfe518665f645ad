// Shapes: limits, axes, broadcasting.
#include "base/shape.hpp"

#include <algorithm>

namespace dl4 {

Shape::Shape(std::span<const int64_t> d) : rank_(static_cast<int>(std::min<size_t>(d.size(), max_rank))) {
  if (d.size() > max_rank) fail(Code::invalid_argument, "rank ", d.size(), " is past the limit of ", max_rank);
  int64_t total = 1;
  for (size_t i = 0; i < d.size(); ++i) {
    if (d[i] < free_dim || d[i] > max_dim)
      fail(Code::invalid_argument, "dim ", i, " is ", d[i], ", expected -1 (free) or 0 to ", max_dim);
    if (d[i] > 0) total = checked_mul(total, d[i]);
    if (total > max_elements) fail(Code::invalid_argument, "more than 2^40 elements");
    dims_[i] = d[i];
  }
}

bool Shape::known() const { return std::find(begin(), end(), free_dim) == end(); }

int64_t Shape::elements(int first, int last) const {
  int64_t n = 1;
  for (int i = first; i < last; ++i) {
    if (dims_[static_cast<size_t>(i)] == free_dim) fail(Code::internal, "size of ", *this, " is not known yet");
    n = checked_mul(n, dims_[static_cast<size_t>(i)]);
  }
  return n;
}

int64_t Shape::elements() const { return elements(0, rank_); }

int Shape::axis(int64_t i) const {
  if (i < -rank_ || i >= rank_)
    fail(Code::invalid_argument, "axis ", i, " is out of range for rank ", rank_, " (expected ", -rank_, " to ",
         rank_ - 1, ")");
  return static_cast<int>(i < 0 ? i + rank_ : i);
}

Shape Shape::with(int i, int64_t dim) const {
  Shape s = *this;
  s.dims_[static_cast<size_t>(axis(i))] = dim;
  return Shape(s.dims());
}

Shape Shape::without(int i) const {
  Shape s;
  int skip = axis(i);
  for (int j = 0; j < rank_; ++j)
    if (j != skip) s.dims_[static_cast<size_t>(s.rank_++)] = dims_[static_cast<size_t>(j)];
  return s;
}

Shape Shape::inserted(int i, int64_t dim) const {
  std::vector<int64_t> d(begin(), end());
  if (i < 0) i += rank_ + 1;
  if (i < 0 || i > rank_) fail(Code::invalid_argument, "axis ", i, " is out of range for a new axis in rank ", rank_);
  d.insert(d.begin() + i, dim);
  return Shape(d);
}

Shape Shape::joined(const Shape &tail) const {
  std::vector<int64_t> d(begin(), end());
  d.insert(d.end(), tail.begin(), tail.end());
  return Shape(d);
}

std::string to_string(const Shape &s) {
  std::string t = "(";
  for (int i = 0; i < s.rank(); ++i) {
    if (i) t += ", ";
    t += s[i] == free_dim ? std::string("?") : std::to_string(s[i]);
  }
  if (s.rank() == 1) t += ',';
  return t + ")";
}

bool compatible(const Shape &a, const Shape &b) {
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i)
    if (a[i] != b[i] && a[i] != free_dim && b[i] != free_dim) return false;
  return true;
}

std::array<int64_t, max_rank> dense_strides(const Shape &s) {
  std::array<int64_t, max_rank> strides{};
  int64_t step = 1;
  for (int i = s.rank() - 1; i >= 0; --i) {
    strides[static_cast<size_t>(i)] = step;
    step *= s[i] > 0 ? s[i] : 1;
  }
  return strides;
}

bool is_dense(const Shape &s, const int64_t *strides) {
  if (s.elements() == 0) return true;
  const auto dense = dense_strides(s);
  for (int i = 0; i < s.rank(); ++i)
    if (s[i] != 1 && strides[i] != dense[static_cast<size_t>(i)]) return false;
  return true;
}

Shape broadcast(const Shape &a, const Shape &b) {
  int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, max_rank> d{};
  for (int i = 1; i <= rank; ++i) {
    int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x > 1 && y > 1) fail(Code::shape_mismatch, "shapes ", a, " and ", b, " do not broadcast");
    if ((x == 0 && y > 1) || (y == 0 && x > 1))
      fail(Code::shape_mismatch, "shapes ", a, " and ", b, " do not broadcast");
    d[static_cast<size_t>(rank - i)] = x == 1 ? y : y == 1 ? x : x == free_dim ? y : x;
  }
  return Shape(std::span<const int64_t>(d.data(), static_cast<size_t>(rank)));
}

}  // namespace dl4
