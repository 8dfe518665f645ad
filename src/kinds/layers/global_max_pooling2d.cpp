// GlobalMaxPooling2D: the largest value of each channel.
#include "kinds/layers/pooling.hpp"

namespace dl4::kinds {
namespace {

struct GlobalMaxPooling2D : GlobalPooling<2> {
  static constexpr const char *name = "GlobalMaxPooling2D";
  static constexpr const char *doc = "The largest value of each channel over the image.";
  static constexpr const char *aliases[] = {"GlobalMaxPool2D"};

  static auto fields() { return global_pooling_fields<GlobalMaxPooling2D>(); }

  std::vector<Symbol> call(Call &c) const override { return pooled(c, ops::Reduce::max); }
};

}  // namespace
DL4_KIND(GlobalMaxPooling2D)
}  // namespace dl4::kinds
