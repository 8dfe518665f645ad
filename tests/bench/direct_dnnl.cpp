// What the floors share of oneDNN, and its LSTM.
#include "direct_dnnl.hpp"

#include <cstring>

namespace bench {
namespace {

dnnl::stream &stream() {
  static dnnl::stream s(engine());
  return s;
}

// oneDNN 2 wants a scale first, 3 doesn't know it.
template <class P>
void append(P &ops, dnnl::algorithm function) {
  if constexpr (requires { ops.append_eltwise(1.0f, function, 0.0f, 0.0f); })
    ops.append_eltwise(1.0f, function, 0.0f, 0.0f);
  else
    ops.append_eltwise(function, 0.0f, 0.0f);
}

}  // namespace

const dnnl::engine &engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}

dnnl::primitive_attr attributes(Activation after) {
  dnnl::primitive_attr a;
  if (after == Activation::none) return a;
  dnnl::post_ops ops;
  append(ops, after == Activation::relu   ? dnnl::algorithm::eltwise_relu
              : after == Activation::gelu ? dnnl::algorithm::eltwise_gelu_erf
                                          : dnnl::algorithm::eltwise_logistic);
  a.set_post_ops(ops);
  return a;
}

Desc strided(const Dims &dims, const Dims &strides) { return Desc(dims, Memory::data_type::f32, strides); }
Desc any(const Dims &dims) { return Desc(dims, Memory::data_type::f32, Memory::format_tag::any); }
Desc plain(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  return strided(dims, strides);
}

Memory memory(const Desc &d, const float *data) { return Memory(d, engine(), const_cast<float *>(data)); }

Call execution(const dnnl::primitive &p, const Args &args) {
  return [p, args] { p.execute(stream(), args); };
}

