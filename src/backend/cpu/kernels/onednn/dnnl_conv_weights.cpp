// The weight gradient of a convolution by oneDNN: each slice sums over its part; the last one adds up the sums.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels/onednn/dnnl_conv.hpp"
#include "backend/cpu/kernels/single_threaded.hpp"

namespace dl4::kernels {
namespace {

using namespace onednn;

auto describe(const LiveConv &c, const ConvPart &p) {
  ConvDescs d(c, p);
  return make_backward<dnnl::convolution_backward_weights>(engine(), forward(d), attributes(), direct, d.src,
                                                           d.any_weights, d.bias, d.dst, d.strides, d.dilations,
                                                           d.pad_before, d.pad_after);
}

// Of n floats at each of these offsets of the scratch, at the first.
const float *sum_slices(void *scratch, const std::vector<int64_t> &offsets, int64_t n) {
  auto place = [&](size_t i) { return reinterpret_cast<float *>(static_cast<char *>(scratch) + offsets[i]); };
  float *__restrict total = place(0);
  for (size_t s = 1; s < offsets.size(); s++) {
    const float *__restrict more = place(s);
    for (int64_t i = 0; i < n; i++) total[i] += more[i];
  }
  return total;
}

}  // namespace

std::unique_ptr<Kernel> dnnl_conv_weights(const Conv &whole, int64_t slices) try {
  SingleThreaded one;
  MakesPrimitives own_primitives;
  if (whole.is_empty()) return nullptr;
  const LiveConv c(whole);
  if (!c.suits_by_weights()) return nullptr;
  ConvCut cut(c, slices, c.oh, true);  // each slice has sums
  std::vector<Calls> all(static_cast<size_t>(cut.slices));
  Scratch scratch;
  std::string name;
  Desc sums;                         // layout of each slice's sum
  std::vector<int64_t> at, bias_at;  // offsets of the sums in the scratch
  for (int64_t s = 0; s < cut.slices; s++) {
    ConvPart p = cut.by_destination(c, s);
    if (p.src_rows() <= 0) return nullptr;
    auto made =
        share<dnnl::convolution_backward_weights>("conv weights " + key_of(c, p), [&] { return describe(c, p); });
    const auto &pd = made->pd;
    if (is_reference(pd) || is_laid_out(pd)) return nullptr;
    if (s == 0) {
      sums = pd.diff_weights_desc();
      name = std::string("dnnl_conv_weights ") + pd.impl_info_str();
    } else if (!(pd.diff_weights_desc() == sums)) {
      return nullptr;
    }
    at.push_back(scratch.take(static_cast<int64_t>(sums.get_size())));
    Call call{made->primitive,
              {{DNNL_ARG_SRC, pd.src_desc(), 0, src_offset(c, p)},
               {DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), 1, dst_offset(c, p)},
               {DNNL_ARG_DIFF_WEIGHTS, sums, Operand::in_scratch, at.back()}},
              made};
    if (c.bias) {
      bias_at.push_back(scratch.take(checked_mul(c.oc, sizeof(float))));
      call.operands.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), Operand::in_scratch, bias_at.back()});
    }
    add_scratchpad(call.operands, pd, scratch);
    all[static_cast<size_t>(s)].push_back(std::move(call));
  }
  Finish finish;
  auto floats = static_cast<int64_t>(sums.get_size() / sizeof(float));
  const int64_t weights_bytes = c.whole_weights_bytes(whole);
  finish.sum = [at, bias_at, floats, c, weights_bytes](int64_t, const Run &r) {
    if (void *out = r.out<void>(0); out && !c.is_whole) std::memset(out, 0, static_cast<size_t>(weights_bytes));
    sum_slices(r.scratch, at, floats);
    if (!c.bias) return;
    const float *total = sum_slices(r.scratch, bias_at, c.oc);
    if (float *out = r.out<float>(1)) std::copy(total, total + c.oc, out);
  };
  int64_t unwanted = c.bias ? scratch.take(weights_bytes) : -1;  // if only the bias gradient is read
  finish.calls.push_back(reorder({DNNL_ARG_FROM, sums, Operand::in_scratch, at[0]},
                                 {DNNL_ARG_TO, ConvDescs(c, cut.by_destination(c, 0)).raw_weights, Operand::out(0),
                                  checked_mul(c.first_weight, sizeof(float)), unwanted},
                                 scratch));
  if (cut.slices > 1) name += cut.pieces > 1 ? ", by rows" : ", by images";
  return std::make_unique<DnnlKernel>(name, std::move(all), scratch.bytes(), Step{}, Step{}, std::move(finish));
} catch (const dnnl::error &) {
  return nullptr;
}

}  // namespace dl4::kernels
