// Rows by index, and sums over equal indices in a fixed order.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"

namespace dl4::kernels {
namespace {

// An id as an integer. Floats are truncated; NaN and floats too large give -1 or an index out of range.
int64_t to_id(int32_t v) { return v; }
int64_t to_id(int64_t v) { return v; }
int64_t to_id(uint8_t v) { return v; }
int64_t to_id(float v) {
  if (std::isnan(v)) return -1;
  return v >= 0x1p62f ? INT64_MAX : v <= -0x1p62f ? INT64_MIN : static_cast<int64_t>(v);
}

// f(id of i), where ids is a typed pointer.
template <class F>
auto with_ids(DType t, const void *ids, const F &f) {
  auto as = [&](auto type) {
    return f([p = static_cast<const decltype(type) *>(ids)](int64_t i) { return to_id(p[i]); });
  };
  switch (t) {
    case DType::i64:
      return as(int64_t{});
    case DType::f32:
      return as(float{});
    case DType::u8:
    case DType::boolean:
      return as(uint8_t{});
    default:
      return as(int32_t{});
  }
}

bool inside(int64_t id, int64_t rows, Report *report) {
  if (id >= 0 && id < rows) return true;
  if (report) report->raise(Fault::index_out_of_range, id, rows);
  return false;
}

}  // namespace

bool gather_rows(int64_t row_bytes, const void *table, int64_t rows, DType id_type, const void *ids, int64_t n, void *y,
                 Report *report) noexcept {
  return with_ids(id_type, ids, [&](auto id) {
    const char *from = static_cast<const char *>(table);
    char *to = static_cast<char *>(y);
    for (int64_t i = 0; i < n; ++i, to += row_bytes) {
      const int64_t k = id(i);
      if (!inside(k, rows, report)) return false;
      std::memcpy(to, from + k * row_bytes, static_cast<size_t>(row_bytes));
    }
    return true;
  });
}

void add_rows(const float *dy, int64_t width, DType id_type, const void *ids, int64_t n, int64_t row0, int64_t row1,
              int64_t col0, int64_t col1, float *y) noexcept {
  with_ids(id_type, ids, [&](auto id) {
    for (int64_t i = 0; i < n; ++i)
      if (const int64_t k = id(i); k >= row0 && k < row1)
        axpy(1, dy + i * width + col0, y + k * width + col0, col1 - col0);
  });
}

int64_t sort_rows(DType id_type, const void *ids, int64_t n, int64_t rows, uint64_t *keys, int64_t *segments,
                  Report *report) noexcept {
  const bool good = with_ids(id_type, ids, [&](auto id) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t k = id(i);
      if (!inside(k, rows, report)) return false;
      keys[i] = static_cast<uint64_t>(k) << 32 | static_cast<uint64_t>(i);
    }
    return true;
  });
  if (!good) return -1;
  if (!std::is_sorted(keys, keys + n)) std::sort(keys, keys + n);
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i)
    if (i == 0 || key_id(keys[i]) != key_id(keys[i - 1])) segments[count++] = i;
  segments[count] = n;
  return count;
}

void sum_equal_ids(const uint64_t *keys, const int64_t *segments, int64_t begin, int64_t end, const float *dy,
                   int64_t width, float *out, int64_t *unique_ids) noexcept {
  for (int64_t s = begin; s < end; ++s) {
    float *row = out + s * width;
    int64_t i = segments[s];
    if (unique_ids) unique_ids[s] = key_id(keys[i]);
    std::memcpy(row, dy + key_place(keys[i]) * width, static_cast<size_t>(width) * sizeof(float));
    while (++i < segments[s + 1]) axpy(1, dy + key_place(keys[i]) * width, row, width);
  }
}

void scatter_add(const float *dy, int64_t width, DType id_type, const void *ids, int64_t n, int64_t row0, int64_t row1,
                 int64_t col0, int64_t col1, float *y) noexcept {
  const size_t bytes = static_cast<size_t>(col1 - col0) * sizeof(float);
  if (col1 - col0 == width)
    std::memset(y + row0 * width, 0, static_cast<size_t>((row1 - row0) * width) * sizeof(float));
  else
    for (int64_t row = row0; row < row1; ++row) std::memset(y + row * width + col0, 0, bytes);
  add_rows(dy, width, id_type, ids, n, row0, row1, col0, col1, y);
}

void row_sums(const float *dy, int64_t width, DType id_type, const void *ids, int64_t n, int64_t rows, uint64_t *keys,
              int64_t *segments, float *sums, int64_t *unique_ids, Report *report) noexcept {
  const int64_t count = sort_rows(id_type, ids, n, rows, keys, segments, report);
  if (count < 0) return;
  sum_equal_ids(keys, segments, 0, count, dy, width, sums, unique_ids);
  std::fill(unique_ids + count, unique_ids + n, rows);
}

namespace {

// Calls f(begin, end, valid) for runs of rows that are all valid or all invalid.
template <class F>
void runs_of(const uint8_t *valid, int64_t begin, int64_t end, F f) {
  if (!valid) return f(begin, end, true);
  while (begin < end) {
    int64_t next = begin + 1;
    while (next < end && (valid[next] != 0) == (valid[begin] != 0)) ++next;
    f(begin, next, valid[begin] != 0);
    begin = next;
  }
}

const void *from_row(DType type, const void *labels, int64_t row) {
  return static_cast<const std::byte *>(labels) + row * size_of(type);
}

}  // namespace

bool pick(const float *x, int64_t rows, int64_t width, DType label_type, const void *labels, float *y,
          Report *report) noexcept {
  return with_ids(label_type, labels, [&](auto label) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t k = label(r);
      if (!inside(k, width, report)) return false;
      y[r] = x[r * width + k];
    }
    return true;
  });
}

bool pick_grad(const float *dy, int64_t rows, int64_t width, DType label_type, const void *labels, float *dx,
               Report *report) noexcept {
  std::memset(dx, 0, static_cast<size_t>(rows * width) * sizeof(float));
  return with_ids(label_type, labels, [&](auto label) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t k = label(r);
      if (!inside(k, width, report)) return false;
      dx[r * width + k] = dy[r];
    }
    return true;
  });
}

void pick(const float *x, int64_t begin, int64_t end, int64_t width, DType label_type, const void *labels,
          const uint8_t *valid, float *y, Report *report) noexcept {
  runs_of(valid, begin, end, [&](int64_t from, int64_t to, bool use) {
    if (use)
      pick(x + from * width, to - from, width, label_type, from_row(label_type, labels, from), y + from, report);
    else
      for (int64_t i = from; i < to; ++i) y[i] = x[i * width];
  });
}

void pick_grad(const float *dy, int64_t begin, int64_t end, int64_t width, DType label_type, const void *labels,
               const uint8_t *valid, float *dx, Report *report) noexcept {
  runs_of(valid, begin, end, [&](int64_t from, int64_t to, bool use) {
    if (use) {
      pick_grad(dy + from, to - from, width, label_type, from_row(label_type, labels, from), dx + from * width, report);
      return;
    }
    std::memset(dx + from * width, 0, static_cast<size_t>((to - from) * width) * sizeof(float));
    for (int64_t i = from; i < to; ++i) dx[i * width] = dy[i];
  });
}

}  // namespace dl4::kernels
