// adam: one pass over a flat block of weights and its moments.
#include "kernels/optimizer.hpp"
#include "ops/ops.hpp"
#include "ops/update.hpp"

namespace dl4::ops {
namespace {

class AdamOp final : public Op {
 public:
  explicit AdamOp(const Adam &how) : how_(how) {}
  std::string_view name() const override { return "adam"; }
  std::string attributes() const override {
    return text("beta_1=", number(how_.beta_1), " beta_2=", number(how_.beta_2), " epsilon=", number(how_.epsilon),
                " weight_decay=", number(how_.weight_decay));
  }
  // Sources w g m v vhat lr t, destinations w m v vhat.
  std::vector<Operand> infer(Operands src) const override {
    Operand block = want_block("adam", src, {0, 1, 2, 3, 4});
    want_number("the learning rate of adam", src[5], DType::f32);
    want_number("the step of adam", src[6], DType::i64);
    return std::vector<Operand>(src[4].present ? 4 : 3, block);
  }
  int overwrites(int dst) const override { return dst == 0 ? 0 : dst + 1; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    bool largest = site.src[4].present;
    double us = us_per_byte * static_cast<double>(4 * n * (largest ? 9 : 7));
    return sliced("adam", site, n, us, [how = how_, largest](int64_t begin, int64_t end, const Run &r) {
      float *w = take_over(r, 0, 7, begin, end), *m = take_over(r, 2, 8, begin, end);
      float *v = take_over(r, 3, 9, begin, end);
      float *vhat = largest ? take_over(r, 4, 10, begin, end) : nullptr;
      kernels::adam({.lr = *r.src<float>(5),
                     .beta1 = how.beta_1,
                     .beta2 = how.beta_2,
                     .epsilon = how.epsilon,
                     .decay = how.weight_decay,
                     .t = *r.src<int64_t>(6)},
                    w, r.src<float>(1) + begin, m, v, vhat, end - begin);
    }, line_block);
  }

 private:
  Adam how_;
};

}  // namespace

AdamValues adam(Emit &e, Id w, Id g, Id m, Id v, Id vhat, Id lr, Id t, const Adam &how) {
  auto dst = e.step(std::make_shared<AdamOp>(how), {w, g, m, v, vhat, lr, t});
  return {dst[0], dst[1], dst[2], dst.size() > 3 ? dst[3] : none};
}

}  // namespace dl4::ops
