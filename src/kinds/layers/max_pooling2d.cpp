// MaxPooling2D: the largest value of each window.
#include "kinds/layers/pooling.hpp"

namespace dl4::kinds {
namespace {

struct MaxPooling2D : Pooling2D {
  static constexpr const char *name = "MaxPooling2D";
  static constexpr const char *doc = "The largest value of each window, channel by channel.";
  static constexpr const char *aliases[] = {"MaxPool2D"};

  static auto fields() { return pooling_fields<MaxPooling2D>(2); }

  std::vector<Symbol> call(Call &c) const override { return pooled(c, false); }
};

}  // namespace
DL4_KIND(MaxPooling2D)
}  // namespace dl4::kinds
