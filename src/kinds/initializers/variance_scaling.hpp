// Initializers whose spread follows from how many values come in and go out (fans).
#pragma once

#include <vector>

#include "kinds/initializers/random.hpp"

namespace dl4::kinds {

enum class Fan { in, out, average };
enum class Distribution { truncated_normal, untruncated_normal, uniform };

class FanInitializer : public RandomInitializer {
 public:
  std::optional<std::vector<int64_t>> input_axes, output_axes;

 protected:
  // A variance of scale / fan.
  void fill_scaled(Tensor &t, const Seed &graph, double scale, Fan fan, Distribution distribution) const;
};

inline auto fan_fields() {
  return std::tuple{
      seed_field(),
      field("input_axes", &FanInitializer::input_axes)
          .otherwise(nullptr)
          .doc(
              "axes whose product is fan_in; with output_axes, in place of the rule for dense and convolution kernels"),
      field("output_axes", &FanInitializer::output_axes).otherwise(nullptr).doc("axes whose product is fan_out"),
  };
}

}  // namespace dl4::kinds
