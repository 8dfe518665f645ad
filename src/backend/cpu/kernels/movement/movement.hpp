// Data movement: permutes, strided copies, rows by index. Element sizes are 1, 4 or 8 bytes.
#pragma once

#include <cstdint>

#include "base/dtype.hpp"
#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

// y (dense) = x with its axes in the order perm: y.dims[i] = dims[perm[i]]. Only [begin, end) of y's first axis (for
// rank 0, an axis of one).
void permute(int64_t size, int rank, const int64_t *dims, const int *perm, const void *x, void *y, int64_t begin,
             int64_t end) noexcept;

// y[i...] = x[i...] for i below dims; each side has its own strides in elements (0 repeats, negative reverses).
// Implements concat, strided slices, reverse, broadcast and padding. x and y point at the element of index 0...0.
void copy_strided(int64_t size, int rank, const int64_t *dims, const void *x, const int64_t *x_strides, void *y,
                  const int64_t *y_strides) noexcept;

// ids: i32, i64, u8 or f32 (truncated). An id outside [0, rows) raises index_out_of_range with its value and returns
// false; rows before it are written.
bool gather_rows(int64_t row_bytes, const void *table, int64_t rows, DType id_type, const void *ids, int64_t n, void *y,
                 Report *report) noexcept;

// y[id] += dy[i] in columns [col0, col1), in order of i, for ids in [row0, row1); other ids are skipped.
void add_rows(const float *dy, int64_t width, DType id_type, const void *ids, int64_t n, int64_t row0, int64_t row1,
              int64_t col0, int64_t col1, float *y) noexcept;

// The same after setting those columns of rows [row0, row1) to 0.
void scatter_add(const float *dy, int64_t width, DType id_type, const void *ids, int64_t n, int64_t row0, int64_t row1,
                 int64_t col0, int64_t col1, float *y) noexcept;

// For sums over equal ids. sort_rows fills keys[n] in order of (id, place) and returns the number of distinct ids, or
// -1 after raising index_out_of_range. segments[0 .. count] are the starts of each id's keys, ending with n (n + 1
// places).
int64_t sort_rows(DType id_type, const void *ids, int64_t n, int64_t rows, uint64_t *keys, int64_t *segments,
                  Report *report) noexcept;
constexpr int64_t key_id(uint64_t key) { return static_cast<int64_t>(key >> 32); }
constexpr int64_t key_place(uint64_t key) { return static_cast<int64_t>(key & 0xffffffffu); }
// For segments [begin, end): out[s] = sum of dy[place] in order of place; unique_ids[s] = the id, if wanted.
void sum_equal_ids(const uint64_t *keys, const int64_t *segments, int64_t begin, int64_t end, const float *dy,
                   int64_t width, float *out, int64_t *unique_ids) noexcept;

// Both steps: sums (n, width) over equal ids in their order; unique_ids[n] is padded with `rows`. keys and segments are
// scratch.
void row_sums(const float *dy, int64_t width, DType id_type, const void *ids, int64_t n, int64_t rows, uint64_t *keys,
              int64_t *segments, float *sums, int64_t *unique_ids, Report *report) noexcept;

// y[r] = x[r, labels[r]]; in the gradient dx is overwritten with zeros and dy. Invalid labels as in gather_rows.
bool pick(const float *x, int64_t rows, int64_t width, DType label_type, const void *labels, float *y,
          Report *report) noexcept;
bool pick_grad(const float *dy, int64_t rows, int64_t width, DType label_type, const void *labels, float *dx,
               Report *report) noexcept;
// Rows [begin, end) of the whole; rows that are not valid use label 0. valid == nullptr: all are.
void pick(const float *x, int64_t begin, int64_t end, int64_t width, DType label_type, const void *labels,
          const uint8_t *valid, float *y, Report *report) noexcept;
void pick_grad(const float *dy, int64_t begin, int64_t end, int64_t width, DType label_type, const void *labels,
               const uint8_t *valid, float *dx, Report *report) noexcept;

}  // namespace dl4::kernels
