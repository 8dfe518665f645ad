// branch as If, while as Loop, with bodies as graphs in attributes.
// Scans with an equivalent ONNX op: GRU with the reset gate after the product, and SimpleRNN.

#include "io/onnx/reader.hpp"
#include "io/onnx/write/writer.hpp"
#include "ops/matched.hpp"
#include "ops/scan.hpp"

namespace dl4::io::onnx {
namespace {

using ops::Id;

// A body whose inputs from `first` on are values of the enclosing graph; lists their sources.
class Body {
 public:
  Body(Writer &w, const ops::Program &p, size_t first, const std::vector<int> &src)
      : program_(p), writer(w.whole(), p, held(w, p, first, src)) {
    for (size_t i = 0; i < src.size(); ++i) writer.call(p.inputs[first + i], w.in(static_cast<size_t>(src[i])));
  }
  // A new input; returns its name.
  Name input(Writer &w, const char *name, DType type, const Shape &shape) {
    const Name own = w.whole().unique(w.now().scope, name);
    ports_.message(11, value_info(own, type, shape));
    return own;
  }
  void input(Writer &w, Id v, const char *name) {
    writer.call(v, input(w, name, program_[v].dtype, program_[v].shape));
  }
  void steps() {
    for (const ops::Step &step : program_.steps) writer.step(step);
  }
  void output(Name from, DType type, const Shape &shape) {
    ports_.message(12, value_info(writer.node("Identity", {from}), type, shape));
  }
  void output(Id v) { output(writer.name_of(v), program_[v].dtype, program_[v].shape); }
  MessageWriter graph() {
    MessageWriter g;
    g.bytes = writer.nodes.bytes;
    g.text(2, "body");
    g.bytes += ports_.bytes;
    return g;
  }

 private:
  static std::map<Id, Tensor> held(const Writer &w, const ops::Program &p, size_t first, const std::vector<int> &src) {
    std::map<Id, Tensor> known;
    for (size_t i = 0; i < src.size(); ++i)
      if (const auto t = w.held(w.now().src[static_cast<size_t>(src[i])])) known[p.inputs[first + i]] = *t;
    return known;
  }

  const ops::Program &program_;
  MessageWriter ports_;

 public:
  Writer writer;
};

MessageWriter side(Writer &w, const ops::BranchOp::Part &part) {
  Body body(w, *part.body, 0, part.src);
  body.steps();
  for (Id v : part.body->outputs) body.output(v);
  return body.graph();
}

}  // namespace

void write_branch(Writer &w, const Listed &) {
  const auto *op = ops::as<ops::BranchOp>(w.now());
  const size_t outputs = w.now().dst.size();
  const Names out = w.nodes_of("If", {w.in(0)}, outputs,
                               {{"then_branch", side(w, op->then)}, {"else_branch", side(w, op->otherwise)}});
  for (size_t i = 0; i < outputs; ++i) w.give(i, out[i]);
}

void write_while(Writer &w, const Listed &) {
  const auto *op = ops::as<ops::WhileOp>(w.now());
  const ops::Program &p = *op->body;
  const auto states = static_cast<size_t>(op->states);
  std::vector<int> outside;
  for (size_t i = states + 2; i < w.now().src.size(); ++i) outside.push_back(static_cast<int>(i));
  Body body(w, p, states + 1, outside);
  body.input(w, p.inputs[0], "/step");
  const Name flag = body.input(w, "/goes_on", DType::boolean, {});
  Names in{w.has(0) ? w.in(0) : Name(), w.has(1) ? w.in(1) : Name()};
  for (size_t i = 0; i < states; ++i) {
    body.input(w, p.inputs[i + 1], "/state");
    in.push_back(w.in(i + 2));
  }
  body.steps();
  if (op->makes_flag())
    body.output(p.outputs.back());
  else
    body.output(flag, DType::boolean, {});
  for (size_t i = 0; i < states; ++i) body.output(p.outputs[i]);
  const Names out = w.nodes_of("Loop", in, states, {{"body", body.graph()}});
  for (size_t i = 0; i < states; ++i) w.give(i, out[i]);
}

void write_products(Writer &w, const Listed &said) {
  const int64_t axis = said.number("axis");
  const DType dtype = w.dtype(0);
  Ints others, dims;
  for (int i = 0; i < w.shape(0).rank(); ++i)
    if (i != axis) others.push_back(i), dims.push_back(w.shape(0)[i]);
  const Name shape = w.node("Gather", {w.node("Shape", {w.in(0)}), w.ints(others)});
  const Name first = w.cast(w.node("Expand", {w.real(1), shape}), dtype);
  const ops::Program none;
  Body body(w, none, 0, {});
  const Shape step(dims);
  const Name before = body.input(w, "/state", dtype, step), x = body.input(w, "/x", dtype, step),
             next = body.writer.node("Mul", {before, x});
  body.output(next, dtype, step);
  body.output(said.flag("exclusive") ? before : next, dtype, step);
  const int64_t back = said.flag("reverse") ? 1 : 0;
  const Ints at{axis}, down{back};
  w.give(0, w.nodes_of("Scan", {first, w.in(0)}, 2,
                       {{"body", body.graph()},
                        {"num_scan_inputs", 1},
                        {"scan_input_axes", at},
                        {"scan_output_axes", at},
                        {"scan_input_directions", down},
                        {"scan_output_directions", down}})[1]);
}

// x, reshaped to its own shape + 0, where the 0 is computed from a Squeeze: that refuses sizes other than 1.
void write_ensure_size(Writer &w, const Listed &said) {
  if (said.number("size") != 1) w.refuse("it ensures a size other than 1, which ONNX has no op for");
  const Name of = w.node("Squeeze", {w.in(1), w.ints({said.number("axis")})});
  const Name none = w.node("Slice", {w.node("Shape", {of}), w.ints({0}), w.ints({0})});
  const Name zero = w.node("ReduceSum", {none}, {{"keepdims", 1}});
  w.give(0, w.node("Reshape", {w.in(0), w.node("Add", {w.node("Shape", {w.in(0)}), zero})}));
}

namespace {

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
