// Kernels of the ops that draw random numbers.
#include "backend/cpu/kernels/elementwise/random.hpp"
#include "backend/cpu/families.hpp"

namespace dl4::cpu {
namespace {

// The element of the whole draw that is the first of this part.
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

std::unique_ptr<Kernel> random_keep(const attributes::RandomKeep &op, const Site &site) {
  int64_t n = site.dst[0].shape.elements();
  double us = 2 * us_per_function * static_cast<double>(n);
  return sliced(
      "random_keep", site, n, us,
      [seed = op.seed, rate = static_cast<float>(op.rate), first = First(site, op.keep)](int64_t begin, int64_t end,
                                                                                         const Run &r) {
        const auto *draw = r.in<int64_t>(0);
        Stream stream{seed, static_cast<uint64_t>(draw[0])};
        kernels::keep_mask(stream, first(draw) + begin, rate, r.out<float>(0) + begin, end - begin);
      },
      line_block);
}

std::unique_ptr<Kernel> random_normal(const attributes::RandomNormal &op, const Site &site) {
  int64_t n = site.dst[0].shape.elements();
  double us = 6 * us_per_function * static_cast<double>(n);
  return sliced(
      "random_normal", site, n, us,
      [seed = op.seed, first = First(site, op.keep)](int64_t begin, int64_t end, const Run &r) {
        const auto *draw = r.in<int64_t>(0);
        Stream stream{seed, static_cast<uint64_t>(draw[0])};
        kernels::fill_normal(stream, first(draw) + begin, 0, 1, r.out<float>(0) + begin, end - begin);
      },
      line_block);
}

std::unique_ptr<Kernel> random_uniform(const attributes::RandomUniform &op, const Site &site) {
  int64_t n = site.dst[0].shape.elements();
  double us = 2 * us_per_function * static_cast<double>(n);
  return sliced(
      "random_uniform", site, n, us,
      [seed = op.seed, first = First(site, op.keep)](int64_t begin, int64_t end, const Run &r) {
        const auto *draw = r.in<int64_t>(0);
        Stream stream{seed, static_cast<uint64_t>(draw[0])};
        kernels::fill_uniform(stream, first(draw) + begin, 0, 1, r.out<float>(0) + begin, end - begin);
      },
      line_block);
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
