// random_keep: which elements dropout keeps, scaled up by what it drops. random_normal, random_uniform: numbers. The
// number of the draw may stand before the first row and the rows of a part of a batch, whose rows are then drawn as in the whole.

#include "backend/cpu/kernels/elementwise/random.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// What both make: the first `keep` axes of source 1, then the tail.
std::vector<Operand> drawn(const char *op, Operands src, int keep, const Shape &tail) {
  want_type(text("the draw of ", op).c_str(), src[0], DType::i64);
  const Shape &like = src[1].shape;
  if (keep < 0 || keep > like.rank()) fail(Code::invalid_argument, op, " can't keep ", keep, " axes of ", like);
  return {{DType::f32, like.first(keep).joined(tail)}};
}

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

struct RandomKeepOp final : StopsGradients<RandomKeepOp> {
  double rate;
  uint64_t seed;
  int keep;
  Shape tail;

  RandomKeepOp(double rate, uint64_t seed, int keep, const Shape &tail)
      : rate(rate), seed(seed), keep(keep), tail(tail) {}
  void fields(auto &f) const { f("rate", rate), f("seed", seed), f("keep", keep), f("tail", tail); }
  std::string_view name() const override { return "random_keep"; }
  std::vector<Operand> infer(Operands src) const override {
    if (!(rate >= 0 && rate < 1))
      fail(Code::invalid_argument, "dropout: rate is ", number(rate), ", expected 0 <= rate < 1");
    return drawn("random_keep", src, keep, tail);
  }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    double us = 2 * us_per_function * static_cast<double>(n);
    return sliced(
        "random_keep", site, n, us,
        [seed = seed, rate = static_cast<float>(rate), first = First(site, keep)](int64_t begin, int64_t end,
                                                                                  const Run &r) {
          const auto *draw = r.in<int64_t>(0);
          Stream stream{seed, static_cast<uint64_t>(draw[0])};
          kernels::keep_mask(stream, first(draw) + begin, rate, r.out<float>(0) + begin, end - begin);
        },
        line_block);
  }
};

struct RandomNormalOp final : StopsGradients<RandomNormalOp> {
  uint64_t seed;
  int keep;
  Shape tail;

  RandomNormalOp(uint64_t seed, int keep, const Shape &tail) : seed(seed), keep(keep), tail(tail) {}
  void fields(auto &f) const { f("seed", seed), f("keep", keep), f("tail", tail); }
  std::string_view name() const override { return "random_normal"; }
  std::vector<Operand> infer(Operands src) const override { return drawn("random_normal", src, keep, tail); }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    double us = 6 * us_per_function * static_cast<double>(n);
    return sliced(
        "random_normal", site, n, us,
        [seed = seed, first = First(site, keep)](int64_t begin, int64_t end, const Run &r) {
          const auto *draw = r.in<int64_t>(0);
          Stream stream{seed, static_cast<uint64_t>(draw[0])};
          kernels::fill_normal(stream, first(draw) + begin, 0, 1, r.out<float>(0) + begin, end - begin);
        },
        line_block);
  }
};

struct RandomUniformOp final : StopsGradients<RandomUniformOp> {
  uint64_t seed;
  int keep;
  Shape tail;

  RandomUniformOp(uint64_t seed, int keep, const Shape &tail) : seed(seed), keep(keep), tail(tail) {}
  void fields(auto &f) const { f("seed", seed), f("keep", keep), f("tail", tail); }
  std::string_view name() const override { return "random_uniform"; }
  std::vector<Operand> infer(Operands src) const override { return drawn("random_uniform", src, keep, tail); }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    double us = 2 * us_per_function * static_cast<double>(n);
    return sliced(
        "random_uniform", site, n, us,
        [seed = seed, first = First(site, keep)](int64_t begin, int64_t end, const Run &r) {
          const auto *draw = r.in<int64_t>(0);
          Stream stream{seed, static_cast<uint64_t>(draw[0])};
          kernels::fill_uniform(stream, first(draw) + begin, 0, 1, r.out<float>(0) + begin, end - begin);
        },
        line_block);
  }
};

}  // namespace

Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<RandomKeepOp>(rate, seed, keep, tail), {draw, like});
}
Id random_normal(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<RandomNormalOp>(seed, keep, tail), {draw, like});
}
Id random_uniform(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<RandomUniformOp>(seed, keep, tail), {draw, like});
}

}  // namespace dl4::ops
