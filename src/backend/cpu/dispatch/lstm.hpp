// Chooses LSTM kernels; our own consist of products and a loop.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/dispatch/site.hpp"
#include "backend/cpu/kernels/recurrent/lstm.hpp"
#include "ops/lstm.hpp"

namespace dl4::dispatch {

namespace lstm_dst = ops::lstm_dst;
namespace lstm_grad_src = ops::lstm_grad_src;
using enum ops::LstmSource;

// Rough time of an LSTM on one thread.
inline double lstm_microseconds(int64_t batch, int64_t time, int64_t inputs, int64_t units) {
  auto real = [](int64_t v) { return static_cast<double>(v); };
  return real(time) * (real(batch) * real(units) * (8 * real(inputs + units) / 60e3 + 4e-3));
}
// How an LSTM is cut: by sequences, or by units where that gives more slices or where slices of a few sequences would
// each read many weights; then each step is a phase.
struct LstmCut {
  int64_t by_sequences, by_units = 1;

  LstmCut(const Cutting &cutting, int64_t batch, int64_t time, int64_t inputs, int64_t units) {
    if (cutting.by_row) time = std::min<int64_t>(time, 1);  // the same cut for any part of a sequence
    by_sequences = std::max<int64_t>(1, cutting.slices(batch, lstm_microseconds(batch, time, inputs, units)));
    // Starting the next phase costs a quarter of starting a kernel.
    const int64_t blocks = (units + kernels::lstm_unit_block - 1) / kernels::lstm_unit_block;
    const int64_t parts = time ? cutting.slices(blocks, 4 * lstm_microseconds(batch, 1, 0, units)) : 1;
    const double weights = 4.0 * static_cast<double>(units) * static_cast<double>(units + inputs);
    const bool reads = parts > 1 && parts == by_sequences && batch <= 4 * parts &&
                       weights > 3e4 + 4e3 * static_cast<double>(batch * batch);
    if (parts > by_sequences || reads) by_units = parts;
  }
};

// The best kernel for the forward step.
std::unique_ptr<kernels::Kernel> lstm(const Site &site, bool go_backwards);

// The best kernel for the backward step.
std::unique_ptr<kernels::Kernel> lstm_grad(const Site &site, bool go_backwards);

// Candidates that can be switched off.
std::vector<std::string> lstm_switches();

}  // namespace dl4::dispatch
