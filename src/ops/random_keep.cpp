// random_keep: which elements dropout keeps, scaled up by what it drops.
#include "kernels/random.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

class RandomKeepOp final : public Op {
 public:
  RandomKeepOp(double rate, uint64_t seed, int keep, const Shape &tail)
      : rate_(rate), seed_(seed), keep_(keep), tail_(tail) {}
  std::string_view name() const override { return "random_keep"; }
  std::string attributes() const override {
    return text("rate=", number(rate_), " seed=", seed_, " keep=", keep_, " tail=", tail_);
  }
  std::vector<Operand> infer(Operands src) const override {
    want_type("the draw of random_keep", src[0], DType::i64);
    if (!(rate_ >= 0 && rate_ < 1))
      fail(Code::invalid_argument, "dropout: rate is ", number(rate_), ", expected 0 <= rate < 1");
    const Shape &like = src[1].shape;
    if (keep_ < 0 || keep_ > like.rank())
      fail(Code::invalid_argument, "random_keep can't keep ", keep_, " axes of ", like);
    return {{DType::f32, like.first(keep_).joined(tail_)}};
  }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    double us = 2 * us_per_function * static_cast<double>(n);
    return sliced(
        "random_keep", site, n, us,
        [seed = seed_, rate = static_cast<float>(rate_)](int64_t begin, int64_t end, const Run &r) {
          Stream stream{seed, static_cast<uint64_t>(*r.src<int64_t>(0))};
          kernels::keep_mask(stream, begin, rate, r.dst<float>(2) + begin, end - begin);
        },
        line_block);
  }

 private:
  double rate_;
  uint64_t seed_;
  int keep_;
  Shape tail_;
};

}  // namespace

Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<RandomKeepOp>(rate, seed, keep, tail), {draw, like});
}

}  // namespace dl4::ops
