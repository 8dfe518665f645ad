// sgd: one pass over a flat block of weights.
#include "kernels/optimizer.hpp"
#include "ops/ops.hpp"
#include "ops/update.hpp"

namespace dl4::ops {
namespace {

class SgdOp final : public Op {
 public:
  explicit SgdOp(const Sgd &how) : how_(how) {}
  std::string_view name() const override { return "sgd"; }
  std::string attributes() const override {
    return text("momentum=", number(how_.momentum), " weight_decay=", number(how_.weight_decay),
                how_.nesterov ? " nesterov" : "");
  }
  std::vector<Operand> infer(Operands src) const override {
    if (src[2].present != (how_.momentum != 0))
      fail(Code::invalid_argument, "sgd has a velocity exactly with momentum");
    std::vector<Operand> dst{want_block("sgd", src, {0, 1, 2})};
    want_number("the learning rate of sgd", src[3], DType::f32);
    if (src[2].present) dst.push_back(dst[0]);
    return dst;
  }
  int overwrites(int dst) const override { return dst == 0 ? 0 : 2; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    bool velocity = site.src[2].present;
    double us = us_per_byte * static_cast<double>(4 * n * (velocity ? 5 : 3));
    return sliced("sgd", site, n, us, [how = how_, velocity](int64_t begin, int64_t end, const Run &r) {
      float *w = take_over(r, 0, 4, begin, end), *m = velocity ? take_over(r, 2, 5, begin, end) : nullptr;
      kernels::sgd({.lr = *r.src<float>(3),
                    .momentum = how.momentum,
                    .decay = how.weight_decay,
                    .nesterov = how.nesterov},
                   w, r.src<float>(1) + begin, m, end - begin);
    }, line_block);
  }

 private:
  Sgd how_;
};

}  // namespace

SgdValues sgd(Emit &e, Id w, Id g, Id m, Id lr, const Sgd &how) {
  auto dst = e.step(std::make_shared<SgdOp>(how), {w, g, m, lr});
  return {dst[0], dst.size() > 1 ? dst[1] : none};
}

}  // namespace dl4::ops
