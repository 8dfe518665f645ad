// Kernels of recurrent layers, a GRU's step and CTC.
#include "backend/cpu/dispatch/lstm.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/recurrent/ctc.hpp"
#include "backend/cpu/kernels/recurrent/gru.hpp"

namespace dl4::cpu {
namespace {

// Three functions per unit.
double cost(const Shape &h) { return 3 * us_per_function * static_cast<double>(h.elements()); }

enum CtcSource { src_logs = 1, src_labels };
enum CtcDestination { dst_loss, dst_share };

void ctc_of(const kernels::CtcSizes &s, int64_t i, const Run &r, double *scratch) {
  const int64_t at = i * s.steps * s.classes;
  float *share = r.out<float>(dst_share);
  kernels::ctc(s, r.in<float>(src_logs) + at, r.in<int32_t>(src_labels) + i * s.labels, r.out<float>(dst_loss) + i,
               share ? share + at : nullptr, scratch, r.report);
}

std::unique_ptr<Kernel> lstm(const attributes::Lstm &op, const Site &site) {
  return dispatch::lstm(site, op.go_backwards);
}

std::unique_ptr<Kernel> lstm_grad(const attributes::LstmGrad &op, const Site &site) {
  return dispatch::lstm_grad(site, op.go_backwards);
}

std::unique_ptr<Kernel> gru_cell(const attributes::GruCell &, const Site &site) {
  const Shape &h = site.dst[0].shape;
  return sliced("gru_cell", site, h[0], cost(h), [units = h[1]](int64_t begin, int64_t end, const Run &r) {
    kernels::gru_cell(end - begin, units, r.in<float>(0) + begin * 3 * units, r.in<float>(1) + begin * 3 * units,
                      r.in<float>(2) + begin * units, r.out<float>(0) + begin * units);
  });
}

std::unique_ptr<Kernel> gru_cell_grad(const attributes::GruCellGrad &, const Site &site) {
  const Shape &h = site.src[2].shape;
  return sliced("gru_cell_grad", site, h[0], cost(h), [units = h[1]](int64_t begin, int64_t end, const Run &r) {
    auto gates = [&](float *p) { return p ? p + begin * 3 * units : nullptr; };
    float *dh = r.out<float>(2);
    kernels::gru_cell_grad(end - begin, units, r.in<float>(0) + begin * 3 * units, r.in<float>(1) + begin * 3 * units,
                           r.in<float>(2) + begin * units, r.in<float>(3) + begin * units, gates(r.out<float>(0)),
                           gates(r.out<float>(1)), dh ? dh + begin * units : nullptr);
  });
}

std::unique_ptr<Kernel> ctc(const attributes::Ctc &, const Site &site) {
  const Shape &x = site.src[src_logs].shape;
  const int64_t batch = x[0], width = site.src[src_labels].shape[1];
  const kernels::CtcSizes sizes{x[1], x[2], width};
  const int64_t row = checked_mul(2, checked_add(width, 1));
  // The states before every step, those after it, and their sums.
  const int64_t doubles = round_up(checked_mul(checked_add(x[1], 3), row), 8);
  const double us = 0.05 * static_cast<double>(checked_mul(batch, x[1], row));
  const int64_t slices = site.cutting.slices(batch, us);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    auto [begin, end] = kernels::part(batch, slices, slice);
    for (int64_t i = begin; i < end; ++i) ctc_of(sizes, i, r, static_cast<double *>(r.scratch) + slice * doubles);
  };
  return kernels::make_kernel("ctc", slices, run, checked_mul(slices, doubles, 8));
}

}  // namespace

std::span<const Row> recurrent_kernels() {
  static const Row rows[] = {
      row<attributes::Lstm, lstm>(),        row<attributes::LstmGrad, lstm_grad>(),
      row<attributes::GruCell, gru_cell>(), row<attributes::GruCellGrad, gru_cell_grad>(),
      row<attributes::Ctc, ctc>(),
  };
  return rows;
}

}  // namespace dl4::cpu
