// oneDNN's candidates.
#include "backend/cpu/dispatch/libraries.hpp"
#include "backend/cpu/dispatch/sliced.hpp"
#include "backend/cpu/kernels/onednn/dnnl_lstm.hpp"
#include "backend/cpu/kernels/onednn/primitives.hpp"
#include "backend/cpu/kernels/onednn/version.hpp"

namespace dl4::dispatch {
namespace {

bool is_used() { return kernels::onednn_unused().empty(); }

// Of parts whose rows are not adjacent oneDNN makes no kernel for their sizes: it copies both sides in blocks.
std::unique_ptr<kernels::Kernel> dnnl_product(const Product &p) {
  auto kernel = kernels::dnnl_gemm(p.g, p.slices, p.b);
  const auto has = [&](std::string_view word) { return kernel->name.find(word) != std::string::npos; };
  if (kernel && has(" gemm:") && (has("by rows") || has("by columns"))) return nullptr;
  return kernel;
}

constexpr Candidate<Product> dnnl_products[] = {
    // Of constants, ours is level with it or faster where k is not small.
    {"dnnl_gemm", [](const Product &p) { return is_used() && (!p.b || p.g.k <= 64); },
     [](const Product &p) { return p.microseconds(dnnl_gemm_cycles(p.priced, p.b, p.machine)); }, dnnl_product},
};

// Where ours are level with it or faster.
bool is_ours(const ConvAt &at) {
  const kernels::Conv &c = at.c;
  if (c.groups > 1 || c.is_3d()) return c.groups > 1 && c.is_3d() && kernels::is_by_channels(c);
  if (at.weights && (c.c < 4 || c.oc < 8)) return true;
  return real(std::max(c.c, c.oc)) < at.machine.vector && checked_mul(c.kh, c.kw) > 1;
}
bool is_ours_by_source(const ConvAt &at) {
  const kernels::Conv &c = at.c;
  if (c.groups > 1) return kernels::is_by_channels(c) && (c.is_3d() || std::max(c.dil_h, c.dil_w) > 1);
  return !c.is_3d() && real(c.c) < at.machine.vector / 2;
}
bool is_ours_by_weights(const ConvAt &at) {
  const kernels::Conv &c = at.c;
  return !c.is_3d() && c.groups == 1 && real(std::max(c.c, c.oc)) < at.machine.vector && checked_mul(c.kh, c.kw) == 1;
}

// Volumes, and images of one row, are not cut: of few of them, some threads have nothing to do.
template <double (*cost)(const ConvAt &)>
double by_images(const ConvAt &at) {
  const kernels::Conv &c = at.c;
  const int64_t busy = std::min(at.slices, at.site.cutting.most());
  const bool cut = !c.is_3d() && std::min(c.h, c.oh) > 1;
  return cost(at) * (cut ? 1 : real(busy, (c.n + busy - 1) / busy) / real(c.n));
}

constexpr Candidate<ConvAt> dnnl_convs[] = {
    {"dnnl_conv", [](const ConvAt &at) { return is_used() && !is_ours(at); }, by_images<cost<dnnl_conv_cycles>>,
     [](const ConvAt &at) { return kernels::dnnl_conv(at.c, at.slices, at.weights); }},
};
constexpr Candidate<ConvAt> dnnl_convs_data[] = {
    {"dnnl_conv_data", [](const ConvAt &at) { return is_used() && !is_ours_by_source(at); },
     by_images<cost<dnnl_conv_data_cycles>>,
     [](const ConvAt &at) { return kernels::dnnl_conv_data(at.c, at.slices, at.weights); }},
};
constexpr Candidate<ConvAt> dnnl_convs_weights[] = {
    {"dnnl_conv_weights", [](const ConvAt &at) { return is_used() && !is_ours_by_weights(at); },
     cost<dnnl_conv_weights_cycles>, [](const ConvAt &at) { return kernels::dnnl_conv_weights(at.c, at.slices); }},
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
  const auto pieces = static_cast<int64_t>(lstm_microseconds(at.s.batch, at.s.time, at.s.inputs, at.s.units) /
                                           static_cast<double>(slices) / longest) +
                      1;
  const int64_t at_once = std::max<int64_t>(1, (at.s.time + pieces - 1) / pieces);
  kernels::LstmShape shape{at.s.time, at.s.batch, at.s.inputs, at.s.units, at.backwards, at_once};
  auto w = site.constant_source(src_kernel), r = site.constant_source(src_recurrent_kernel);
  auto inner = w && r ? kernels::dnnl_lstm(shape, slices, &*w, &*r) : kernels::dnnl_lstm(shape, slices);
  if (!inner) return nullptr;
  return with_args(std::move(inner), {src_x, src_kernel, src_recurrent_kernel, src_bias, src_h0, src_c0},
                   {lstm_dst::y, lstm_dst::h, lstm_dst::c});
}

double dnnl_cost(const LstmAt &at) {
  const auto &[batch, time, inputs, units] = at.s;
  const double v = vectors_of(4 * units, at.machine.vector), steps = real(batch, time);
  return at.machine.microseconds(sum({{1, 5030},
                                      {real(time), 1020},
                                      {steps * real(inputs) * v / at.machine.fused, 1.31},
                                      {steps * real(units) * v / at.machine.fused, 0.86},
                                      {real(time, units) * v, 1.62},
                                      {steps, 512},
                                      {steps * v, 12}}));
}

constexpr Candidate<LstmAt> dnnl_lstms[] = {
    {"dnnl_lstm", [](const LstmAt &at) { return is_used() && at.s.time > 0 && at.s.inputs > 0; }, dnnl_cost, lstm_of},
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
