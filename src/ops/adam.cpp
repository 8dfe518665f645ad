// adam: one pass over a flat block of weights and its moments.
#include "ops/ops.hpp"
#include "ops/update.hpp"

namespace dl4::ops {
namespace {

class AdamOp final : public Op {
 public:
  explicit AdamOp(const Adam &how, std::vector<RowPart> parts = {}) : how_(how), parts_(std::move(parts)) {}
  std::string_view name() const override { return "adam"; }
  std::string attributes() const override {
    return text("beta_1=", number(how_.beta_1), " beta_2=", number(how_.beta_2), " epsilon=", number(how_.epsilon),
                " weight_decay=", number(how_.weight_decay), print(parts_));
  }
  // Sources w g m v vhat lr t, destinations w m v vhat.
  std::vector<Operand> infer(Operands src) const override {
    Operand block = want_block("adam", src, {0, 2, 3, 4});
    want_gradient("adam", src, parts_, 7);
    want_number("the learning rate of adam", src[5], DType::f32);
    want_number("the step of adam", src[6], DType::i64);
    return std::vector<Operand>(src[4].present ? 4 : 3, block);
  }
  int overwrites(int dst) const override { return dst == 0 ? 0 : dst + 1; }
  std::shared_ptr<const Op> with_rows(std::vector<RowPart> parts) const override {
    return std::make_shared<AdamOp>(how_, std::move(parts));
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements();
    bool largest = site.src[4].present;
    double us = us_per_byte * static_cast<double>(checked_mul(n, largest ? 36 : 28));
    int dst = static_cast<int>(site.src.size());
    return sliced(
        "adam", site, n, us,
        [=, how = how_, rows = Rows(site, parts_, 7)](int64_t begin, int64_t end, const Run &r) {
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

 private:
  Adam how_;
  std::vector<RowPart> parts_;
};

}  // namespace

AdamValues adam(Emit &e, Id w, Id g, Id m, Id v, Id vhat, Id lr, Id t, const Adam &how) {
  auto dst = e.step(std::make_shared<AdamOp>(how), {w, g, m, v, vhat, lr, t});
  return {dst[0], dst[1], dst[2], dst.size() > 3 ? dst[3] : none};
}

}  // namespace dl4::ops
