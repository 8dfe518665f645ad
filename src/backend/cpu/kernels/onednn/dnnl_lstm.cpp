// LSTM by oneDNN. Its "ref" implementation of recurrent layers is accepted: it uses oneDNN's own gemm and is as fast as
// the others. Batch-major sequences cost no more than time-major ones.
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

// Descriptors of some steps of n sequences. The initial state is always passed, if only as zeros: without it, oneDNN
// reads uninitialised memory as the state before a single step.
struct Descs {
  Desc x, y, state, w, r, any_w, any_r, bias;
  dnnl::rnn_direction direction;

  Descs(const LstmShape &s, int64_t n, int64_t steps)
      : x(strided({steps, n, s.i}, {s.i, checked_mul(s.t, s.i), 1})),
        y(strided({steps, n, s.h}, {s.h, checked_mul(s.t, s.h), 1})),
        state(plain({1, 1, n, s.h})),
        w(plain({1, 1, s.i, 4, s.h})),
        r(plain({1, 1, s.h, 4, s.h})),
        any_w(any({1, 1, s.i, 4, s.h})),
        any_r(any({1, 1, s.h, 4, s.h})),
        bias(plain({1, 1, 4, s.h})),
        direction(s.reverse ? dnnl::rnn_direction::unidirectional_right2left
                            : dnnl::rnn_direction::unidirectional_left2right) {}
};

Forward::primitive_desc describe(const Descs &d, bool packed) {
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  return make<Forward>(engine(), attributes(), kind, d.direction, d.x, d.state, d.state, packed ? d.any_w : d.w,
                       packed ? d.any_r : d.r, d.bias, d.y, d.state, d.state);
}

Operand constant(int name, const Constant &c, const Desc &raw, const Desc &wanted, int64_t sequences, int source) {
  if (raw == wanted) return {name, raw, source};
  auto packed = pack(c, 0, raw, wanted, "lstm of " + std::to_string(sequences));
  return {name, wanted, Operand::fixed, 0, -1, packed->memory, packed};
}

// Bytes of a zero bias or state.
int64_t zero_bytes(const LstmShape &s, int64_t n) { return checked_mul(std::max<int64_t>(n, 4), s.h, bytes); }

float *in_scratch(const Run &r, int64_t at) { return reinterpret_cast<float *>(static_cast<char *>(r.scratch) + at); }

enum { x_arg, w_arg, r_arg, bias_arg, h0_arg, c0_arg };

// Makes the calls of slices, which are sequences of the batch.
class Maker {
 public:
  Maker(const LstmShape &s, const Constant *w, const Constant *r) : s_(s), w_(w), r_(r) {}

  // For n sequences from `first`: as many steps per call as allowed.
  Calls slice(int64_t first, int64_t n) {
    zeros.push_back({scratch.take(zero_bytes(s_, n)), zero_bytes(s_, n)});
    y_ = scratch.take(checked_mul(n, s_.t, s_.h, bytes));
    pad_ = -1;
    State now = state(n), next = s_.at_once < s_.t ? state(n) : now;
    Calls calls;
    for (int64_t begin = 0, end; begin < s_.t; begin = end) {
      end = begin + std::min(s_.at_once, s_.t - begin);
      calls.push_back(call(first, n, begin, end, now, next));
      std::swap(now, next);
    }
    return calls;
  }

  Scratch scratch;
  std::vector<std::pair<int64_t, int64_t>> zeros;  // offset and size per slice
  std::string impl;

 private:
  // Scratch offsets of the states.
  struct State {
    int64_t h, c;
  };
  State state(int64_t n) {
    const int64_t h = scratch.take(checked_mul(n, s_.h, bytes));
    return {h, scratch.take(checked_mul(n, s_.h, bytes))};
  }

