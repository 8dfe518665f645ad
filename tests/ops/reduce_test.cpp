// reduce: any axes, empty ones too; ties; flags.
#include <cmath>
#include <limits>

#include "harness/gradient_check.hpp"
#include "plan/differentiate.hpp"

namespace dl4::test::DL4_FILE {
namespace {

using namespace ops;
using Index = std::vector<int64_t>;

Build1 over(Reduce f, std::vector<int> axes, bool keepdims = false) {
  return [=](Emit &e, const auto &x) { return reduce(e, f, x[0], axes, keepdims); };
}

// A slow reduction in double.
Tensor reduced(Reduce f, const Tensor &x, std::vector<int> axes, bool keepdims) {
  std::vector<bool> gone(static_cast<size_t>(x.shape.rank()), axes.empty());
  for (int a : axes) gone[static_cast<size_t>(x.shape.axis(a))] = true;
  std::vector<int64_t> kept, shown;
  double count = 1;
  for (int a = 0; a < x.shape.rank(); ++a) {
    bool g = gone[static_cast<size_t>(a)];
    kept.push_back(g ? 1 : x.shape[a]);
    if (!g || keepdims) shown.push_back(kept.back());
    if (g) count *= static_cast<double>(x.shape[a]);
  }
  bool largest = f == Reduce::max, flags = x.dtype == DType::boolean;
  double start = f == Reduce::prod || (flags && !largest) ? 1
                 : flags                                  ? 0
                 : largest                                ? -INFINITY
                 : f == Reduce::min                       ? INFINITY
                                                          : 0;
  Tensor y = naive(DType::f64, Shape(kept), [&](const Index &) { return start; });
  naive(x.shape, [&](const Index &i) {
    int64_t k = 0;
    for (size_t a = 0; a < i.size(); ++a) k = k * kept[a] + (gone[a] ? 0 : i[a]);
    double v = at(x, i), &s = y.as<double>()[k];
    switch (f) {
      case Reduce::sum:
      case Reduce::mean:
        s += v;
        break;
      case Reduce::max:
        s = std::max(s, v);
        break;
      case Reduce::min:
        s = std::min(s, v);
        break;
      case Reduce::prod:
        s *= v;
        break;
      case Reduce::sum_squares:
        s += v * v;
        break;
      case Reduce::sum_abs:
        s += std::abs(v);
        break;
    }
    return 0.0;
  });
  y.shape = Shape(shown);
  return naive(x.dtype, y.shape, [&](const Index &i) { return f == Reduce::mean ? at(y, i) / count : at(y, i); });
}

const std::vector<Reduce> all{Reduce::sum,  Reduce::mean,        Reduce::max,    Reduce::min,
                              Reduce::prod, Reduce::sum_squares, Reduce::sum_abs};

TEST(Reduce, AnyAxes) {
  for (Reduce f : all) {
    for (auto axes :
         std::vector<std::vector<int>>{{}, {0}, {1}, {-1}, {0, 1}, {1, 2}, {0, 2}, {1, 3}, {0, 2, 3}, {0, 1, 2, 3}}) {
      for (Shape s : {Shape{3, 4, 2, 5}, Shape{1, 7, 1, 3}, Shape{2, 1, 33, 1}, Shape{40, 3, 2, 17}}) {
        bool keepdims = axes.size() == 1;
        SCOPED_TRACE(text(program_of(one(over(f, axes)), {random(s, 1)}).steps[0].op->attributes(), " of ", s));
        Tensor x = random(s, 1, 0.5, 1.2);
        check(over(f, axes, keepdims), {x}, reduced(f, x, axes, keepdims), 3e-5, 3e-5);
      }
    }
  }
}

TEST(Reduce, NothingGivesTheNeutralValue) {
  for (Reduce f : all)
    for (auto axes : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 2}, {}})
      for (Shape s : {Shape{0, 2, 3}, Shape{2, 0, 3}, Shape{2, 3, 0}}) {
        SCOPED_TRACE(text(static_cast<int>(f), " ", s));
        Tensor x = make_tensor(DType::f32, s);
        check(over(f, axes), {x}, reduced(f, x, axes, false), 0);
      }
}

TEST(Reduce, AnyAndAll) {
  for (Reduce f : {Reduce::max, Reduce::min})
    for (auto axes : std::vector<std::vector<int>>{{}, {0}, {1}, {-1}, {0, 2}})
      for (Shape s : {Shape{5, 3, 2}, Shape{2, 0, 3}}) {
        Tensor x = random(s, 4, 0, 1, DType::boolean);
        check(over(f, axes), {x}, reduced(f, x, axes, false), 0);
      }
}

