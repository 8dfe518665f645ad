// Zeros, Ones, Constant.
#include <algorithm>
#include <array>

#include "kinds/field.hpp"
#include "kinds/initializer.hpp"

namespace dl4::kinds {
namespace {

struct Constant final : Initializer {
  struct Row : Entry {
    double value;
    bool given = false;  // by the user
  };

  explicit Constant(const Row &row) : row(row), value(row.value) {}
  const Row &row;
  double value;

  void fields(Fields &f) override {
    if (row.given) f("value", value).doc("of every element");
  }
  void fill(Tensor &t, const Seed &) const override {
    std::fill_n(t.as<float>(), t.elements(), static_cast<float>(value));
  }
};

const std::array<Constant::Row, 3> &constants() {
  static const std::array<Constant::Row, 3> rows{{
      {{"initializer", "Zeros", "all 0", fresh<Constant>, {"zero"}}, 0},
      {{"initializer", "Ones", "all 1", fresh<Constant>, {"one"}}, 1},
      {{"initializer", "Constant", "all the same value", fresh<Constant>}, 0, true},
  }};
  return rows;
}

}  // namespace

DL4_KINDS(Constants, constants())

}  // namespace dl4::kinds
