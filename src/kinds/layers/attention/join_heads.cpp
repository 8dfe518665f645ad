// JoinHeads: combines the outputs of several attentions.
#include "kinds/initializer.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

struct JoinHeads : LayerOf<JoinHeads> {
  static constexpr const char *doc = "Heads of one shape as one output. Not a layer of Keras.";
  enum class Join { concat, mean, max, vector, matrices } join = Join::concat;
  Of<Initializer> kernel_initializer = parse<Initializer>("GlorotUniform");

  void fields(Fields &f) override {
    f("join", join, {"concat", "mean", "max", "vector", "matrices"})
        .doc(
            "\"concat\": one behind the other; \"mean\", \"max\": of each feature; \"vector\": the sum with a weight "
            "for each head; \"matrices\": the sum of each head times a matrix of its own");
    f("kernel_initializer", kernel_initializer).doc("fills the weights at the start");
  }
  static constexpr PlainFacts plain{
      .inputs = {{"heads", "(..., V) each"}},
      .outputs = {{"y", "(..., V), with join=concat (..., H V)"}},
      .weights = {{"head_vector", "(H)", "join=vector"}, {"head_matrices", "(H, V, V)", "join=matrices"}},
      .mask = "the first input's is passed on"};
  Arity arity() const override { return {1, any_number}; }

  std::vector<Symbol> call(Call &c) const override {
    ops::Emit &e = c.e;
    const auto heads = static_cast<int64_t>(c.in.size());
    std::vector<Id> each;
    for (int i = 0; i < static_cast<int>(heads); ++i) {
      c.need_float(i);
      c.need_rank_from(i, 2);
      if (!compatible(c.shape(i), c.shape(0)))
        fail(Code::shape_mismatch, "expected heads of one shape, got ", c.shape(0), " and ", c.shape(i));
      each.push_back(c.x(i));
    }
    const Id mask = c.mask();
    const int64_t size = c.last_dim();
    if (join == Join::concat) return {{ops::concat(e, each, -1), mask}};
    if (join == Join::matrices) {  // one product over the features of all heads
      Id w = c.weight("head_matrices", {heads, size, size}, kernel_initializer);
      return {
          {ops::matmul(e, ops::concat(e, each, -1), ops::reshape(e, w, 0, {checked_mul(heads, size), size})), mask}};
    }
    for (Id &x : each) x = ops::expand_dims(e, x, -1);
    Id all = ops::concat(e, each, -1);  // (..., V, H)
    if (join == Join::vector) {
      Id w = c.weight("head_vector", {heads}, kernel_initializer);
      return {{ops::reduce(e, ops::Reduce::sum, ops::mul(e, all, w), {-1}), mask}};
    }
    return {{ops::reduce(e, join == Join::mean ? ops::Reduce::mean : ops::Reduce::max, all, {-1}), mask}};
  }
};

}  // namespace
DL4_KINDS(join_heads, JoinHeads)
}  // namespace dl4::kinds
