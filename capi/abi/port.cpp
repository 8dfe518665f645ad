// Ports: the inputs, outputs and weights of an object.
#include "border.hpp"

namespace dl4::capi {
namespace {

size_t at(int64_t i) { return static_cast<size_t>(i); }

int64_t count(const dl4_model &m, int32_t which) {
  if (which == DL4_INPUTS) return std::ssize(m.input_names);
  if (which == DL4_OUTPUTS) return std::ssize(m.output_names);
  return which == DL4_WEIGHTS ? std::ssize(m.core->weights()) : 0;
}

int64_t count(const dl4_session &s, int32_t which) {
  if (which == DL4_INPUTS) return std::ssize(s.core->program().inputs);
  return which == DL4_OUTPUTS ? std::ssize(s.core->program().outputs) : 0;
}

int64_t count(const dl4_stream &s, int32_t which) {
  if (which == DL4_INPUTS) return static_cast<int64_t>(s.core.inputs());
  return which == DL4_OUTPUTS ? static_cast<int64_t>(s.core.outputs_count()) : 0;
}

int64_t count(const dl4_trainer &t, int32_t which) {
  return which == DL4_METRICS ? std::ssize(t.core.results().names()) : 0;
}

// Calls f with the object's type; otherwise() for objects without ports.
template <class F, class Otherwise>
auto with_ports(const void *object, const F &f, const Otherwise &otherwise) {
  const Object *o = object_of(object);
  switch (o ? o->tag() : Tag::freed) {
    case Tag::model:
      return f(*static_cast<const dl4_model *>(object));
    case Tag::session:
      return f(*static_cast<const dl4_session *>(object));
    case Tag::stream:
      return f(*static_cast<const dl4_stream *>(object));
    case Tag::trainer:
      return f(*static_cast<const dl4_trainer *>(object));
    default:
      return otherwise();
  }
}

// f(port), or `otherwise` if there is no such port.
template <class R, class F>
R ask(const void *object, int32_t which, int64_t i, R otherwise, const F &f) {
  return guard_or<R>(otherwise, [&] {
    if (i < 0 || i >= dl4_port_count(object, which)) return otherwise;
    return with_ports(
        object, [&](const auto &o) -> R { return f(port_of(o, which, i)); }, [&] { return otherwise; });
  });
}

}  // namespace

Port port_of(const dl4_model &m, int32_t which, int64_t i) {
  if (which == DL4_WEIGHTS) {
    const graph::Weight &w = *m.core->weights()[at(i)];
    return {w.name.c_str(), w.spec.dtype, w.spec.shape};
  }
  const bool in = which == DL4_INPUTS;
  const graph::Node node = (in ? m.core->inputs() : m.core->outputs())[at(i)];
  const graph::Graph &graph = m.core->graph();
  return {(in ? m.input_names : m.output_names)[at(i)].c_str(), graph.dtype(node), graph.shape(node)};
}

Port port_of(const dl4_session &s, int32_t which, int64_t i) {
  const ops::Program &p = s.core->program();
  const bool in = which == DL4_INPUTS;
  const ops::Value &v = p[(in ? p.inputs : p.outputs)[at(i)]];
  return {in ? v.name.c_str() : s.output_names[at(i)].c_str(), v.dtype, v.shape};
}

Port port_of(const dl4_trainer &t, int32_t, int64_t i) {
  return {t.core.results().names()[at(i)].c_str(), DType::f64, {}};
}

Port port_of(const dl4_stream &s, int32_t which, int64_t i) { return port_of(*s.session, which, i); }

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

int64_t dl4_port_count(const void *object, int32_t which) {
  return with_ports(
      object, [&](const auto &o) { return count(o, which); }, [] { return int64_t{0}; });
}

const char *dl4_port_name(const void *object, int32_t which, int64_t i) {
  return ask<const char *>(object, which, i, nullptr, [](const Port &port) { return port.name; });
}

int32_t dl4_port_dtype(const void *object, int32_t which, int64_t i) {
  return ask<int32_t>(object, which, i, 0, [](const Port &port) { return static_cast<int32_t>(port.dtype); });
}

dl4_error *dl4_port_shape(const void *object, int32_t which, int64_t i, int64_t *dims, int64_t cap, int32_t *rank) {
  clear(rank);
  return guard(__func__, [&] {
    needed(rank, "rank");
    const auto refuse = [&]() -> Shape {
      refuse_handle("object", "dl4_model, dl4_session, dl4_stream or dl4_trainer", object);
    };
    const auto shape = [&](const auto &o) {
      if (which < DL4_INPUTS || which > DL4_METRICS) refuse_argument("which", text("expected 0 to 3, got ", which));
      need_index(i, count(o, which));
      return port_of(o, which, i).shape;
    };
    give_shape(with_ports(object, shape, refuse), dims, cap, rank);
  });
}
