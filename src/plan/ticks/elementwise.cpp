// Ops that treat steps independently: elementwise, or along other axes.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/elementwise.hpp"
#include "ops/matched.hpp"
#include "plan/ticks/writer.hpp"

namespace dl4::plan::ticks {
namespace {

using namespace ops;

// The axis of the steps, from the end; must be the same in all sources that have steps.
int from_end(Writer &w) {
  int found = 0;
  for (int i = 0; i < w.sources(); ++i) {
    if (!w.src(i).has_steps()) continue;
    const int at = w.shape(i).rank() - w.src(i).axis;
    if (found && at != found) w.refuse_mixing();
    found = at;
  }
  return found;
}

// For ops with broadcasting.
template <class A>
void elementwise(Writer &w, const A &op) {
  if (by_keys(w, op)) return;
  const int at = from_end(w);
  for (int i = 0; i < w.sources(); ++i) w.need_same_at_all_steps(i, at);
  w.on_met(w.result().rank() - at);
}

void along(Writer &w, int axis) {
  const Timed &x = w.src(0);
  if (w.shape(0).axis(axis) == x.axis) w.refuse_mixing();
  w.follows(x, x.axis);
}
template <class A>
void along_last(Writer &w, const A &) {
  along(w, -1);
}

void argmax(Writer &w, const attributes::Argmax &how) {
  const Timed &x = w.src(0);
  const int axis = w.shape(0).axis(how.axis);
  if (axis == x.axis) w.refuse_mixing();
  w.follows(x, x.axis - (axis < x.axis));
}

template <class A>
void normalize(Writer &w, const A &how) {
  const Timed &x = w.src(0);
  if (x.axis >= w.shape(0).rank() - how.axes) w.refuse_mixing();
  for (int i = 1; i < w.sources(); ++i)
    if (w.src(i).kind != Timed::Kind::fixed) w.refuse_mixing();
  w.follows(x, x.axis);
}

void gather(Writer &w, const attributes::Gather &) {
  if (w.src(0).kind != Timed::Kind::fixed) w.refuse("it takes rows from a sequence");
  w.follows(w.src(1), w.src(1).axis);
}

void bucketize(Writer &w, const attributes::Bucketize &) {
  if (w.src(1).kind != Timed::Kind::fixed) w.refuse_mixing();
  w.follows(w.src(0), w.src(0).axis);
}

// Rows, columns and summed axis of a product.
void matmul(Writer &w, const MatMulOp &op) {
  for (int i = 0; i < w.sources(); ++i)
    if (w.src(i).kind == Timed::Kind::running) w.refuse("it needs the end of the sequence at each step");
  if (op.fused.bias && w.src(2).has_steps()) w.refuse_mixing();
  if (by_keys(w, op)) return;
  int at = 0;
  for (int i = 0; i < 2; ++i) {
    if (!w.src(i).has_steps()) continue;
    const int axis = w.shape(i).rank() - w.src(i).axis;
    const int inner = i == 0 ? (op.how.transpose_a ? 2 : 1) : (op.how.transpose_b ? 1 : 2);
    if (axis == inner) w.refuse_mixing();
    w.need_apart(i == 1 || op.how.transpose_a);  // steps as columns
    const int in_result = axis > 2 ? axis : i == 0 ? 2 : 1;
    if (at && at != in_result) w.refuse_mixing();
    at = in_result;
  }
  for (int i = 0; i < 2; ++i)
    if (at > 2) w.need_same_at_all_steps(i, at);
  w.on_met(w.result().rank() - at);
}

}  // namespace

std::span<const Row> elementwise_rows() {
  static const Row all[] = {
      row<UnaryOp, elementwise<UnaryOp>>(true),
      row<BinaryOp, elementwise<BinaryOp>>(true),
      row<attributes::UnaryGrad, elementwise<attributes::UnaryGrad>>(true),
      row<attributes::Select, elementwise<attributes::Select>>(true),
      row<attributes::Cast, elementwise<attributes::Cast>>(true),
      row<attributes::ReducePrecision, elementwise<attributes::ReducePrecision>>(true),
      row<attributes::Copy, elementwise<attributes::Copy>>(true),
      row<attributes::StopGradient, elementwise<attributes::StopGradient>>(true),
      row<attributes::GruCell, elementwise<attributes::GruCell>>(true),
      row<attributes::Bucketize, bucketize>(),
      row<attributes::TopK, along_last<attributes::TopK>>(),
      row<attributes::Argmax, argmax>(),
      row<attributes::Normalize, normalize<attributes::Normalize>>(),
      row<attributes::Gather, gather>(),
      row<MatMulOp, matmul>(true),
  };
  return all;
}

}  // namespace dl4::plan::ticks
