// CTC: the probability of labels over all their alignments with the steps of a sequence, in double.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernel.hpp"

namespace dl4::kernels {

struct CtcSizes {
  int64_t steps, classes, labels;  // labels: room for so many; 0, the blank, fills what a sequence does not use

  int64_t states() const { return 2 * (labels + 1); }         // bounded: who makes the kernel has checked it
  int64_t scratch() const { return (steps + 3) * states(); }  // doubles
};

// One sequence. *loss: minus the logarithm of the probability of `labels`, given the logarithms of those of the classes
// (steps, classes). share, where it is not null: how much of it each class has at each step. A label outside the
// classes is reported, and nothing written.
void ctc(const CtcSizes &sizes, const float *logs, const int32_t *labels, float *loss, float *share, double *scratch,
         Report *report) noexcept;

}  // namespace dl4::kernels
