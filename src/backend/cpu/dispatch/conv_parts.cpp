// Convolutions of parts of each image, or of each group.
#include "backend/cpu/dispatch/conv_parts.hpp"

#include <algorithm>
#include <utility>

#include "backend/cpu/dispatch/conv.hpp"
#include "backend/cpu/dispatch/products.hpp"
#include "backend/cpu/kernels/conv/conv_cut.hpp"

namespace dl4::dispatch {
namespace {

using kernels::Conv, kernels::CutAxis, kernels::Kernel, kernels::Range, kernels::Run;

// The fields of an axis.
struct Fields {
  int64_t Conv::*src, Conv::*taps, Conv::*dst, Conv::*stride, Conv::*dilation, Conv::*before, Conv::*after;
  CutAxis of(const Conv &c) const { return {c.*src, c.*taps, c.*dst, c.*stride, c.*dilation, c.*before}; }
};
constexpr Fields depth{&Conv::d,     &Conv::kd,        &Conv::od,      &Conv::stride_d,
                       &Conv::dil_d, &Conv::pad_front, &Conv::pad_back};
constexpr Fields width{&Conv::w,     &Conv::kw,       &Conv::ow,       &Conv::stride_w,
                       &Conv::dil_w, &Conv::pad_left, &Conv::pad_right};

const Fields *axis_of(const Conv &c) {
  if (c.is_3d()) return &depth;
  return c.h == 1 && c.kh == 1 && c.oh == 1 ? &width : nullptr;
}

// A part's kernel, and where its places begin in an image, and its filters among all, in floats.
struct Part {
  std::shared_ptr<const Kernel> kernel;
  int64_t src, filters, dst;
};

// The convolution of these places of one image.
Conv part_of(Conv c, const Fields &f, Range src, Range dst) {
  const CutAxis axis = f.of(c);
  c.n = 1, c.*f.src = src.size(), c.*f.dst = dst.size();
  c.*f.before = axis.padding_before(src, dst), c.*f.after = axis.padding_after(src, dst);
  return c;
}

// Of a part that is not cut further.
Site alone(Site site) {
  site.cutting.threads = 1, site.cutting.strict = false;
  return site;
}

struct Bounds final : kernels::Bound {
  std::vector<std::unique_ptr<kernels::Bound>> of_part;
};

// A slice runs `together` parts, one after the other.
class ByParts final : public Kernel {
 public:
  // src, dst: floats of an image.
  ByParts(int64_t images, int64_t src, int64_t dst, std::vector<Part> parts, int64_t together)
      : Kernel(parts[0].kernel->name + ", by parts", checked_mul(images, std::ssize(parts) / together),
               checked_mul(images, std::ssize(parts) / together, of_slice(parts))),
        parts_(std::move(parts)),
        src_(src),
        dst_(dst),
        together_(together),
        scratch_(of_slice(parts_)) {}
  std::unique_ptr<kernels::Bound> bind() const override {
    auto all = std::make_unique<Bounds>();
    for (int64_t i = 0; i < slices * together_; ++i) all->of_part.push_back(part(i).kernel->bind());
    return all;
  }
  void run(int64_t slice, const Run &r) const override {
    for (int64_t i = slice * together_; i < (slice + 1) * together_; ++i) run_part(i, slice, r);
  }

 private:
  static int64_t of_slice(const std::vector<Part> &parts) {
    int64_t scratch = 0;
    for (const Part &p : parts) scratch = std::max(scratch, round_up(p.kernel->scratch, 64));
    return scratch;
  }
  const Part &part(int64_t i) const { return parts_[static_cast<size_t>(i % std::ssize(parts_))]; }
  void run_part(int64_t i, int64_t slice, const Run &r) const {
    const int64_t image = i / std::ssize(parts_);
    const auto &[kernel, src, filters, dst] = part(i);
    void *args[4] = {static_cast<float *>(r.args[0]) + image * src_ + src};
    for (int k = 1; k < r.sources; ++k) args[k] = static_cast<float *>(r.args[k]) + filters;  // weights and bias
    args[r.sources] = r.out<float>(0) + image * dst_ + dst;
    const Run one{args, r.sources, static_cast<std::byte *>(r.scratch) + slice * scratch_,
                  static_cast<Bounds &>(*r.bound).of_part[static_cast<size_t>(i)].get(), r.report};
    for (int64_t n = 0; n < kernel->slices * kernel->phases && !r.report->ends(); ++n) kernel->run(n, one);
  }

  std::vector<Part> parts_;
  int64_t src_, dst_, together_;
  int64_t scratch_;  // bytes of a slice
};

}  // namespace

int64_t places_of_parts(const Conv &c, bool by_source) {
  const Fields *f = axis_of(c);
  if (!f) return 1;
  const CutAxis axis = f->of(c);
  if (!by_source) return axis.dst;
  return axis.stride > kernels::reach(axis.taps, axis.dilation) ? 1 : axis.src;  // else some places are in no window
}

std::unique_ptr<Kernel> conv_by_parts(const Site &site, const Conv &c, const kernels::Constant &weights, bool by_source,
                                      int64_t pieces) {
  const Fields &f = *axis_of(c);
  const CutAxis axis = f.of(c);
  Site one = alone(site);
  int64_t src = checked_mul(c.d, c.h, c.w, c.c), dst = checked_mul(c.od, c.oh, c.ow, c.oc);
  std::vector<Part> parts;
  for (int64_t i = 0; i < pieces; ++i) {
    const auto [begin, end] = kernels::part(by_source ? axis.src : axis.dst, pieces, i);
    const Range own{begin, end}, other = by_source ? axis.that_read(own) : axis.read_by(own);
    const Range of_src = by_source ? own : other, of_dst = by_source ? other : own;
    const Conv part = part_of(c, f, of_src, of_dst);
    std::shared_ptr<const Kernel> kernel = by_source ? conv_data(one, part, &weights) : conv(one, part, &weights);
    // bounded: of images in memory
    parts.push_back({std::move(kernel), of_src.begin * (src / axis.src), 0, of_dst.begin * (dst / axis.dst)});
    one.choices = nullptr;  // told once
  }
  if (by_source) {
    std::swap(src, dst);
    for (Part &p : parts) std::swap(p.src, p.dst);
  }
  return std::make_unique<ByParts>(c.n, src, dst, std::move(parts), 1);
}

kernels::Gemm product_of_group(const Conv &c, int64_t pixels) {
  kernels::Gemm g;
  g.m = pixels, g.k = c.c / c.groups, g.n = c.oc / c.groups;
  g.lda = c.c, g.ldb = g.ldc = c.oc;
  g.bias = c.bias, g.epilogue = c.epilogue, g.dtype = c.dtype;
  return g;
}

std::unique_ptr<Kernel> conv_by_groups(const Site &site, const Conv &c, int64_t pieces) {
  Site one = alone(site);
  const int64_t pixels = checked_mul(c.n, c.od, c.oh, c.ow), in = c.c / c.groups, out = c.oc / c.groups;
  std::vector<Part> parts;
  for (int64_t i = 0; i < pieces; ++i) {
    const auto [begin, end] = kernels::part(pixels, pieces, i);
    std::shared_ptr<const Kernel> kernel = product(one, product_of_group(c, end - begin), 1);
    // bounded: of images in memory
    for (int64_t g = 0; g < c.groups; ++g)
      parts.push_back({kernel, begin * c.c + g * in, g * out, begin * c.oc + g * out});
    one.choices = nullptr;  // told once
  }
  return std::make_unique<ByParts>(1, 0, 0, std::move(parts), c.groups);
}

}  // namespace dl4::dispatch
