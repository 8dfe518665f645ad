// Differences of oneDNN 2.6 and 3; no other file depends on DNNL_VERSION_MAJOR.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace dl4::kernels::onednn {

using Memory = dnnl::memory;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

// A blocked memory layout: strides of the outer dims (in elements) and the inner blocks.
struct Layout {
  bool blocked = false;  // false: opaque to us
  Dims padded, strides, inner_blocks, inner_axes;
};

#if DNNL_VERSION_MAJOR >= 3

// Creates P's primitive descriptor; the attributes come first.
template <class P, class... A>
auto make(const dnnl::engine &e, const dnnl::primitive_attr &at, A &&...a) {
  return typename P::primitive_desc(e, std::forward<A>(a)..., at);
}
template <class P, class H, class... A>
auto make_backward(const dnnl::engine &e, const H &hint, const dnnl::primitive_attr &at, A &&...a) {
  return typename P::primitive_desc(e, std::forward<A>(a)..., hint, at);
}

inline Layout layout(const Desc &d) {
  Layout l;
  l.blocked = d.get_format_kind() == Memory::format_kind::blocked;
  if (!l.blocked) return l;
  l.padded = d.get_padded_dims();
  l.strides = d.get_strides();
  l.inner_blocks = d.get_inner_blks();
  l.inner_axes = d.get_inner_idxs();
  return l;
}

#else

template <class P, class... A>
auto make(const dnnl::engine &e, const dnnl::primitive_attr &at, A &&...a) {
  return typename P::primitive_desc(typename P::desc(std::forward<A>(a)...), at, e);
}
template <class P, class H, class... A>
auto make_backward(const dnnl::engine &e, const H &hint, const dnnl::primitive_attr &at, A &&...a) {
  return typename P::primitive_desc(typename P::desc(std::forward<A>(a)...), at, e, hint);
}

inline Layout layout(const Desc &d) {
  Layout l;
  l.blocked = d.data.format_kind == dnnl_blocked;
  if (!l.blocked) return l;
  const auto &b = d.data.format_desc.blocking;
  l.padded.assign(d.data.padded_dims, d.data.padded_dims + d.data.ndims);
  l.strides.assign(b.strides, b.strides + d.data.ndims);
  l.inner_blocks.assign(b.inner_blks, b.inner_blks + b.inner_nblks);
  l.inner_axes.assign(b.inner_idxs, b.inner_idxs + b.inner_nblks);
  return l;
}

#endif

}  // namespace dl4::kernels::onednn