Call reorder_into(const Memory &from, const Memory &to) {
  return execution(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

std::pair<Memory, Call> reorder(const Memory &m, const Desc &wanted) {
  if (m.get_desc() == wanted) return {m, Call()};
  Memory to(wanted, engine());
  return {to, reorder_into(m, to)};
}

Memory reordered(const Memory &m, const Desc &wanted) {
  auto [to, call] = reorder(m, wanted);
  if (call) call();
  return to;
}

RecurrentCalls recurrent(const Recurrent &r, bool training) {
  using Forward = dnnl::lstm_forward;
  using Backward = dnnl::lstm_backward;
  constexpr auto ahead = dnnl::rnn_direction::unidirectional_left2right;
  Desc by_sequence = strided({r.t, r.b, r.i}, {r.i, r.t * r.i, 1}), by_step = plain({r.t, r.b, r.i});
  // Its gradient reads outside of sequences that lie one after the other (oneDNN 2.6): put in order once, here.
  Desc x = training ? by_step : by_sequence, y = plain({r.t, r.b, r.h}), state = plain({1, 1, r.b, r.h});
  Desc w = plain({1, 1, r.i, 4, r.h}), u = plain({1, 1, r.h, 4, r.h}), bias = plain({1, 1, 4, r.h});
  Desc any_w = any({1, 1, r.i, 4, r.h}), any_u = any({1, 1, r.h, 4, r.h});
  constexpr auto inference = dnnl::prop_kind::forward_inference, learning = dnnl::prop_kind::forward_training;
  auto pd = make<Forward>(engine(), attributes(), training ? learning : inference, ahead, x, state, state,
                          training ? w : any_w, training ? u : any_u, bias, y, state, state);
  auto zeros = [](const Desc &d) {
    Memory m(d, engine());
    std::memset(m.get_data_handle(), 0, d.get_size());
    return m;
  };
  Memory raw_w = memory(w, r.kernel), raw_u = memory(u, r.recurrent);
  Memory h0 = zeros(state), c0 = zeros(state), all = zeros(y), h = zeros(state), c = zeros(state);
  Args args{{DNNL_ARG_SRC_LAYER, reordered(memory(by_sequence, r.x), x)},
            {DNNL_ARG_BIAS, memory(bias, r.bias)},
            {DNNL_ARG_SRC_ITER, h0},
            {DNNL_ARG_SRC_ITER_C, c0},
            {DNNL_ARG_DST_LAYER, all},
            {DNNL_ARG_DST_ITER, h},
            {DNNL_ARG_DST_ITER_C, c}};
  std::vector<Call> before;
  auto packed = [&](const Memory &raw, const Desc &wanted) {
    if (!training) return reordered(raw, wanted);
    auto [to, call] = reorder(raw, wanted);
    if (call) before.push_back(call);
    return to;
  };
  args[DNNL_ARG_WEIGHTS_LAYER] = packed(raw_w, pd.weights_layer_desc());
  args[DNNL_ARG_WEIGHTS_ITER] = packed(raw_u, pd.weights_iter_desc());
  Memory workspace;
  if (training) args[DNNL_ARG_WORKSPACE] = workspace = Memory(pd.workspace_desc(), engine());
  Call forward = execution(Forward(pd), args);
  auto state_bytes = static_cast<size_t>(r.b * r.h) * sizeof(float);
  RecurrentCalls calls;
  calls.forward = {std::string("oneDNN lstm ") + pd.impl_info_str(), [=] {
                     for (const Call &call : before) call();
                     forward();
                     std::memcpy(r.y_last, h.get_data_handle(), state_bytes);
                   }};
  if (!training) return calls;

  auto back =
      make_backward<Backward>(engine(), pd, attributes(), dnnl::prop_kind::backward, ahead, x, state, state, any_w,
                              any_u, bias, y, state, state, x, state, state, w, u, bias, y, state, state);
  auto [w_to, pack_w] = reorder(raw_w, back.weights_layer_desc());
  auto [u_to, pack_u] = reorder(raw_u, back.weights_iter_desc());
  bool plain_dw = back.diff_weights_layer_desc() == w, plain_du = back.diff_weights_iter_desc() == u;
  Memory dw = plain_dw ? memory(w, r.dkernel) : zeros(back.diff_weights_layer_desc());
  Memory du = plain_du ? memory(u, r.drecurrent) : zeros(back.diff_weights_iter_desc());
  Call unpack_w = plain_dw ? Call() : reorder_into(dw, memory(w, r.dkernel));
  Call unpack_u = plain_du ? Call() : reorder_into(du, memory(u, r.drecurrent));
  Memory dbias = memory(bias, r.dbias);
  args[DNNL_ARG_WEIGHTS_LAYER] = w_to;
  args[DNNL_ARG_WEIGHTS_ITER] = u_to;
  // The gradient of the last output comes in as that of the last state; the one of each step's output is zero.
  for (auto &[name, m] : Args{{DNNL_ARG_DIFF_SRC_LAYER, zeros(x)},
                              {DNNL_ARG_DIFF_SRC_ITER, zeros(state)},
                              {DNNL_ARG_DIFF_SRC_ITER_C, zeros(state)},
                              {DNNL_ARG_DIFF_WEIGHTS_LAYER, dw},
                              {DNNL_ARG_DIFF_WEIGHTS_ITER, du},
                              {DNNL_ARG_DIFF_BIAS, dbias},
                              {DNNL_ARG_DIFF_DST_LAYER, zeros(y)},
                              {DNNL_ARG_DIFF_DST_ITER, memory(state, r.dy_last)},
                              {DNNL_ARG_DIFF_DST_ITER_C, zeros(state)}})
    args[name] = m;
  Call backward = execution(Backward(back), args);
  calls.backward = [=, pack_w = pack_w, pack_u = pack_u] {
    if (pack_w) pack_w();
    if (pack_u) pack_u();
    for (const Memory &m : {dw, du, dbias}) std::memset(m.get_data_handle(), 0, m.get_desc().get_size());  // it adds
    backward();
    if (unpack_w) unpack_w();
    if (unpack_u) unpack_u();
  };
  return calls;
}

}  // namespace bench
