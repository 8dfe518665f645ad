// GlobalAveragePooling2D: the mean of each channel.
#include "kinds/layers/pooling.hpp"

namespace dl4::kinds {
namespace {

struct GlobalAveragePooling2D : GlobalPooling<2> {
  static constexpr const char *name = "GlobalAveragePooling2D";
  static constexpr const char *doc = "The mean of each channel over the image.";
  static constexpr const char *aliases[] = {"GlobalAvgPool2D"};

  static auto fields() { return global_pooling_fields<GlobalAveragePooling2D>(); }

  std::vector<Symbol> call(Call &c) const override { return pooled(c, ops::Reduce::mean); }
};

}  // namespace
DL4_KIND(GlobalAveragePooling2D)
}  // namespace dl4::kinds
