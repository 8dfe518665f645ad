// The LSTM's way through time and back. State lives in the scratch, where it stays in cache from step to step.
#include <algorithm>
#include <cstring>

#include "kernels/elementwise.hpp"
#include "kernels/lstm.hpp"
#include "kernels/small_gemm.hpp"

namespace dl4::kernels {
namespace {

// rows x n floats between two strides; from nullptr: zeros.
void copy_rows(int64_t rows, int64_t n, const float *from, int64_t ld_from, float *to, int64_t ld_to) {
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  for (int64_t r = 0; r < rows; ++r, to += ld_to) {
    if (from)
      std::memcpy(to, from + r * ld_from, bytes);
    else
      std::memset(to, 0, bytes);
  }
}

template <class T>
T *at(T *p, int64_t offset) {
  return p ? p + offset : nullptr;
}

}  // namespace

int64_t lstm_forward_scratch(const LstmLoop &l, int64_t rows) noexcept { return rows * (6 * l.hidden + 1); }

void lstm_forward(const LstmLoop &l, const LstmForward &f, const LstmSteps &steps, int64_t begin, int64_t end,
                  float *scratch) noexcept {
  const int64_t rows = end - begin, n = l.hidden, g = 4 * n, time = l.time;
  float *h = scratch, *c = h + rows * n, *own = c + rows * n,
        *seen = own + rows * g;  // seen: 1 after a row's first valid step
  if (steps.first == 0) {
    copy_rows(rows, n, at(f.h0, begin * n), n, h, n);
    copy_rows(rows, n, at(f.c0, begin * n), n, c, n);
    std::fill_n(seen, rows, f.mask ? 0.0f : 1.0f);
  }
  const uint8_t *mask = nullptr;
  // Its output: the state, but zeros before the first valid step and, where asked for, at every masked one.
  auto put_output = [&](float *y, int64_t ld) {
    for (int64_t r = 0; r < rows; ++r) {
      const bool shown = l.zero_for_mask && mask ? mask[r * time] != 0 : seen[r] != 0;
      copy_rows(1, n, shown ? h + r * n : nullptr, n, y + r * ld, ld);
    }
  };
  for (int64_t s = steps.first; s < steps.last; ++s) {
    const int64_t t = l.backwards ? time - 1 - s : s, step = begin * time + t;
    const int64_t place = l.backwards ? steps.last - 1 - s : s - steps.first;
    const float *x = steps.x_gates ? steps.x_gates + place * rows * g : f.x_gates + step * g;
    if (f.h_prev) copy_rows(rows, n, h, n, f.h_prev + step * n, time * n);
    float *gates = f.gates ? f.gates + step * g : own;
    const int64_t ld = f.gates ? time * g : g;
    packed_gemm(rows, g, n, h, n, f.recurrent, x, steps.x_gates ? g : time * g, gates, ld);
    mask = at(f.mask, step);
    lstm_cell(rows, n, gates, ld, c, n, h, n, mask, time, c, n, h, n, f.gates != nullptr);
    for (int64_t r = 0; mask && r < rows; ++r)
      if (mask[r * time]) seen[r] = 1;
    if (f.c) copy_rows(rows, n, c, n, f.c + step * n, time * n);
    if (f.y) put_output(f.y + (begin * time + s) * n, time * n);
  }
  if (steps.last < time) return;
  if (time == 0) std::fill_n(seen, rows, 0.0f);
  if (f.y_last) put_output(f.y_last + begin * n, n);
  if (f.h_last) copy_rows(rows, n, h, n, f.h_last + begin * n, n);
  if (f.c_last) copy_rows(rows, n, c, n, f.c_last + begin * n, n);
}

int64_t lstm_backward_scratch(const LstmLoop &l, int64_t rows) noexcept { return rows * 3 * l.hidden; }

void lstm_backward(const LstmLoop &l, const LstmBackward &f, int64_t begin, int64_t end, float *scratch) noexcept {
  const int64_t rows = end - begin, n = l.hidden, g = 4 * n, time = l.time;
  float *dh = scratch, *dc = dh + rows * n, *carry = dc + rows * n;  // carry: for an output that later steps repeated
  copy_rows(rows, n, at(f.dh_last, begin * n), n, dh, n);
  copy_rows(rows, n, at(f.dc_last, begin * n), n, dc, n);
  copy_rows(rows, n, at(f.dy_last, begin * n), n, carry, n);
  for (int64_t s = time - 1; s >= 0; --s) {
    const int64_t t = l.backwards ? time - 1 - s : s, before = l.backwards ? t + 1 : t - 1, step = begin * time + t;
    const uint8_t *mask = at(f.mask, step);
    const float *dy = at(f.dy, (begin * time + s) * n);
    for (int64_t r = 0; r < rows; ++r) {
      const bool valid = !mask || mask[r * time];
      float *held = carry + r * n;
      if (dy) axpy(1, dy + r * time * n, held, n);
      if (valid) axpy(1, held, dh + r * n, n);
      if (valid || l.zero_for_mask) copy_rows(1, n, nullptr, n, held, n);
    }
    const float *c_prev = s > 0 ? f.c + (begin * time + before) * n : at(f.c0, begin * n);
    lstm_cell_grad(rows, n, f.gates + step * g, time * g, c_prev, s > 0 ? time * n : n, f.c + step * n, time * n, dh, n,
                   mask, time, dc, n, f.dgates + step * g, time * g);
    if (s == 0 && !f.dh0) break;
    for (int64_t r = 0; mask && r < rows; ++r)
      if (mask[r * time]) copy_rows(1, n, nullptr, n, dh + r * n, n);
    // The gradient of a masked row's state passes by: its dgates are 0.
    packed_gemm(rows, n, g, f.dgates + step * g, time * g, f.recurrent_t, mask ? dh : nullptr, n, dh, n);
  }
  if (f.dh0) copy_rows(rows, n, dh, n, f.dh0 + begin * n, n);
  if (f.dc0) copy_rows(rows, n, dc, n, f.dc0 + begin * n, n);
}

}  // namespace dl4::kernels
