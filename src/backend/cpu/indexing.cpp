// Kernels of gathers, scatters and segment operations.
#include <algorithm>
#include <numeric>

#include "backend/cpu/families.hpp"
#include "backend/cpu/kernels/movement/movement.hpp"
#include "backend/cpu/kernels/reduce/segments.hpp"
#include "backend/cpu/kernels/reduce/suppress.hpp"
#include "ops/matched.hpp"
#include "ops/sizes.hpp"

namespace dl4::cpu {
namespace {

using kernels::Segments;

enum SegmentSource { src_x, src_ids, src_like };

Segments segments_of(const Site &site, const Shape &like) {
  const Shape &x = site.src[src_x].shape, &ids = site.src[src_ids].shape;
  const int rank = ids.rank();
  return {ids.elements(0, rank - 1), ids[-1], like[rank - 1], x.elements(rank, x.rank())};
}

// Calls f(item, first segment, last segment) for parts of all segments of all items. Each part reads all ids of its
// items in order, so that the bits don't depend on the cut.
template <class F>
std::unique_ptr<kernels::Kernel> by_segments(const char *name, const Site &site, const Segments &s, double us, F f,
                                             int64_t scratch = 0) {
  const int64_t all = checked_mul(s.batch, s.segments);
  if (all == 0) {  // every id is out of range
    return sliced(name, site, s.batch, us, [=](int64_t begin, int64_t end, const Run &r) {
      for (int64_t b = begin; b < end; ++b) kernels::check_segments(s, r.in<int64_t>(src_ids) + b * s.rows, r.report);
    });
  }
  const int64_t slices = site.cutting.short_slices(all, us);
  auto run = [=](int64_t slice, const Run &r) noexcept {
    auto [begin, end] = kernels::part(all, slices, slice);
    while (begin < end) {
      const int64_t b = begin / s.segments, first = begin % s.segments;
      const int64_t last = std::min(s.segments, first + end - begin);
      begin += last - first;
      if (first == 0) kernels::check_segments(s, r.in<int64_t>(src_ids) + b * s.rows, r.report);
      f(b, first, last, r);
    }
  };
  return kernels::make_kernel(name, slices, run, scratch);
}

double work(const Segments &s, double each) {
  return each * static_cast<double>(checked_mul(s.batch, checked_mul(s.rows, s.width + 1)));
}

template <class T>
std::unique_ptr<Kernel> fold(const char *name, const Site &site, T f) {
  const Segments s = segments_of(site, site.src[src_like].shape);
  const double us = us_per_byte * 12 * (work(s, 1) + static_cast<double>(site.dst[0].shape.elements()));
  return by_segments(name, site, s, us, [s, f](int64_t b, int64_t first, int64_t last, const Run &r) {
    f(s, r.in<float>(src_x) + b * s.rows * s.width, r.in<int64_t>(src_ids) + b * s.rows,
      r.out<float>(0) + b * s.segments * s.width, first, last);
  });
}

std::unique_ptr<Kernel> segment_sum(const attributes::SegmentSum &, const Site &site) {
  return fold("segment_sum", site, kernels::segment_sum);
}

std::unique_ptr<Kernel> segment_max(const attributes::SegmentMax &, const Site &site) {
  return fold("segment_max", site, kernels::segment_max);
}

std::unique_ptr<Kernel> gather(const attributes::Gather &, const Site &site) {
  const Shape &table = site.src[0].shape;
  DType type = site.src[1].dtype;
  int64_t ids = site.src[1].shape.elements(), rows = table[0];
  int64_t row = checked_mul(table.elements(1, table.rank()), size_of(site.src[0].dtype));
  double us = 3 * us_per_byte * static_cast<double>(checked_mul(ids, row));
  return sliced("gather", site, ids, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::gather_rows(row, r.in<void>(0), rows, type, r.in<std::byte>(1) + begin * size_of(type), end - begin,
                         r.out<std::byte>(0) + begin * row, r.report);
  });
}

std::unique_ptr<Kernel> row_sums(const attributes::RowSums &, const Site &site) {
  DType type = site.src[1].dtype;
  int64_t n = site.dst[0].shape[0], rows = site.src[2].shape[0];
  int64_t width = site.dst[1].shape.elements(1, site.dst[1].shape.rank());
  int64_t scratch = round_up(checked_mul(n, 8), 64);
  return kernels::make_kernel(
      "row_sums", n ? 1 : 0,
      [=](int64_t, const Run &r) noexcept {
        auto *keys = static_cast<uint64_t *>(r.scratch);
        auto *segments = reinterpret_cast<int64_t *>(static_cast<std::byte *>(r.scratch) + scratch);
        kernels::row_sums(r.in<float>(0), width, type, r.in<void>(1), n, rows, keys, segments, r.out<float>(1),
                          r.out<int64_t>(0), r.report);
      },
      checked_add(scratch, checked_mul(n + 1, 8)));
}

std::unique_ptr<Kernel> pick(const attributes::Pick &, const Site &site) {
  int64_t n = site.src[0].shape[0], width = site.src[0].shape[1];
  DType type = site.src[1].dtype;
  double us = 0.003 * static_cast<double>(n);
  return sliced(
      "pick", site, n, us,
      [=](int64_t begin, int64_t end, const Run &r) {
        kernels::pick(r.in<float>(0), begin, end, width, type, r.in<void>(1), r.in<uint8_t>(2), r.out<float>(0),
                      r.report);
      },
      line_block);
}

std::unique_ptr<Kernel> pick_grad(const attributes::PickGrad &, const Site &site) {
  int64_t n = site.dst[0].shape[0], width = site.dst[0].shape[1];
  DType type = site.src[1].dtype;
  double us = us_per_byte * static_cast<double>(checked_mul(n, width, 4));
  return sliced("pick_grad", site, width ? n : 0, us, [=](int64_t begin, int64_t end, const Run &r) {
    kernels::pick_grad(r.in<float>(0), begin, end, width, type, r.in<void>(1), r.in<uint8_t>(2), r.out<float>(0),
                       r.report);
  });
}

std::unique_ptr<Kernel> indices(const attributes::Indices &, const Site &site) {
  const int64_t n = site.dst[0].shape[0];
  return sliced("indices", site, n, us_per_byte * 8 * static_cast<double>(n),
                [=](int64_t begin, int64_t end, const Run &r) {
                  std::iota(r.out<int64_t>(0) + begin, r.out<int64_t>(0) + end, begin);
                });
}

std::unique_ptr<Kernel> sizes(const attributes::Sizes &op, const Site &site) {
  std::vector<int64_t> all;
  for (const auto &n : ops::computed(op.formulas, site.src)) all.push_back(n.value_or(0));
  return sliced("sizes", site, 1, 0,
                [=](int64_t, int64_t, const Run &r) { std::copy(all.begin(), all.end(), r.out<int64_t>(0)); });
}

std::unique_ptr<Kernel> zeros_of(const attributes::ZerosOf &, const Site &site) {
  const int64_t n = site.dst[0].shape.elements();
  return sliced("zeros_of", site, n, us_per_byte * static_cast<double>(n),
                [](int64_t begin, int64_t end, const Run &r) {
                  std::fill(r.out<uint8_t>(0) + begin, r.out<uint8_t>(0) + end, uint8_t{0});
                });
}

std::unique_ptr<Kernel> segment_softmax(const attributes::SegmentSoftmax &, const Site &site) {
  const Segments s = segments_of(site, site.src[src_like].shape);
  const int64_t stats = checked_mul(s.batch, checked_mul(s.segments, s.width));
  auto part = [=](int64_t b, int64_t first, int64_t last, const Run &r) {
    float *most = static_cast<float *>(r.scratch) + b * s.segments * s.width, *sum = most + stats;
    kernels::segment_softmax(s, r.in<float>(src_x) + b * s.rows * s.width, r.in<int64_t>(src_ids) + b * s.rows,
                             r.out<float>(0) + b * s.rows * s.width, first, last, most, sum);
  };
  return by_segments("segment_softmax", site, s, 3 * us_per_function * work(s, 1), part, checked_mul(stats, 8));
}

std::unique_ptr<Kernel> segment_gather(const attributes::SegmentGather &, const Site &site) {
  const Segments s = segments_of(site, site.src[src_x].shape);
  const double us = 3 * us_per_byte * 4 * work(s, 1);
  return sliced(
      "segment_gather", site, checked_mul(s.batch, s.rows), us, [=](int64_t begin, int64_t end, const Run &r) {
        kernels::segment_gather(s, r.in<float>(src_x), r.in<int64_t>(src_ids), r.out<float>(0), begin, end, r.report);
      });
}

std::unique_ptr<Kernel> scatter_add(const ops::ScatterAddOp &, const Site &site) {
  const Shape &table = site.dst[0].shape;
  DType type = site.src[1].dtype;
  int64_t ids = site.src[1].shape.elements(), rows = table[0], width = table.elements(1, table.rank());
  double us = us_per_byte * static_cast<double>(checked_mul(4, width, checked_add(rows, ids, ids)));
  auto add = [=](const Run &r, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    kernels::scatter_add(r.in<float>(0), width, type, r.in<void>(1), ids, row0, row1, col0, col1, r.out<float>(0));
  };
  constexpr int64_t line = 16;
  if (int64_t by_columns = site.cutting.slices(width / line, us); by_columns >= site.cutting.slices(rows, us)) {
    return sliced(
        "scatter_columns", site, width, us,
        [=](int64_t begin, int64_t end, const Run &r) { add(r, 0, rows, begin, end); }, line);
  }
  return sliced("scatter_rows", site, width ? rows : 0, us,
                [=](int64_t begin, int64_t end, const Run &r) { add(r, begin, end, 0, width); });
}

std::unique_ptr<Kernel> non_max_suppression(const attributes::NonMaxSuppression &op, const Site &site) {
  const Shape &scores = site.src[1].shape;
  const kernels::Boxes of{scores[0], scores[1], scores[2]};
  const int64_t orders = round_up(checked_mul(of.boxes, 4), 64);
  return kernels::make_kernel(
      "non_max_suppression", 1,
      [=, how = op.how](int64_t, const Run &r) noexcept {
        auto *order = static_cast<int32_t *>(r.scratch);
        auto *chosen = reinterpret_cast<kernels::Box *>(static_cast<std::byte *>(r.scratch) + orders);
        *r.out<int64_t>(1) =
            kernels::suppress(of, how, r.in<float>(0), r.in<float>(1), order, chosen, r.out<int64_t>(0));
      },
      checked_add(orders, checked_mul(of.boxes, static_cast<int64_t>(sizeof(kernels::Box)))));
}

}  // namespace

std::span<const Row> indexing_kernels() {
  static const Row rows[] = {
      row<attributes::Gather, gather>(),
      row<attributes::RowSums, row_sums>(),
      row<attributes::Pick, pick>(),
      row<attributes::PickGrad, pick_grad>(),
      row<attributes::Indices, indices>(),
      row<attributes::Sizes, sizes>(),
      row<attributes::ZerosOf, zeros_of>(),
      row<attributes::SegmentSum, segment_sum>(),
      row<attributes::SegmentMax, segment_max>(),
      row<attributes::SegmentSoftmax, segment_softmax>(),
      row<attributes::SegmentGather, segment_gather>(),
      row<ops::ScatterAddOp, scatter_add>(),
      row<attributes::NonMaxSuppression, non_max_suppression>(),
  };
  return rows;
}

}  // namespace dl4::cpu
