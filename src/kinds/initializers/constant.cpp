// Initializers without random numbers.
#include <algorithm>

#include "base/error.hpp"
#include "kinds/field.hpp"
#include "kinds/initializer.hpp"
#include "kinds/nested_numbers.hpp"

namespace dl4::kinds {
namespace {

struct Constant final : Initializer {
  struct Row : Entry {
    double value;
    bool given = false;  // set by the user
  };

  explicit Constant(const Row &row) : row(row), value{{Shape{}, {row.value}}} {}
  const Row &row;
  Filling value;

  void fields(Fields &f) override {
    if (row.given) f("value", value).doc("of every element, or an array that broadcasts to the weight");
  }
  void fill(Tensor &t, const Seed &) const override {
    const Shape &from = value.shape, &to = t.shape;
    bool fits = from.rank() <= to.rank();
    for (int i = 1; fits && i <= from.rank(); ++i) fits = from[-i] == 1 || from[-i] == to[-i];
    if (!fits) fail(Code::shape_mismatch, "initializer Constant: values of shape ", from, " do not broadcast to ", to);
    for (int64_t i = 0; i < to.elements(); ++i) {
      int64_t at = 0, step = 1, rest = i;
      for (int axis = 1; axis <= from.rank(); ++axis) {
        if (from[-axis] != 1) at += rest % to[-axis] * step;
        rest /= to[-axis];
        step *= from[-axis];
      }
      t.as<float>()[i] = static_cast<float>(value.values[static_cast<size_t>(at)]);
    }
  }
};

constexpr Constant::Row constants[] = {
    {row_of<Constant>("Zeros", "all 0", "zero"), 0},
    {row_of<Constant>("Ones", "all 1", "one"), 1},
    {row_of<Constant>("Constant", "all the same value"), 0, true},
};

struct Identity : Initializer {
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
DL4_TABLE(Constants, constants)
DL4_KINDS(constant, Identity)
}  // namespace dl4::kinds
