// reshape, reshape_like, expand_dims, squeeze: the same elements in the same order under another shape. No copies.
#include "ops/blocks.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {
namespace {

// What all of them share: source 0's memory seen otherwise, and a gradient that is seen back.
class Reshaping : public Op {
 public:
  void gradient(Gradient &g) const override {
    if (g.wants(0) && g.diff_dst() != none) g.set(0, reshape_like(g.e, g.diff_dst(), g.src(0)));
  }
  bool is_view() const override { return true; }
  bool reads(int src) const override { return src == 0; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override { return copy_kernel(site); }
};

// The product of the known dims; `free` counts the others.
int64_t product(std::span<const int64_t> dims, int &free) {
  int64_t n = 1;
  free = 0;
  for (int64_t d : dims) {
    if (d == free_dim)
      ++free;
    else
      n = checked_mul(n, d);
  }
  return n;
}

class ReshapeOp final : public Reshaping {
 public:
  ReshapeOp(int keep, const Shape &tail) : keep_(keep), tail_(tail) {}
  std::string_view name() const override { return "reshape"; }
  std::string attributes() const override { return text("keep=", keep_, " tail=", tail_); }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (keep_ < 0 || keep_ > x.rank()) fail(Code::invalid_argument, "reshape can't keep ", keep_, " axes of ", x);
    auto refuse = [&] { fail(Code::shape_mismatch, "can't reshape ", x, " to ", x.first(keep_).joined(tail_)); };
    int free, open;
    int64_t rest = product(x.dims().subspan(static_cast<size_t>(keep_)), free), made = product(tail_.dims(), open);
    if (open > 1) fail(Code::invalid_argument, "reshape: more than one -1 in ", tail_);
    Shape tail = tail_;
    if (free == 0 && open == 0 && made != rest) refuse();
    if (free == 0 && open == 1) {
      if (made == 0 ? rest != 0 : rest % made != 0) refuse();
      for (int i = 0; i < tail.rank(); ++i)
        if (tail[i] == free_dim) tail = tail.with(i, made ? rest / made : 0);
    }
    // One free dim among known ones must still be a whole number.
    if (free == 1 && open == 0 && (rest == 0 ? made != 0 : made % rest != 0)) refuse();
    return {{src[0].dtype, x.first(keep_).joined(tail)}};
  }

 private:
  int keep_;
  Shape tail_;
};

class ReshapeLikeOp final : public Reshaping {
 public:
  std::string_view name() const override { return "reshape_like"; }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape, &like = src[1].shape;
    if (x.known() && like.known() && x.elements() != like.elements())
      fail(Code::shape_mismatch, "can't reshape ", x, " to ", like);
    return {{src[0].dtype, like}};
  }
};

class ExpandDimsOp final : public Reshaping {
 public:
  explicit ExpandDimsOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "expand_dims"; }
  std::string attributes() const override { return text("axis=", axis_); }
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[0].shape.inserted(axis_, 1)}}; }

 private:
  int axis_;
};

class SqueezeOp final : public Reshaping {
 public:
  explicit SqueezeOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "squeeze"; }
  std::string attributes() const override { return text("axis=", axis_); }
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x[axis_] != 1 && x[axis_] != free_dim)
      fail(Code::shape_mismatch, "squeeze: axis ", axis_, " of ", x, " is not 1");
    return {{src[0].dtype, x.without(axis_)}};
  }

 private:
  int axis_;
};

}  // namespace

Id reshape(Emit &e, Id x, int keep, const Shape &tail) { return e.value(std::make_shared<ReshapeOp>(keep, tail), {x}); }

Id reshape_like(Emit &e, Id x, Id like) {
  if (e.shape(x) == e.shape(like) && e.shape(x).known()) return x;
  return e.value(std::make_shared<ReshapeLikeOp>(), {x, like});
}

Id expand_dims(Emit &e, Id x, int axis) { return e.value(std::make_shared<ExpandDimsOp>(axis), {x}); }
Id squeeze(Emit &e, Id x, int axis) { return e.value(std::make_shared<SqueezeOp>(axis), {x}); }

}  // namespace dl4::ops
