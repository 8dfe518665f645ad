// Adds values and steps to a Program; lists, checks and compares them.
#include "ops/program.hpp"

#include <cstring>
#include <typeinfo>

#include "base/saturated.hpp"
#include "ops/flow.hpp"

namespace dl4::ops {

PerValue<std::optional<size_t>> producers(const Program &p) {
  PerValue<std::optional<size_t>> by(p);
  for (size_t s = 0; s < p.steps.size(); ++s)
    for (Id v : p.steps[s].dst) by[v] = s;
  return by;
}

PerValue<int32_t> uses(const Program &p) {
  PerValue<int32_t> n(p);
  for (const Step &s : p.steps)
    for (Id v : s.src)
      if (v != none) ++n[v];
  for (Id v : p.outputs) ++n[v];
  for (const Write &w : p.writes) ++n[w.value];
  return n;
}

std::string who(const std::string &scope) { return scope.back() == '"' ? scope : text("layer \"", scope, '"'); }

void blame(Error &error, const std::string &scope) {
  if (scope.empty()) return;
  error.in(who(scope));
  if (scope.back() != '"') error.with("layer", scope);
}

std::string to_string(Id v) { return text('%', static_cast<int32_t>(v)); }

namespace {

std::string word(const Program &p, Id v) {
  if (v == none) return "-";
  const std::string &name = p[v].name;
  return text(v, name.empty() ? "" : ":", name);
}

std::string full(const Program &p, Id v) { return text(word(p, v), ' ', p[v].dtype, p[v].shape); }

}  // namespace

std::string to_string(const std::vector<Attribute> &list) {
  std::string s;
  for (const Attribute &a : list)
    s += text(s.empty() ? "" : ", ", a.name, a.name.empty() || a.shown.empty() ? "" : "=", a.shown);
  return s;
}

std::string to_string(const Program &p, const Step &step) {
  std::string line;
  for (size_t i = 0; i < step.dst.size(); ++i) line += text(i ? ", " : "", full(p, step.dst[i]));
  line += text(" = ", step.op->name());
  if (auto a = step.op->attributes(); !a.empty()) line += text('{', a, '}');
  for (Id v : step.src) line += text(' ', word(p, v));
  return line;
}

std::string to_string(const Program &p) {
  std::string s;
  for (Id v : p.inputs) s += text("input  ", full(p, v), '\n');
  for (Id v : p.states) s += text("state  ", full(p, v), '\n');
  for (const Step &step : p.steps) {
    s += text("  ", to_string(p, step), step.scope.empty() ? "" : "  # " + step.scope, '\n');
    for (const Program *body : bodies(*step.op)) s += indented(to_string(*body));
  }
  for (const Write &w : p.writes) s += text("write  ", word(p, w.state), " <- ", word(p, w.value), '\n');
  for (Id v : p.outputs) s += text("output ", full(p, v), '\n');
  return s;
}

void verify(const Program &p) {
  PerValue<bool> made(p);
  for (Id v : p.ids()) made[v] = p[v].role != Role::temp;
  auto need = [&](Id v, const char *where) {
    if (!p.values.has(v) || !made[v])
      fail(Code::internal, "program: ", where, " reads ", v, ", which is not made yet\n", to_string(p));
  };
  for (const Step &s : p.steps) {
    for (size_t i = 0; i < s.src.size(); ++i)
      if (s.src[i] != none && s.op->reads(static_cast<int>(i))) need(s.src[i], s.op->name().data());
    for (const Program *body : bodies(*s.op)) verify(*body);
    auto dst = s.op->infer(operands(p, s.src));
    if (dst.size() != s.dst.size()) fail(Code::internal, "program: ", s.op->name(), " makes ", dst.size(), " values");
    for (size_t i = 0; i < dst.size(); ++i) {
      const Value &v = p[s.dst[i]];
      if (made[s.dst[i]]) fail(Code::internal, "program: %", s.dst[i], " is made twice");
      if (v.dtype != dst[i].dtype || !compatible(v.shape, dst[i].shape))
        fail(Code::internal, "program: ", s.op->name(), " makes ", dst[i].shape, " where ", v.shape, " is written");
      made[s.dst[i]] = true;
    }
  }
  for (Id v : p.outputs) need(v, "output");
  for (const Write &w : p.writes) need(w.value, "write");
}

namespace {

Id add_value(Program &p, Value v) { return p.values.push_back(std::move(v)); }

}  // namespace

void store(double v, DType dtype, void *to) {
  auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  switch (dtype) {
    case DType::f32:
      return put(static_cast<float>(v));
    case DType::f64:
      return put(v);
    case DType::i32:
      return put(saturated<int32_t>(v));
    case DType::i64:
      return put(saturated<int64_t>(v));
    case DType::u8:
      return put(saturated<uint8_t>(v));
    case DType::boolean:
      return put(static_cast<uint8_t>(v != 0));
    case DType::string:
      fail(Code::invalid_argument, "expected a type of numbers, got string");
  }
}

Id Emit::input(std::string name, DType dtype, const Shape &shape) {
  Id v = add_value(program, {dtype, shape, Role::input, std::move(name), {}});
  program.inputs.push_back(v);
  return v;
}

Id Emit::state(std::string name, DType dtype, const Shape &shape) {
  Id v = add_value(program, {dtype, shape, Role::state, std::move(name), {}});
  program.states.push_back(v);
  return v;
}

Id Emit::constant(Tensor data) {
  DType dtype = data.dtype;
  Shape shape = data.shape;
  return add_value(program, {dtype, shape, Role::constant, {}, std::move(data)});
}

Id Emit::scalar(double v, DType dtype) {
  Tensor t = make_tensor(dtype, {});
  store(v, dtype, t.data.get());
  return constant(std::move(t));
}

void Emit::write(Id state, Id value) {
  for (Write &w : program.writes) {
    if (w.state == state) {
      w.value = value;
      return;
    }
  }
  program.writes.push_back({state, value});
}

std::vector<Id> Emit::step(std::shared_ptr<const Op> op, std::vector<Id> src) {
  auto refuse_string = [&](DType t, const char *verb) {
    if (t == DType::string && !op->takes_strings())
      fail(Code::invalid_argument, op->name(), ' ', verb, " numbers, got string");
  };
  for (size_t i = 0; i < src.size(); ++i)
    if (src[i] != none && op->reads(static_cast<int>(i))) refuse_string(program[src[i]].dtype, "expects");
  std::vector<Id> dst;
  for (const Operand &o : op->infer(operands(program, src))) {
    refuse_string(o.dtype, "gives");
    dst.push_back(add_value(program, {o.dtype, o.shape, Role::temp, {}, {}}));
  }
  program.steps.push_back({std::move(op), std::move(src), dst, scope});
  return dst;
}

std::vector<Operand> operands(const Program &p, std::span<const Id> values) {
  std::vector<Operand> all;
  for (Id v : values) all.push_back(v == none ? absent : Operand{p[v].dtype, p[v].shape});
  return all;
}

bool equal(const Op &a, const Op &b) { return typeid(a) == typeid(b) && a.attribute_bits() == b.attribute_bits(); }

size_t hash(const Op &op) { return typeid(op).hash_code() ^ std::hash<std::string>{}(op.attribute_bits()); }

void stop_all(Gradient &g) { g.stop_all(); }

}  // namespace dl4::ops
