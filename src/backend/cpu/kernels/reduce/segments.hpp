// Segment operations: rows summed, compared and gathered by segment id, one item of a batch at a time. A row with a
// negative id belongs to no segment. Ids are processed in order, so that the bits don't depend on how segments are cut.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

// Sizes: rows of one item of the batch, and segments.
struct Segments {
  int64_t batch, rows, segments, width;
};

// Reports the first id that is not below the number of segments.
void check_segments(const Segments &s, const int64_t *ids, Report *report) noexcept;

// y (batch * rows, width): rows [begin, end) of the whole batch gather from x (batch, segments, width); 0 for negative
// ids. An id out of range is reported.
void segment_gather(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t begin, int64_t end,
                    Report *report) noexcept;

// Segments [first, last) of y (segments, width) from x (rows, width). An empty segment's maximum is the lowest float.
void segment_sum(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last) noexcept;
void segment_max(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last) noexcept;
// The rows of y (rows, width) in segments [first, last); rows without segment are set with segment 0. most, sum:
// (segments, width) of scratch.
void segment_softmax(const Segments &s, const float *x, const int64_t *ids, float *y, int64_t first, int64_t last,
                     float *most, float *sum) noexcept;

}  // namespace dl4::kernels
