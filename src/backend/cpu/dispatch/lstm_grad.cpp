// Backward LSTM: packs the recurrent kernel, then runs the loop.
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/kernels/gemm/packed_gemm.hpp"

namespace dl4::dispatch {

using kernels::Run;

std::unique_ptr<kernels::Kernel> lstm_grad(const Site &site, bool go_backwards) {
  const Shape &cells = site.src[lstm_grad_src::cells].shape;
  int64_t batch = cells[0], time = cells[1], units = cells[2];
  kernels::LstmLoop loop{time, units, go_backwards};
  if (batch == 0 || units == 0) return nothing();
  LstmCut cut(site.cutting, batch, time, 0, units);
  bool by_units = cut.by_units > 1;
  int64_t slices = by_units ? cut.by_units : cut.by_sequences;
  int64_t packed = round_up(kernels::packed_floats(checked_mul(4, units), units), 16);
  int64_t rows = by_units ? batch : batch / slices + 1;
  int64_t each = checked_add(packed, round_up(kernels::lstm_backward_scratch(loop, rows), 16));
  int64_t all = by_units ? each : checked_mul(slices, each);
  int64_t unread = site.dst[0].present ? 0 : checked_mul(batch, time, 4, units);
  auto run = [=](int64_t i, const Run &r) noexcept {
    const int64_t slice = i % slices, step = time - 1 - i / slices;
    auto [begin, end] =
        by_units ? kernels::part(units, slices, slice, kernels::lstm_unit_block) : kernels::part(batch, slices, slice);
    float *scratch = static_cast<float *>(r.scratch) + (by_units ? 0 : slice * each);
    const float *recurrent = r.in<float>(lstm_grad_src::recurrent_kernel);
    if (!by_units)
      kernels::pack_b(4 * units, units, recurrent, 4 * units, true, scratch);
    else if (step == time - 1)
      kernels::pack_b(4 * units, end - begin, recurrent + begin * 4 * units, 4 * units, true,
                      scratch + begin * 4 * units);
    kernels::LstmBackward b;
    b.gates = r.in<float>(lstm_grad_src::gates);
    b.c = r.in<float>(lstm_grad_src::cells);
    b.recurrent_t = scratch;
    b.c0 = r.in<float>(lstm_grad_src::c0);
    b.mask = r.in<uint8_t>(lstm_grad_src::mask);
    b.dy = r.in<float>(lstm_grad_src::dy);
    b.dh_last = r.in<float>(lstm_grad_src::dh);
    b.dc_last = r.in<float>(lstm_grad_src::dc);
    b.dgates = r.out<float>(0);
    if (!b.dgates) b.dgates = static_cast<float *>(r.scratch) + all;
    b.dh0 = r.out<float>(1);
    b.dc0 = r.out<float>(2);
    b.report = r.report;
    if (by_units)
      kernels::lstm_backward_by_units(loop, b, batch, step, {begin, end}, scratch + packed);
    else
      kernels::lstm_backward(loop, b, begin, end, scratch + packed);
  };
  return kernels::make_kernel(by_units ? "own_lstm_grad, by units" : "own_lstm_grad", slices, run,
                              checked_mul(checked_add(all, unread), 4), by_units ? time + 1 : 1);
}

}  // namespace dl4::dispatch
