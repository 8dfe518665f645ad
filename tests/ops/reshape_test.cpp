// reshape, reshape_like, expand_dims, squeeze: shape rules; the elements stay where they are.
#include <cmath>

#include "backend/backend.hpp"
#include "harness/gradient_check.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 to(int keep, Shape tail) {
  return [=](Emit &e, const auto &x) { return reshape(e, x[0], keep, tail); };
}

Tensor seen(Tensor t, const Shape &s) {
  t.shape = s;
  return t;
}

TEST(Reshape, Shapes) {
  Tensor x = random({6, 4, 5}, 1);
  check(to(1, {20}), {x}, seen(x, {6, 20}));
  check(to(1, {-1}), {x}, seen(x, {6, 20}));
  check(to(0, {-1, 5}), {x}, seen(x, {24, 5}));
  check(to(0, {3, -1, 2}), {x}, seen(x, {3, 20, 2}));
  check(to(3, {1}), {x}, seen(x, {6, 4, 5, 1}));
  Tensor none = make_tensor(DType::f32, {0, 4, 5});
  check(to(1, {-1}), {none}, seen(none, {0, 20}));
  check(to(0, {-1, 5}), {none}, seen(none, {0, 5}));
  check([](Emit &e, const auto &v) { return reshape_like(e, v[0], v[1]); }, {x, random({8, 15}, 1)}, seen(x, {8, 15}));
  check([](Emit &e, const auto &v) { return expand_dims(e, v[0], -1); }, {x}, seen(x, {6, 4, 5, 1}));
  check([](Emit &e, const auto &v) { return expand_dims(e, v[0], 1); }, {x}, seen(x, {6, 1, 4, 5}));
  check([](Emit &e, const auto &v) { return squeeze(e, v[0], -2); }, {seen(x, {24, 1, 5})}, seen(x, {24, 5}));
}

TEST(Reshape, FreeDims) {
  Program p;
  Emit e(p);
  Id x = e.input("x", DType::f32, {-1, 4, -1});
  EXPECT_EQ(to_string(e.shape(reshape(e, x, 1, {-1}))), "(?, ?)");
  EXPECT_EQ(to_string(e.shape(reshape(e, x, 2, {2, -1}))), "(?, 4, 2, ?)");
  EXPECT_EQ(to_string(e.shape(reshape(e, x, 1, {8}))), "(?, 8)");
  EXPECT_EQ(to_string(e.shape(squeeze(e, x, 0))), "(4, ?)");
}

TEST(Reshape, CopyKernelAgrees) {
  // A planner that can't alias runs the kernel.
  Program p = program_of(one(to(1, {20})), {random({6, 4, 5}, 1)});
  dispatch::Site site{
      {{DType::f32, {6, 4, 5}}}, {{DType::f32, {6, 20}}}, {nullptr}, {""}, {.threads = 2, .least = 1e-9}, {}, nullptr};
  auto kernel = backend::make_kernel(*p.steps[0].op, site);
  Tensor x = random({6, 4, 5}, 1), y = make_zeros(DType::f32, {6, 20});
  void *args[] = {x.data.get(), y.data.get()};
  for (int64_t i = 0; i < kernel->slices; ++i) kernel->run(i, {args, 1, nullptr, nullptr, nullptr});
  expect_close(y, seen(x, {6, 20}), 0, "copy");
}

TEST(Reshape, Gradients) {
  check_gradient(to(1, {6}), {random({2, 2, 3}, 1)});
  check_gradient([](Emit &e, const auto &v) { return squeeze(e, v[0], 1); }, {random({3, 1, 2}, 1)});
  check_gradient([](Emit &e, const auto &v) { return expand_dims(e, v[0], 0); }, {random({3, 2}, 1)});
}

TEST(Reshape, Refuses) {
  check_refused(to(1, {7}), {Shape{2, 3}}, Code::shape_mismatch, "can't reshape (2, 3) to (2, 7)");
  check_refused(to(1, {2, -1}), {Shape{2, 3}}, Code::shape_mismatch, "can't reshape (2, 3) to (2, 2, ?)");
  check_refused(to(1, {8}), {Shape{-1, 3, -1}}, Code::shape_mismatch, "can't reshape (?, 3, ?)");
  check_refused(to(0, {-1, -1}), {Shape{4}}, Code::invalid_argument, "more than one -1");
  check_refused(to(3, {}), {Shape{4}}, Code::invalid_argument, "reshape can't keep 3 axes of (4,)");
  check_refused([](Emit &e, const auto &v) { return squeeze(e, v[0], 0); }, {Shape{2, 3}}, Code::shape_mismatch,
                "squeeze: axis 0 of (2, 3) is not 1");
  check_refused([](Emit &e, const auto &v) { return reshape_like(e, v[0], v[1]); }, {Shape{2, 3}, Shape{5}},
                Code::shape_mismatch, "can't reshape (2, 3) to (5,)");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
