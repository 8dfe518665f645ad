// ONNX's ops that process an axis in order: TopK, CumSum, CumProd.
#include "base/error.hpp"
#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {
namespace {

void cumulate(const Op &op, const char *kind) {
  Value &v = op.in(0);
  if (v.dtype == DType::boolean) op.refuse("of ", v.dtype, " is not supported");
  const Perm perm = v.perm();
  const auto axis = static_cast<size_t>(op.axis_of(static_cast<int64_t>(op.number(1, 0)), v.rank()));
  const Json config{
      {"axis", inverse(perm)[axis]}, {"exclusive", op.flag("exclusive")}, {"reverse", op.flag("reverse")}};
  Node y = op.layer(kind, config, {wide(op, op.as(v, perm))});
  if (v.dtype != DType::f32) y = wrapped(op, y, v.onnx_type());
  op.give(0, y, v.dims, perm);
}

void top_k(const Op &op) {
  Value &v = op.in(0);
  if (v.dtype == DType::boolean) op.refuse("of ", v.dtype, " is not supported");
  const std::vector<Dim> asked = op.sizes_of(1);
  if (asked.size() != 1) fail(Code::corrupt_file, "wants ", asked.size(), " numbers of places");
  const Dim most = asked[0];
  const int64_t k = most.known() ? most.factor : 0;
  const auto axis = static_cast<size_t>(op.axis(v.rank()));
  if (k < 0 || (v.dims[axis].known() && k > v.dims[axis].factor))
    fail(Code::corrupt_file, "wants ", k, " of ", v.dims[axis].factor, " places");
  const Perm perm = v.perm();
  const int at = inverse(perm)[axis];
  const Json config{{"axis", at}, {"descending", op.flag("largest")}};
  const Node x = wide(op, op.as(v, perm));
  std::vector<Dim> dims = v.dims;
  dims[axis] = most;
  const auto first = [&](Node y) {
    if (most == v.dims[axis]) return y;
    return most.known() ? op.cut(y, at, 0, k) : op.layer("Take", {{"axis", at}}, {y, op.places(most)});
  };
  if (op.wants(0)) op.give(0, op.cast(first(op.layer("Sort", config, {x})), v.dtype), dims, perm);
  if (op.wants(1)) op.give(1, op.cast(first(op.layer("Argsort", config, {x})), DType::i64), dims, perm);
  op.of_type(1, Type::int64);
}

}  // namespace

std::span<const Row> order_rows() {
  static constexpr Row rows[] = {
      {"TopK", top_k, "X K@10 > Values=X Indices; axis=-1 k@-9:int! largest@11=1|0 sorted@11=1|0"},
      {"CumSum", [](const Op &op) { cumulate(op, "Cumsum"); }, "x axis > y=x; exclusive=0|1 reverse=0|1"},
      {"CumProd", [](const Op &op) { cumulate(op, "Cumprod"); }, "x axis > y=x; exclusive=0|1 reverse=0|1"},
  };
  return rows;
}

}  // namespace dl4::io::onnx
