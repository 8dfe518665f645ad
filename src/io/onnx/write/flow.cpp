// branch as If, while as Loop, with bodies as graphs in attributes.
#include "ops/flow.hpp"
#include "base/error.hpp"
#include "io/onnx/write/writer.hpp"

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

}  // namespace dl4::io::onnx
