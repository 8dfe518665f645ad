// Crossentropy: resolves Keras's "crossentropy" and "ce".
#include "kinds/loss.hpp"
#include "kinds/targets.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

struct Crossentropy : Loss {
  static constexpr bool has_mean = false;
  static constexpr const char *doc =
      "by the shapes: BinaryCrossentropy for one output a sample, SparseCategoricalCrossentropy for class numbers, "
      "else CategoricalCrossentropy";
  static constexpr const char *aliases[] = {"ce"};

  void fields(Fields &f) override { Loss::fields(f); }
  Shape target_shape(const Shape &prediction, const Shape &target) const override {
    return chosen(target, prediction)->target_shape(prediction, target);
  }
  Items items(Emit &e, Id y_true, Id y_pred) const override {
    return chosen(e.shape(y_true), e.shape(y_pred))->items(e, y_true, y_pred);
  }

 private:
  static Of<Loss> chosen(const Shape &y_true, const Shape &y_pred) {
    static constexpr const char *names[] = {"BinaryCrossentropy", "CategoricalCrossentropy",
                                            "SparseCategoricalCrossentropy"};
    return parse<Loss>(names[static_cast<size_t>(targets_for(y_true, y_pred))]);
  }
};

}  // namespace

DL4_KINDS(crossentropy, Crossentropy)

}  // namespace dl4::kinds
