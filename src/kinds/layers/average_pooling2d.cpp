// AveragePooling2D: the mean of each window.
#include "kinds/layers/pooling.hpp"

namespace dl4::kinds {
namespace {

struct AveragePooling2D : Pooling2D {
  static constexpr const char *name = "AveragePooling2D";
  static constexpr const char *doc =
      "The mean of each window, channel by channel, over the places that lie inside the image.";
  static constexpr const char *aliases[] = {"AvgPool2D"};

  static auto fields() { return pooling_fields<AveragePooling2D>(nullptr); }

  std::vector<Symbol> call(Call &c) const override { return pooled(c, true); }
};

}  // namespace
DL4_KIND(AveragePooling2D)
}  // namespace dl4::kinds
