// Identity.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/field.hpp"
#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

struct Identity : Initializer {
  static constexpr const char *name = "Identity";
  static constexpr const char *doc = "gain on the diagonal of a matrix, 0 elsewhere";
  static constexpr const char *aliases[] = {"IdentityInitializer"};
  double gain = 1;
  void fields(Fields &f) override { f("gain", gain).doc("value on the diagonal"); }
  void fill(Tensor &t, const Seed &) const override {
    if (t.shape.rank() != 2)
      fail(Code::shape_mismatch, "initializer Identity: expected a weight of rank 2, got shape ", t.shape);
    std::fill_n(t.as<float>(), t.elements(), 0.0f);
    for (int64_t i = 0; i < std::min(t.shape[0], t.shape[1]); ++i)
      t.as<float>()[i * t.shape[1] + i] = static_cast<float>(gain);
  }
};

}  // namespace

DL4_KIND(Identity)

}  // namespace dl4::kinds
