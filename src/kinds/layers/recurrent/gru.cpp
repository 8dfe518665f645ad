// GRU: gated recurrent units, gate order z r h.
#include "kinds/layers/recurrent/recurrent.hpp"
#include "ops/ops.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;

struct GruCell : CellAttributes {
  static constexpr int64_t gates = 3;
  bool reset_after = true;

  void fields(Fields &f) {
    CellAttributes::fields(f, gates);
    f("reset_after", reset_after)
        .doc("whether the reset gate comes after the product with the recurrent kernel; then each product has a bias");
  }

  std::vector<Shape> states() const { return {Shape{units}}; }
  static std::vector<Port> ports() {
    return {{"kernel", "(I, 3 units)"},
            {"recurrent_kernel", "(units, 3 units)"},
            {"bias", "(2, 3 units): of the inputs, of the state; without reset_after (3 units)", "use_bias"}};
  }

  Cell call(Call &c) const {
    const int64_t all = checked_mul(gates, units);
    const Id w = weights.kernel(c, {c.last_dim(), all}), r = recurrent_kernel(c, gates);
    Id b = ops::none, recurrent_b = ops::none;
    if (weights.use_bias) {
      const Shape shape = reset_after ? Shape{2, all} : Shape{all};
      b = c.weight("bias", shape, weights.bias_initializer, weights.bias_regularizer, weights.bias_constraint);
      if (reset_after) {
        const Id both = ops::reshape(c.e, b, 0, {2 * all});
        recurrent_b = ops::view(c.e, both, all, {all});
        b = ops::view(c.e, both, 0, {all});
      }
    }
    const Id masks = input_masks(c, gates), h_masks = recurrent_masks(c, gates);
    return {states(), [=, this](const Inside &in, Id x, const Ids &states) {
              auto here = [&](Id v) { return v == ops::none ? v : in.constant(v); };
              if (is_plain()) {
                const Id from_x = ops::matmul(in.e, masked_for(in.e, x, here(masks), 0), here(w), {}, here(b));
                const Id from_h = ops::matmul(in.e, states[0], here(r), {}, here(recurrent_b));
                const Id h = ops::gru_cell(in.e, from_x, from_h, states[0]);
                return Cell::Step{h, {h}};
              }
              const Ids from_x = products_by_gate(in.e, x, here(masks), here(w), here(b), units, gates);
              const Id h = step(in.e, from_x, states[0], here(r), here(recurrent_b), here(h_masks));
              return Cell::Step{h, {h}};
            }};
  }

 private:
  // Whether one op can do everything but the products.
  bool is_plain() const {
    return reset_after && recurrent_dropout == 0 && (implementation == 2 || dropout == 0) &&
           activation.name() == "tanh" && recurrent_activation.name() == "sigmoid";
  }
  Id step(Emit &e, const Ids &x, Id h, Id r, Id bias, Id masks) const {
    auto gate = [&](Id from_x, Id from_h) { return recurrent_activation(e, ops::add(e, from_x, from_h)); };
    const int64_t with_h = reset_after ? 3 : 2;  // number of gates whose product uses the unmodified h
    Ids parts;
    if (masks == ops::none) {
      const Id inner = ops::matmul(e, h, gate_of(e, r, units, 0, with_h), {}, bias);
      for (int64_t g = 0; g < with_h; ++g) parts.push_back(gate_of(e, inner, units, g));
    } else {
      for (int64_t g = 0; g < with_h; ++g)
        parts.push_back(ops::matmul(e, masked_for(e, h, masks, g), gate_of(e, r, units, g), {},
                                    bias == ops::none ? bias : gate_of(e, bias, units, g)));
    }
    const Id z = gate(x[0], parts[0]), reset = gate(x[1], parts[1]);
    const Id inner = reset_after
                         ? ops::mul(e, reset, parts[2])
                         : ops::matmul(e, ops::mul(e, reset, masked_for(e, h, masks, 2)), gate_of(e, r, units, 2));
    const Id candidate = activation(e, ops::add(e, x[2], inner));
    return ops::add(e, candidate, ops::mul(e, z, ops::sub(e, h, candidate)));
  }
};

struct GRU : RecurrentLayer<GruCell> {
  static constexpr const char *doc =
      "Gated recurrent units over (batch, time, features). Gates in the order z, r, h; "
      "h = z * h' + (1 - z) * candidate. At a masked step the state stays and the output repeats.";
};
struct GRUCell : OneStep<GruCell> {
  static constexpr const char *doc = "One step of a GRU.";
};

}  // namespace
DL4_KINDS(gru, GRU, GRUCell)
}  // namespace dl4::kinds
