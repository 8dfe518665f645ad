// Kernels of reductions and sorting.
#include <algorithm>
#include <cmath>

#include "backend/cpu/dispatch/reduce.hpp"
#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/reduce/counting.hpp"
#include "backend/cpu/kernels/reduce/order.hpp"
#include "backend/cpu/kernels/reduce/square_sum.hpp"
#include "ops/matched.hpp"

namespace dl4::cpu {
namespace {

std::unique_ptr<Kernel> reduce(const attributes::Reduction &op, const Site &site) {
  std::vector<bool> over(static_cast<size_t>(site.src[0].shape.rank()), false);
  for (int a : op.axes) over[static_cast<size_t>(a)] = true;
  return dispatch::reduce_axes(site, op.f, over);
}

std::unique_ptr<Kernel> argmax(const attributes::Argmax &op, const Site &site) {
  Around a = around(site.src[0].shape, op.axis);
  int64_t row = checked_mul(a.axis, a.inner), outer = a.inner ? a.outer : 0;
  double us = 4 * us_per_byte * static_cast<double>(checked_mul(outer, row, 4));
  const DType t = site.src[0].dtype;
  if (t != DType::f32) {
    const int64_t bytes = checked_mul(row, size_of(t));
    return sliced("argmax", site, outer, us, [=](int64_t begin, int64_t end, const Run &r) {
      kernels::argmax_integers(t, r.in<std::byte>(0) + begin * bytes, r.out<int32_t>(0) + begin * a.inner, end - begin,
                               a.axis, a.inner);
    });
  }
  return sliced("argmax", site, outer, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::argmax(r.in<float>(0) + begin * row, DType::i32, r.out<int32_t>(0) + begin * a.inner, end - begin, a.axis,
                    a.inner);
  });
}

std::unique_ptr<Kernel> square_sum(const attributes::SquareSum &, const Site &site) {
  int64_t n = site.src[0].shape.elements();
  double us = us_per_byte * static_cast<double>(checked_mul(4, n));
  // At least one slice: the sum of nothing is 0.
  int64_t slices = std::max<int64_t>(1, site.cutting.slices((n + line_block - 1) / line_block, us));
  return kernels::square_sum(n, slices, line_block);
}

std::unique_ptr<Kernel> bucketize(const attributes::Bucketize &, const Site &site) {
  int64_t n = site.src[0].shape.elements(), bounds = site.src[1].shape[0];
  double us = us_per_function * static_cast<double>(n);
  return sliced("bucketize", site, n, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::bucketize(r.in<float>(0) + begin, end - begin, r.in<float>(1), bounds, r.out<int32_t>(0) + begin);
  });
}

std::unique_ptr<Kernel> bucket_sums(const attributes::BucketSums &op, const Site &site) {
  int64_t n = site.src[0].shape.elements(), size = op.count;
  return kernels::make_kernel(
      "bucket_sums", 1,
      [=](int64_t, const Run &r) noexcept {
        kernels::bucket_sums(r.in<int32_t>(0), r.in<float>(1), n, static_cast<double *>(r.scratch), r.out<float>(0),
                             size);
      },
      checked_mul(op.count, 8));
}

std::unique_ptr<Kernel> top_k(const attributes::TopK &op, const Site &site) {
  const Shape &shape = site.src[0].shape;
  int64_t width = shape.last(), rows = shape.elements(0, shape.rank() - 1), taken = op.k;
  double us = us_per_byte * static_cast<double>(checked_mul(rows, width, 4, op.k));
  return sliced("top_k", site, rows, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::top_k(r.in<float>(0) + begin * width, r.out<uint8_t>(0) + begin * width, end - begin, width, taken);
  });
}

std::unique_ptr<Kernel> sort(const attributes::Sort &op, const Site &site) {
  const Shape &shape = site.src[0].shape;
  const int64_t width = shape.last(), rows = width ? shape.elements(0, shape.rank() - 1) : 0;
  const double us =
      us_per_function * static_cast<double>(checked_mul(rows, width)) * std::log2(2.0 + static_cast<double>(width));
  const DType t = site.src[0].dtype;
  return sliced("sort", site, rows, us, [width, t, down = op.descending](int64_t begin, int64_t end, const Run &r) {
    const auto from = [&](auto *p, int64_t each) { return p ? p + begin * width * each : p; };
    kernels::sort_rows(t, from(r.in<std::byte>(0), size_of(t)), from(r.out<std::byte>(0), size_of(t)),
                       from(r.out<int32_t>(1), 1), end - begin, width, down);
  });
}

std::unique_ptr<Kernel> cumulate(const attributes::Cumulation &op, const Site &site) {
  const Around a = around(site.src[0].shape, op.axis);
  const int64_t row = checked_mul(a.axis, a.inner), outer = a.inner ? a.outer : 0;
  const DType t = site.src[0].dtype;
  const int64_t bytes = checked_mul(row, size_of(t));
  const double us = 2 * us_per_byte * static_cast<double>(checked_mul(outer, bytes));
  return sliced("cumulate", site, outer, us, [=, how = op.how](int64_t begin, int64_t end, const Run &r) {
    kernels::cumulate(how, t, r.in<std::byte>(0) + begin * bytes, r.out<std::byte>(0) + begin * bytes, end - begin,
                      a.axis, a.inner);
  });
}

std::unique_ptr<Kernel> sum_like(const ops::SumLikeOp &, const Site &site) {
  const Shape &x = site.src[0].shape, &y = site.dst[0].shape;
  std::vector<bool> over;
  for (int i = 0; i < x.rank(); ++i) {
    int j = i - (x.rank() - y.rank());
    over.push_back(j < 0 || (y[j] == 1 && x[i] != 1));
  }
  return dispatch::reduce_axes(site, ops::Reduce::sum, over);
}

}  // namespace

std::span<const Row> reduce_kernels() {
  static const Row rows[] = {
      row<attributes::Reduction, reduce>(),
      row<attributes::Argmax, argmax>(),
      row<attributes::SquareSum, square_sum>(),
      row<attributes::Bucketize, bucketize>(),
      row<attributes::BucketSums, bucket_sums>(),
      row<attributes::TopK, top_k>(),
      row<attributes::Sort, sort>(),
      row<attributes::Cumulation, cumulate>(),
      row<ops::SumLikeOp, sum_like>(),
  };
  return rows;
}

}  // namespace dl4::cpu
