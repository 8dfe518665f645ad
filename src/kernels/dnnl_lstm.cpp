// LSTM and its gradient by oneDNN. Its "ref" implementation of recurrent layers is products by its own gemm, and as
// fast as the others: here it is welcome. Batch-major sequences cost no more than time-major ones.
#include "kernels/dnnl_lstm.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/dnnl_kernel.hpp"
#include "kernels/single_threaded.hpp"

namespace dl4::kernels {
namespace {

using namespace onednn;
using Forward = dnnl::lstm_forward;
using Backward = dnnl::lstm_backward;

constexpr int64_t bytes = sizeof(float);

bool is_empty(const LstmShape &s) { return s.t <= 0 || s.b <= 0 || s.i <= 0 || s.h <= 0; }
int64_t count(const LstmShape &s, int64_t slices) { return std::clamp<int64_t>(slices, 1, s.b); }

// The descriptions of n sequences. The initial state is always there, if only as zeros: without it, oneDNN takes what
// happens to be in memory for the state before a single step.
struct Descs {
  Desc x, y, state, w, r, any_w, any_r, bias;
  dnnl::rnn_direction direction;

  Descs(const LstmShape &s, int64_t n)
      : x(strided({s.t, n, s.i}, {s.i, s.t * s.i, 1})),
        y(strided({s.t, n, s.h}, {s.h, s.t * s.h, 1})),
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
  auto kind = s.training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  return make<Forward>(engine(), attributes(), kind, d.direction, d.x, d.state, d.state, packed ? d.any_w : d.w,
                       packed ? d.any_r : d.r, d.bias, d.y, d.state, d.state);
}

Backward::primitive_desc describe_backward(const LstmShape &s, int64_t n, const Forward::primitive_desc &hint) {
  Descs d(s, n);
  return make_backward<Backward>(engine(), hint, attributes(), dnnl::prop_kind::backward, d.direction, d.x, d.state,
                                 d.state, d.any_w, d.any_r, d.bias, d.y, d.state, d.state, d.x, d.state, d.state,
                                 d.w, d.r, d.bias, d.y, d.state, d.state);
}

// Where each slice's workspace begins; the last one is the size of all.
std::vector<int64_t> workspaces(const LstmShape &s, int64_t slices) {
  Scratch all;
  std::vector<int64_t> at;
  for (int64_t i = 0; i < slices; i++) {
    auto [first, last] = part(s.b, slices, i);
    at.push_back(all.take(static_cast<int64_t>(describe(s, last - first, false).workspace_desc().get_size())));
  }
  at.push_back(all.bytes());
  return at;
}

Operand constant(int name, const Constant &c, const Desc &raw, const Desc &wanted, int64_t sequences, int source) {
  if (raw == wanted) return {name, raw, source};
  auto packed = pack(c, 0, raw, wanted, "lstm of " + std::to_string(sequences));
  return {name, wanted, Operand::fixed, 0, -1, packed->memory, packed};
}

// Room for a bias or a state of zeros.
int64_t zero_bytes(const LstmShape &s, int64_t n) { return std::max<int64_t>(n, 4) * s.h * bytes; }

float *in_scratch(const Run &r, int64_t at) { return reinterpret_cast<float *>(static_cast<char *>(r.scratch) + at); }

}  // namespace

std::unique_ptr<Kernel> dnnl_lstm(const LstmShape &s, int64_t slices, const Constant *w, const Constant *r) try {
  enum { x_arg, w_arg, r_arg, bias_arg, h0_arg, c0_arg, y_arg, h_arg, c_arg, workspace_arg };
  SingleThreaded one;
  if (is_empty(s)) return nullptr;
  slices = count(s, slices);
  bool packs = w && r && !s.training;
  std::vector<int64_t> workspace = s.training ? workspaces(s, slices) : std::vector<int64_t>{};
  std::vector<Calls> all;
  Scratch scratch;
  std::vector<std::pair<int64_t, int64_t>> zeros;  // place and size
  PackedForms own_w, own_r;
  std::string impl;
  for (int64_t i = 0; i < slices; i++) {
    auto [first, last] = part(s.b, slices, i);
    int64_t n = last - first, state = first * s.h * bytes;
    Descs d(s, n);
    auto pd = describe(s, n, packs);
    impl = pd.impl_info_str();
    zeros.push_back({scratch.take(zero_bytes(s, n)), zero_bytes(s, n)});
    int64_t zero = zeros.back().first;
    Call call{Forward(pd), {{DNNL_ARG_SRC_LAYER, d.x, x_arg, first * s.t * s.i * bytes}}};
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
    o.push_back({DNNL_ARG_DST_LAYER, d.y, y_arg, first * s.t * s.h * bytes, scratch.take(n * s.t * s.h * bytes)});
    o.push_back({DNNL_ARG_DST_ITER, d.state, h_arg, state, scratch.take(n * s.h * bytes)});
    o.push_back({DNNL_ARG_DST_ITER_C, d.state, c_arg, state, scratch.take(n * s.h * bytes)});
    if (s.training)
      o.push_back({DNNL_ARG_WORKSPACE, pd.workspace_desc(), workspace_arg, workspace[static_cast<size_t>(i)]});
    add_scratchpad(o, pd, scratch);
    all.push_back({std::move(call)});
  }
  Step before = [zeros](int64_t slice, const Run &run) {
    auto [at, size] = zeros[static_cast<size_t>(slice)];
    if (!run.args[bias_arg] || !run.args[h0_arg] || !run.args[c0_arg])
      std::memset(in_scratch(run, at), 0, static_cast<size_t>(size));
  };
  std::string name = "oneDNN lstm " + impl + (packs ? ", packed" : "") + (slices > 1 ? ", by sequences" : "");
  return std::make_unique<DnnlKernel>(name, std::move(all), scratch.bytes(), before);
} catch (const dnnl::error &) {
  return nullptr;
}

int64_t dnnl_lstm_workspace(const LstmShape &s, int64_t slices) try {
  SingleThreaded one;
  LstmShape training = s;
  training.training = true;
  return is_empty(s) ? 0 : workspaces(training, count(s, slices)).back();
} catch (const dnnl::error &) {
  return 0;
}

std::unique_ptr<Kernel> dnnl_lstm_backward(const LstmShape &given, int64_t slices) try {
  enum { x_arg, w_arg, r_arg, bias_arg, h0_arg, c0_arg, y_arg, h_arg, c_arg, workspace_arg, dy_arg, dh_arg, dc_arg,
         dx_arg, dw_arg, dr_arg, dbias_arg, dh0_arg, dc0_arg };
  SingleThreaded one;
  LstmShape s = given;
  s.training = true;
  if (is_empty(s)) return nullptr;
  slices = count(s, slices);
  std::vector<int64_t> workspace = workspaces(s, slices);
  // What each slice has in the scratch, in bytes from its start.
  struct Place {
    int64_t zeros, zero_bytes, dw, dr, dbias;
  };
  std::vector<Place> places;
  std::vector<Calls> all;
  Scratch scratch;
  std::string impl;
  for (int64_t i = 0; i < slices; i++) {
    auto [first, last] = part(s.b, slices, i);
    int64_t n = last - first, state = first * s.h * bytes;
    Descs d(s, n);
    auto pd = describe_backward(s, n, describe(s, n, false));
    impl = pd.impl_info_str();
    Place p;
    p.zero_bytes = std::max(zero_bytes(s, n), n * s.t * s.h * bytes);  // for what is absent, dy too
    p.zeros = scratch.take(p.zero_bytes);
    p.dw = scratch.take(s.i * 4 * s.h * bytes);
    p.dr = scratch.take(s.h * 4 * s.h * bytes);
    p.dbias = scratch.take(4 * s.h * bytes);
    places.push_back(p);

    Calls calls;
    auto weights = [&](int name, const Desc &raw, const Desc &wanted, int source) -> Operand {
      if (raw == wanted) return {name, raw, source};
      int64_t at = scratch.take(static_cast<int64_t>(wanted.get_size()));
      calls.push_back(reorder({DNNL_ARG_FROM, raw, source}, {DNNL_ARG_TO, wanted, Operand::in_scratch, at}, scratch));
      return {name, wanted, Operand::in_scratch, at};
    };
    Call call{Backward(pd), {{DNNL_ARG_SRC_LAYER, d.x, x_arg, first * s.t * s.i * bytes}}};
    auto &o = call.operands;
    o.push_back(weights(DNNL_ARG_WEIGHTS_LAYER, d.w, pd.weights_layer_desc(), w_arg));
    o.push_back(weights(DNNL_ARG_WEIGHTS_ITER, d.r, pd.weights_iter_desc(), r_arg));
    o.push_back({DNNL_ARG_BIAS, d.bias, bias_arg, 0, p.zeros});
    o.push_back({DNNL_ARG_DST_LAYER, d.y, y_arg, first * s.t * s.h * bytes});
    o.push_back({DNNL_ARG_DST_ITER, d.state, h_arg, state});
    o.push_back({DNNL_ARG_DST_ITER_C, d.state, c_arg, state});
    o.push_back({DNNL_ARG_WORKSPACE, pd.workspace_desc(), workspace_arg, workspace[static_cast<size_t>(i)]});
    o.push_back({DNNL_ARG_DIFF_DST_LAYER, d.y, dy_arg, first * s.t * s.h * bytes, p.zeros});
    o.push_back({DNNL_ARG_DIFF_DST_ITER, d.state, dh_arg, state, p.zeros});
    o.push_back({DNNL_ARG_DIFF_DST_ITER_C, d.state, dc_arg, state, p.zeros});
    o.push_back({DNNL_ARG_DIFF_SRC_LAYER, d.x, dx_arg, first * s.t * s.i * bytes, scratch.take(n * s.t * s.i * bytes)});
    o.push_back({DNNL_ARG_DIFF_WEIGHTS_LAYER, d.w, Operand::in_scratch, p.dw});
    o.push_back({DNNL_ARG_DIFF_WEIGHTS_ITER, d.r, Operand::in_scratch, p.dr});
    o.push_back({DNNL_ARG_DIFF_BIAS, d.bias, Operand::in_scratch, p.dbias});
    o.push_back({DNNL_ARG_SRC_ITER, d.state, h0_arg, state, p.zeros});
    o.push_back({DNNL_ARG_SRC_ITER_C, d.state, c0_arg, state, p.zeros});
    o.push_back({DNNL_ARG_DIFF_SRC_ITER, d.state, dh0_arg, state, scratch.take(n * s.h * bytes)});
    o.push_back({DNNL_ARG_DIFF_SRC_ITER_C, d.state, dc0_arg, state, scratch.take(n * s.h * bytes)});
    add_scratchpad(o, pd, scratch);
    calls.push_back(std::move(call));
    all.push_back(std::move(calls));
  }
  Step before = [places, s](int64_t slice, const Run &run) {
    const Place &p = places[static_cast<size_t>(slice)];
    auto absent = [&](int arg) { return !run.args[arg]; };
    if (absent(bias_arg) || absent(h0_arg) || absent(c0_arg) || absent(dy_arg) || absent(dh_arg) || absent(dc_arg))
      std::memset(in_scratch(run, p.zeros), 0, static_cast<size_t>(p.zero_bytes));
    // oneDNN adds to the gradients of the weights.
    std::memset(in_scratch(run, p.dw), 0, static_cast<size_t>(p.dbias + 4 * s.h * bytes - p.dw));
  };
  Finish finish;
  finish.sum = [places, s](int64_t, const Run &run) {
    auto sum = [&](int64_t Place::*at, int64_t n, float *out) {
      if (!out) return;
      std::copy_n(in_scratch(run, places[0].*at), n, out);
      for (size_t i = 1; i < places.size(); i++) {
        const float *more = in_scratch(run, places[i].*at);
        for (int64_t j = 0; j < n; j++) out[j] += more[j];
      }
    };
    sum(&Place::dw, s.i * 4 * s.h, run.dst<float>(dw_arg));
    sum(&Place::dr, s.h * 4 * s.h, run.dst<float>(dr_arg));
    sum(&Place::dbias, 4 * s.h, run.dst<float>(dbias_arg));
  };
  return std::make_unique<DnnlKernel>("oneDNN lstm backward " + impl + (slices > 1 ? ", by sequences" : ""),
                                      std::move(all), scratch.bytes(), before, Step{}, std::move(finish));
} catch (const dnnl::error &) {
  return nullptr;
}

}  // namespace dl4::kernels
