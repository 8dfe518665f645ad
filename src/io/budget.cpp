#include "io/budget.hpp"

#include <algorithm>

#include "graph/architecture.hpp"
#include "graph/graph.hpp"

namespace dl4::io {
namespace {

constexpr int64_t free_bytes = int64_t{1} << 28, times_the_file = 16, times_given_back = 4;

}  // namespace

Budget budget_for(const graph::Settings &settings, int64_t file_bytes) {
  if (settings.limited) return Budget(settings.memory_limit);
  Budget b(std::min(free_bytes, settings.memory_limit));
  b.most_ = settings.memory_limit;
  b.add_file(file_bytes);
  return b;
}

void Budget::add_file(int64_t bytes) {
  const int64_t more = std::clamp<int64_t>(most_ - whole_, 0, checked_mul(bytes, times_the_file));
  whole_ += more, left_ += more;
}

void Budget::give_back(int64_t bytes) {
  const int64_t most = whole_ > INT64_MAX / times_given_back ? INT64_MAX : times_given_back * whole_;
  bytes = std::min(bytes, most - given_back_);
  left_ += bytes, given_back_ += bytes;
}

void take_layers(Budget &budget, const graph::Architecture &a) {
  size_t n = a.layers.size();
  for (const auto &l : a.layers) n += l.calls.size();
  budget.take(checked_mul(static_cast<int64_t>(n), layer_bytes), n, " layers and calls");
}

}  // namespace dl4::io
