// Kernels of softmax, sparsemax, hardmax and normalize.
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/reduce/counting.hpp"
#include "backend/cpu/kernels/reduce/normalize.hpp"
#include "backend/cpu/kernels/reduce/softmax.hpp"
#include "ops/matched.hpp"

namespace dl4::cpu {
namespace {

double exponentials(const Around &a) {
  return 2 * us_per_function * static_cast<double>(checked_mul(a.outer, a.axis, a.inner));
}

double cost_of_sorting(const Around &a) {
  return 10 * us_per_function * static_cast<double>(checked_mul(a.outer, a.axis, a.inner));
}

// Number and size of x's rows.
struct Rows {
  int64_t count, size;
};
Rows rows_of(const Shape &x, int axes) {
  const Rows r{x.elements(0, x.rank() - axes), x.elements(x.rank() - axes, x.rank())};
  return r.size ? r : Rows{0, 0};
}

double cost(const Rows &r, double passes) {
  constexpr double row = 0.01;  // microseconds
  const double bytes = static_cast<double>(checked_mul(checked_mul(r.count, r.size), size_of(DType::f32)));
  return passes * us_per_byte * bytes + row * static_cast<double>(r.count);
}

// Address for row `begin` of an operand that may be absent and has `size` elements per row.
template <class T>
T *at(T *p, int64_t begin, int64_t size) {
  return p ? p + begin * size : p;
}

std::unique_ptr<Kernel> softmax_grad(const attributes::SoftmaxGrad &op, const Site &site) {
  Around a = around(site.dst[0].shape, op.axis);
  int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
  auto f = op.log ? kernels::log_softmax_grad : kernels::softmax_grad;
  return sliced(op.log ? "log_softmax_grad" : "softmax_grad", site, outer, exponentials(a),
                [=](int64_t begin, int64_t end, const Run &r) {
                  f(r.in<float>(0) + begin * row, r.in<float>(1) + begin * row, r.out<float>(0) + begin * row,
                    end - begin, a.axis, a.inner);
                });
}

std::unique_ptr<Kernel> sparsemax(const attributes::Sparsemax &op, const Site &site) {
  Around a = around(site.dst[0].shape, op.axis);
  int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0, sorted = round_up(checked_mul(a.axis, 4), 64);
  int64_t slices = site.cutting.short_slices(outer, cost_of_sorting(a));
  return kernels::make_kernel(
      "sparsemax", slices,
      [=](int64_t slice, const Run &r) {
        auto [begin, end] = kernels::part(outer, slices, slice);
        auto *scratch = reinterpret_cast<float *>(static_cast<std::byte *>(r.scratch) + slice * sorted);
        kernels::sparsemax(r.in<float>(0) + begin * row, r.out<float>(0) + begin * row, end - begin, a.axis, a.inner,
                           scratch);
      },
      checked_mul(slices, sorted));
}

std::unique_ptr<Kernel> sparsemax_grad(const attributes::SparsemaxGrad &op, const Site &site) {
  Around a = around(site.dst[0].shape, op.axis);
  int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
  return sliced("sparsemax_grad", site, outer, cost_of_sorting(a), [=](int64_t begin, int64_t end, const Run &r) {
    kernels::sparsemax_grad(r.in<float>(0) + begin * row, r.in<float>(1) + begin * row, r.out<float>(0) + begin * row,
                            end - begin, a.axis, a.inner);
  });
}

std::unique_ptr<Kernel> hardmax(const attributes::Hardmax &op, const Site &site) {
  Around a = around(site.dst[0].shape, op.axis);
  const int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
  const double us = 2 * us_per_byte * static_cast<double>(checked_mul(outer, row, 4));
  return sliced("hardmax", site, outer, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::hardmax(r.in<float>(0) + begin * row, r.out<float>(0) + begin * row, end - begin, a.axis, a.inner);
  });
}

std::unique_ptr<Kernel> normalize_grad(const attributes::NormalizeGrad &op, const Site &site) {
  const Rows rows = rows_of(site.src[0].shape, op.axes);
  return sliced("normalize_grad", site, rows.count, cost(rows, 4),
                [=, center = op.center](int64_t begin, int64_t end, const Run &r) {
                  const int64_t n = rows.size;
                  kernels::normalize_grad(r.in<float>(0) + begin * n, r.in<float>(1) + begin * n,
                                          r.in<float>(2) + begin, r.in<float>(3) + begin, r.in<float>(4),
                                          at(r.out<float>(0), begin, n), at(r.out<float>(1), begin, n), end - begin, n,
                                          center);
                });
}

std::unique_ptr<Kernel> normalize(const attributes::Normalize &op, const Site &site) {
  const Rows rows = rows_of(site.src[0].shape, op.axes);
  const auto least = static_cast<float>(op.epsilon);
  return sliced(
      "normalize", site, rows.count, cost(rows, 3), [=, center = op.center](int64_t begin, int64_t end, const Run &r) {
        const int64_t n = rows.size;
        kernels::normalize(r.in<float>(0) + begin * n, r.in<float>(1), r.in<float>(2), r.out<float>(0) + begin * n,
                           at(r.out<float>(1), begin, 1), at(r.out<float>(2), begin, 1), end - begin, n, least, center);
      });
}

std::unique_ptr<Kernel> softmax(const ops::SoftmaxOp &op, const Site &site) {
  Around a = around(site.dst[0].shape, op.axis);
  int64_t row = checked_mul(a.axis, a.inner), outer = row ? a.outer : 0;
  auto f = op.log ? kernels::log_softmax : kernels::softmax;
  return sliced(op.log ? "log_softmax" : "softmax", site, outer, exponentials(a),
                [=](int64_t begin, int64_t end, const Run &r) {
                  f(r.in<float>(0) + begin * row, r.out<float>(0) + begin * row, end - begin, a.axis, a.inner);
                });
}

}  // namespace

std::span<const Row> normalize_kernels() {
  static const Row rows[] = {
      row<ops::SoftmaxOp, softmax>(),
      row<attributes::SoftmaxGrad, softmax_grad>(),
      row<attributes::Sparsemax, sparsemax>(),
      row<attributes::SparsemaxGrad, sparsemax_grad>(),
      row<attributes::Hardmax, hardmax>(),
      row<attributes::Normalize, normalize>(),
      row<attributes::NormalizeGrad, normalize_grad>(),
  };
  return rows;
}

}  // namespace dl4::cpu
