// Shared by readers of several groups of ops.
#pragma once

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

// Config of an Activation layer.
Json activation(const char *name, Json config = Json::object());
// Applies a unary elementwise function, in whatever axis order the value has.
template <class F>
void each(const Op &op, F f, bool not_negative = false) {
  Value &v = op.in(0);
  const Perm perm = v.perm();
  const Node x = op.as(v, perm);
  op.give(0, f(x), v.dims, perm, not_negative);
}
// The same by a layer, and by an Activation.
void unary(const Op &op, const char *kind, Json config = Json::object(), bool not_negative = false);
void activate(const Op &op, const char *name, Json config = Json::object(), bool not_negative = false);
// A binary layer with broadcasting.
void pairwise(const Op &op, const char *kind);
// x and a number, by a binary layer.
Node by_number(const Op &op, const char *kind, Node x, double number);
// Converts bytes, which have no arithmetic, to int32.
Node wide(const Op &op, Node x);
// Wraps numbers to that integer type's bits.
Node wrapped(const Op &op, Node x, Type type);
// Rounds floats to the type's. Overflow saturates, or gives infinity or NaN.
Node rounded(const Op &op, Node x, Type type, bool saturate);
float rounded(float x, Type type, bool saturate);
// A free size, as an integer or a float; and a question about one.
std::optional<Dim> free_size(const Op &op, size_t i);
void give_asked(const Op &op, Asked asked, DType dtype, std::vector<Dim> dims);
// Gives y, in axis order `perm` of these dims, without axes of size 1.
void give_without(const Op &op, Node y, const Perm &perm, const std::vector<Dim> &dims, const std::vector<bool> &gone);
// Integers of that type: n, rounded and clipped, plus their zero point.
void give_quantized(const Op &op, Node n, int64_t zero, Type type, std::vector<Dim> dims, const Perm &perm);
// x with these dims, its last axis checked at run time.
Node last_of(const Op &op, Node x, std::vector<Dim> dims, int64_t size);
// Inputs a and b, as nodes x and y, multiplied like numpy.matmul() by of_matrices(x, y): vectors become rows on the
// left and columns on the right, whose axis is removed. dims: of the result.
Node product(const Op &op, size_t a, Node x, size_t b, Node y, std::vector<Dim> &dims,
             const std::function<Node(Node, Node)> &of_matrices);

inline constexpr int64_t most_places = int64_t{1} << 24;  // that a list names

inline Node flipped(const Op &op, Node x, int at) { return op.layer("Flip", {{"axis", at}}, {x}); }
inline Node plus(const Op &op, Node a, Node b) { return op.layer("BroadcastAdd", {}, {a, b}); }
inline Node minus(const Op &op, Node a, Node b) { return op.layer("BroadcastSubtract", {}, {a, b}); }
inline Node times(const Op &op, Node a, Node b) { return op.layer("BroadcastMultiply", {}, {a, b}); }

// Refuses inputs other than float, if present.
inline void float_only(const Op &op, size_t i) {
  if (op.has(i) && op.in(i).dtype != DType::f32) op.refuse("is supported for floats, not for ", op.in(i).dtype);
}
inline void floats_only(const Op &op) {
  for (size_t i = 0; i < op.inputs(); ++i) float_only(op, i);
}
// The value of a size that must be known; `what`: its name in the refusal.
inline int64_t known(const Op &op, const Dim &d, const char *what) {
  if (!d.known()) op.refuse("of ", what, " that is free is not supported; export it with that size");
  return d.factor;
}
inline int64_t known_or_free(const Dim &d) { return d.known() ? d.factor : free_dim; }

// Padding before and after along each axis.
using Margins = std::vector<std::array<int64_t, 2>>;
Json margins_json(const Margins &margins);
// Of the axes between the first and the last, those of all axes.
Margins inner(Margins ends);
// x with as many more places before and after each axis, which hold the number; below 0 places are cut off.
Node with_ends(const Op &op, Node x, const Margins &ends, double number = 0);

// x in other dims with as many elements.
Node with_dims(const Op &op, Node x, const std::vector<Dim> &from, const std::vector<Dim> &to);
inline Dim product(const std::vector<Dim> &dims) {
  Dim all;
  for (const Dim &d : dims) all = all * d;
  return all;
}
// Selects positions of each axis from elements with these dims.
std::vector<Dim> elements_at(const std::vector<Dim> &elements, const std::vector<Dim> &dims,
                             const std::vector<Ints> &places);

// Gather and Scatter with indices that are not constant, or of values with a free first axis.
void gather_computed_elements(const Op &op);
void gather_computed_rows(const Op &op);
void scatter_computed_elements(const Op &op);
void scatter_computed_rows(const Op &op);

// Reshape, Slice and Range with computed numbers.
std::vector<Dim> shape_of_numbers(const Op &op);
void slice_at_numbers(const Op &op);
void range_of_numbers(const Op &op);

}  // namespace dl4::io::onnx