template <class T>
void integers() {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  const DType type = dtype_of<T>();
  for (Reduce f : {Reduce::sum, Reduce::max, Reduce::min, Reduce::prod})
    for (auto axes : std::vector<std::vector<int>>{{}, {0}, {1}, {-1}, {0, 2}, {0, 1}})
      for (Shape s : {Shape{5, 3, 2}, Shape{2, 1, 40}, Shape{7, 2, 3}}) {
        int64_t i = 0;
        const Tensor x = naive(type, s, [&](const Index &) { return static_cast<double>(++i * 7919 % 5 - 2); });
        SCOPED_TRACE(text(static_cast<int>(f), " ", s));
        check(over(f, axes, true), {x}, reduced(f, x, axes, true), 0);
      }
  const Tensor ends = tensor<T>({4}, {high, 1, low + 1, low});  // no float has them
  check(over(Reduce::sum, {0}), {tensor<T>({3}, {high, low, high - 1})}, tensor<T>({}, {high - 2}), 0);
  check(over(Reduce::sum, {0}), {tensor<T>({2}, {high, 2})}, tensor<T>({}, {low + 1}), 0);
  check(over(Reduce::max, {0}), {ends}, tensor<T>({}, {high}), 0);
  check(over(Reduce::min, {0}), {ends}, tensor<T>({}, {low}), 0);
  check(over(Reduce::prod, {0}), {tensor<T>({2}, {high, 2})}, tensor<T>({}, {-2}), 0);
  for (const auto &[f, neutral] :
       {std::pair(Reduce::sum, T{0}), {Reduce::prod, 1}, {Reduce::max, low}, {Reduce::min, high}})
    check(over(f, {0}), {make_tensor(type, {0, 2})}, tensor<T>({2}, {neutral, neutral}), 0);
}
TEST(Reduce, IntegersAreExactAndWrapAround) {
  integers<int32_t>();
  integers<int64_t>();
}

TEST(Reduce, NanIsNotSwallowed) {
  for (Reduce f : all) check(over(f, {0}), {tensor<float>({3}, {1, NAN, 2})}, tensor<float>({}, {NAN}));
}

TEST(Reduce, Gradients) {
  for (Reduce f : all)
    for (auto axes : std::vector<std::vector<int>>{{}, {0}, {1}, {0, 2}})
      for (bool keepdims : {false, true}) {
        SCOPED_TRACE(text(static_cast<int>(f), " keepdims ", keepdims));
        check_gradient(
            over(f, axes, keepdims),
            {tensor<float>({2, 3, 2}, {0.5f, 1.5f, -1, 0.8f, 2, -0.3f, 1.2f, -0.7f, 0.9f, 1.8f, 0.3f, 2.4f})});
      }
}

TEST(Reduce, TiesShareTheGradient) {
  auto gradient = [](Reduce f, std::vector<float> x) {
    int64_t n = static_cast<int64_t>(x.size());
    Program p;
    Emit e(p);
    Id in = e.input("x", DType::f32, {n});
    Id loss = reduce(e, f, in, {});
    e.output(plan::differentiate(e, loss, std::array{in})[0]);
    return evaluate(p, {tensor<float>({n}, x)}).outputs[0];
  };
  expect_close(gradient(Reduce::max, {1, 3, 3, 0}), tensor<float>({4}, {0, 0.5f, 0.5f, 0}), 0, "max");
  expect_close(gradient(Reduce::min, {1, 1, 1, 2}), tensor<float>({4}, {1 / 3.0f, 1 / 3.0f, 1 / 3.0f, 0}), 1e-6, "min");
  expect_close(gradient(Reduce::prod, {2, 0, 3}), tensor<float>({3}, {0, 6, 0}), 0, "prod with a zero");
  expect_close(gradient(Reduce::prod, {2, 0, 0}), tensor<float>({3}, {0, 0, 0}), 0, "prod with zeros");
}

TEST(Reduce, Refuses) {
  check_refused(over(Reduce::sum, {0, -1}), {Shape{3}}, Code::invalid_argument,
                "sum: an axis is given twice in (0, 0)");
  check_refused(over(Reduce::sum, {2}), {Shape{3}}, Code::invalid_argument, "axis 2 is out of range");
  check_refused(over(Reduce::mean, {0}), {Operand{DType::i32, {3}}}, Code::invalid_argument,
                "mean expects float32, got int32");
  check_refused(over(Reduce::sum, {0}), {Operand{DType::u8, {3}}}, Code::invalid_argument,
                "sum expects float32, int32 or int64, got uint8");
}

}  // namespace
}  // namespace dl4::test::DL4_FILE
