// oneDNN's candidates.
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/sliced.hpp"
#include "backend/cpu/kernels/onednn/dnnl_lstm.hpp"
#include "backend/cpu/kernels/onednn/primitives.hpp"
#include "backend/cpu/kernels/onednn/version.hpp"

namespace dl4::dispatch {
namespace {

bool is_used() { return kernels::onednn_unused().empty(); }

constexpr Candidate<Product> dnnl_products[] = {
    {"dnnl_gemm", [](const Product &) { return is_used(); }, [](const Product &p) { return p.scale * p.as.dnnl; },
     [](const Product &p) { return kernels::dnnl_gemm(p.g, p.slices, p.b); }},
};

constexpr Candidate<ConvAt> dnnl_convs[] = {
    {"dnnl_conv", [](const ConvAt &) { return is_used(); }, [](const ConvAt &at) { return at.by_dnnl(); },
     [](const ConvAt &at) { return kernels::dnnl_conv(at.c, at.slices, at.weights); }},
};
constexpr Candidate<ConvAt> dnnl_convs_data[] = {
    {"dnnl_conv_data", [](const ConvAt &) { return is_used(); }, [](const ConvAt &at) { return at.by_dnnl(); },
     [](const ConvAt &at) { return kernels::dnnl_conv_data(at.c, at.slices, at.weights); }},
};
constexpr Candidate<ConvAt> dnnl_convs_weights[] = {
    {"dnnl_conv_weights", [](const ConvAt &) { return is_used(); }, [](const ConvAt &at) { return at.by_dnnl(); },
     [](const ConvAt &at) { return kernels::dnnl_conv_weights(at.c, at.slices); }},
};

// For runs without gradient and mask.
std::unique_ptr<kernels::Kernel> lstm_of(const LstmAt &at) {
  const Site &site = at.site;
  auto asked = [&](int dst) { return site.dst[static_cast<size_t>(dst)].present; };
  if (site.src[src_mask].present) return nullptr;
  if (asked(lstm_dst::gates) || asked(lstm_dst::cells) || asked(lstm_dst::h_before)) return nullptr;
  if (at.backwards && asked(lstm_dst::y)) return nullptr;  // oneDNN's output is in order of time
  constexpr double longest = 2e4;                          // microseconds between checks for cancellation
  const int64_t slices = at.cut.by_sequences;
  const auto pieces = static_cast<int64_t>(at.microseconds / static_cast<double>(slices) / longest) + 1;
  const int64_t at_once = std::max<int64_t>(1, (at.s.time + pieces - 1) / pieces);
  kernels::LstmShape shape{at.s.time, at.s.batch, at.s.inputs, at.s.units, at.backwards, at_once};
  auto w = site.constant_source(src_kernel), r = site.constant_source(src_recurrent_kernel);
  auto inner = w && r ? kernels::dnnl_lstm(shape, slices, &*w, &*r) : kernels::dnnl_lstm(shape, slices);
  if (!inner) return nullptr;
  return with_args(std::move(inner), {src_x, src_kernel, src_recurrent_kernel, src_bias, src_h0, src_c0},
                   {lstm_dst::y, lstm_dst::h, lstm_dst::c});
}

constexpr Candidate<LstmAt> dnnl_lstms[] = {
    {"dnnl_lstm", [](const LstmAt &at) { return is_used() && at.s.time > 0 && at.s.inputs > 0; },
     [](const LstmAt &at) { return at.microseconds * thresholds().lstms.dnnl; }, lstm_of},
};

}  // namespace

constexpr Library onednn{
    .name = "onednn",
    .prefix = "dnnl_",
    .description = kernels::onednn_version,
    .unused = kernels::onednn_unused,
    .while_making = [] { return std::shared_ptr<void>(std::make_shared<kernels::MakesPrimitives>()); },
    .products = dnnl_products,
    .conv = dnnl_convs,
    .conv_data = dnnl_convs_data,
    .conv_weights = dnnl_convs_weights,
    .lstm = dnnl_lstms};

}  // namespace dl4::dispatch
