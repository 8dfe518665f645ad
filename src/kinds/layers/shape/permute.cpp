// Flatten, Permute and Transpose: axes joined, or in another order.
#include <algorithm>

#include "kinds/layer.hpp"
#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/core/facts.hpp"

namespace dl4::kinds {
namespace {

struct Flatten : LayerOf<Flatten> {
  static constexpr const char *doc = "Joins all axes but the batch into one, in row-major order, the channels last.";
  DataFormat data_format;

  void fields(Fields &f) override { data_format.fields(f); }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, N)"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    if (c.shape().rank() == 1) return {{ops::expand_dims(c.e, c.x(), -1)}};
    return {{ops::reshape(c.e, data_format.to_last(c.e, c.x()), 1, {free_dim})}};
  }
};

struct Permute : LayerOf<Permute> {
  static constexpr const char *doc = "The axes behind the batch in another order.";
  std::vector<int64_t> dims;

  void fields(Fields &f) override {
    f("dims", dims)
        .required("[2, 1]")
        .at_least(1)
        .doc("the input's axes, counted from 1, in the order of the output: [2, 1] swaps the first two");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, ...)"}}};
  void check() override {
    std::vector<int64_t> sorted = dims;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != static_cast<int64_t>(i) + 1)
        refuse_attribute("dims", "the set of indices must be consecutive and start from 1");
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(dims.size()) + 1);
    std::vector<int> perm{0};
    for (int64_t d : dims) perm.push_back(static_cast<int>(d));
    return {{ops::transpose(c.e, c.x(), std::move(perm))}};
  }
};

struct Transpose : LayerOf<Transpose> {
  static constexpr const char *keras = "numpy.Transpose";
  static constexpr const char *doc = "The axes in another order, the batch included: keras.ops.transpose.";
  std::optional<std::vector<int64_t>> perm;

  void fields(Fields &f) override {
    f("perm", perm)
        .example("[0, 2, 1]")
        .doc("the input's axes, counted from 0, in the order of the output; null reverses them");
  }
  static constexpr PlainFacts plain{.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}};

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
        refuse_attribute("perm", "expected every axis once");
    }
    return {{ops::transpose(c.e, c.x(), std::move(order))}};
  }
};

}  // namespace
DL4_KINDS(permute, Flatten, Permute, Transpose)
}  // namespace dl4::kinds
