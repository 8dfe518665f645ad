#include "train/averages.hpp"

#include <algorithm>

namespace dl4::train {

void Averages::take() {
  if (!kept() || t_.state.count(kept::iterations) == 0) return;
  t_.make_writable();
  std::ranges::copy(t_.state.per_weight(kept::average, 0).memory(), t_.state.parameters.block().data.get());
}

void Averages::swap() {
  if (!kept())
    fail(Code::invalid_argument, "there are no averages of the weights: the optimizer has \"use_ema\" false");
  if (t_.state.count(kept::iterations) == 0) return;
  t_.make_writable();
  std::ranges::swap_ranges(t_.state.per_weight(kept::average, 0).memory(), t_.state.parameters.block().memory());
}

void Averages::settle() {
  if (!kept()) return;
  t_.follow();
  t_.state.parameters.collect();
  std::ranges::copy(t_.state.parameters.block().memory(), t_.state.per_weight(kept::average, 0).data.get());
}

}  // namespace dl4::train
