// Direct calls of OpenBLAS and oneDNN: products and convolutions.
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

#include "direct.hpp"
#include "direct_dnnl.hpp"
#include "loops.hpp"

namespace bench {

Routine fastest(std::vector<Routine> candidates) {
  if (candidates.size() == 1) return candidates[0];
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(candidates.size(), 1e30);
  for (const Routine &r : candidates) r.call();
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      int calls = 0;
      auto start = Clock::now();
      double spent = 0;
      do {
        candidates[i].call();
        spent = std::chrono::duration<double>(Clock::now() - start).count();
      } while (++calls < 1000 && spent < 3e-4);
      best[i] = std::min(best[i], spent / calls);
    }
  }
  return candidates[static_cast<size_t>(std::min_element(best.begin(), best.end()) - best.begin())];
}

namespace {

int to_int(int64_t n) { return static_cast<int>(n); }

Call by_sgemm(const Product &p, int threads) {
  return [=] {
    for (int64_t i = 0; i < p.batch; ++i) {
      float *c = p.c + i * p.m * p.n;
      if (p.bias)
        for (int64_t r = 0; r < p.m; ++r) std::memcpy(c + r * p.n, p.bias, static_cast<size_t>(p.n) * sizeof(float));
      cblas_sgemm(CblasRowMajor, p.trans_a ? CblasTrans : CblasNoTrans, p.trans_b ? CblasTrans : CblasNoTrans,
                  to_int(p.m), to_int(p.n), to_int(p.k), 1, p.a + i * p.m * p.k, to_int(p.trans_a ? p.m : p.k),
                  p.b + i * p.k * p.n, to_int(p.trans_b ? p.k : p.n), p.bias || p.add ? 1 : 0, c, to_int(p.n));
    }
    activate(threads, p.activation, p.c, p.batch * p.m * p.n);
  };
}

Call by_sgemv(const Product &p, int threads) {
  return [=] {
    if (p.bias) std::memcpy(p.c, p.bias, static_cast<size_t>(p.n) * sizeof(float));
    cblas_sgemv(CblasRowMajor, p.trans_b ? CblasNoTrans : CblasTrans, to_int(p.trans_b ? p.n : p.k),
                to_int(p.trans_b ? p.k : p.n), 1, p.b, to_int(p.trans_b ? p.k : p.n), p.a, 1, p.bias || p.add ? 1 : 0,
                p.c, 1);
    activate(threads, p.activation, p.c, p.n);
  };
}

Call by_dnnl_matmul(const Product &p) {
  bool flat = p.batch == 1;
  auto matrix = [&](int64_t rows, int64_t cols, bool trans) {
    int64_t down = trans ? 1 : cols, across = trans ? rows : 1;
    return flat ? strided({rows, cols}, {down, across}) : strided({p.batch, rows, cols}, {rows * cols, down, across});
  };
  Desc a = matrix(p.m, p.k, p.trans_a), b = matrix(p.k, p.n, p.trans_b), c = matrix(p.m, p.n, false);
  Desc wanted = p.constant_b && flat ? any({p.k, p.n}) : b;
  auto how = attributes(p.activation);
  auto pd = p.bias ? make<dnnl::matmul>(engine(), how, a, wanted, flat ? plain({1, p.n}) : plain({1, 1, p.n}), c)
                   : make<dnnl::matmul>(engine(), how, a, wanted, c);
  Args args{{DNNL_ARG_SRC, memory(a, p.a)}, {DNNL_ARG_DST, memory(c, p.c)}};
  args[DNNL_ARG_WEIGHTS] = reordered(memory(b, p.b), pd.weights_desc());
  if (p.bias) args[DNNL_ARG_BIAS] = memory(pd.bias_desc(), p.bias);
  return execution(dnnl::matmul(pd), args);
}

struct ConvDescs {
  Desc x, y, bias, kernel, any_kernel;
  Dims strides, dilations{0, 0}, before, after;
  explicit ConvDescs(const Convolution &c)
      : x(strided({c.n, c.c, c.h, c.w}, {c.h * c.w * c.c, 1, c.w * c.c, c.c})),
        y(strided({c.n, c.oc, c.oh, c.ow}, {c.oh * c.ow * c.oc, 1, c.ow * c.oc, c.oc})),
        bias(plain({c.oc})),
        kernel(strided({c.oc, c.c, c.k, c.k}, {1, c.oc, c.k * c.c * c.oc, c.c * c.oc})),
        any_kernel(any({c.oc, c.c, c.k, c.k})),
        strides{c.stride, c.stride},
        before{c.pad_before, c.pad_before},
        after{c.pad_after, c.pad_after} {}
};

auto describe(const Convolution &c, const ConvDescs &d, bool training) {
  return make<dnnl::convolution_forward>(
      engine(), attributes(c.activation),
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference,
      dnnl::algorithm::convolution_direct, d.x, d.any_kernel, d.bias, d.y, d.strides, d.dilations, d.before, d.after);
}

}  // namespace

