// Draws: the number of random draws of a model that assigns weights, as a weight that is saved with it.
#include "graph/draws.hpp"

namespace dl4::graph {
namespace {

struct Draws final : kinds::LayerOf<Draws> {
  static constexpr const char *doc =
      "The number of runs in which a model that assigns weights drew random numbers: made by the first assignment of a "
      "graph, and saved with its models.";

  static constexpr kinds::PlainFacts plain{
      .inputs = {}, .outputs = {{"count", "() int64"}}, .weights = {{"count", "() int64"}}};
  kinds::Arity arity() const override { return {0, 0}; }
  bool gives_weight() const override { return true; }
  std::vector<kinds::Symbol> call(kinds::Call &c) const override {
    return {{c.host.weight({.name = "count",
                            .shape = {},
                            .initializer = kinds::parse<kinds::Initializer>("Zeros"),
                            .regularizer = nullptr,
                            .constraint = nullptr,
                            .trainable = false,
                            .dtype = DType::i64})}};
  }
};

}  // namespace

bool is_draws(const kinds::Layer &kind) { return dynamic_cast<const Draws *>(&kind); }

}  // namespace dl4::graph

namespace dl4::kinds {
using graph::Draws;
DL4_KINDS(draws, Draws)
}  // namespace dl4::kinds
