// Ops that passes, losses and the placement match; the others are known to the files that emit them.
#pragma once

#include "ops/elementwise.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {

// Zero padding along an axis, or cropping.
struct PadOp final : OpOf<PadOp, "pad"> {
  int axis;
  int64_t before, after;

  PadOp(int axis, int64_t before, int64_t after) : axis(axis), before(before), after(after) {}
  void fields(auto &f) const { f("axis", axis), f("before", before), f("after", after); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
};

// A number becomes a size. Has no kernel: the Program is cut there (runtime/stages.hpp), or the step is folded.
struct RangeOp final : StopsGradients<RangeOp, "range"> {
  std::vector<Operand> infer(Operands src) const override;
};

// Whether it is a range, or a branch with one in its bodies.
bool is_sized_by_numbers(const Step &step);
// The first such step of a Program; null: all sizes follow from those of the inputs.
const Step *sized_by_numbers(const Program &p);
// The number, a valid size in [0, max_dim], and the indices below it.
int64_t number_of_range(DType dtype, const void *number);
inline bool is_size(int64_t n) { return n >= 0 && n <= max_dim; }
Tensor range_of(int64_t size);

// Broadcasts to the shape of another value, and their gradients. Both read source 0 and take the shape of source 1; if
// it is the same they change nothing.
struct BroadcastOp final : OpOf<BroadcastOp, "broadcast_like"> {
  bool divided;  // divides each element by its number of copies

  explicit BroadcastOp(bool divided) : divided(divided) {}
  void fields(auto &f) const { f("divided", divided); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return src == 0; }
  bool takes_strings() const override { return !divided; }
  int overwrites(int) const override { return 0; }
};

struct SumLikeOp final : OpOf<SumLikeOp, "sum_like"> {
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return src == 0; }
  int overwrites(int) const override { return 0; }
};

// Parts are computed in place, or left out.
struct PackOp final : OpOf<PackOp, "pack"> {
  std::vector<int64_t> offsets;  // of the parts, in elements
  int64_t total, element_bytes;

  PackOp(std::vector<int64_t> offsets, int64_t total, int64_t element_bytes)
      : offsets(std::move(offsets)), total(total), element_bytes(element_bytes) {}
  void fields(auto &f) const { f("offsets", offsets), f("total", total), f("element_bytes", element_bytes); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;

  int64_t offset_bytes(size_t part) const { return checked_mul(offsets[part], element_bytes); }
};

// Zeros in the shape of the table (source 2), plus every row of source 0 added to the row of its id (source 1).
struct ScatterAddOp final : OpOf<ScatterAddOp, "scatter_add"> {
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  bool reads(int src) const override { return src < 2; }
};

struct SoftmaxOp final : OpOf<SoftmaxOp, "softmax"> {
  bool log;
  int axis;

  SoftmaxOp(bool log, int axis) : log(log), axis(axis) {}
  void fields(auto &f) const { f("log", log), f("axis", axis); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
  int overwrites(int) const override { return 0; }
};

struct MatMulOp final : OpOf<MatMulOp, "matmul"> {
  MatMul how;
  Fused fused;

  MatMulOp(MatMul how, const Fused &fused) : how(how), fused(fused) {}
  void fields(auto &f) const { how.fields(f), fused.fields(f); }
  std::vector<Operand> infer(Operands src) const override;
  void gradient(Gradient &g) const override;
};

// Along `axis` the state (.., capacity, ..), with a capacity that is a power of 2, has step i at i % capacity. The n
// steps x (.., n, ..), from step tick * each on, are appended. The window is `count` steps, `dilation` apart, the last
// of them before the newest `skip`; none if count is 0. If `turned`, x is [batch, n, channels] and the state [batch,
// channels, capacity], as preferred by kernels that read few channels many steps apart.
struct RingOp final : NotDifferentiable<RingOp, "ring"> {
  int axis;
  int64_t each, count, dilation, skip;
  bool turned;

  RingOp(int axis, int64_t each, int64_t count, int64_t dilation, int64_t skip, bool turned = false)
      : axis(axis), each(each), count(count), dilation(dilation), skip(skip), turned(turned) {}
  void fields(auto &f) const {
    f("axis", axis), f("each", each), f("count", count), f("dilation", dilation), f("skip", skip);
    f("turned", turned);
  }
  int state_axis() const { return turned ? 2 : axis; }
  std::vector<Operand> infer(Operands src) const override;
  int overwrites(int dst) const override { return dst == 0 ? 0 : -1; }
};

// The least capacity for n steps at a time and windows of that reach.
int64_t ring_capacity(int64_t n, int64_t reach);

struct RingValues {
  Id state, window;  // window: none if count is 0
};
RingValues ring(Emit &e, Id state, Id x, Id tick, const RingOp &how);

// Causal attention of the n queries (N, n, ..), steps from tick * each on, over the latest `window` steps up to each,
// none below `first`. The rings (N, capacity, ..) of keys, values and optionally a mask contain these steps.
struct CachedAttention {
  bool heads = false;
  float scale = 1;
  int64_t window = 0, first = 0, each = 1;
  void fields(auto &f) const {
    f("heads", heads), f("scale", scale), f("window", window), f("first", first), f("each", each);
  }
};

struct CachedAttentionOp final : NotDifferentiable<CachedAttentionOp, "cached_attention"> {
  CachedAttention how;

  explicit CachedAttentionOp(CachedAttention how) : how(how) {}
  void fields(auto &f) const { how.fields(f); }
  std::vector<Operand> infer(Operands src) const override;
};

// The tick's own steps, if they are not in the rings yet.
struct NewKeys {
  Id keys = none, values = none, mask = none;
};
// mask: none if no key is masked. As with attention(), a query that sees no key gives 0 with sum 0.
AttentionValues cached_attention(Emit &e, Id q, Id keys, Id values, Id mask, Id tick, const CachedAttention &how,
                                 const NewKeys &fresh = {});

}  // namespace dl4::ops
