// sgd: one pass over a flat block of weights.
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/update.hpp"

namespace dl4::ops {
std::vector<Operand> SgdOp::infer(Operands src) const {
  if (src[2].present != (how.momentum != 0)) fail(Code::invalid_argument, "sgd has a velocity exactly with momentum");
  std::vector<Operand> dst{want_block("sgd", src, {0, 2})};
  want_gradient("sgd", src, parts, 4);
  want_number("the learning rate of sgd", src[3], DType::f32);
  if (src[2].present) dst.push_back(dst[0]);
  return dst;
}

std::unique_ptr<kernels::Kernel> SgdOp::kernel(const Site &site) const {
  int64_t n = site.dst[0].shape.elements();
  bool velocity = site.src[2].present;
  double us = us_per_byte * static_cast<double>(checked_mul(gradient_elements(site, parts), velocity ? 20 : 12));
  int dst = static_cast<int>(site.src.size());
  return sliced(
      "sgd", site, n, us,
      [=, how = how, rows = Rows(site, parts, 4)](int64_t begin, int64_t end, const Run &r) {
        const float lr = *r.src<float>(3);
        float *w = take_over(r, 0, dst, begin, end) - begin;
        float *m = velocity ? take_over(r, 2, dst + 1, begin, end) - begin : nullptr;
        rows.each(r, begin, end, [&](int64_t from, int64_t to, const float *g) {
          if (g) kernels::sgd(how, lr, w + from, g, m ? m + from : nullptr, to - from);
        });
      },
      line_block);
}

SgdValues sgd(Emit &e, Id w, Id g, Id m, Id lr, const Sgd &how) {
  auto dst = e.step(std::make_shared<SgdOp>(how), {w, g, m, lr});
  return {dst[0], dst.size() > 1 ? dst[1] : none};
}

}  // namespace dl4::ops
