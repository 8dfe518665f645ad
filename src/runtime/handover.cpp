// Decides when the crew helps.
#include "runtime/handover.hpp"

#include <algorithm>
#include <numeric>

namespace dl4::runtime {
namespace {

// Nanoseconds: a longer phase gains from help unless a helper stalls, which the measurement shows.
constexpr double small = 5e4;
constexpr double twice = 5e6;   // a run of less is tried alone twice: its data may have been in the other cores' caches
constexpr double gain = 0.97;   // smaller savings are not worth another core
constexpr double outlier = 16;  // a stall of any length counts as so many runs
constexpr double weight = 1.0 / 16;
constexpr double recheck = 1e8, recheck_first = 1e9, shortest_wait = 1e6, usual_wait = 1e9, longest_wait = 6e10;
constexpr double stall_share = 20;  // a stalled trial may take 1 / stall_share of the time
constexpr double uneven = 1.5;      // times the shortest run: a helper may have stalled

}  // namespace

void Handover::try_out(bool helped, int runs) {
  helped_ = helped;
  trial_ = runs;
  (helped ? helped_cost_ : alone_) = unknown;
}

void Handover::try_alone(double large) {
  try_out(false, helped_cost_ < large ? trial_runs : helped_cost_ < twice ? 2 : 1);
}

void Handover::leave_alone(double at_least) {
  wait_ = std::clamp(at_least, std::min(wait_ + wait_, usual_wait), longest_wait);
}

void Handover::note(double spent, double phases) {
  const double large = small * phases;
  if (!trial_ && !helped_) {
    alone_ = std::midpoint(alone_, std::min(spent, alone_ + alone_));
    return try_out(true, trial_runs);
  }
  if (!trial_) {
    helped_cost_ += weight * (std::min(spent, outlier * helped_cost_) - helped_cost_);
    left_ -= spent;
    // A large step has not been run alone yet. That takes longer than usual, so it is not tried in a program's first
    // runs.
    if (alone_ == unknown && (left_ <= 0 || spent > uneven * helped_cost_)) return try_alone(large);
    const bool slower = helped_cost_ >= gain * alone_;
    if (slower) leave_alone(spent - alone_);
    if (left_ <= 0) {
      wait_ = std::max(wait_ / 2, shortest_wait);
      left_ = recheck;
      if (helped_cost_ < large) return try_out(false, trial_runs);
    }
    if (slower) try_alone(large);  // measures the cost under the current load
    return;
  }
  double &cost = helped_ ? helped_cost_ : alone_;
  const bool stalled = helped_ && spent > outlier * alone_;
  // The first of several runs wakes the helpers and warms the caches, so it does not count.
  if (stalled || trial_ < trial_runs) cost = stalled ? spent : std::min(cost, spent);
  if (!stalled && --trial_) return;
  trial_ = 0;
  if (alone_ == unknown && helped_cost_ < large) return try_out(false, trial_runs);
  if (alone_ == unknown) {
    left_ = std::min(stall_share * helped_cost_, recheck_first);
    return;
  }
  const bool in_vain = helped_ && helped_cost_ >= gain * alone_;
  if (in_vain) leave_alone(stall_share * (spent - alone_));
  helped_ = helped_cost_ < gain * alone_;
  left_ = helped_ ? recheck : wait_;
}

}  // namespace dl4::runtime
