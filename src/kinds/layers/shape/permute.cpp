// Permute: reorders the axes after the batch.
#include <algorithm>

#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct Permute : Layer {
  static constexpr const char *name = "Permute";
  static constexpr const char *doc = "The axes behind the batch in another order.";
  std::vector<int64_t> dims;

  void fields(Fields &f) override {
    f("dims", dims)
        .required("[2, 1]")
        .at_least(1)
        .doc("the input's axes, counted from 1, in the order of the output: [2, 1] swaps the first two");
  }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, ...)"}}};
    return plain;
  }
  void check() override {
    std::vector<int64_t> sorted = dims;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int64_t>(i) + 1)
        throw Error(Code::invalid_argument, "\"dims\": the set of indices must be consecutive and start from 1")
            .with("attribute", "dims");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(dims.size()) + 1);
    std::vector<int> perm{0};
    for (int64_t d : dims) perm.push_back(static_cast<int>(d));
    return {{ops::transpose(c.e, c.x(), std::move(perm))}};
  }
};

}  // namespace
DL4_KIND(Permute)
}  // namespace dl4::kinds
