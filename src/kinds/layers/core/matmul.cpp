// MatMul: the product of two inputs.
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

struct MatMul : LayerOf<MatMul> {
  static constexpr const char *keras = "numpy.Matmul";
  static constexpr const char *doc =
      "The matrix product of the last two axes of two inputs: keras.ops.matmul. Leading axes broadcast.";
  bool transpose_a = false, transpose_b = false;

  void fields(Fields &f) override {
    f("transpose_a", transpose_a).doc("swaps the last two axes of a first");
    f("transpose_b", transpose_b).doc("swaps the last two axes of b first");
  }
  static constexpr PlainFacts plain{.inputs = {{"a", "(..., M, K)"}, {"b", "(..., K, L)"}},
                                    .outputs = {{"y", "(..., M, L)"}}};
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    for (int i = 0; i < 2; ++i) {
      c.need_rank_from(i, 2);
      c.need_float(i);
    }
    return {{ops::matmul(c.e, c.x(0), c.x(1), {.transpose_a = transpose_a, .transpose_b = transpose_b})}};
  }
};

}  // namespace
DL4_KINDS(matmul, MatMul)
}  // namespace dl4::kinds
