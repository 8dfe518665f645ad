// Means over batches.
#include "train/sums.hpp"

#include "base/float_mode.hpp"

namespace dl4::train {

void Sums::add(const Sums &o) {
  FlushToZero flush;
  if (total.empty()) {
    *this = o;
    return;
  }
  for (size_t i = 0; i < total.size(); ++i) {
    total[i] += o.total[i];
    count[i] += o.count[i];
  }
}

double Sums::mean(size_t i) const {
  FlushToZero flush;
  return count[i] == 0 ? 0 : total[i] / count[i];
}

std::vector<double> Sums::means() const {
  std::vector<double> m;
  for (size_t i = 0; i < total.size(); ++i) m.push_back(mean(i));
  return m;
}

}  // namespace dl4::train