  // Steps [begin, end) in processing order, from state `from` to state `to`.
  Call call(int64_t first, int64_t n, int64_t begin, int64_t end, State from, State to) {
    const bool packs = w_ && r_;
    const int64_t zero = zeros.back().first, state = checked_mul(first, s_.h, bytes);
    const int64_t step = checked_add(checked_mul(first, s_.t), s_.reverse ? s_.t - end : begin);  // the earliest step
    Descs d(s_, n, end - begin);
    std::string key = "lstm" + std::string(s_.reverse ? " reverse" : "") + (packs ? " packed" : "");
    for (int64_t v : {s_.t, end - begin, n, s_.i, s_.h}) key += ' ' + std::to_string(v);
    auto made = share<Forward>(
        key, [&] { return describe(d, packs); }, true);
    const auto &pd = made->pd;
    impl = pd.impl_info_str();
    Call call{made->primitive, {{DNNL_ARG_SRC_LAYER, d.x, x_arg, checked_mul(step, s_.i, bytes)}}, made};
    auto &o = call.operands;
    if (packs) {
      o.push_back(constant(DNNL_ARG_WEIGHTS_LAYER, {w_->data, w_->forms ? w_->forms : &own_w_}, d.w,
                           pd.weights_layer_desc(), n, w_arg));
      o.push_back(constant(DNNL_ARG_WEIGHTS_ITER, {r_->data, r_->forms ? r_->forms : &own_r_}, d.r,
                           pd.weights_iter_desc(), n, r_arg));
    } else {
      o.push_back({DNNL_ARG_WEIGHTS_LAYER, d.w, w_arg});
      o.push_back({DNNL_ARG_WEIGHTS_ITER, d.r, r_arg});
    }
    o.push_back({DNNL_ARG_BIAS, d.bias, bias_arg, 0, zero});
    const auto carried = [&](int name, int argument, int64_t in_between, bool outside, int64_t otherwise) {
      if (outside)
        o.push_back({name, d.state, argument, state, otherwise});
      else
        o.push_back({name, d.state, Operand::in_scratch, in_between});
    };
    carried(DNNL_ARG_SRC_ITER, h0_arg, from.h, begin == 0, zero);
    carried(DNNL_ARG_SRC_ITER_C, c0_arg, from.c, begin == 0, zero);
    o.push_back({DNNL_ARG_DST_LAYER, d.y, Operand::out(0), checked_mul(step, s_.h, bytes), y_});
    carried(DNNL_ARG_DST_ITER, Operand::out(1), to.h, end == s_.t, to.h);
    carried(DNNL_ARG_DST_ITER_C, Operand::out(2), to.c, end == s_.t, to.c);
    // The first call has most steps; the others reuse its scratchpad.
    const Desc pad = pd.scratchpad_desc();
    if (pad_ < 0) pad_ = scratch.take(static_cast<int64_t>(pad.get_size()));
    if (pad.get_size() > 0) o.push_back({DNNL_ARG_SCRATCHPAD, pad, Operand::in_scratch, pad_});
    return call;
  }

  const LstmShape &s_;
  const Constant *const w_, *const r_;
  PackedForms own_w_, own_r_;
  int64_t y_ = 0, pad_ = -1;  // scratch offsets
};

}  // namespace

std::unique_ptr<Kernel> dnnl_lstm(const LstmShape &s, int64_t slices, const Constant *w, const Constant *r) try {
  SingleThreaded one;
  MakesPrimitives own_primitives;
  if (s.t <= 0 || s.b <= 0 || s.i <= 0 || s.h <= 0) return nullptr;
  slices = std::clamp<int64_t>(slices, 1, s.b);
  Maker maker(s, w, r);
  std::vector<Calls> all;
  for (int64_t i = 0; i < slices; i++) {
    auto [first, last] = part(s.b, slices, i);
    all.push_back(maker.slice(first, last - first));
  }
  Step before = [zeros = maker.zeros](int64_t slice, const Run &run) {
    auto [at, size] = zeros[static_cast<size_t>(slice)];
    if (!run.in<float>(bias_arg) || !run.in<float>(h0_arg) || !run.in<float>(c0_arg))
      std::memset(in_scratch(run, at), 0, static_cast<size_t>(size));
  };
  std::string name = "dnnl_lstm " + maker.impl + (w && r ? ", packed" : "") + (slices > 1 ? ", by sequences" : "");
  return std::make_unique<DnnlKernel>(name, std::move(all), maker.scratch.bytes(), before);
} catch (const dnnl::error &) {
  return nullptr;
}

}  // namespace dl4::kernels
