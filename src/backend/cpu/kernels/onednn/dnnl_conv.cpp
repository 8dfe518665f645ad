// Convolution and its source gradient by oneDNN.
#include "backend/cpu/kernels/onednn/dnnl_conv.hpp"

#include <cstring>

#include "backend/cpu/kernels/single_threaded.hpp"

namespace dl4::kernels {
namespace {

using namespace onednn;

auto describe_data(const LiveConv &c, const ConvPart &p) {
  ConvDescs d(c, p);
  // With few channels, blocked layouts are mostly padding: plain weights are up to twice as fast.
  bool few = c.groups == 1 && c.c < 8;
  return make_backward<dnnl::convolution_backward_data>(engine(), forward(d), attributes(), direct, d.src,
                                                        few ? d.raw_weights : d.any_weights, d.dst, d.strides,
                                                        d.dilations, d.pad_before, d.pad_after);
}

}  // namespace

std::unique_ptr<Kernel> dnnl_conv(const Conv &whole, int64_t slices, const Constant *weights) try {
  SingleThreaded one;
  MakesPrimitives own_primitives;
  if (whole.is_empty()) return nullptr;
  const LiveConv c(whole);
  if (!c.suits_forward()) return nullptr;
  ConvCut cut(c, slices, c.oh);
  std::vector<Calls> all(static_cast<size_t>(cut.slices));
  std::string impl;
  Scratch scratch;
  PackedForms own;
  for (int64_t s = 0; s < cut.slices; s++) {
    ConvPart p = cut.by_destination(c, s);
    if (p.src_rows() <= 0) return nullptr;  // padding only
    auto made = share<dnnl::convolution_forward>(
        "conv " + key_of(c, p), [&] { return forward(ConvDescs(c, p), dnnl::prop_kind::forward_inference); });
    const auto &pd = made->pd;
    if (is_reference(pd) || is_laid_out(pd)) return nullptr;
    if (impl.empty()) impl = pd.impl_info_str();
    Calls &calls = all[static_cast<size_t>(s)];
    Operand w = weights_operand(c, p, pd.weights_desc(), weights, own, calls, scratch);
    Call call{made->primitive, {{DNNL_ARG_SRC, pd.src_desc(), 0, src_offset(c, p)}, w}, made};
    if (c.bias) call.operands.push_back({DNNL_ARG_BIAS, pd.bias_desc(), 2});
    call.operands.push_back({DNNL_ARG_DST, pd.dst_desc(), Operand::out(0), dst_offset(c, p)});
    add_scratchpad(call.operands, pd, scratch);
    calls.push_back(std::move(call));
  }
  Step after;
  if (c.epilogue)
    after = [c, cut](int64_t slice, const Run &r) {
      ConvPart p = cut.by_destination(c, slice);
      int64_t row = c.ow * c.oc;
      c.epilogue(r.out<float>(0) + (p.n0 * c.od * c.oh + p.dst0) * row, 1, p.images() * c.od * p.dst_rows() * row, 0);
    };
  std::string name = "dnnl_conv " + impl + (weights ? ", packed" : "");
  return std::make_unique<DnnlKernel>(name + cut.name(), std::move(all), scratch.bytes(), Step{}, after);
} catch (const dnnl::error &) {
  return nullptr;
}

std::unique_ptr<Kernel> dnnl_conv_data(const Conv &whole, int64_t slices, const Constant *weights) try {
  SingleThreaded one;
  MakesPrimitives own_primitives;
  if (whole.is_empty()) return nullptr;
  const LiveConv c(whole);
  if (!c.suits_by_source()) return nullptr;
  ConvCut cut(c, slices, c.h);
  std::vector<Calls> all(static_cast<size_t>(cut.slices));
  std::string impl;
  Scratch scratch;
  PackedForms own;
  bool unread = false;  // some rows are in no window
  for (int64_t s = 0; s < cut.slices; s++) {
    ConvPart p = cut.by_source(c, s);
    if (p.dst_rows() <= 0) {
      unread = true;
      continue;
    }
    auto made =
        share<dnnl::convolution_backward_data>("conv data " + key_of(c, p), [&] { return describe_data(c, p); });
    const auto &pd = made->pd;
    if (is_reference(pd) || (is_laid_out(pd) && !whole.is_3d())) return nullptr;
    if (impl.empty()) impl = pd.impl_info_str();
    Calls &calls = all[static_cast<size_t>(s)];
    Operand w = weights_operand(c, p, pd.weights_desc(), weights, own, calls, scratch);
    Call call{made->primitive,
              {{DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), 0, dst_offset(c, p)},
               w,
               {DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), Operand::out(0), src_offset(c, p)}},
              made};
    add_scratchpad(call.operands, pd, scratch);
    calls.push_back(std::move(call));
  }
  Step before;
  if (unread)
    before = [c, cut](int64_t slice, const Run &r) {
      ConvPart p = cut.by_source(c, slice);
      if (p.dst_rows() > 0) return;
      auto bytes = static_cast<size_t>(p.images() * p.src_rows() * c.w * c.c) * sizeof(float);
      std::memset(r.out<char>(0) + src_offset(c, p), 0, bytes);
    };
  if (impl.empty()) return nullptr;
  std::string name = "dnnl_conv_data " + impl + (weights ? ", packed" : "");
  return std::make_unique<DnnlKernel>(name + cut.name(), std::move(all), scratch.bytes(), before);
} catch (const dnnl::error &) {
  return nullptr;
}

}  // namespace dl4::kernels
