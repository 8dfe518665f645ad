// Elementwise kernels.
#include <algorithm>
#include <array>
#include <tuple>

#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/elementwise/elementwise.hpp"
#include "backend/cpu/kernels/movement/repeat.hpp"
#include "backend/cpu/kernels/movement/strided.hpp"
#include "backend/cpu/kernels/reduce/counting.hpp"
#include "backend/cpu/kernels/rows/rows.hpp"

namespace dl4::cpu {
namespace {

constexpr int64_t in_cache = 2048;  // elements per call of an epilogue

kernels::Function function_of(const ops::Function &f) {
  kernels::Function g{.f = f.f, .any = true};
  std::ranges::copy(f.param, g.param);
  return g;
}

// Adds the joinable operation for rows of few channels.
std::unique_ptr<Kernel> with_rows(std::unique_ptr<Kernel> kernel, const Site &site, kernels::RowStep s) {
  const Shape &y = site.dst[0].shape;
  bool same =
      site.dst[0].dtype == DType::f32 && y.rank() > 1 && y.elements() > 0 && kernels::are_row_channels(y.last());
  for (const Operand &x : site.src) same &= x.dtype == DType::f32 && x.shape == y;
  if (!same || kernel->slices != 1) return kernel;
  s.in = s.out = y.last();
  std::tie(s.items, s.rows) = kernels::rows_of(y);
  kernel->rows = std::make_shared<const kernels::RowStep>(std::move(s));
  return kernel;
}

std::unique_ptr<Kernel> unary_grad(const attributes::UnaryGrad &op, const Site &site) {
  int64_t n = site.dst[0].shape.elements();
  return sliced(
      "unary_grad", site, n, us_per_function * static_cast<double>(n),
      [f = op.function](int64_t begin, int64_t end, const Run &r) {
        kernels::unary_grad(f.f, f.param.data(), r.in<float>(0) + begin, r.in<float>(1) + begin,
                            r.out<float>(0) + begin, end - begin);
      },
      line_block);
}

std::unique_ptr<Kernel> select(const attributes::Select &, const Site &site) {
  int64_t size = size_of(site.dst[0].dtype), n = site.dst[0].shape.elements();
  const kernels::Strided s =
      kernels::strided(site.dst[0].shape, {site.src[0].shape, site.src[1].shape, site.src[2].shape});
  double us = us_per_byte * static_cast<double>(checked_mul(n, 1 + size + size + size));
  return sliced(
      "select", site, n, us,
      [=](int64_t begin, int64_t end, const Run &r) {
        kernels::walk(s, begin, end, [&](int64_t at, const auto &offset, int64_t count) {
          kernels::select_run(size, r.in<uint8_t>(0) + offset[0], s.step(0), r.in<std::byte>(1) + offset[1] * size,
                              s.step(1), r.in<std::byte>(2) + offset[2] * size, s.step(2),
                              r.out<std::byte>(0) + at * size, count);
        });
      },
      line_block);
}

std::unique_ptr<Kernel> cast(const attributes::Cast &op, const Site &site) {
  DType from = site.src[0].dtype;
  int64_t n = site.dst[0].shape.elements();
  double us = us_per_byte * static_cast<double>(checked_mul(n, size_of(from) + size_of(op.to)));
  return sliced(
      "cast", site, n, us,
      [from, to = op.to](int64_t begin, int64_t end, const Run &r) {
        kernels::cast_run(from, to, r.in<std::byte>(0) + begin * size_of(from),
                          r.out<std::byte>(0) + begin * size_of(to), end - begin);
      },
      line_block);
}

std::unique_ptr<Kernel> reduce_precision(const attributes::ReducePrecision &op, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return sliced(
      "reduce_precision", site, n, us_per_function * static_cast<double>(n),
      [op](int64_t begin, int64_t end, const Run &r) {
        kernels::reduce_precision(op.exponent_bits, op.mantissa_bits, r.in<float>(0) + begin, r.out<float>(0) + begin,
                                  end - begin);
      },
      line_block);
}

std::unique_ptr<Kernel> fill(const attributes::Fill &op, const Site &site) {
  int64_t n = site.dst[0].shape.elements(), size = size_of(op.dtype);
  std::array<std::byte, 8> value{};
  ops::store(op.v, op.dtype, value.data());
  double us = us_per_byte * static_cast<double>(checked_mul(n, size));
  return sliced(
      "fill", site, n, us,
      [size, value](int64_t begin, int64_t end, const Run &r) {
        kernels::fill(size, value.data(), r.out<std::byte>(0) + begin * size, end - begin);
      },
      line_block);
}

std::unique_ptr<Kernel> check_finite(const attributes::CheckFinite &, const Site &site) {
  int64_t n = site.src[0].shape.elements();
  double us = us_per_byte * static_cast<double>(checked_mul(4, n));
  return sliced(
      "check_finite", site, n, us,
      [](int64_t begin, int64_t end, const Run &r) {
        const int64_t finite = kernels::finite_from(r.in<float>(0) + begin, end - begin);
        if (begin + finite < end) r.report->raise(kernels::Fault::not_finite, begin + finite);
      },
      line_block);
}

std::unique_ptr<Kernel> unary(const ops::UnaryOp &op, const Site &site) {
  int64_t n = site.dst[0].shape.elements();
  auto kernel = sliced(
      "unary", site, n, us_per_function * static_cast<double>(n),
      [f = op.function](int64_t begin, int64_t end, const Run &r) {
        kernels::unary(f.f, f.param.data(), r.in<float>(0) + begin, r.out<float>(0) + begin, end - begin);
      },
      line_block);
  return with_rows(std::move(kernel), site, {.does = kernels::RowStep::Does::unary, .then = function_of(op.function)});
}

std::unique_ptr<Kernel> binary(const ops::BinaryOp &op, const Site &site) {
  const bool by_function = op.f == Binary::pow || op.f == Binary::atan2 || op.f == Binary::mod || op.f == Binary::fmod;
  DType t = site.src[0].dtype;
  int64_t size = size_of(t), out_size = size_of(site.dst[0].dtype), n = site.dst[0].shape.elements();
  double us = us_per_byte * static_cast<double>(checked_mul(n, size + size + out_size)) * (by_function ? 20 : 1) +
              (op.activation ? us_per_function * static_cast<double>(n) : 0);
  const kernels::Strided s = kernels::strided(site.dst[0].shape, {site.src[0].shape, site.src[1].shape});
  auto call = [f = op.f, t, size, out_size, step_a = s.step(0), step_b = s.step(1)](const Run &r, int64_t a, int64_t b,
                                                                                    int64_t at, int64_t count) {
    kernels::binary_run(f, t, r.in<std::byte>(0) + a * size, step_a, r.in<std::byte>(1) + b * size, step_b,
                        r.out<std::byte>(0) + at * out_size, count);
  };
  // compute(begin, end, run), in pieces if there is an activation.
  auto kernel = [&](const char *name, auto compute) {
    auto run = [compute, epilogue = epilogue_of(op.activation)](int64_t begin, int64_t end, const Run &r) {
      if (!epilogue) return compute(begin, end, r);
      for (int64_t next; begin < end; begin = next) {
        next = std::min(end, begin + in_cache);
        compute(begin, next, r);
        epilogue(r.out<float>(0) + begin, 1, next - begin, 0);
      }
    };
    return sliced(name, site, n, us, run, line_block);
  };
  if (s.axes.size() == 1) {
    kernels::RowStep rows{.does = kernels::RowStep::Does::binary, .f = op.f};
    if (op.activation) rows.then = function_of(*op.activation);
    return with_rows(
        kernel("binary", [=](int64_t begin, int64_t end,
                             const Run &r) { call(r, begin * s.step(0), begin * s.step(1), begin, end - begin); }),
        site, std::move(rows));
  }
  // One operand is a short row, the same for each of the other's: many of it side by side make long runs.
  for (const int row : {0, 1}) {
    constexpr int64_t most = 4096, least_repeats = 4;  // bytes
    const auto steps = [&](size_t axis, int operand) { return s.axes[axis].step[static_cast<size_t>(operand)]; };
    const bool repeats = s.axes.size() == 2 && steps(0, row) == 0 && steps(1, row) == 1 && steps(1, 1 - row) == 1 &&
                         steps(0, 1 - row) == s.run() && s.run() * size * least_repeats <= most;
    if (!repeats) continue;
    return kernel("binary_broadcast", [=, f = op.f, run = s.run()](int64_t begin, int64_t end, const Run &r) {
      alignas(64) std::byte side_by_side[most];
      const int64_t count = std::min(most / size / run, (end - begin) / run + 2) * run;
      kernels::repeat(size, run * size, count / run, r.in<void>(row), side_by_side, 0, 1);
      for (int64_t at = begin, n; at < end; at += n) {
        const int64_t first = at % run;
        n = std::min(end - at, count - first);
        const std::byte *const repeated = side_by_side + first * size, *const other =
                                                                           r.in<std::byte>(1 - row) + at * size;
        kernels::binary_run(f, t, row == 0 ? repeated : other, 1, row == 0 ? other : repeated, 1,
                            r.out<std::byte>(0) + at * out_size, n);
      }
    });
  }
  return kernel("binary_broadcast", [=](int64_t begin, int64_t end, const Run &r) {
    kernels::walk(s, begin, end,
                  [&](int64_t at, const auto &offset, int64_t count) { call(r, offset[0], offset[1], at, count); });
  });
}

}  // namespace

kernels::Epilogue epilogue_of(const std::optional<ops::Function> &activation) {
  if (!activation) return {};
  auto run = [f = *activation](float *v, int64_t rows, int64_t cols, int64_t ld) {
    kernels::unary_rows(f.f, f.param.data(), v, rows, cols, ld);
  };
  return {run, activation->f == Unary::relu, function_of(*activation)};
}

std::span<const Row> elementwise_kernels() {
  static const Row rows[] = {
      row<ops::UnaryOp, unary>(),    row<attributes::UnaryGrad, unary_grad>(),
      row<ops::BinaryOp, binary>(),  row<attributes::Select, select>(),
      row<attributes::Cast, cast>(), row<attributes::ReducePrecision, reduce_precision>(),
      row<attributes::Fill, fill>(), row<attributes::CheckFinite, check_finite>(),
  };
  return rows;
}

}  // namespace dl4::cpu
