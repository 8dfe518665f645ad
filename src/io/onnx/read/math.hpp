// What readers of several groups of ONNX's ops write with.
#pragma once

#include <array>
#include <functional>

#include "io/onnx/reader.hpp"

namespace dl4::io::onnx {

// The config of an Activation layer.
Json activation(const char *name, Json config = Json::object());
// A function of one value, element by element, in whatever order its axes lie.
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
// A layer of two values that broadcast.
void pairwise(const Op &op, const char *kind);
// x and a number, by a layer of two values.
Node by_number(const Op &op, const char *kind, Node x, double number);
// Bytes have no arithmetic of their own: as int32.
Node wide(const Op &op, Node x);
// Numbers as integers of that type: what is left of each in so few bits.
Node wrapped(const Op &op, Node x, Type type);
// Floats rounded to those of the type. Past the largest: that one if it saturates, else infinity or NaN.
Node rounded(const Op &op, Node x, Type type, bool saturate);
float rounded(float x, Type type, bool saturate);
// A free size, of integers or as a float; and what is asked of one.
std::optional<Dim> free_size(const Op &op, size_t i);
void give_asked(const Op &op, Asked asked, DType dtype, std::vector<Dim> dims);
// x of these dims, whose last axis is of that size: a kernel says so where the model does not.
Node last_of(const Op &op, Node x, std::vector<Dim> dims, int64_t size);
// Inputs a and b, as the nodes x and y, multiplied as numpy.matmul() does by of_matrices(x, y): a vector is a row on
// the left and a column on the right, whose axis goes again. dims: those of what comes.
Node product(const Op &op, size_t a, Node x, size_t b, Node y, std::vector<Dim> &dims,
             const std::function<Node(Node, Node)> &of_matrices);

inline Node plus(const Op &op, Node a, Node b) { return op.layer("BroadcastAdd", {}, {a, b}); }
inline Node minus(const Op &op, Node a, Node b) { return op.layer("BroadcastSubtract", {}, {a, b}); }
inline Node times(const Op &op, Node a, Node b) { return op.layer("BroadcastMultiply", {}, {a, b}); }

// Refuses inputs that are no floats, those among them that are there.
inline void float_only(const Op &op, size_t i) {
  if (op.has(i) && op.in(i).dtype != DType::f32) op.refuse("is supported for floats, not for ", op.in(i).dtype);
}
inline void floats_only(const Op &op, std::initializer_list<size_t> inputs) {
  for (size_t i : inputs) float_only(op, i);
}
inline void floats_only(const Op &op) {
  for (size_t i = 0; i < op.inputs(); ++i) float_only(op, i);
}
// The factor of a size that must be known; `what`: of what, for the refusal.
inline int64_t known(const Op &op, const Dim &d, const char *what) {
  if (!d.known()) op.refuse("of ", what, " that is free is not supported; export it with that size");
  return d.factor;
}
inline int64_t known_or_free(const Dim &d) { return d.known() ? d.factor : free_dim; }

// Places before and after along each axis.
using Margins = std::vector<std::array<int64_t, 2>>;
Json margins_json(const Margins &margins);
// x with zeros added along the axes behind the first, up to the one before the last, or cut off where negative.
Node moved_ends(const Op &op, Node x, const Margins &margins);
// The same with a number for the zeros, adding only.
Node filled_ends(const Op &op, Node x, const Margins &margins, double number);

// x seen with other dims of as many elements.
Node with_dims(const Op &op, Node x, const std::vector<Dim> &from, const std::vector<Dim> &to);
inline Dim product(const std::vector<Dim> &dims) {
  Dim all;
  for (const Dim &d : dims) all = all * d;
  return all;
}
// Of elements with these dims those at some places of each axis.
std::vector<Dim> elements_at(const std::vector<Dim> &elements, const std::vector<Dim> &dims,
                             const std::vector<Ints> &places);

// Reshape, Slice and Range at numbers that a run computes.
std::vector<Dim> shape_of_numbers(const Op &op);
void slice_at_numbers(const Op &op);
void range_of_numbers(const Op &op);

}  // namespace dl4::io::onnx
