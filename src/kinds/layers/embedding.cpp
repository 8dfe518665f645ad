// Embedding: rows of a table by number.
#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layers/masks.hpp"
#include "kinds/regularizer.hpp"

namespace dl4::kinds {
namespace {

struct Embedding : Layer {
  static constexpr const char *name = "Embedding";
  static constexpr const char *doc =
      "Rows of a learned table by their number. An id outside [0, input_dim) is an error of the run.";
  int64_t input_dim = 0, output_dim = 0;
  Of<Initializer> embeddings_initializer = parse<Initializer>("RandomUniform");
  Of<Regularizer> embeddings_regularizer, activity_regularizer;
  Of<Constraint> embeddings_constraint;
  bool mask_zero = false;

  void fields(Fields &f) override {
    f("input_dim", input_dim).required().at_least(1).at_most(max_dim).doc("rows of the table: the largest id plus 1");
    f("output_dim", output_dim).required().at_least(1).at_most(max_dim).doc("size of a row");
    f("embeddings_initializer", embeddings_initializer).doc("fills the table at the start");
    f("embeddings_regularizer", embeddings_regularizer).doc("penalty on the table, added to the loss");
    f("activity_regularizer", activity_regularizer)
        .doc("penalty on the output divided by the batch size, added to the loss");
    f("embeddings_constraint", embeddings_constraint).doc("applied to the table after every update");
    f("mask_zero", mask_zero).doc("id 0 is padding: its places are masked");
  }
  Facts facts() const override {
    return {.inputs = {{"ids", "(B, ...), integers"}},
            .outputs = {{"y", "(B, ..., output_dim)"}},
            .weights = {{"embeddings", "(input_dim, output_dim)"}},
            .mask = "made with mask_zero, else dropped"};
  }

  std::vector<Symbol> call(Call &c) const override {
    ops::Id table = c.weight("embeddings", {input_dim, output_dim}, embeddings_initializer, embeddings_regularizer,
                             embeddings_constraint);
    ops::Id y = ops::gather(c.e, table, c.x());
    c.penalize(activity_regularizer, y);
    if (!mask_zero) return {{y}};
    return {{y, ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
  }
};

}  // namespace
DL4_KIND(Embedding)
}  // namespace dl4::kinds
