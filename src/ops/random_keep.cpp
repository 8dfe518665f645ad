// random_keep: which elements dropout keeps, scaled up by what it drops.
#include "kernels/elementwise/random.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

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
    want_type("the draw of random_keep", src[0], DType::i64);
    if (!(rate >= 0 && rate < 1))
      fail(Code::invalid_argument, "dropout: rate is ", number(rate), ", expected 0 <= rate < 1");
    const Shape &like = src[1].shape;
    if (keep < 0 || keep > like.rank())
      fail(Code::invalid_argument, "random_keep can't keep ", keep, " axes of ", like);
    return {{DType::f32, like.first(keep).joined(tail)}};
  }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    double us = 2 * us_per_function * static_cast<double>(n);
    return sliced(
        "random_keep", site, n, us,
        [seed = seed, rate = static_cast<float>(rate)](int64_t begin, int64_t end, const Run &r) {
          Stream stream{seed, static_cast<uint64_t>(*r.src<int64_t>(0))};
          kernels::keep_mask(stream, begin, rate, r.dst<float>(2) + begin, end - begin);
        },
        line_block);
  }
};

}  // namespace

Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<RandomKeepOp>(rate, seed, keep, tail), {draw, like});
}

}  // namespace dl4::ops
