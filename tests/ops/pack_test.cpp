// pack: parts in one block, zeros between, and parts that lie in their place already.
#include <algorithm>
#include <cmath>

#include "backend/backend.hpp"
#include "harness/gradient_check.hpp"
#include "ops/matched.hpp"
#include "ops/op.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

TEST(Pack, PartsAndZeros) {
  Tensor a = random({2, 3}, 1), b = random({}, 2), c = random({0, 4}, 3), d = random({5}, 4);
  auto build = [](Emit &e, const auto &v) { return pack(e, v, {1, 8, 9, 16}, 23); };
  std::vector<float> expected(23, 0);
  std::copy_n(a.as<float>(), 6, &expected[1]);
  expected[8] = *b.as<float>();
  std::copy_n(d.as<float>(), 5, &expected[16]);
  Build1 known = build;
  Program p = program_of(one(known), {a, b, c, d});
  for (int threads : {1, 2, 7})
    expect_close(evaluate(p, {a, b, c, d}, {}, {.threads = threads}).outputs[0], tensor<float>({23}, expected), 0,
                 "pack");
  auto kernel_of = [&] {
    dispatch::Site site;
    for (const Tensor &t : {a, b, c, d}) site.src.push_back({t.dtype, t.shape});
    site.dst = {{DType::f32, {23}}};
    site.cutting = {.threads = 2, .least = 1e-9};
    return backend::make_kernel(*p.steps[0].op, site);
  };
  // Everything in place: only the gaps are written.
  const PackOp &op = *as<PackOp>(p.steps[0]);
  Tensor y = make_tensor(DType::f32, {23});
  std::fill_n(y.as<float>(), 23, NAN);
  std::copy_n(a.as<float>(), 6, y.as<float>() + 1);
  std::copy_n(b.as<float>(), 1, y.as<float>() + 8);
  std::copy_n(d.as<float>(), 5, y.as<float>() + 16);
  std::vector<void *> args;
  for (size_t i = 0; i < 4; ++i) args.push_back(y.data.get() + op.offset_bytes(i));
  args.push_back(y.data.get());
  auto kernel = kernel_of();
  for (int64_t i = 0; i < kernel->slices; ++i) kernel->run(i, {args.data(), 4, nullptr, nullptr, nullptr});
  expect_close(y, tensor<float>({23}, expected), 0, "in place");
}

TEST(Pack, Gradient) {
  Build1 build = [](Emit &e, const auto &v) {
    // The shapes of parts must be known for the gradient.
    return pack(e, {reshape(e, v[0], 0, {6}), reshape(e, v[1], 0, {2})}, {0, 7}, 10);
  };
  check_gradient(build, {random({2, 3}, 1), random({2}, 2)}, {0, 1});
}

TEST(Pack, Refuses) {
  check_refused(
      [](Emit &e, const auto &v) {
        return pack(e, v, {0, 2}, 10);
      },
      {Shape{3}, Shape{3}}, Code::shape_mismatch, "pack: part 0 (3,) at 0 runs past 2");
  check_refused([](Emit &e, const auto &v) { return pack(e, v, {0}, 2); }, {Shape{3}}, Code::shape_mismatch,
                "runs past 2");
  check_refused([](Emit &e, const auto &v) { return pack(e, v, {}, 2); }, {Shape{3}}, Code::invalid_argument,
                "pack: 1 parts and 0 offsets");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
