// Random LSTMs, and their steps in double.
#pragma once

#include "backend/cpu/dispatch/lstm.hpp"
#include "base/tensor.hpp"
#include "dispatch/random_sites.hpp"

namespace dl4::dispatch::testing {

struct LstmNumbers {
  int64_t b, t, i, u;
  bool backwards, biased, starts, masked;
  Guarded x, w, r, bias, h0, c0;
  std::vector<uint8_t> mask;
  std::vector<double> y, h, c;

  explicit LstmNumbers(Random &random)
      : b(random.log(1, 9)),
        t(random.log(1, 12)),
        i(random.log(1, 40)),
        u(random.log(1, 40)),
        backwards(random.one_of(3)),
        biased(random.one_of(2)),
        starts(random.one_of(2)),
        masked(random.one_of(6)),
        x(b * t * i, random.bits),
        w(i * 4 * u, random.bits),
        r(u * 4 * u, random.bits),
        bias(4 * u, random.bits),
        h0(b * u, random.bits),
        c0(b * u, random.bits) {
    for (int64_t n = 0; n < b * t; ++n) mask.push_back(!masked || !random.one_of(3));
    for (int64_t item = 0; item < b; ++item) steps(item);
  }

 private:
  static double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }

  void steps(int64_t item) {
    const auto at = [](int64_t n) { return static_cast<size_t>(n); };
    std::vector<double> state(at(u)), cell(at(u)), out(at(u));
    for (int64_t j = 0; starts && j < u; ++j) state[at(j)] = h0[item * u + j], cell[at(j)] = c0[item * u + j];
    for (int64_t n = 0; n < t; ++n) {
      const int64_t row = item * t + (backwards ? t - 1 - n : n);
      if (mask[at(row)]) {
        std::vector<double> g(at(4 * u));
        for (int64_t q = 0; q < 4 * u; ++q) {
          double sum = biased ? bias[q] : 0;
          for (int64_t k = 0; k < i; ++k) sum += double{x[row * i + k]} * w[k * 4 * u + q];
          for (int64_t k = 0; k < u; ++k) sum += state[at(k)] * r[k * 4 * u + q];
          g[at(q)] = q / u == 2 ? std::tanh(sum) : sigmoid(sum);
        }
        for (int64_t j = 0; j < u; ++j) {
          cell[at(j)] = g[at(u + j)] * cell[at(j)] + g[at(j)] * g[at(2 * u + j)];
          out[at(j)] = state[at(j)] = g[at(3 * u + j)] * std::tanh(cell[at(j)]);
        }
      }
      y.insert(y.end(), out.begin(), out.end());
    }
    h.insert(h.end(), state.begin(), state.end());
    c.insert(c.end(), cell.begin(), cell.end());
  }
};

inline void check_lstm_sites(int64_t count) {
  const auto names = lstm_switches();
  Tally tally(names);
  check_sites(tally, of_libraries(names), count, [](Tally &tally, Random &random) {
    LstmNumbers n(random);
    const bool constant = random.one_of(2);
    Wanted wanted;
    wanted.sources = {n.x.begin(),
                      n.w.begin(),
                      n.r.begin(),
                      n.biased ? n.bias.begin() : nullptr,
                      n.starts ? n.h0.begin() : nullptr,
                      n.starts ? n.c0.begin() : nullptr,
                      n.masked ? n.mask.data() : nullptr};
    wanted.dst.resize(lstm_dst::count);
    const int64_t asked = random.in(1, 7);
    if (asked & 1) wanted.dst[lstm_dst::y] = n.y;
    if (asked & 2) wanted.dst[lstm_dst::h] = n.h;
    if (asked & 4) wanted.dst[lstm_dst::c] = n.c;
    wanted.terms = static_cast<double>((n.i + n.u) * n.t);

    const auto of = [](const void *data, Shape shape, DType type = DType::f32) {
      return data ? ops::Operand{type, std::move(shape)} : ops::absent;
    };
    Tensor w = make_tensor(DType::f32, {n.i, 4 * n.u}), r = make_tensor(DType::f32, {n.u, 4 * n.u});
    std::copy_n(n.w.begin(), n.w.size(), w.as<float>());
    std::copy_n(n.r.begin(), n.r.size(), r.as<float>());
    tally.check(
        text(n.b, "x", n.t, "x", n.i, " to ", n.u, n.backwards ? ", backwards" : "", n.biased ? ", bias" : "",
             n.starts ? ", states" : "", n.masked ? ", mask" : "", ", asked ", asked, constant ? ", constant" : ""),
        random, wanted, [&](const Site &given) {
          Site s = given;
          s.src = {of(n.x.begin(), {n.b, n.t, n.i}),
                   of(n.w.begin(), {n.i, 4 * n.u}),
                   of(n.r.begin(), {n.u, 4 * n.u}),
                   of(wanted.sources[src_bias], {4 * n.u}),
                   of(wanted.sources[src_h0], {n.b, n.u}),
                   of(wanted.sources[src_c0], {n.b, n.u}),
                   of(wanted.sources[src_mask], {n.b, n.t}, DType::boolean)};
          s.constant.assign(src_count, nullptr);
          s.constant_key.assign(src_count, "");
          if (constant) s.constant[src_kernel] = &w, s.constant[src_recurrent_kernel] = &r;
          s.dst.assign(lstm_dst::count, ops::absent);
          if (asked & 1) s.dst[lstm_dst::y] = {DType::f32, {n.b, n.t, n.u}};
          if (asked & 2) s.dst[lstm_dst::h] = {DType::f32, {n.b, n.u}};
          if (asked & 4) s.dst[lstm_dst::c] = {DType::f32, {n.b, n.u}};
          return lstm(s, n.backwards);
        });
  });
}

}  // namespace dl4::dispatch::testing
