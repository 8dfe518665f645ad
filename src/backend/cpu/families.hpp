// CPU kernels by family, one file each; a row maps an op to the function that makes its kernel.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeindex>
#include <vector>

#include "backend/cpu/dispatch/sliced.hpp"
#include "backend/cpu/kernels/gemm/epilogue.hpp"
#include "ops/attributes.hpp"

namespace dl4::cpu {

namespace attributes = ops::attributes;
using dispatch::line_block, dispatch::Site, dispatch::sliced, dispatch::us_per_byte, dispatch::us_per_function;
using dispatch::with_args;
using kernels::Kernel, kernels::Run;
using ops::Binary, ops::Operand, ops::Unary;

// Makes the best kernel of an op at a site.
struct Row {
  std::type_index type;  // of the op's description (Op::description)
  std::unique_ptr<Kernel> (*make)(const void *, const Site &);
};
template <class T, auto make>
Row row() {
  return {typeid(T), [](const void *op, const Site &site) { return make(*static_cast<const T *>(op), site); }};
}

std::span<const Row> attention_kernels();
std::span<const Row> conv_kernels();
std::span<const Row> elementwise_kernels();
std::span<const Row> host_kernels();
std::span<const Row> indexing_kernels();
std::span<const Row> movement_kernels();
std::span<const Row> normalize_kernels();
std::span<const Row> products_kernels();
std::span<const Row> random_kernels();
std::span<const Row> recurrent_kernels();
std::span<const Row> reduce_kernels();
std::span<const Row> text_kernels();
std::span<const Row> updates_kernels();

kernels::Epilogue epilogue_of(const std::optional<ops::Function> &activation);

// A shape split at one axis.
struct Around {
  int64_t outer, axis, inner;
};
inline Around around(const Shape &s, int axis) {
  int a = s.axis(axis);
  return {s.elements(0, a), s[a], s.elements(a + 1, s.rank())};
}

}  // namespace dl4::cpu
