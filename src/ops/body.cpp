// Programs within ops.
#include "ops/body.hpp"

#include <algorithm>
#include <typeinfo>

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

}  // namespace dl4::ops
