// fill: one number everywhere, in a shape taken from another value.
#include <cstring>

#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

class FillOp final : public Op {
 public:
  FillOp(DType dtype, double v, int keep, const Shape &tail) : dtype_(dtype), v_(v), keep_(keep), tail_(tail) {}
  std::string_view name() const override { return "fill"; }
  std::string attributes() const override {
    char s[32];
    std::snprintf(s, sizeof s, "%.17g", v_);
    return text(dtype_, " ", s, " keep=", keep_, " tail=", tail_);
  }
  std::vector<Operand> infer(Operands src) const override {
    if (keep_ < 0 || keep_ > src[0].shape.rank())
      fail(Code::invalid_argument, "fill can't keep ", keep_, " axes of ", src[0].shape);
    return {{dtype_, src[0].shape.first(keep_).joined(tail_)}};
  }
  bool reads(int) const override { return false; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    int64_t n = site.dst[0].shape.elements(), size = size_of(dtype_);
    double us = us_per_byte * static_cast<double>(checked_mul(n, size));
    return sliced(
        "fill", site, n, us,
        [size, value = bytes()](int64_t begin, int64_t end, const Run &r) {
          kernels::fill(size, value.data(), r.dst<std::byte>(1) + begin * size, end - begin);
        },
        line_block);
  }

 private:
  std::array<std::byte, 8> bytes() const {
    std::array<std::byte, 8> b{};
    auto put = [&](auto v) { std::memcpy(b.data(), &v, sizeof v); };
    switch (dtype_) {
      case DType::f32:
        put(static_cast<float>(v_));
        break;
      case DType::f64:
        put(v_);
        break;
      case DType::i32:
        put(static_cast<int32_t>(v_));
        break;
      case DType::i64:
        put(static_cast<int64_t>(v_));
        break;
      case DType::u8:
        put(static_cast<uint8_t>(v_));
        break;
      case DType::boolean:
        put(static_cast<uint8_t>(v_ != 0));
        break;
    }
    return b;
  }

  DType dtype_;
  double v_;
  int keep_;
  Shape tail_;
};

}  // namespace

Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail) {
  return e.value(std::make_shared<FillOp>(dtype, v, keep, tail), {like});
}

}  // namespace dl4::ops
