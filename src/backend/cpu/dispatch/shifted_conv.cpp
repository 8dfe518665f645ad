#include "backend/cpu/dispatch/shifted_conv.hpp"

#include <algorithm>
#include <utility>

#include "backend/cpu/kernels/conv/planar_conv.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Kernel, kernels::Run;

int64_t taps_of(const kernels::Conv &c) { return checked_mul(c.kd, c.kh, c.kw); }

// Whether a row of taps fills vectors, so that its products are added where they are.
bool adds_rows(const kernels::Conv &c, bool by_source) {
  constexpr int64_t least_run = 32;
  return by_source && c.dil_w == 1 && checked_mul(c.kw, c.c) >= least_run;
}

// Phases: forward, weights [taps, channels, filters] become [channels, taps, filters]; the product; the sums.
class ShiftedConv final : public Kernel {
 public:
  ShiftedConv(const kernels::Conv &c, bool by_source, std::shared_ptr<const Kernel> product,
              std::shared_ptr<const Kernel> sums)
      : Kernel(by_source ? "shifted_conv_data" : "shifted_conv", std::max(product->slices, sums->slices),
               checked_add(products_at(c, by_source, *product, *sums),
                           checked_mul(product_of(c, by_source).m, product_of(c, by_source).n, 4)),
               by_source ? 2 : 3),
        c_(c),
        by_source_(by_source),
        product_(std::move(product)),
        sums_(std::move(sums)) {}
  std::unique_ptr<kernels::Bound> bind() const override { return product_->bind(); }
  void run(int64_t slice, const Run &r) const noexcept override {
    auto *const scratch = static_cast<std::byte *>(r.scratch);
    auto *const weights = reinterpret_cast<float *>(scratch + weights_at(*product_, *sums_));
    auto *const products = reinterpret_cast<float *>(scratch + products_at(c_, by_source_, *product_, *sums_));
    const int64_t phase = slice / slices + (by_source_ ? 1 : 0);
    slice %= slices;
    if (phase == 0) {
      const int64_t n = taps_of(c_), dims[3] = {c_.c, n, c_.oc}, xs[3] = {c_.oc, c_.c * c_.oc, 1};
      const int64_t ys[3] = {n * c_.oc, c_.oc, 1};
      if (slice == 0) kernels::copy_strided(sizeof(float), 3, dims, r.args[1], xs, weights, ys);
    } else if (phase == 1 && slice < product_->slices) {
      void *args[3] = {r.args[0], by_source_ ? r.args[1] : weights, products};
      product_->run(slice, {args, 2, scratch, r.bound, r.report});
    } else if (phase == 2 && slice < sums_->slices) {
      void *args[3] = {products, c_.bias && !by_source_ ? r.args[2] : r.out<void>(0), r.out<void>(0)};
      sums_->run(slice, {args, c_.bias && !by_source_ ? 2 : 1, scratch, nullptr, r.report});
    }
  }

 private:
  // Bytes before these parts of the scratch; the product and the sums have theirs one after the other.
  static int64_t weights_at(const Kernel &product, const Kernel &sums) {
    return round_up(std::max(product.scratch, sums.scratch), 64);
  }
  static int64_t products_at(const kernels::Conv &c, bool by_source, const Kernel &product, const Kernel &sums) {
    const int64_t weights = by_source ? 0 : round_up(checked_mul(taps_of(c), c.c, c.oc, 4), 64);
    return checked_add(weights_at(product, sums), weights);
  }

  kernels::Conv c_;
  bool by_source_;
  std::shared_ptr<const Kernel> product_, sums_;
};

}  // namespace

kernels::Gemm product_of(const kernels::Conv &c, bool by_source) {
  kernels::Gemm g;
  g.m = by_source ? checked_mul(c.n, c.od, c.oh, c.ow) : checked_mul(c.n, c.d, c.h, c.w);
  g.k = by_source ? c.oc : c.c, g.n = checked_mul(taps_of(c), by_source ? c.c : c.oc);
  g.trans_b = by_source, g.dtype = c.dtype;
  return g;
}

bool fits_shifted(const ConvAt &at, bool by_source) {
  constexpr int64_t least_channels = 8, most_products = 4 << 20;
  const kernels::Gemm g = product_of(at.c, by_source);
  // By tiles a convolution is one product.
  if (g.k < least_channels || at.c.groups != 1 || at.site.cutting.by_row || at.tiles > 0) return false;
  if (checked_mul(g.m, g.n) > most_products) return false;  // all of them are in memory
  return adds_rows(at.c, by_source) || (g.n <= 2 * g.k && kernels::planes_of(at.c, by_source, true, at.slices));
}

double shifted_cost(const ConvAt &at, bool by_source) {
  const auto products = product_prices(product_of(at.c, by_source), by_source && at.weights, at.machine);
  const auto product =
      std::find_if(products.begin(), products.end(), [&](const Price &p) { return at.site.allows(p.name); });
  const double sums = adds_rows(at.c, by_source) ? added_rows_cycles(at.c, at.machine)
                                                 : shifted_sums_cycles(at.c, by_source, at.machine);
  return product->microseconds + at.microseconds(sums);  // the last resort is always allowed
}

std::unique_ptr<Kernel> shifted_conv(const ConvAt &at, bool by_source) {
  const kernels::Gemm g = product_of(at.c, by_source);
  std::shared_ptr<const Kernel> product =
      dispatch::product(at.site, g, product_slices(at.site, g), by_source ? at.weights : nullptr);
  std::shared_ptr<const Kernel> sums = adds_rows(at.c, by_source) ? kernels::added_rows(at.c, at.slices)
                                                                  : kernels::shifted_sums(at.c, by_source, at.slices);
  if (!sums || product->phases > 1) return nullptr;
  return std::make_unique<ShiftedConv>(at.c, by_source, std::move(product), std::move(sums));
}

}  // namespace dl4::dispatch
