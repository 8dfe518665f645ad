// adam: one pass over a flat block of weights and its moments.
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/update.hpp"

namespace dl4::ops {
std::vector<Operand> AdamOp::infer(Operands src) const {
  Operand block = want_block("adam", src, {0, 2, 3, 4});
  want_gradient("adam", src, parts, 7);
  want_number("the learning rate of adam", src[5], DType::f32);
  want_number("the step of adam", src[6], DType::i64);
  return std::vector<Operand>(src[4].present ? 4 : 3, block);
}

std::unique_ptr<kernels::Kernel> AdamOp::kernel(const Site &site) const {
  int64_t n = site.dst[0].shape.elements();
  bool largest = site.src[4].present;
  double us = us_per_byte * static_cast<double>(checked_mul(n, largest ? 36 : 28));
  int dst = static_cast<int>(site.src.size());
  return sliced(
      "adam", site, n, us,
      [=, how = how, rows = Rows(site, parts, 7)](int64_t begin, int64_t end, const Run &r) {
        const float lr = *r.src<float>(5);
        const int64_t t = *r.src<int64_t>(6);
        float *w = take_over(r, 0, dst, begin, end) - begin, *m = take_over(r, 2, dst + 1, begin, end) - begin;
        float *v = take_over(r, 3, dst + 2, begin, end) - begin;
        float *vhat = largest ? take_over(r, 4, dst + 3, begin, end) - begin : nullptr;
        rows.each(r, begin, end, [&](int64_t from, int64_t to, const float *g) {
          static constexpr int64_t most = 1024;
          static constexpr float zeros[most] = {};
          for (int64_t at = from, next; at < to; at = next) {
            next = g ? to : std::min(to, at + most);
            kernels::adam(how, lr, t, w + at, g ? g : zeros, m + at, v + at, vhat ? vhat + at : nullptr, next - at);
          }
        });
      },
      line_block);
}

AdamValues adam(Emit &e, Id w, Id g, Id m, Id v, Id vhat, Id lr, Id t, const Adam &how) {
  auto dst = e.step(std::make_shared<AdamOp>(how), {w, g, m, v, vhat, lr, t});
  return {dst[0], dst[1], dst[2], dst.size() > 3 ? dst[3] : none};
}

}  // namespace dl4::ops
