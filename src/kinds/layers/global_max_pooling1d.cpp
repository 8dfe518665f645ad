// GlobalMaxPooling1D: the largest value of each channel.
#include "kinds/layers/pooling.hpp"

namespace dl4::kinds {
namespace {

struct GlobalMaxPooling1D : GlobalPooling<1> {
  static constexpr const char *name = "GlobalMaxPooling1D";
  static constexpr const char *doc = "The largest value of each channel over time.";
  static constexpr const char *aliases[] = {"GlobalMaxPool1D"};

  static auto fields() { return global_pooling_fields<GlobalMaxPooling1D>(); }

  std::vector<Symbol> call(Call &c) const override { return pooled(c, ops::Reduce::max); }
};

}  // namespace
DL4_KIND(GlobalMaxPooling1D)
}  // namespace dl4::kinds
