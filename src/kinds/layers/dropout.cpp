// Dropout: random zeros in training.
#include "kinds/layers/dropping.hpp"

namespace dl4::kinds {
namespace {

struct Dropout : Layer {
  static constexpr const char *name = "Dropout";
  static constexpr const char *doc =
      "In training, sets values to 0 with probability rate and scales the others by 1 / (1 - rate).";
  double rate = 0;
  std::optional<std::vector<std::optional<int64_t>>> noise_shape;
  std::optional<int64_t> seed;

  void fields(Fields &f) override {
    f("rate", rate).required().at_least(0).at_most(1).doc("the fraction to drop");
    f("noise_shape", noise_shape)
        .at_least(1)
        .at_most(max_dim)
        .doc("shape of the random mask, batch included: null = as the input, 1 = one draw for the whole axis");
    f("seed", seed).doc("seed of its own; null = from the context's");
  }
  Facts facts() const override {
    return {.inputs = {{"x", "(...)"}}, .outputs = {{"y", "(...)"}}, .mask = "passed on"};
  }

  std::vector<Symbol> call(Call &c) const override {
    c.need_float(0);
    if (!noise_shape) return {{dropped(c, c.x(), rate, seed), c.mask()}};
    ops::Id keep = noise(c);
    return {{keep == ops::none ? c.x() : ops::mul(c.e, c.x(), keep), c.mask()}};
  }

 private:
  ops::Id noise(Call &c) const {
    const Shape s = c.shape();
    if (noise_shape->size() != static_cast<size_t>(s.rank()))
      fail(Code::shape_mismatch, "\"noise_shape\": expected ", s.rank(), " dims as the input has, got ",
           noise_shape->size());
    ops::Id like = c.x();
    Shape shape = s;
    for (int i = 0; i < s.rank(); ++i) {
      int64_t dim = (*noise_shape)[static_cast<size_t>(i)].value_or(s[i]);
      if (dim != 1 && s[i] != free_dim && dim != s[i])
        fail(Code::shape_mismatch, "\"noise_shape\": expected null, 1 or ", s[i], " for axis ", i, ", got ", dim);
      shape = shape.with(i, dim);
    }
    int first = 0;
    while (first < s.rank() && shape[first] == s[first]) ++first;
    Shape tail = shape.last(s.rank() - first);
    if (tail.known()) return keep_mask(c, rate, seed, like, first, tail);
    // A free axis behind a shared one: a value of that shape says how long it is.
    for (int i = first; i < s.rank(); ++i)
      if (shape[i] == 1 && s[i] != 1) like = ops::slice(c.e, like, i, 0, 1);
    return keep_mask(c, rate, seed, like, s.rank(), {});
  }
};

}  // namespace
DL4_KIND(Dropout)
}  // namespace dl4::kinds
