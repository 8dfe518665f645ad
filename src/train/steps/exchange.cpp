#include "train/steps/exchange.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/float_mode.hpp"

namespace dl4::train {

void Exchange::make_room(const ops::Program &p) {
  for (const ops::Step &step : p.steps)
    if (const auto n = static_cast<size_t>(all_reduced(p, step) + 1); n > numbers_.size()) numbers_.resize(n);
}

bool Exchange::is_in(const ops::Program &p) {
  return std::ranges::any_of(p.steps, [&](const ops::Step &step) { return all_reduced(p, step) >= 0; });
}

void Exchange::begin() {
  done_ = 0;
  failed_ = false;
  broken_ = nullptr;
}

bool Exchange::make_without_mine(int64_t n, float failed) {
  std::fill_n(numbers_.begin(), n, 0.0f);
  return make(n, failed);
}

bool Exchange::make(int64_t n, float failed) {
  OwnFloats own;  // a function of the host
  numbers_[static_cast<size_t>(n)] = failed;
  try {
    workers_.sum(numbers_.data(), n + 1);
  } catch (const std::exception &) {
    broken_ = std::current_exception();
    return false;
  }
  ++done_;
  failed_ = numbers_[static_cast<size_t>(n)] > 0;
  return !failed_;
}

int32_t Exchange::sum(const float *from, float *to, int64_t n) {
  std::copy_n(from, n, numbers_.data());
  if (!make(n, 0)) return 1;
  if (to) std::copy_n(numbers_.data(), n, to);
  return 0;
}

void Exchange::join(const ops::Program &p) {
  for (const ops::Step &step : p.steps) {
    const int64_t n = all_reduced(p, step);
    if (n >= 0 && !make_without_mine(n, 0)) fail(Code::callback_failed, "a sum over all workers failed");
  }
}

void Exchange::end(const ops::Program &p, const std::exception_ptr &failure) {
  if (broken_) std::rethrow_exception(broken_);
  if (failed_) workers_.meet({});  // throws the other worker's error
  int64_t before = done_;
  for (const ops::Step &step : p.steps) {
    const int64_t n = all_reduced(p, step);
    if (n < 0 || before-- > 0) continue;
    make_without_mine(n, 1);
    std::rethrow_exception(broken_ ? broken_ : failure);
  }
}

}  // namespace dl4::train
