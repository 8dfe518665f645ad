// LocallyConnected1D, LocallyConnected2D of Keras 1 and 2: convolutions with separate kernels per position.
#include <numeric>

#include "kinds/layers/conv/conv.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

template <size_t N>
struct LocallyConnected final : LayerOf<LocallyConnected<N>> {
  static constexpr const char *name = N == 1 ? "LocallyConnected1D" : "LocallyConnected2D";
  static constexpr const char *doc =
      "A convolution whose kernel and bias are others at each place. Keras 3 has it no more; those of Keras 2 are read "
      "as their implementation 1 stores them.";
  int64_t filters = 0;
  std::array<int64_t, N> kernel_size{}, strides{};
  ops::Padding padding = ops::Padding::valid;
  DataFormat data_format;
  Activation activation;
  KernelAndBias weights;
  int64_t implementation = 1;

  LocallyConnected() { strides.fill(1); }
  void fields(Fields &f) override {
    f("filters", filters).required("4").at_least(1).at_most(max_dim).doc("channels of the output");
    f("kernel_size", kernel_size).required("2").at_least(1).at_most(max_dim).doc("size of the window");
    f("strides", strides).at_least(1).at_most(max_dim).doc("steps of the window");
    f("padding", padding, {"valid"}).among_others().doc("whole windows only");
    data_format.fields(f);
    f("activation", activation).doc("applied to the sum");
    f("implementation", implementation).default_only().doc("how Keras 2 stores the kernel");
    weights.fields(f);
  }
  static constexpr PlainFacts plain{.inputs = {{"x", spatial_input[N - 1]}},
                                    .outputs = {{"y", N == 1 ? "(B, OT, filters)" : "(B, OH, OW, filters)"}},
                                    .weights = {{"kernel", "(places, window * C, filters)"},
                                                {"bias", N == 1 ? "(OT, filters)" : "(OH, OW, filters)", "use_bias"}}};

  std::vector<Symbol> call(Call &c) const override {
    c.need_rank(0, static_cast<int>(N) + 2);
    c.as_float(0);
    ops::Emit &e = c.e;
    Id x = data_format.to_last(e, c.x());
    const Shape s = e.shape(x);
    std::vector<int64_t> out;
    int64_t places = 1, window = s.last();
    for (size_t i = 0; i < N; ++i) {
      const int64_t n = s[static_cast<int>(i) + 1];
      if (n == free_dim || s.last() == free_dim)
        fail(Code::shape_mismatch, "expected an input whose axes are known but for the batch, got ", c.shape());
      if (n < kernel_size[i])
        fail(Code::shape_mismatch, "expected at least ", kernel_size[i], " places of each axis, got ", c.shape());
      out.push_back((n - kernel_size[i]) / strides[i] + 1);
      places = checked_mul(places, out[i]);
      window = checked_mul(window, kernel_size[i]);
    }
    Id kernel = weights.kernel(c, {places, window, filters});
    x = windows(e, x, out);
    Id y = ops::matmul(e, ops::transpose(e, x, {1, 0, 2}), kernel);
    y = ops::transpose(e, y, {1, 0, 2});
    Shape tail(out);
    tail = tail.inserted(tail.rank(), filters);
    y = ops::reshape(e, y, 1, tail);
    if (weights.use_bias)
      y = ops::add(e, y,
                   c.weight("bias", tail, weights.bias_initializer, weights.bias_regularizer, weights.bias_constraint));
    y = activation(e, data_format.from_last(e, y));
    c.penalize(weights.activity_regularizer, y);
    return {{y}};
  }

 private:
  // (B, positions, window): the input positions of each window.
  Id windows(ops::Emit &e, Id x, const std::vector<int64_t> &out) const {
    for (size_t i = 0; i < N; ++i) {
      const int axis = static_cast<int>(i) + 1;
      if (checked_mul(out[i], kernel_size[i]) > 1 << 24)
        fail(Code::unsupported, "\"kernel_size\": windows of more than ", 1 << 24, " places");
      Tensor ids = make_tensor(DType::i32, {out[i] * kernel_size[i]});
      int32_t *id = ids.as<int32_t>();
      for (int64_t to = 0; to < out[i]; ++to)
        for (int64_t k = 0; k < kernel_size[i]; ++k) *id++ = static_cast<int32_t>(to * strides[i] + k);
      std::vector<int> perm(N + 2);
      std::iota(perm.begin(), perm.end(), 0);
      std::swap(perm[0], perm[static_cast<size_t>(axis)]);
      x = ops::transpose(e, ops::gather(e, ops::transpose(e, x, perm), e.constant(std::move(ids))), perm);
    }
    const int64_t channels = e.shape(x).last();
    if constexpr (N == 1) {
      return ops::reshape(e, x, 1, {out[0], checked_mul(kernel_size[0], channels)});
    } else {
      x = ops::reshape(e, x, 1, {out[0], kernel_size[0], out[1], checked_mul(kernel_size[1], channels)});
      x = ops::transpose(e, x, {0, 1, 3, 2, 4});
      return ops::reshape(e, x, 1, {out[0] * out[1], checked_mul(kernel_size[0], kernel_size[1], channels)});
    }
  }
};

using LocallyConnected1D = LocallyConnected<1>;
using LocallyConnected2D = LocallyConnected<2>;

}  // namespace
DL4_KINDS(locally_connected, LocallyConnected1D, LocallyConnected2D)
}  // namespace dl4::kinds
