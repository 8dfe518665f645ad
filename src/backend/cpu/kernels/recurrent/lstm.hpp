// Own LSTM steps and time loops: Keras's gate order i f c o, tanh and sigmoid, masks. Large products with the inputs
// come before (x gates) and after (weight gradients).
#pragma once

#include <array>
#include <cstdint>

#include "backend/cpu/kernels/gemm/narrow_gemm.hpp"

namespace dl4::kernels {

// Rows that begin `next` elements apart; null: none.
template <class T>
struct Rows {
  T *first = nullptr;
  int64_t next = 0;
  T *row(int64_t r) const { return first ? first + r * next : nullptr; }
};

// Some units of one step of `rows` sequences. A row's gates i, f, c, o begin `apart` elements apart.
struct LstmCell {
  int64_t rows, units, apart;
  Rows<float> gates;           // pre-activations in, activations (i, f, tanh of the candidate, o) out if they are kept
  Rows<const float> c_prev;    // none: zeros
  Rows<const float> h_prev;    // read only for masked rows; none: zeros
  Rows<const uint8_t> mask{};  // 0 skips the row: its states are copied, nothing else of it is touched
  Rows<float> c, h;            // may be c_prev and h_prev
  bool keep = true;
};
void lstm_cell(const LstmCell &cell) noexcept;

struct LstmCellGrad {
  int64_t rows, units, apart;
  Rows<const float> gates;  // activations
  Rows<const float> c_prev, c, dh;
  Rows<const uint8_t> mask{};  // masked rows: dgates 0, dc unchanged
  Rows<float> dc;              // the gradient of c on input, of c_prev on output
  Rows<float> dgates;          // may be gates
};
void lstm_cell_grad(const LstmCellGrad &cell) noexcept;

struct Report;  // polled between steps for cancellation

struct LstmLoop {
  int64_t time = 0, hidden = 0;
  bool backwards = false;  // from the last step to the first
  bool integers = false;   // multiplies the state as integers: scratch includes its codes
};

// All arrays are batch-major and whole ([b, ...]); a call processes sequences [begin, end). "By step" = in order of
// time; "as run" = in order of processing, in which Keras returns the output. The output of a masked step is the
// previous one, zeros before the first.
struct LstmForward {
  const float *x_gates = nullptr;                    // [b, time, 4h] by step: x W + bias; unused if LstmSteps has them
  const float *recurrent = nullptr;                  // pack_b of R [h, 4h]
  std::array<const NarrowWeights *, 4> narrow = {};  // R in narrow weights, by gate, instead
  const float *h0 = nullptr, *c0 = nullptr;          // [b, h]; nullptr: zeros
  const uint8_t *mask = nullptr;                     // [b, time] by step; nullptr: none
  float *y = nullptr;                                // [b, time, h] as run, or nullptr
  float *h_last = nullptr, *c_last = nullptr;        // [b, h] the states, or nullptr
  float *gates = nullptr;   // [b, time, 4h] by step: activations for the gradient (may be x_gates), or nullptr
  float *c = nullptr;       // [b, time, h] by step: cell states for the gradient, or nullptr
  float *h_prev = nullptr;  // [b, time, h] by step: the state before each step (dR = h_prev^T dgates), or nullptr
  const Report *report = nullptr;  // or nullptr
};
// Steps [first, last) in processing order; consecutive calls with the same scratch make up a whole run.
struct LstmSteps {
  int64_t first = 0, last = 0;
  const float *x_gates = nullptr;  // [last - first, rows, 4h] by step, for these steps and sequences only
};
// Scratch floats of a call with so many sequences.
int64_t lstm_forward_scratch(const LstmLoop &l, int64_t rows);
void lstm_forward(const LstmLoop &l, const LstmForward &f, const LstmSteps &steps, int64_t begin, int64_t end,
                  float *scratch) noexcept;
inline void lstm_forward(const LstmLoop &l, const LstmForward &f, int64_t begin, int64_t end, float *scratch) noexcept {
  lstm_forward(l, f, {0, l.time, nullptr}, begin, end, scratch);
}

// The same loop cut along the units, for few sequences. A call processes some units of all `rows` sequences for one
// step as run (-1 first, which loads the states). Calls of one step may run concurrently and precede those of the next
// step. f.recurrent: from pack_gates; f.x_gates is whole.
struct LstmUnits {
  int64_t begin = 0, end = 0;  // begin is a multiple of lstm_unit_block
};
inline constexpr int64_t lstm_unit_block = 32;
int64_t lstm_forward_scratch_by_units(const LstmLoop &l, int64_t rows);
void lstm_forward_by_units(const LstmLoop &l, const LstmForward &f, int64_t rows, int64_t step, LstmUnits u,
                           float *scratch) noexcept;
// Packs some units of R [h, 4h], each gate into its own panels.
int64_t packed_gates_floats(int64_t hidden);
void pack_gates(int64_t hidden, LstmUnits u, const float *recurrent, float *packed) noexcept;

struct LstmBackward {
  const float *gates = nullptr, *c = nullptr;  // as saved
  const float *recurrent_t = nullptr;          // pack_b of R^T: k = 4h, n = h
  const float *c0 = nullptr;
  const uint8_t *mask = nullptr;
  const float *dy = nullptr;  // [b, time, h] as run, or nullptr; the same for the next two
  const float *dh_last = nullptr, *dc_last = nullptr;
  float *dgates = nullptr;               // [b, time, 4h] by step: gradient of x_gates (may be gates)
  float *dh0 = nullptr, *dc0 = nullptr;  // [b, h] or nullptr
  const Report *report = nullptr;        // or nullptr
};
int64_t lstm_backward_scratch(const LstmLoop &l, int64_t rows);
void lstm_backward(const LstmLoop &l, const LstmBackward &f, int64_t begin, int64_t end, float *scratch) noexcept;
// Cut along the units: steps as run from the last to the first, then -1, which writes dh0 and dc0. Scratch as for all
// sequences at once.
void lstm_backward_by_units(const LstmLoop &l, const LstmBackward &f, int64_t rows, int64_t step, LstmUnits u,
                            float *scratch) noexcept;

}  // namespace dl4::kernels
