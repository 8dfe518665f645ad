// conv_transpose: the input gradient of a convolution, used forward.
#include "ops/attributes.hpp"
#include "ops/conv.hpp"
#include "ops/op.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

struct ConvTransposeOp final : OpOf<ConvTransposeOp, "conv_transpose", attributes::ConvTranspose> {
  std::vector<Operand> infer(Operands src) const override {
    for (const Operand &o : src) want_float(op, o);
    const Shape &x = src[0].shape, &w = src[1].shape;
    const int rank = static_cast<int>(how.strides.size()) + 2;
    if (x.rank() != rank || w.rank() != rank || !w.known())
      fail(Code::shape_mismatch, "conv_transpose: expected an input and a known kernel of ", rank, " axes, got ", x,
           " and ", w);
    Shape y = x.with(rank - 1, checked_mul(w[-2], how.groups));
    for (int i = 0; i + 2 < rank; ++i) y = y.with(i + 1, length(i, x[i + 1], w[i]));
    // The convolution of the result must have the shape of x.
    const Shape back = conv_shape("conv_transpose", how, y, w);
    if (!compatible(back, x))
      fail(Code::shape_mismatch, "conv_transpose: an output of ", y, ", as output_padding ", numbers(output_padding),
           " makes it, corresponds to an input ", back, ", got ", x);
    return {{DType::f32, y}};
  }

  void gradient(Gradient &g) const override {
    const Id dy = g.diff_dst();
    if (g.wants(0)) g.set(0, conv(g.e, dy, g.src(1), none, how));
    if (g.wants(1)) g.set(1, conv_weights(g.e, dy, g.src(0), g.src(1), false, how).weights);
  }

 private:
  // Output size along a spatial axis with input size n.
  int64_t length(int axis, int64_t n, int64_t taps) const {
    if (n == free_dim) return n;
    const auto i = static_cast<size_t>(axis);
    const int64_t stride = how.strides[i], reach = checked_add(checked_mul(taps - 1, how.dilation[i]), 1);
    const int64_t extra = output_padding[i], before_last = checked_mul(std::max<int64_t>(n - 1, 0), stride);
    if (how.padding == Padding::same)
      return extra < 0 ? checked_mul(n, stride) : checked_add(before_last, reach % 2, extra);
    return checked_add(before_last, extra < 0 ? std::max(reach, stride) : checked_add(reach, extra));
  }
};

}  // namespace

Id conv_transpose(Emit &e, Id x, Id weights, Conv how, const std::vector<int64_t> &output_padding) {
  check("conv_transpose", how);
  if (how.padding == Padding::causal || output_padding.size() != how.strides.size())
    fail(Code::invalid_argument, "conv_transpose: expected padding valid or same and output_padding of ",
         how.strides.size(), " axes, got ", how.padding, " and ", numbers(output_padding));
  for (size_t i = 0; i < output_padding.size(); ++i)
    if (output_padding[i] < -1 || output_padding[i] >= how.strides[i])
      fail(Code::invalid_argument, "conv_transpose: output_padding must be less than strides, got ",
           numbers(output_padding), " and ", numbers(how.strides));
  how.bfloat16 |= e.bfloat16;
  return e.value(make<ConvTransposeOp>(how, output_padding), {x, weights});
}

}  // namespace dl4::ops
