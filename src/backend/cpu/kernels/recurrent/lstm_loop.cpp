// The forward and backward time loops of the LSTM. State is kept in scratch, where it stays in cache between steps.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"
#include "backend/cpu/kernels/kernel.hpp"
#include "backend/cpu/kernels/recurrent/lstm.hpp"
#include "base/checked.hpp"

namespace dl4::kernels {
namespace {

// Copies rows x n floats between two strides; from == nullptr: zeros.
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

// The sequences and units of a call, and pointers to their state in rows of `hidden` floats. h_before is read whole and
// may be h, c_before may be c. `gates` is used unless gates are kept.
struct Part {
  int64_t begin, rows, unit, units;
  const float *h_before, *c_before;
  float *h, *c, *gates, *seen;  // seen: 1 after a row's first unmasked step
  float *codes = nullptr;       // of h_before
};

void load_state(const LstmLoop &l, const LstmForward &f, const Part &p) noexcept {
  const int64_t n = l.hidden, from = p.begin * n + p.unit;
  copy_rows(p.rows, p.units, at(f.h0, from), n, p.h + p.unit, n);
  copy_rows(p.rows, p.units, at(f.c0, from), n, p.c + p.unit, n);
  std::fill_n(p.seen, p.rows, f.mask ? 0.0f : 1.0f);
}

int64_t floats_of_codes(const LstmLoop &l, int64_t rows) {
  return l.integers ? round_up((narrow_scratch(rows, l.hidden) + 3) / 4, 16) : 0;
}

int64_t step_in_time(const LstmLoop &l, int64_t s) { return l.backwards ? l.time - 1 - s : s; }

// Step s as run. x: gates of the step's first sequence.
void forward_step(const LstmLoop &l, const LstmForward &f, const Part &p, int64_t s, const float *x, int64_t ld_x) {
  const int64_t n = l.hidden, time = l.time, t = step_in_time(l, s), step = p.begin * time + t;
  if (f.h_prev) copy_rows(p.rows, p.units, p.h_before + p.unit, n, f.h_prev + step * n + p.unit, time * n);
  float *gates = f.gates ? f.gates + step * 4 * n : p.gates;
  const int64_t ld = f.gates ? time * 4 * n : 4 * n;
  if (f.narrow[0]) {
    narrow_rows(*f.narrow[0], p.rows, p.h_before, n, p.codes);
    for (int64_t g = 0; g < 4; ++g) {
      const int64_t to = g * n + p.unit;
      narrow_gemm(*f.narrow[static_cast<size_t>(g)], p.rows, p.unit, p.units, p.h_before, n, p.codes, x + to, ld_x,
                  gates + to, ld);
    }
  } else if (p.units == n) {
    packed_gemm(p.rows, 4 * n, n, p.h_before, n, f.recurrent, x, ld_x, gates, ld);
  } else {
    for (int64_t g = 0; g < 4; ++g)
      packed_gemm(p.rows, p.units, n, p.h_before, n, f.recurrent + g * packed_floats(n, n) + p.unit * n,
                  x + g * n + p.unit, ld_x, gates + g * n + p.unit, ld);
  }
  const uint8_t *mask = at(f.mask, step);
  float *h = p.h + p.unit, *c = p.c + p.unit;
  lstm_cell({.rows = p.rows,
             .units = p.units,
             .apart = n,
             .gates = {gates + p.unit, ld},
             .c_prev = {p.c_before + p.unit, n},
             .h_prev = {p.h_before + p.unit, n},
             .mask = {mask, time},
             .c = {c, n},
             .h = {h, n},
             .keep = f.gates != nullptr});
  for (int64_t r = 0; mask && r < p.rows; ++r)
    if (mask[r * time]) p.seen[r] = 1;
  if (f.c) copy_rows(p.rows, p.units, c, n, f.c + step * n + p.unit, time * n);
  float *y = at(f.y, (p.begin * time + s) * n + p.unit);
  for (int64_t r = 0; y && r < p.rows; ++r)
    copy_rows(1, p.units, p.seen[r] ? h + r * n : nullptr, n, y + r * time * n, n);
}

void store_state(const LstmLoop &l, const LstmForward &f, const Part &p) noexcept {
  const int64_t n = l.hidden, to = p.begin * n + p.unit;
  if (f.h_last) copy_rows(p.rows, p.units, p.h + p.unit, n, f.h_last + to, n);
  if (f.c_last) copy_rows(p.rows, p.units, p.c + p.unit, n, f.c_last + to, n);
}

// State gradients of some sequences and units in the backward loop. carry: gradient of an output that later masked
// steps repeated.
struct PartDiff {
  int64_t begin, rows, unit, units;
  float *dh, *dc, *carry;
};

void load_state(const LstmLoop &l, const LstmBackward &f, const PartDiff &p) noexcept {
  const int64_t n = l.hidden, from = p.begin * n + p.unit;
  copy_rows(p.rows, p.units, at(f.dh_last, from), n, p.dh + p.unit, n);
  copy_rows(p.rows, p.units, at(f.dc_last, from), n, p.dc + p.unit, n);
  copy_rows(p.rows, p.units, nullptr, n, p.carry + p.unit, n);
}

// Backward through the cell at step s as run: dh and dc to the gates' gradients.
void backward_cell(const LstmLoop &l, const LstmBackward &f, const PartDiff &p, int64_t s) noexcept {
  const int64_t n = l.hidden, time = l.time, t = step_in_time(l, s), before = l.backwards ? t + 1 : t - 1;
  const int64_t step = p.begin * time + t;
  const uint8_t *mask = at(f.mask, step);
  const float *dy = at(f.dy, (p.begin * time + s) * n + p.unit);
  for (int64_t r = 0; r < p.rows; ++r) {
    const bool valid = !mask || mask[r * time];
    float *held = p.carry + r * n + p.unit;
    if (dy) axpy(1, dy + r * time * n, held, p.units);
    if (!valid) continue;
    axpy(1, held, p.dh + r * n + p.unit, p.units);
    copy_rows(1, p.units, nullptr, n, held, n);
  }
  const float *c_prev = s > 0 ? f.c + (p.begin * time + before) * n + p.unit : at(f.c0, p.begin * n + p.unit);
  const int64_t gates = step * 4 * n + p.unit;
  lstm_cell_grad({.rows = p.rows,
                  .units = p.units,
                  .apart = n,
                  .gates = {f.gates + gates, time * 4 * n},
                  .c_prev = {c_prev, s > 0 ? time * n : n},
                  .c = {f.c + step * n + p.unit, time * n},
                  .dh = {p.dh + p.unit, n},
                  .mask = {mask, time},
                  .dc = {p.dc + p.unit, n},
                  .dgates = {f.dgates + gates, time * 4 * n}});
}

// Gates' gradients at step s to the gradient of the state before it. For a masked row the state's gradient is
// unchanged: its dgates are 0.
void backward_product(const LstmLoop &l, const LstmBackward &f, const PartDiff &p, int64_t s) noexcept {
  const int64_t n = l.hidden, step = p.begin * l.time + step_in_time(l, s);
  const uint8_t *mask = at(f.mask, step);
  float *dh = p.dh + p.unit;
  for (int64_t r = 0; mask && r < p.rows; ++r)
    if (mask[r * l.time]) copy_rows(1, p.units, nullptr, n, dh + r * n, n);
  packed_gemm(p.rows, p.units, 4 * n, f.dgates + step * 4 * n, l.time * 4 * n, f.recurrent_t + p.unit * 4 * n,
              mask ? dh : nullptr, n, dh, n);
}

void store_state(const LstmLoop &l, const LstmBackward &f, const PartDiff &p) noexcept {
  const int64_t n = l.hidden, to = p.begin * n + p.unit;
  if (f.dh0) copy_rows(p.rows, p.units, p.dh + p.unit, n, f.dh0 + to, n);
  if (f.dc0) copy_rows(p.rows, p.units, p.dc + p.unit, n, f.dc0 + to, n);
}

}  // namespace

int64_t lstm_forward_scratch(const LstmLoop &l, int64_t rows) {
  return checked_add(checked_mul(rows, checked_add(checked_mul(6, l.hidden), 1)), floats_of_codes(l, rows));
}

void lstm_forward(const LstmLoop &l, const LstmForward &f, const LstmSteps &steps, int64_t begin, int64_t end,
                  float *scratch) noexcept {
  const int64_t rows = end - begin, n = l.hidden, g = 4 * n;
  float *c = scratch + rows * n, *gates = c + rows * n;
  float *seen = gates + rows * g;
  Part p{begin, rows, 0, n, scratch, c, scratch, c, gates, seen, seen + rows};
  // A single step reads and writes the state in the caller's memory.
  const bool alone = l.time == 1 && f.h0 && f.c0 && f.h_last && f.c_last && !f.mask;
  if (alone) {
    p.h_before = f.h0 + begin * n, p.c_before = f.c0 + begin * n;
    p.h = f.h_last + begin * n, p.c = f.c_last + begin * n;
    std::fill_n(seen, rows, 1.0f);
  }
  if (steps.first == 0 && !alone) load_state(l, f, p);
  for (int64_t s = steps.first; s < steps.last; ++s) {
    if (f.report && f.report->ends()) return;
    const int64_t place = l.backwards ? steps.last - 1 - s : s - steps.first;
    if (steps.x_gates)
      forward_step(l, f, p, s, steps.x_gates + place * rows * g, g);
    else
      forward_step(l, f, p, s, f.x_gates + (begin * l.time + step_in_time(l, s)) * g, l.time * g);
  }
  if (steps.last == l.time && !alone) store_state(l, f, p);
}

// Shared: two states (each step reads one and writes the other), cells and gates. Per block of units: seen and codes.
int64_t lstm_forward_scratch_by_units(const LstmLoop &l, int64_t rows) {
  const int64_t blocks = (l.hidden + lstm_unit_block - 1) / lstm_unit_block;
  const int64_t each = checked_add(round_up(rows, 16), floats_of_codes(l, rows));
  return checked_add(checked_mul(rows, 7, l.hidden), checked_mul(blocks, each));
}

void lstm_forward_by_units(const LstmLoop &l, const LstmForward &f, int64_t rows, int64_t step, LstmUnits u,
                           float *scratch) noexcept {
  const int64_t n = l.hidden, all = rows * n;
  float *h = scratch + (step & 1 ? 0 : all), *h_before = scratch + (step & 1 ? all : 0);
  float *c = scratch + 2 * all, *gates = c + all, *seen = gates + 4 * all;
  float *mine = seen + u.begin / lstm_unit_block * (round_up(rows, 16) + floats_of_codes(l, rows));
  const Part p{0, rows, u.begin, u.end - u.begin, h_before, c, h, c, gates, mine, mine + round_up(rows, 16)};
  if (step < 0)
    load_state(l, f, p);
  else
    forward_step(l, f, p, step, f.x_gates + step_in_time(l, step) * 4 * n, l.time * 4 * n);
  if (step == l.time - 1) store_state(l, f, p);
}

int64_t packed_gates_floats(int64_t hidden) { return checked_mul(4, packed_floats(hidden, hidden)); }

void pack_gates(int64_t hidden, LstmUnits u, const float *recurrent, float *packed) noexcept {
  for (int64_t g = 0; g < 4; ++g)
    pack_b(hidden, u.end - u.begin, recurrent + g * hidden + u.begin, 4 * hidden, false,
           packed + g * packed_floats(hidden, hidden) + u.begin * hidden);
}

int64_t lstm_backward_scratch(const LstmLoop &l, int64_t rows) { return checked_mul(rows, 3, l.hidden); }

void lstm_backward(const LstmLoop &l, const LstmBackward &f, int64_t begin, int64_t end, float *scratch) noexcept {
  const int64_t rows = end - begin, all = rows * l.hidden;
  const PartDiff p{begin, rows, 0, l.hidden, scratch, scratch + all, scratch + 2 * all};
  load_state(l, f, p);
  for (int64_t s = l.time - 1; s >= 0; --s) {
    if (f.report && f.report->ends()) return;
    backward_cell(l, f, p, s);
    if (s > 0 || f.dh0) backward_product(l, f, p, s);
  }
  store_state(l, f, p);
}

void lstm_backward_by_units(const LstmLoop &l, const LstmBackward &f, int64_t rows, int64_t step, LstmUnits u,
                            float *scratch) noexcept {
  const int64_t all = rows * l.hidden;
  const PartDiff p{0, rows, u.begin, u.end - u.begin, scratch, scratch + all, scratch + 2 * all};
  if (step == l.time - 1)
    load_state(l, f, p);
  else if (step >= 0 || f.dh0)
    backward_product(l, f, p, step + 1);
  if (step >= 0)
    backward_cell(l, f, p, step);
  else
    store_state(l, f, p);
}

}  // namespace dl4::kernels
