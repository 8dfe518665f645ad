// one_hot: a row with a one where the label says; no one where it is out of range, as in Keras.
#include "kernels/movement.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

class OneHotOp final : public Op {
 public:
  explicit OneHotOp(int64_t depth) : depth_(depth) {}
  std::string_view name() const override { return "one_hot"; }
  std::string attributes() const override { return text("depth=", depth_); }
  std::vector<Operand> infer(Operands src) const override {
    want_index("the labels of one_hot", src[0]);
    if (depth_ < 0) fail(Code::invalid_argument, "one_hot: depth is ", depth_, ", expected at least 0");
    return {{DType::f32, src[0].shape.joined({depth_})}};
  }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override {
    DType type = site.src[0].dtype;
    int64_t n = depth_ ? site.src[0].shape.elements() : 0, depth = depth_;
    double us = us_per_byte * static_cast<double>(n * depth * 4);
    return sliced("one_hot", site, n, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::one_hot(type, r.src<std::byte>(0) + begin * size_of(type), end - begin, depth, 1, 0,
                       r.dst<float>(1) + begin * depth);
    });
  }

 private:
  int64_t depth_;
};

}  // namespace

Id one_hot(Emit &e, Id labels, int64_t depth) { return e.value(std::make_shared<OneHotOp>(depth), {labels}); }

}  // namespace dl4::ops
