// CTC: the probability of labels over all their alignments with a sequence, in double.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

struct CtcSizes {
  int64_t steps, classes, labels;  // labels: capacity; unused ones are 0, the blank

  int64_t states() const { return 2 * (labels + 1); }         // bounded: checked when the kernel is made
  int64_t scratch() const { return (steps + 3) * states(); }  // doubles
};

// One sequence. *loss: minus the log probability of `labels`, given the log probabilities of the classes (steps,
// classes). share, if not null: each class's share of it at each step. A label that is no class is reported, and
// nothing is written.
void ctc(const CtcSizes &sizes, const float *logs, const int32_t *labels, float *loss, float *share, double *scratch,
         Report *report) noexcept;

}  // namespace dl4::kernels
