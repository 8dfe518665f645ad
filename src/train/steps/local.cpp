#include "train/steps/local.hpp"

#include <algorithm>
#include <iterator>

namespace dl4::train {

const Sums &Local::run(Task task, const Batch &b, const std::atomic<int32_t> *cancel) {
  t_.check(b, false);
  t_.get_ready(task);
  in_.clear();
  for (const auto *views : {&b.x, &b.y, &b.w})
    std::ranges::copy_if(*views, std::back_inserter(in_), [](const auto &v) { return !is_absent(v); });
  runtime::Executable &e = *t_.compiled(task == Task::step         ? routines::step
                                        : task == Task::accumulate ? routines::accumulate
                                                                   : routines::evaluate,
                                        b)
                                .executable;
  bind_outputs(e.program(), measured_.data());
  t_.in_step([&] { e.run(in_, out_, cancel); });
  t_.results.add_up(measured_.data(), static_cast<double>(b.size()), sums_);
  return sums_;
}

}  // namespace dl4::train
