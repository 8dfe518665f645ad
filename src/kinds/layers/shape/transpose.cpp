// Transpose: reorders all axes, including the batch.
#include <algorithm>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Transpose : Layer {
  static constexpr const char *name = "Transpose";
  static constexpr const char *keras = "numpy.Transpose";
  static constexpr const char *doc = "The axes in another order, the batch included: keras.ops.transpose.";
  std::optional<std::vector<int64_t>> perm;

  void fields(Fields &f) override {
    f("perm", perm)
        .example("[0, 2, 1]")
        .doc("the input's axes, counted from 0, in the order of the output; null reverses them");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    int rank = c.shape().rank();
    std::vector<int> order, sorted;
    for (int i = 0; i < rank; ++i) sorted.push_back(i);
    if (!perm) {
      order.assign(sorted.rbegin(), sorted.rend());
    } else {
      c.need_rank(0, static_cast<int>(perm->size()));
      for (int64_t axis : *perm) order.push_back(c.shape().axis(axis));
      if (!std::is_permutation(order.begin(), order.end(), sorted.begin()))
        throw Error(Code::invalid_argument, "\"perm\": expected every axis once").with("attribute", "perm");
    }
    return {{ops::transpose(c.e, c.x(), std::move(order))}};
  }
};

}  // namespace
DL4_KIND(Transpose)
}  // namespace dl4::kinds
