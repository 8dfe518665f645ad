// Flatten: merges all axes but the batch.
#include "kinds/layer.hpp"
#include "kinds/layers/conv/data_format.hpp"
#include "kinds/layers/core/facts.hpp"

namespace dl4::kinds {
namespace {

struct Flatten : Layer {
  static constexpr const char *name = "Flatten";
  static constexpr const char *doc = "Joins all axes but the batch into one, in row-major order, the channels last.";
  DataFormat data_format;

  void fields(Fields &f) override { data_format.fields(f); }
  Facts facts() const override {
    static constexpr PlainFacts plain{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, N)"}}};
    return plain;
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    if (c.shape().rank() == 1) return {{ops::expand_dims(c.e, c.x(), -1)}};
    return {{ops::reshape(c.e, data_format.to_last(c.e, c.x()), 1, {free_dim})}};
  }
};

}  // namespace
DL4_KIND(Flatten)
}  // namespace dl4::kinds
