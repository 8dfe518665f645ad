// Programs within ops.
// branch, while and ensure_size: their rules, and writers of bodies.
#include "ops/flow.hpp"

#include <typeinfo>

#include "ops/scan.hpp"

namespace dl4::ops {
namespace {

constexpr int64_t small = 1024;  // bytes of a constant that a body contains itself

}  // namespace

std::string bits_of(const Program &p) {
  Bits f;
  auto ids = [&](const std::vector<Id> &list) { f("", list); };
  for (const Value &v : p.values) {
    f("", v.dtype), f("", v.shape.dims()), f("", v.role);
    if (v.role != Role::constant) continue;
    f("", v.data.chars());
  }
  for (const Step &s : p.steps) {
    const Op &op = *s.op;
    f("", typeid(op).hash_code()), f("", op.attribute_bits());
    ids(s.src), ids(s.dst);
  }
  ids(p.inputs), ids(p.outputs);
  return std::move(f.bits);
}

bool some_volatile(const Program &p) {
  return std::any_of(p.steps.begin(), p.steps.end(), [](const Step &s) { return s.op->is_volatile(); });
}

std::string indented(const std::string &lines) {
  std::string s;
  for (size_t at = 0, end; at < lines.size(); at = end) {
    end = std::min(lines.find('\n', at), lines.size() - 1) + 1;
    s += "    " + lines.substr(at, end - at);
  }
  return s;
}

PerValue<Operand> infer_body(const Program &p, Operands inputs) {
  PerValue<Operand> of(p);
  for (Id v : p.ids()) of[v] = {p[v].dtype, p[v].shape};
  // The unchanged body: the kinds of its values are known, so nested bodies need not be inferred again.
  const auto same = [&](const Operand &a, Id v) { return a.dtype == p[v].dtype && a.shape == p[v].shape; };
  if (std::equal(inputs.begin(), inputs.end(), p.inputs.begin(), p.inputs.end(), same)) return of;
  for (size_t i = 0; i < inputs.size(); ++i) of[p.inputs[i]] = inputs[i];
  for (const Step &s : p.steps) {
    std::vector<Operand> of_step;
    for (Id v : s.src) of_step.push_back(v == none ? absent : of[v]);
    auto dst = s.op->infer(of_step);
    for (size_t i = 0; i < dst.size(); ++i) of[s.dst[i]] = dst[i];
  }
  return of;
}

Id BodyWriter::constant(Id outside) {
  auto [at, fresh] = constants_.emplace(outside, none);
  if (!fresh) return at->second;
  const Value &there = around_.program[outside];
  if (there.role == Role::constant && there.data.bytes() <= small) return at->second = body.constant(there.data);
  outside_.push_back(outside);
  at->second = body.input(around_.program[outside].name, around_.dtype(outside), around_.shape(outside));
  seen_.push_back(at->second);
  return at->second;
}

Id BodyWriter::own(const std::string &name, const Operand &what) {
  own_.push_back(body.input(name, what.dtype, what.shape));
  return own_.back();
}

BodyWriter::Written BodyWriter::written(const std::vector<Id> &outputs) {
  program_.outputs = outputs;
  program_.inputs = own_;
  program_.inputs.insert(program_.inputs.end(), seen_.begin(), seen_.end());
  return {std::make_shared<const Program>(program_), outside_};
}

namespace {

std::vector<Operand> outputs_of(const BranchOp::Part &part, Operands src) {
  std::vector<Operand> in, out;
  for (int i : part.src) in.push_back(src[static_cast<size_t>(i)]);
  const auto of = infer_body(*part.body, in);
  for (Id v : part.body->outputs) out.push_back(of[v]);
  return out;
}

void need_scalar(const char *op, const char *what, const Operand &o, DType dtype) {
  if (o.dtype != dtype || o.shape.rank() != 0)
    fail(Code::shape_mismatch, op, ": expected a ", dtype, " scalar as ", what, ", got ", o.dtype, ' ', o.shape);
}

struct EnsureSizeOp final : OpOf<EnsureSizeOp, "ensure_size"> {
  int axis;
  int64_t size;
  EnsureSizeOp(int axis, int64_t size) : axis(axis), size(size) {}
  void fields(auto &f) const { f("axis", axis), f("size", size); }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &of = src[1].shape;
    if (of[axis] != size && of[axis] != free_dim)
      fail(Code::shape_mismatch, "expected a size of ", size, " as axis ", axis, ", got ", of);
    return {{src[0].dtype, src[0].shape}};
  }
  void gradient(Gradient &g) const override { g.set(0, g.diff_dst()); }
  bool is_view() const override { return true; }
  bool reads(int src) const override { return src == 0; }
};

}  // namespace

