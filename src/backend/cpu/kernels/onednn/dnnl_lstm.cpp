// LSTM by oneDNN. Its "ref" implementation of recurrent layers is products by its own gemm, and as
// fast as the others: here it is welcome. Batch-major sequences cost no more than time-major ones.
#include "backend/cpu/kernels/onednn/dnnl_lstm.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/onednn/dnnl_kernel.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"

namespace dl4::kernels {
namespace {

using namespace onednn;
using Forward = dnnl::lstm_forward;

constexpr int64_t bytes = sizeof(float);

// The descriptions of n sequences. The initial state is always there, if only as zeros: without it, oneDNN takes what
// happens to be in memory for the state before a single step.
struct Descs {
  Desc x, y, state, w, r, any_w, any_r, bias;
  dnnl::rnn_direction direction;

  Descs(const LstmShape &s, int64_t n)
      : x(strided({s.t, n, s.i}, {s.i, checked_mul(s.t, s.i), 1})),
        y(strided({s.t, n, s.h}, {s.h, checked_mul(s.t, s.h), 1})),
        state(plain({1, 1, n, s.h})),
        w(plain({1, 1, s.i, 4, s.h})),
        r(plain({1, 1, s.h, 4, s.h})),
        any_w(any({1, 1, s.i, 4, s.h})),
        any_r(any({1, 1, s.h, 4, s.h})),
        bias(plain({1, 1, 4, s.h})),
        direction(s.reverse ? dnnl::rnn_direction::unidirectional_right2left
                            : dnnl::rnn_direction::unidirectional_left2right) {}
};

Forward::primitive_desc describe(const LstmShape &s, int64_t n, bool packed) {
  Descs d(s, n);
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  return make<Forward>(engine(), attributes(), kind, d.direction, d.x, d.state, d.state, packed ? d.any_w : d.w,
                       packed ? d.any_r : d.r, d.bias, d.y, d.state, d.state);
}

Operand constant(int name, const Constant &c, const Desc &raw, const Desc &wanted, int64_t sequences, int source) {
  if (raw == wanted) return {name, raw, source};
  auto packed = pack(c, 0, raw, wanted, "lstm of " + std::to_string(sequences));
  return {name, wanted, Operand::fixed, 0, -1, packed->memory, packed};
}

// Room for a bias or a state of zeros.
int64_t zero_bytes(const LstmShape &s, int64_t n) { return checked_mul(std::max<int64_t>(n, 4), s.h, bytes); }

float *in_scratch(const Run &r, int64_t at) { return reinterpret_cast<float *>(static_cast<char *>(r.scratch) + at); }

}  // namespace

std::unique_ptr<Kernel> dnnl_lstm(const LstmShape &s, int64_t slices, const Constant *w, const Constant *r) try {
  enum { x_arg, w_arg, r_arg, bias_arg, h0_arg, c0_arg };
  SingleThreaded one;
  MakesPrimitives own_primitives;
  if (s.t <= 0 || s.b <= 0 || s.i <= 0 || s.h <= 0) return nullptr;
  slices = std::clamp<int64_t>(slices, 1, s.b);
  bool packs = w && r;
  std::vector<Calls> all;
  Scratch scratch;
  std::vector<std::pair<int64_t, int64_t>> zeros;  // place and size
  PackedForms own_w, own_r;
  std::string impl;
  for (int64_t i = 0; i < slices; i++) {
    auto [first, last] = part(s.b, slices, i);
    int64_t n = last - first, state = checked_mul(first, s.h, bytes);
    Descs d(s, n);
    std::string key = "lstm" + std::string(s.reverse ? " reverse" : "") + (packs ? " packed" : "");
    for (int64_t v : {s.t, n, s.i, s.h}) key += ' ' + std::to_string(v);
    auto made = share<Forward>(
        key, [&] { return describe(s, n, packs); }, true);
    const auto &pd = made->pd;
    impl = pd.impl_info_str();
    zeros.push_back({scratch.take(zero_bytes(s, n)), zero_bytes(s, n)});
    int64_t zero = zeros.back().first;
    Call call{made->primitive, {{DNNL_ARG_SRC_LAYER, d.x, x_arg, checked_mul(first, s.t, s.i, bytes)}}, made};
    auto &o = call.operands;
    if (packs) {
      o.push_back(constant(DNNL_ARG_WEIGHTS_LAYER, {w->data, w->forms ? w->forms : &own_w}, d.w,
                           pd.weights_layer_desc(), n, w_arg));
      o.push_back(constant(DNNL_ARG_WEIGHTS_ITER, {r->data, r->forms ? r->forms : &own_r}, d.r, pd.weights_iter_desc(),
                           n, r_arg));
    } else {
      o.push_back({DNNL_ARG_WEIGHTS_LAYER, d.w, w_arg});
      o.push_back({DNNL_ARG_WEIGHTS_ITER, d.r, r_arg});
    }
    o.push_back({DNNL_ARG_BIAS, d.bias, bias_arg, 0, zero});
    o.push_back({DNNL_ARG_SRC_ITER, d.state, h0_arg, state, zero});
    o.push_back({DNNL_ARG_SRC_ITER_C, d.state, c0_arg, state, zero});
    o.push_back({DNNL_ARG_DST_LAYER, d.y, Operand::out(0), checked_mul(first, s.t, s.h, bytes),
                 scratch.take(checked_mul(n, s.t, s.h, bytes))});
    o.push_back({DNNL_ARG_DST_ITER, d.state, Operand::out(1), state, scratch.take(checked_mul(n, s.h, bytes))});
    o.push_back({DNNL_ARG_DST_ITER_C, d.state, Operand::out(2), state, scratch.take(checked_mul(n, s.h, bytes))});
    add_scratchpad(o, pd, scratch);
    all.push_back({std::move(call)});
  }
  Step before = [zeros](int64_t slice, const Run &run) {
    auto [at, size] = zeros[static_cast<size_t>(slice)];
    if (!run.in<float>(bias_arg) || !run.in<float>(h0_arg) || !run.in<float>(c0_arg))
      std::memset(in_scratch(run, at), 0, static_cast<size_t>(size));
  };
  std::string name = "dnnl_lstm " + impl + (packs ? ", packed" : "") + (slices > 1 ? ", by sequences" : "");
  return std::make_unique<DnnlKernel>(name, std::move(all), scratch.bytes(), before);
} catch (const dnnl::error &) {
  return nullptr;
}

}  // namespace dl4::kernels
