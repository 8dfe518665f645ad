// The optimizers' updates, as passes match them.
#pragma once

#include <algorithm>

#include "kernels/elementwise/optimizer.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"
#include "ops/sliced.hpp"

namespace dl4::ops {

// A part of a flat block, seen as rows, whose gradient comes as some rows (ops.hpp: RowSums).
struct RowPart {
  int64_t begin, end;  // elements of the block; may hold less than a row beyond the last one
  int64_t rows, width;
  void fields(auto &f) const { f("begin", begin), f("end", end), f("rows", rows), f("width", width); }
};
inline std::string to_string(const RowPart &p) { return text(p.begin, '+', p.rows, 'x', p.width); }

inline std::string to_string(const UpdateExcept &x) {
  return text(x.begin, '-', x.end, x.moves ? " undecayed" : " kept");
}

// Updates source 0 by a gradient, source 1, which lacks the `parts`: the ids and rows of each are further sources.
// Sources: w, g, lr, t, number, the rule's slots; destinations: w, slots.
class UpdateOp {
 public:
  static constexpr int first_slot = 5;
  virtual ~UpdateOp() = default;
  virtual std::shared_ptr<const Op> with_rows(std::vector<RowPart> parts) const = 0;
};

template <class How>
struct UpdateOf final : NotDifferentiable<UpdateOf<How>>, UpdateOp {
  How how;
  std::vector<UpdateExcept> except;
  std::vector<RowPart> parts;

  explicit UpdateOf(const How &how, std::vector<UpdateExcept> except = {}, std::vector<RowPart> parts = {})
      : how(how), except(std::move(except)), parts(std::move(parts)) {}
  void fields(auto &f) const {
    how.fields(f);
    f("except", except), f("rows", parts);
  }
  std::string_view name() const override { return How::name; }
  std::vector<Operand> infer(Operands src) const override;
  int overwrites(int dst) const override { return dst == 0 ? 0 : first_slot - 1 + dst; }
  std::unique_ptr<kernels::Kernel> kernel(const Site &site) const override;
  std::shared_ptr<const Op> with_rows(std::vector<RowPart> rows) const override {
    return std::make_shared<UpdateOf>(how, except, std::move(rows));
  }
};

inline void want_number(const char *who, const Operand &x, DType t) {
  want_type(who, x, t);
  if (x.shape.rank() != 0) fail(Code::shape_mismatch, who, " is one number, got ", x.shape);
}

// Elements [begin, end) of the destination, holding those of the source that is updated in place.
inline float *take_over(const Run &r, int src, int dst, int64_t begin, int64_t end) {
  const float *from = r.in<float>(src) + begin;
  float *to = r.out<float>(dst) + begin;
  if (from != to) std::copy_n(from, end - begin, to);
  return to;
}

// The gradient of a block of n elements lacks these parts.
inline void want_gradient(const char *op, Operands src, std::span<const RowPart> parts, size_t first) {
  want_float(op, src[1]);
  Shape expected = src[0].shape;
  for (const RowPart &p : parts) expected = {expected.elements() - (p.end - p.begin)};
  same_shape(op, expected, src[1].shape);
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t ids = first + 2 * i;  // bounded: of a step's sources
    want_type(op, src[ids], DType::i64);
    same_shape(op, src[ids].shape.joined({parts[i].width}), src[ids + 1].shape);
  }
}

// Elements of the gradient, including those that come as rows.
inline int64_t gradient_elements(const Site &site, std::span<const RowPart> parts) {
  int64_t n = site.src[1].shape.elements();
  for (size_t i = 0, last = site.src.size() - 1; i < parts.size(); ++i, last -= 2)
    n = checked_add(n, site.src[last].shape.elements());
  return n;
}

// The gradient of a block: source 1, and the parts that come as rows, their ids and sums from source `first` on.
class Rows {
 public:
  Rows(const Site &site, std::vector<RowPart> parts, size_t first) : parts_(std::move(parts)), first_(first) {
    for (size_t i = 0; i < parts_.size(); ++i, first += 2) counts_.push_back(site.src[first].shape[0]);
  }

  // f(begin, end, g) for ranges that make up [begin, end), g their gradient or nullptr where that is zero.
  template <class F>
  void each(const Run &r, int64_t begin, int64_t end, F f) const {
    const float *g = r.in<float>(1);
    int64_t missing = 0;
    for (size_t i = 0; i < parts_.size() && begin < end; ++i) {
      const RowPart &p = parts_[i];
      if (int64_t to = std::min(p.begin, end); begin < to) {
        f(begin, to, g + (begin - missing));
        begin = to;
      }
      begin = part(r, i, begin, std::min(p.end, end), f);
      missing += p.end - p.begin;
    }
    if (begin < end) f(begin, end, g + (begin - missing));
  }

 private:
  template <class F>
  int64_t part(const Run &r, size_t i, int64_t begin, int64_t end, F f) const {
    if (begin >= end) return begin;
    const RowPart &p = parts_[i];
    const auto *ids = r.in<int64_t>(static_cast<int>(first_ + 2 * i)), *last = ids + counts_[i];
    const float *sums = r.in<float>(static_cast<int>(first_ + 2 * i + 1));
    for (const int64_t *id = std::lower_bound(ids, last, (begin - p.begin) / p.width); begin < end; ++id) {
      const bool named = id != last && *id < p.rows;
      const int64_t row = named ? p.begin + *id * p.width : end;
      if (int64_t to = std::min(row, end); begin < to) {
        f(begin, to, nullptr);
        begin = to;
      }
      if (int64_t to = std::min(row + p.width, end); begin < to) {
        f(begin, to, sums + (id - ids) * p.width + (begin - row));
        begin = to;
      }
    }
    return end;
  }

  std::vector<RowPart> parts_;
  size_t first_;
  std::vector<int64_t> counts_;
};

}  // namespace dl4::ops
