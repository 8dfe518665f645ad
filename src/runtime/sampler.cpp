// Weights are integers, so sums are exact in any order.
#include "runtime/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/math.hpp"
#include "base/rng.hpp"

namespace dl4::runtime {
namespace {

constexpr double one = 4294967296.0;  // the largest weight: sums of 2^31 weights fit into 64 bits

bool likelier(const auto &a, const auto &b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

}  // namespace

Sampler::Sampler(int64_t rows, int64_t seed) : count_(rows), state_(make_tensor(DType::i64, Shape{rows, 3})) {
  this->seed(seed);
}

Sampler Sampler::fork() const {
  Sampler other(count_, 0);
  std::ranges::copy(rows(), other.rows().begin());
  return other;
}

void Sampler::seed(int64_t seed) {
  for (Row &r : rows()) r = {seed, 0, -1};
}

void Sampler::reset() {
  for (int64_t i = 0; i < count_; ++i) reset(i);
}

void Sampler::reset(int64_t row) {
  Row &r = rows()[static_cast<size_t>(row)];
  r = {r.seed, 0, -1};
}

void Sampler::draw(std::span<const float> logits, const Sampling &how, std::span<int64_t> ids) {
  const size_t n = logits.size() / static_cast<size_t>(count_);
  drawn_.clear();
  for (size_t r = 0; r < ids.size(); ++r)
    drawn_.push_back(draw_row(r, logits.subspan(r * n, n), how));  // bounded: of logits
  std::ranges::copy(drawn_, ids.begin());
  for (size_t r = 0; r < ids.size(); ++r) {
    Row &row = rows()[r];
    if (row.ended >= 0) continue;
    ++row.drawn;
    if (std::ranges::find(how.stop, ids[r]) != how.stop.end()) row.ended = ids[r];
  }
}

int64_t Sampler::draw_row(size_t row, std::span<const float> logits, const Sampling &how) {
  const Row &state = rows()[row];
  if (state.ended >= 0) return state.ended;
  candidates_.clear();
  candidates_.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const double given = static_cast<double>(logits[i]);
    const bool fits = how.from_logits ? given < HUGE_VAL : given >= 0 && given < HUGE_VAL;
    if (!fits)
      fail(Code::numeric, how.from_logits ? "logit " : "probability ", i, " of sequence ", row, " is ", logits[i]);
    const double logit = how.from_logits ? given : given > 0 ? math::log(given) : -HUGE_VAL;
    if (logit > -HUGE_VAL) candidates_.push_back({logit, static_cast<int64_t>(i), 0});
  }
  if (candidates_.empty()) fail(Code::invalid_argument, "sequence ", row, ": no id may be drawn, all are excluded");
  const auto less = [](const Candidate &a, const Candidate &b) { return likelier(a, b); };
  const Candidate best = *std::ranges::min_element(candidates_, less);
  if (how.temperature == 0 || how.top_k == 1) return best.id;
  if (how.top_k > 0 && static_cast<size_t>(how.top_k) < candidates_.size()) {
    const auto end = candidates_.begin() + how.top_k;
    std::ranges::nth_element(candidates_, end, less);
    candidates_.erase(end, candidates_.end());
    std::ranges::sort(candidates_, less);
  }
  uint64_t total = 0;
  for (Candidate &c : candidates_) {
    c.weight = static_cast<uint64_t>(math::exp((c.logit - best.logit) / how.temperature) * one + 0.5);
    total += c.weight;
  }
  keep_top_p(total, how);
  const PhiloxBlock words = philox({static_cast<uint64_t>(state.seed), row}, static_cast<uint64_t>(state.drawn));
  uint64_t high = words[0], low = words[1];
  // at = total * (high * 2^32 + low) / 2^64, in halves.
  const uint64_t t1 = total >> 32, t0 = total & 0xFFFFFFFFu;
  const uint64_t middle = t1 * low + ((t0 * low) >> 32);      // bounded: of numbers of 32 bits
  const uint64_t other = t0 * high + (middle & 0xFFFFFFFFu);  // bounded: the same
  uint64_t at = t1 * high + (middle >> 32) + (other >> 32);   // bounded: the same
  for (const Candidate &c : candidates_) {
    if (at < c.weight) return c.id;
    at -= c.weight;
  }
  return best.id;  // unreachable: at is below the sum
}

// Keeps the likeliest ids whose weights reach top_p of the sum; sorts in parts, since they are usually few.
void Sampler::keep_top_p(uint64_t &total, const Sampling &how) {
  if (how.top_p >= 1) return;
  const auto less = [](const Candidate &a, const Candidate &b) { return likelier(a, b); };
  const auto enough = static_cast<uint64_t>(std::ceil(how.top_p * static_cast<double>(total)));
  uint64_t sum = 0;
  for (size_t done = 0, next = 64; done < candidates_.size(); done = next, next *= 4) {  // bounded: by the one before
    next = std::min(next, candidates_.size());
    const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(done);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(next);
    if (end != candidates_.end()) std::nth_element(begin, end, candidates_.end(), less);
    std::sort(begin, end, less);
    for (auto c = begin; c != end; ++c) {
      sum += c->weight;
      if (sum < enough) continue;
      candidates_.erase(c + 1, candidates_.end());
      total = sum;
      return;
    }
  }
}

}  // namespace dl4::runtime
