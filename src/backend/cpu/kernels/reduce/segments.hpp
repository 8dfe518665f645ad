// Rows added up, compared and spread by the number of their segment, one item of a batch at a time. A row of a negative
// number belongs to no segment; ids are looked at in their order, so that the bits don't depend on how segments are
// cut.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

// Rows of one item of the batch, and segments.
struct Segments {
  int64_t batch, rows, segments, width;
};

// Reports the first id past the last segment.
void check_segments(const Segments &s, const int64_t *ids, Report *report) noexcept;

// y (batch * rows, width): rows [begin, end) of the whole batch get those of x (batch, segments, width); 0 where the id
// is negative. An id past the last segment is reported.
void segment_gather(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t begin, int64_t end,
                    Report *report) noexcept;

// Segments [first, last) of y (segments, width) from x (rows, width). The maximum of no row is the lowest float.
void segment_sum(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last) noexcept;
void segment_max(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last) noexcept;
// The rows of y (rows, width) that belong to segments [first, last); rows of none are set with segment 0. most, sum:
// (segments, width) of scratch.
void segment_softmax(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last,
                     float *most, float *sum) noexcept;

}  // namespace dl4::kernels
