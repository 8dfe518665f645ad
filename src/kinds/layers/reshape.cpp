// Reshape: other axes behind the batch, the same elements.
#include <algorithm>

#include "kinds/layer.hpp"
#include "kinds/layers/facts.hpp"

namespace dl4::kinds {
namespace {

struct Reshape : Layer {
  static constexpr const char *name = "Reshape";
  static constexpr const char *doc = "The same elements with other axes behind the batch.";
  std::vector<int64_t> target_shape;

  static auto fields() {
    return std::tuple{field("target_shape", &Reshape::target_shape)
                          .required()
                          .at_least(-1)
                          .at_most(max_dim)
                          .doc("the axes behind the batch; one may be -1: what is left")};
  }
  static Json more() { return Facts{.inputs = {{"x", "(B, ...)"}}, .outputs = {{"y", "(B, *target_shape)"}}}.json(); }
  void check() const {
    if (std::count(target_shape.begin(), target_shape.end(), free_dim) > 1)
      throw Error(Code::invalid_argument, "\"target_shape\": there must be at most one unknown dimension (-1)")
          .with("attribute", "target_shape");
    Shape limits(target_shape);
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank_from(0, 1);
    return {{ops::reshape(c.e, c.x(), 1, Shape(target_shape))}};
  }
};

}  // namespace
DL4_KIND(Reshape)
}  // namespace dl4::kinds
