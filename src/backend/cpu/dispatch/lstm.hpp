// The choice of a kernel for an LSTM, and the kernels of our own that are made of products and a loop.
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

// What an LSTM takes on one thread, roughly.
inline double lstm_microseconds(int64_t batch, int64_t time, int64_t inputs, int64_t units) {
  auto real = [](int64_t v) { return static_cast<double>(v); };
  return real(time) * (real(batch) * real(units) * (8 * real(inputs + units) / 60e3 + 4e-3));
}
// Into how many slices an LSTM is cut: by its sequences, or by its units where that gives more. Then each step is a
// phase.
struct LstmCut {
  int64_t by_sequences, by_units = 1;

  LstmCut(const Cutting &cutting, int64_t batch, int64_t time, int64_t inputs, int64_t units) {
    if (cutting.by_row) time = std::min<int64_t>(time, 1);  // parts of a sequence are cut alike
    by_sequences = std::max<int64_t>(1, cutting.slices(batch, lstm_microseconds(batch, time, inputs, units)));
    // Handing over the next phase of a kernel takes a tenth of the time that handing over a kernel does.
    const int64_t blocks = (units + kernels::lstm_unit_block - 1) / kernels::lstm_unit_block;
    const int64_t parts = time ? cutting.slices(blocks, 10 * lstm_microseconds(batch, 1, 0, units)) : 1;
    if (parts > by_sequences) by_units = parts;
  }
};

// The best kernel for the forward step of these sources and destinations.
std::unique_ptr<kernels::Kernel> lstm(const Site &site, bool go_backwards);

// The kernel for the backward step of these sources and destinations.
std::unique_ptr<kernels::Kernel> lstm_grad(const Site &site, bool go_backwards);

// The candidates that can be switched off.
std::vector<std::string> lstm_switches();

}  // namespace dl4::dispatch
