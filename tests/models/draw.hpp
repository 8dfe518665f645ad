// Small numbers for the nets of this folder, the same on every machine.
#pragma once

#include <dl4/dl4.hpp>
#include <random>

namespace models {

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int32_t below(int64_t n) { return static_cast<int32_t>(random_() % static_cast<uint64_t>(n)); }
  float real(float low = -1, float high = 1) {
    return low + (high - low) * static_cast<float>(random_()) / static_cast<float>(std::mt19937::max());
  }
  dl4::Tensor reals(const dl4::Dims &dims, float low = -1, float high = 1) {
    dl4::Tensor t = dl4::Tensor::zeros(dims);
    for (float &v : t.data()) v = real(low, high);
    return t;
  }

 private:
  std::mt19937 random_;
};

inline dl4::Attrs options(const char *json) { return dl4::Attrs::json(json); }

// A layer that is this model, its weights shared.
inline dl4::Attrs model_as_layer(const dl4::Model &m) { return dl4::Attrs().model("model", m); }

inline std::vector<float> values(const dl4::Tensor &t) { return {t.data().begin(), t.data().end()}; }

}  // namespace models