Routine product(const Product &p, int threads) {
  std::vector<Routine> candidates{{"OpenBLAS sgemm", by_sgemm(p, threads)}};
  if (p.batch * p.m == 1) candidates.push_back({"OpenBLAS sgemv", by_sgemv(p, threads)});
  if (!p.add) candidates.push_back({p.constant_b ? "oneDNN matmul packed" : "oneDNN matmul", by_dnnl_matmul(p)});
  if (!p.add && p.activation != Activation::none) {
    Product linear = p;
    linear.activation = Activation::none;
    candidates.push_back({candidates.back().name + ", loop", [=, call = by_dnnl_matmul(linear)] {
                            call();
                            activate(threads, p.activation, p.c, p.batch * p.m * p.n);
                          }});
  }
  return fastest(std::move(candidates));
}

Routine convolution(const Convolution &c) {
  ConvDescs d(c);
  auto pd = describe(c, d, !c.constant);
  Args args{
      {DNNL_ARG_SRC, memory(d.x, c.x)}, {DNNL_ARG_BIAS, memory(d.bias, c.bias)}, {DNNL_ARG_DST, memory(d.y, c.y)}};
  Memory raw = memory(d.kernel, c.kernel);
  Call pack;
  if (c.constant) {
    args[DNNL_ARG_WEIGHTS] = reordered(raw, pd.weights_desc());
  } else {
    auto [packed, call] = reorder(raw, pd.weights_desc());
    args[DNNL_ARG_WEIGHTS] = packed;
    pack = call;
  }
  Call run = execution(dnnl::convolution_forward(pd), args);
  return {std::string("oneDNN convolution ") + pd.impl_info_str(), [=] {
            if (pack) pack();
            run();
          }};
}

Call convolution_backward(const Convolution &c) {
  using Weights = dnnl::convolution_backward_weights;
  using Source = dnnl::convolution_backward_data;
  ConvDescs d(c);
  Convolution plain_forward = c;
  plain_forward.activation = Activation::none;
  auto hint = describe(plain_forward, d, true);
  constexpr auto direct = dnnl::algorithm::convolution_direct;
  auto by_weights = make_backward<Weights>(engine(), hint, attributes(), direct, d.x, d.any_kernel, d.bias, d.y,
                                           d.strides, d.dilations, d.before, d.after);
  Memory packed_gradient(by_weights.diff_weights_desc(), engine()), gradient = memory(d.kernel, c.dkernel);
  bool same = by_weights.diff_weights_desc() == d.kernel;
  Call first = execution(Weights(by_weights), {{DNNL_ARG_SRC, memory(d.x, c.x)},
                                               {DNNL_ARG_DIFF_DST, memory(d.y, c.dy)},
                                               {DNNL_ARG_DIFF_WEIGHTS, same ? gradient : packed_gradient},
                                               {DNNL_ARG_DIFF_BIAS, memory(d.bias, c.dbias)}});
  Call unpack = same ? Call() : reorder_into(packed_gradient, gradient);
  Call pack, second;
  if (c.dx) {
    auto by_source = make_backward<Source>(engine(), hint, attributes(), direct, d.x, d.any_kernel, d.y, d.strides,
                                           d.dilations, d.before, d.after);
    auto [packed, call] = reorder(memory(d.kernel, c.kernel), by_source.weights_desc());
    pack = call;
    second = execution(
        Source(by_source),
        {{DNNL_ARG_DIFF_DST, memory(d.y, c.dy)}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DIFF_SRC, memory(d.x, c.dx)}});
  }
  return [=] {
    first();
    if (unpack) unpack();
    if (pack) pack();
    if (second) second();
  };
}

}  // namespace bench
