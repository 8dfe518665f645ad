// Listing and checking of Programs.
#include "ops/program.hpp"

#include "ops/body.hpp"
#include "ops/op.hpp"

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

}  // namespace dl4::ops
