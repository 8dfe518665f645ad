// Scans with an equivalent ONNX op: GRU with the reset gate after the product, and SimpleRNN.
#include <algorithm>

#include "base/error.hpp"
#include "io/onnx/reader.hpp"
#include "io/onnx/write/writer.hpp"
#include "ops/elementwise.hpp"
#include "ops/matmul.hpp"
#include "ops/scan.hpp"

namespace dl4::io::onnx {
namespace {

using ops::Id;
using ops::none;
using ops::Program;
using ops::Step;

// ONNX's name of an RNN activation; null: none without parameters.
const char *name_of(ops::Unary f) {
  using ops::Unary;
  constexpr std::pair<Unary, const char *> names[] = {{Unary::tanh, "Tanh"},
                                                      {Unary::relu, "Relu"},
                                                      {Unary::sigmoid, "Sigmoid"},
                                                      {Unary::softplus, "Softplus"},
                                                      {Unary::softsign, "Softsign"}};
  for (const auto &[function, name] : names)
    if (function == f) return name;
  return nullptr;
}

// x, kernel and bias of a plain product.
struct Product {
  Id x = none, kernel = none, bias = none;
};
std::optional<Product> product(const Step *s) {
  const auto *op = s ? ops::as<ops::MatMulOp>(*s) : nullptr;
  if (!op || op->how.transpose_a || op->how.transpose_b || op->fused.activation) return {};
  return Product{s->src[0], s->src[1], op->fused.bias ? s->src[2] : none};
}

// The two products of a body and the function of their sum.
struct CellBody {
  Id from_x = none, from_h = none;
  const char *activation = "Affine";  // for an RNN: x itself
  bool gated = false;
};
std::optional<CellBody> body_of(const Program &p, const ops::PerValue<std::optional<size_t>> &by) {
  const Step *last = maker(p, by, p.outputs[0]);
  if (last && last->op->name() == "gru_cell") return CellBody{last->src[0], last->src[1], nullptr, true};
  CellBody body;
  if (const auto *f = last ? ops::as<ops::UnaryOp>(*last) : nullptr) {
    body.activation = name_of(f->function.f);
    last = maker(p, by, last->src[0]);
  }
  const auto *sum = last ? ops::as<ops::BinaryOp>(*last) : nullptr;
  if (!sum || sum->f != ops::Binary::add || !body.activation) return {};
  body.from_x = last->src[0], body.from_h = last->src[1];
  return body;
}

// (n, rows) as (1, rows, n).
Tensor rows_first(const Tensor &t) {
  Tensor to = transposed(t, {1, 0});
  to.shape = to.shape.inserted(0, 1);
  return to;
}

}  // namespace

std::optional<Recurrence> find_recurrence(const Writer &w, const Step &step) {
  const auto *op = ops::as<ops::ScanOp>(step);
  if (!op || op->states() != 1) return {};
  const Program &p = *op->body;
  for (size_t i = 1; i < p.outputs.size(); ++i)
    if (w.is_used(step.dst[i])) return {};
  const auto outside = [&](Id v, std::initializer_list<ops::Carry> as) {
    const auto at = static_cast<size_t>(std::find(p.inputs.begin(), p.inputs.end(), v) - p.inputs.begin());
    const bool is = at < p.inputs.size() && std::find(as.begin(), as.end(), op->carry[at]) != as.end();
    return is ? step.src[at] : none;
  };
  const auto by = producers(p);
  const auto body = body_of(p, by);
  const auto of_h = body ? product(maker(p, by, body->from_h)) : std::nullopt;
  if (!of_h) return {};
  using ops::Carry;
  const Id sequence = outside(body->from_x, {Carry::sequence, Carry::reversed}), h = outside(of_h->x, {Carry::state});
  const auto of_x = sequence == none ? std::nullopt : product(w.maker(sequence));
  if (!of_x || h == none || w.program()[of_x->x].shape.rank() != 3) return {};
  Recurrence r{body->gated, body->activation, of_x->x, h};
  r.backwards = outside(body->from_x, {Carry::sequence}) == none;
  const Id weights[] = {of_x->kernel, outside(of_h->kernel, {Carry::constant}), of_x->bias,
                        of_h->bias == none ? none : outside(of_h->bias, {Carry::constant})};
  Tensor *to[] = {&r.kernel, &r.recurrent_kernel, &r.bias, &r.recurrent_bias};
  for (size_t i = 0; i < 4; ++i) {
    if (i > 1 && (i == 2 ? of_x->bias : of_h->bias) == none) continue;
    const auto numbers = weights[i] == none ? std::nullopt : w.held(weights[i]);
    if (!numbers || numbers->dtype != DType::f32 || numbers->shape.rank() != (i > 1 ? 1 : 2)) return {};
    *to[i] = *numbers;
  }
  const Step *fill = w.maker(h);
  if (fill && fill->op->name() == "fill" && Listed(*fill->op).real("v") == 0) r.first = none;
  return r;
}

void write_recurrence(Writer &w, const Recurrence &r) {
  const auto *op = ops::as<ops::ScanOp>(w.now());
  const int64_t units = r.recurrent_kernel.shape[0], rows = r.recurrent_kernel.shape[1];
  Names in{w.name_of(r.x),
           w.tensor(rows_first(r.kernel), "kernel"),
           w.tensor(rows_first(r.recurrent_kernel), "recurrent_kernel"),
           {},
           {},
           {}};
  if (r.bias.data || r.recurrent_bias.data) {
    Tensor both = make_zeros(DType::f32, {1, checked_mul(2, rows)});
    if (r.bias.data) std::copy_n(r.bias.as<float>(), rows, both.as<float>());
    if (r.recurrent_bias.data) std::copy_n(r.recurrent_bias.as<float>(), rows, both.as<float>() + rows);
    in[3] = w.tensor(both, "bias");
  }
  if (r.first != none) in[5] = w.node("Unsqueeze", {w.name_of(r.first), w.ints({0})});
  std::vector<Said> said{{"hidden_size", units}, {"direction", r.backwards ? "reverse" : "forward"}};
  if (r.gated)
    said.emplace_back("linear_before_reset", 1);
  else
    said.emplace_back("activations", r.activation, Said::texts);
  if (!r.gated && std::string_view(r.activation) == "Affine") {  // ONNX Runtime has other defaults
    said.emplace_back("activation_alpha", 1.0f, Said::reals);
    said.emplace_back("activation_beta", 0.0f, Said::reals);
  }
  const Names out = w.nodes_of(r.gated ? "GRU" : "RNN", in, 2, said);
  const size_t last = op->body->outputs.size();
  if (w.is_read(0)) {
    const Name y = w.node("Squeeze", {out[0], w.ints({1})});
    w.give(0, r.backwards != (op->reversed[0] != 0) ? w.reversed(y, 0) : y);  // ours are in processing order
  }
  if (w.is_read(last)) w.give(last, w.node("Squeeze", {out[1], w.ints({0})}));
}

}  // namespace dl4::io::onnx
