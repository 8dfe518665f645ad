// Kernels of random ops.
#include "backend/cpu/kernels/elementwise/random.hpp"
#include "backend/cpu/families.hpp"

namespace dl4::cpu {
namespace {

// Index of this part's first element in the whole draw.
class First {
 public:
  First(const Site &site, int keep)
      : rows_(keep > 0 && site.src[0].shape.rank() == 1 ? site.dst[0].shape[0] : 0),
        elements_(site.dst[0].shape.elements()) {}
  int64_t operator()(const int64_t *draw) const {
    if (rows_ == 0 || draw[2] == 0 || rows_ % draw[2] != 0) return 0;
    return draw[1] * (elements_ / draw[2]);
  }

 private:
  int64_t rows_, elements_;
};

// draw(stream, first, n, to): numbers of a stream from index `first`.
template <class Attributes, class Draw>
std::unique_ptr<Kernel> drawn(const char *name, const Attributes &op, const Site &site, double functions, Draw draw) {
  const int64_t n = site.dst[0].shape.elements();
  return sliced(
      name, site, n, functions * us_per_function * static_cast<double>(n),
      [=, seed = op.seed, first = First(site, op.keep)](int64_t begin, int64_t end, const Run &r) {
        const auto *count = r.in<int64_t>(0);
        draw(Stream{seed, static_cast<uint64_t>(count[0])}, first(count) + begin, end - begin, r.out<float>(0) + begin);
      },
      line_block);
}

std::unique_ptr<Kernel> random_keep(const attributes::RandomKeep &op, const Site &site) {
  return drawn("random_keep", op, site, 2,
               [rate = static_cast<float>(op.rate)](const Stream &s, int64_t first, int64_t n, float *to) {
                 kernels::keep_mask(s, first, rate, to, n);
               });
}

std::unique_ptr<Kernel> random_normal(const attributes::RandomNormal &op, const Site &site) {
  return drawn("random_normal", op, site, 6, [](const Stream &s, int64_t first, int64_t n, float *to) {
    kernels::fill_normal(s, first, 0, 1, to, n);
  });
}

std::unique_ptr<Kernel> random_uniform(const attributes::RandomUniform &op, const Site &site) {
  return drawn("random_uniform", op, site, 2, [](const Stream &s, int64_t first, int64_t n, float *to) {
    kernels::fill_uniform(s, first, 0, 1, to, n);
  });
}

}  // namespace

std::span<const Row> random_kernels() {
  static const Row rows[] = {
      row<attributes::RandomKeep, random_keep>(),
      row<attributes::RandomNormal, random_normal>(),
      row<attributes::RandomUniform, random_uniform>(),
  };
  return rows;
}

}  // namespace dl4::cpu