std::vector<const Program *> bodies(const Op &op) {
  if (const auto *scan = as<ScanOp>(op)) return {scan->body.get()};
  if (const auto *loop = as<WhileOp>(op)) return {loop->body.get()};
  if (const auto *two = as<BranchOp>(op)) return {two->then.body.get(), two->otherwise.body.get()};
  return {};
}

std::vector<Operand> BranchOp::infer(Operands src) const {
  need_scalar("branch", "its flag", src[0], DType::boolean);
  std::vector<Operand> out, other;
  try {
    out = outputs_of(then, src);
  } catch (const Error &) {
    return outputs_of(otherwise, src);
  }
  try {
    other = outputs_of(otherwise, src);
  } catch (const Error &) {
    return out;
  }
  // With free dims, perhaps only one body fits.
  const bool open =
      own_shapes || std::any_of(src.begin(), src.end(), [](const Operand &o) { return !o.shape.known(); });
  for (size_t i = 0; i < out.size(); ++i) {
    const bool free = open || !out[i].shape.known() || !other[i].shape.known();
    const bool same = free ? out[i].shape.rank() == other[i].shape.rank() : out[i].shape == other[i].shape;
    if (out[i].dtype != other[i].dtype || !same)
      fail(Code::shape_mismatch, "branch: expected the same of both branches as output ", i, ", got ", out[i].dtype,
           ' ', out[i].shape, " and ", other[i].dtype, ' ', other[i].shape);
    for (int a = 0; a < out[i].shape.rank(); ++a)
      if (other[i].shape[a] != out[i].shape[a]) out[i].shape = out[i].shape.with(a, free_dim);
  }
  return out;
}

bool BranchOp::is_volatile() const { return some_volatile(*then.body) || some_volatile(*otherwise.body); }

std::vector<Operand> WhileOp::infer(Operands src) const {
  if (src[0].present) need_scalar("while", "the number of steps", src[0], DType::i64);
  if (src[1].present) need_scalar("while", "its flag", src[1], DType::boolean);
  std::vector<Operand> in{{DType::i64, {}}};
  in.insert(in.end(), src.begin() + 2, src.end());
  const auto of = infer_body(*body, in);
  std::vector<Operand> last;
  for (size_t i = 0; i < static_cast<size_t>(states); ++i) {
    const Operand &first = src[i + 2], &next = of[body->outputs[i]];
    if (next.dtype != first.dtype || !compatible(next.shape, first.shape))
      fail(Code::shape_mismatch, "while: state ", i, " is ", first.dtype, ' ', first.shape, " at first and becomes ",
           next.dtype, ' ', next.shape);
    last.push_back({first.dtype, first.shape});
  }
  if (makes_flag()) need_scalar("while", "the flag that its body makes", of[body->outputs.back()], DType::boolean);
  return last;
}

Id ensure_size(Emit &e, Id x, Id of, int axis, int64_t size) {
  return e.value(std::make_shared<EnsureSizeOp>(axis, size), {x, of});
}

std::vector<Id> branch(Emit &e, Id flag, BodyWriter &then, const std::vector<Id> &then_outputs, BodyWriter &otherwise,
                       const std::vector<Id> &other_outputs, bool own_shapes) {
  std::vector<Id> src{flag};
  const auto part = [&](BodyWriter &writer, const std::vector<Id> &outputs) {
    auto written = writer.written(outputs);
    BranchOp::Part p{written.body, {}};
    for (Id v : written.outside) p.src.push_back(static_cast<int>(src.size())), src.push_back(v);
    return p;
  };
  BranchOp::Part first = part(then, then_outputs), second = part(otherwise, other_outputs);
  return e.step(std::make_shared<BranchOp>(std::move(first), std::move(second), own_shapes), src);
}

Id While::state(Id at_first) {
  first_.push_back(at_first);
  return writer_.own(e_.program[at_first].name, {e_.dtype(at_first), e_.shape(at_first)});
}

std::vector<Id> While::emit(const std::vector<Id> &next, Id steps, Id on, Id more) {
  std::vector<Id> outputs = next;
  if (more != none) outputs.push_back(more);
  auto written = writer_.written(outputs);
  std::vector<Id> src{steps, on};
  src.insert(src.end(), first_.begin(), first_.end());
  src.insert(src.end(), written.outside.begin(), written.outside.end());
  return e_.step(std::make_shared<WhileOp>(static_cast<int>(first_.size()), written.body), src);
}

}  // namespace dl4::ops
