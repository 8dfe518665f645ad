// CTC loss: forward and backward through the states of a sequence.
//
// As in Keras on TensorFlow, a path that ends before the last label has probability 1e-307 instead of 0, and so has,
// for the gradient, one that starts after the first label. Labels with too few steps therefore cost some 707 instead of
// infinity.
#include "backend/cpu/kernels/recurrent/ctc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/math.hpp"

namespace dl4::kernels {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();
constexpr double unlikely = -706.893555;  // log(1e-307), as a float

double log_sum(double a, double b, double c = impossible) {
  const double most = std::max({a, b, c});
  if (most == impossible) return most;
  return most + math::log(math::exp(a - most) + math::exp(b - most) + math::exp(c - most));
}

// One sequence. States: state 0 is the start, state i + 1 is label i; then come the blanks, blank i before label i.
struct Sequence {
  int64_t steps, classes, labels, length;
  const float *logs;     // (steps, classes)
  const int32_t *label;  // (labels); the first `length` count

  int64_t states() const { return 2 * (labels + 1); }
  int64_t blank(int64_t i) const { return labels + 1 + i; }
  // bounded: an element of x
  double log_of(int64_t t, int64_t c) const { return static_cast<double>(logs[t * classes + c]); }
  // Whether label i may directly follow the one before it.
  bool follows(int64_t i) const { return i == 0 || label[i] != label[i - 1]; }

  // State log probabilities before step t + 1 from those before step t.
  void forward(int64_t t, const double *from, double *to) const {
    to[0] = impossible;
    for (int64_t i = 0; i <= labels; ++i) to[blank(i)] = log_sum(from[blank(i)], from[i]) + log_of(t, 0);
    for (int64_t i = 0; i < labels; ++i)
      to[i + 1] = log_sum(from[i + 1], from[blank(i)], follows(i) ? from[i] : impossible) + log_of(t, label[i]);
  }
  // Log probabilities of the rest of the sequence from each state, before step t from before step t + 1; may be in
  // place.
  void backward(int64_t t, const double *from, double *to) const {
    for (int64_t i = 0; i <= labels; ++i) {
      const double stay = i == 0 ? impossible : from[i] + log_of(t, label[i - 1]);
      const double blanks = from[blank(i)] + log_of(t, 0);
      const double next = i == labels ? impossible : from[i + 1] + log_of(t, label[i]);
      to[i] = log_sum(stay, blanks, i < labels && follows(i) ? next : impossible);
      to[blank(i)] = log_sum(blanks, next);
    }
  }
  void start(double *to) const {
    std::fill_n(to, states(), unlikely);
    to[0] = 0;
  }
  void end(double *to) const {
    std::fill_n(to, states(), unlikely);
    to[length] = to[blank(length)] = 0;
  }
  // For step t: each class's share of the probability, except for labels that are blanks.
  void share(const double *before, const double *after, double *sum, float *to) const {
    double all = impossible;
    for (int64_t s = 0; s < states(); ++s) all = log_sum(all, sum[s] = before[s] + after[s]);
    std::fill_n(to, classes, 0.0f);
    double blanks = 0;
    for (int64_t i = 0; i <= labels; ++i) blanks += math::exp(sum[blank(i)] - all);
    to[0] = static_cast<float>(blanks);
    for (int64_t i = 0; i < labels; ++i)
      if (label[i] > 0) to[label[i]] += static_cast<float>(math::exp(sum[i + 1] - all));
  }
};

}  // namespace

void ctc(const CtcSizes &sizes, const float *logs, const int32_t *labels, float *loss, float *share, double *scratch,
         Report *report) noexcept {
  Sequence s{sizes.steps, sizes.classes, sizes.labels, 0, logs, labels};
  for (int64_t k = 0; k < s.labels; ++k) {
    if (labels[k] < 0 || labels[k] >= s.classes) return report->raise(Fault::index_out_of_range, labels[k], s.classes);
    s.length += labels[k] != 0;
  }
  const int64_t n = s.states();
  double *before = scratch, *after = scratch + (s.steps + 1) * n;
  if (share) {
    s.start(before);
    for (int64_t t = 0; t < s.steps; ++t) s.forward(t, before + t * n, before + (t + 1) * n);
  }
  s.end(after);
  for (int64_t t = s.steps; t-- > 0;) {
    if (share) s.share(before + (t + 1) * n, after, after + n, share + t * s.classes);
    s.backward(t, after, after);
  }
  *loss = static_cast<float>(-after[0]);
}

}  // namespace dl4::kernels
