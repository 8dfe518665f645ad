// Short words for graphs: layers, models, tensors of any type.
#pragma once

#include <algorithm>

#include "use.hpp"

namespace dl4_test {

inline dl4_node put(dl4_graph *g, const char *kind, const char *name, const char *config,
                    const std::vector<dl4_node> &in) {
  dl4_node out = -1;
  ok(dl4_graph_add(g, kind, name, config, nullptr, nullptr, in.data(), static_cast<int64_t>(in.size()), &out, 1));
  return out;
}

inline Own<dl4_model> build(dl4_graph *g, const std::vector<dl4_node> &in, const std::vector<dl4_node> &out) {
  Own<dl4_model> m;
  ok(dl4_graph_build(g, in.data(), static_cast<int64_t>(in.size()), out.data(), static_cast<int64_t>(out.size()),
                     m.out()));
  return m;
}

template <class T>
Own<dl4_tensor> tensor_of(int32_t dtype, const std::vector<int64_t> &dims, const std::vector<T> &values) {
  Own<dl4_tensor> t;
  ok(dl4_tensor_create(nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), t.out()));
  std::copy(values.begin(), values.end(), static_cast<T *>(dl4_tensor_data(t)));
  return t;
}

inline Own<dl4_graph> graph() {
  Own<dl4_graph> g;
  ok(dl4_graph_create(nullptr, g.out()));
  return g;
}

}  // namespace dl4_test
