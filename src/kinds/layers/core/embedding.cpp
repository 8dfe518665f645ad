// Embedding, ReversibleEmbedding: rows of a table by number.
#include "base/error.hpp"
#include "kinds/constraint.hpp"
#include "kinds/initializer.hpp"
#include "kinds/layers/core/masks.hpp"
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
    f("input_dim", input_dim)
        .required("7")
        .at_least(1)
        .at_most(max_dim)
        .doc("rows of the table: the largest id plus 1");
    f("output_dim", output_dim).required("3").at_least(1).at_most(max_dim).doc("size of a row");
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

  bool by_step(int) const override { return true; }
  std::vector<Symbol> call(Call &c) const override {
    ops::Id table = c.weight("embeddings", {input_dim, output_dim}, embeddings_initializer, embeddings_regularizer,
                             embeddings_constraint);
    ops::Id y = ops::gather(c.e, table, c.x());
    c.penalize(activity_regularizer, y);
    if (!mask_zero) return {{y}};
    return {{y, ops::binary(c.e, ops::Binary::not_equal, c.x(), c.e.scalar(0, c.e.dtype(c.x())))}};
  }
};

struct ReversibleEmbedding final : Embedding {
  static constexpr const char *name = "ReversibleEmbedding";
  static constexpr const char *doc =
      "An Embedding that also leads back: called with reverse, it multiplies vectors by the table, or by a weight of "
      "its own, to a score of each id.";
  bool tie_weights = true;
  enum class ReverseType { float32, none } reverse_dtype = ReverseType::none;
  std::optional<double> logit_soft_cap;

  void fields(Fields &f) override {
    Embedding::fields(f);
    f("tie_weights", tie_weights).doc("whether the way back uses the table itself");
    f("reverse_dtype", reverse_dtype, {"float32"})
        .null_means(ReverseType::none)
        .among_others()
        .doc("type of the way back; null: the layer's");
    f("logit_soft_cap", logit_soft_cap).doc("scores s become cap * tanh(s / cap); null: as they are");
  }
  void check() override {
    if (logit_soft_cap == 0.0)
      throw Error(Code::invalid_argument, "\"logit_soft_cap\": expected another number than 0")
          .with("attribute", "logit_soft_cap");
  }
  Facts facts() const override {
    return {.inputs = {{"x", "(B, ...), integers; with reverse (B, ..., output_dim)"}},
            .outputs = {{"y", "(B, ..., output_dim); with reverse (B, ..., input_dim)"}},
            .weights = {{"embeddings", "(input_dim, output_dim)"},
                        {"reverse_embeddings", "(output_dim, input_dim)", "not tie_weights"}},
            .arguments = {{"reverse", "bool", "from vectors to scores of ids"}},
            .mask = "made with mask_zero and without reverse, else dropped"};
  }

  std::vector<Symbol> call(Call &c) const override {
    const bool reverse = c.flag("reverse", false);
    std::vector<Symbol> y;
    ops::Id table = ops::none;
    if (reverse)
      table = c.weight("embeddings", {input_dim, output_dim}, embeddings_initializer, embeddings_regularizer,
                       embeddings_constraint);
    else
      y = Embedding::call(c);
    if (!tie_weights) {
      ops::Id own = c.weight("reverse_embeddings", {output_dim, input_dim}, embeddings_initializer);
      if (reverse) table = own;
    }
    if (!reverse) return y;
    c.need_rank_from(0, 2);
    c.need_float(0);
    ops::Id scores = ops::matmul(c.e, c.x(), table, {.transpose_b = tie_weights});
    if (logit_soft_cap) {
      const auto cap = static_cast<float>(*logit_soft_cap);
      scores = ops::scale(c.e, ops::unary(c.e, ops::Unary::tanh, ops::div(c.e, scores, c.e.scalar(cap))), cap);
    }
    c.penalize(activity_regularizer, scores);
    return {{scores}};
  }
};

}  // namespace
DL4_KIND(Embedding)
DL4_KIND(ReversibleEmbedding)
}  // namespace dl4::kinds
