// The ops: one emitter each. Letters: B batch, T time, H W C image, N any axes.
//
// Axes may be negative. Every emitter refuses shapes and dtypes that don't fit; only float32 has gradients.
#pragma once

#include "ops/functions.hpp"
#include "ops/program.hpp"
#include "ops/rules.hpp"

namespace dl4::ops {

// ---- elementwise -------------------------------------------------------------------------------------------------
// f(x), float32; param: see the function's table entry.
Id unary(Emit &e, Unary f, Id x, std::array<float, 3> param = {});
// NumPy broadcasting; comparisons and logic give bool.
Id binary(Emit &e, Binary f, Id a, Id b);
inline Id add(Emit &e, Id a, Id b) { return binary(e, Binary::add, a, b); }
inline Id sub(Emit &e, Id a, Id b) { return binary(e, Binary::sub, a, b); }
inline Id mul(Emit &e, Id a, Id b) { return binary(e, Binary::mul, a, b); }
inline Id div(Emit &e, Id a, Id b) { return binary(e, Binary::div, a, b); }
inline Id scale(Emit &e, Id a, float by) { return mul(e, a, e.scalar(by)); }
// by x + plus
inline Id scale_shift(Emit &e, Id x, double by, double plus) {
  return unary(e, Unary::scale_shift, x, {static_cast<float>(by), static_cast<float>(plus)});
}
inline Id clip(Emit &e, Id x, double low, double high) {
  return unary(e, Unary::clip, x, {static_cast<float>(low), static_cast<float>(high)});
}
// where(mask, a, b), all broadcast. The side not selected never affects the result, even if NaN.
Id select(Emit &e, Id mask, Id a, Id b);
Id cast(Emit &e, Id x, DType to);  // x itself if it has that dtype; floats are truncated
// float32 rounded to so many exponent and mantissa bits, ties to even; overflow gives infinity. Stops gradients.
Id reduce_precision(Emit &e, Id x, int exponent_bits, int mantissa_bits);
// x, rounded to bfloat16 if products are; the gradient passes.
Id rounded(Emit &e, Id x);
// v in the shape of the first `keep` axes of `like`, then `tail`. Reads only the shape of `like`.
Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail);
Id broadcast_like(Emit &e, Id x, Id like);  // x broadcast to the shape of like, by NumPy's rule
Id sum_like(Emit &e, Id x, Id like);        // its gradient: sums x down to the shape of like
Id mean_grad(Emit &e, Id x, Id like);       // broadcast_like, each element divided by its number of copies
Id copy(Emit &e, Id x);                     // in separate memory
Id stop_gradient(Emit &e, Id x);            // x without gradient
Id straight_through(Emit &e, Id x, Id of);  // x; its gradient goes to `of`, which has the same shape

// ---- shape -------------------------------------------------------------------------------------------------------
// The first `keep` axes of x, then `tail`, where one dim may be -1 (inferred). No copy.
Id reshape(Emit &e, Id x, int keep, const Shape &tail);
Id reshape_like(Emit &e, Id x, Id like);  // the same elements in the shape of like
Id expand_dims(Emit &e, Id x, int axis);
Id squeeze(Emit &e, Id x, int axis);
Id transpose(Emit &e, Id x, std::vector<int> perm);  // dst axis i is src axis perm[i]
Id concat(Emit &e, std::vector<Id> xs, int axis);
// begin < 0: from the end; size -1: to the end.
Id slice(Emit &e, Id x, int axis, int64_t begin, int64_t size);
// Zeros before and after along an axis; negative numbers crop.
Id pad(Emit &e, Id x, int axis, int64_t before, int64_t after);
// Repeats each position of an axis; linear: float32, interpolated as when upscaling an image.
Id repeat(Emit &e, Id x, int axis, int64_t times, bool linear = false);
Id flip(Emit &e, Id x, int axis);
// int64 (n): 0, 1, ... n - 1 for an axis of size n of `like`, of which only the shape is read.
Id indices(Emit &e, Id like, int axis);
// int64 (n): 0, 1, ... n - 1 for an integer scalar n: a size computed by a run.
Id range(Emit &e, Id n);
// Elements of the 1-D x from `offset`, in this shape; no copy.
Id view(Emit &e, Id x, int64_t offset, const Shape &shape);
// A 1-D value of `total` elements, part i at offsets[i], zeros elsewhere.
Id pack(Emit &e, std::vector<Id> parts, std::vector<int64_t> offsets, int64_t total);

// ---- reductions --------------------------------------------------------------------------------------------------
// Over the given axes; all if empty. For bool, max is "any" and min is "all".
Id reduce(Emit &e, Reduce f, Id x, std::vector<int> axes, bool keepdims = false);
Id argmax(Emit &e, Id x, int axis);  // int32, the first maximum
Id square_sum(Emit &e, Id x);        // scalar, summed in double
// A sum over workers that run the same Program, each on its part of a batch.
class Collective {
 public:
  virtual ~Collective() = default;
  // Sums `from` over all workers into `to`, which may be null. Called by all of them in the same order, on the run's
  // thread. Returns 0 or an error number.
  virtual int32_t sum(const float *from, float *to, int64_t n) = 0;
};
Id all_reduce(Emit &e, std::shared_ptr<Collective> workers, Id x);
int64_t all_reduced(const Program &p, const Step &step);  // count of numbers that the step sums over workers; -1: none
void leave_workers(Step &all_reduce);                     // becomes the identity
Id softmax(Emit &e, Id x, int axis = -1);
Id log_softmax(Emit &e, Id x, int axis = -1);
Id sparsemax(Emit &e, Id x, int axis = -1);
// (B): minus the log probability that the classes of x (B, T, C, logits), after merging repetitions and removing class
// 0, are the labels (B, L), integers padded with 0. A label outside [0, C) is a fault.
Id ctc(Emit &e, Id x, Id labels);
// 1 for the first maximum along an axis, else 0. The gradient is softmax's (straight through).
Id hardmax(Emit &e, Id x, int axis = -1);
// (x - mean) / sqrt(variance + epsilon) over the last `axes` axes of x together, times gamma, plus beta, which have the
// shape of these axes or are none. Without `center` the mean is taken as 0.
Id normalize(Emit &e, Id x, int axes, double epsilon, bool center, Id gamma = none, Id beta = none);

// ---- indexing ----------------------------------------------------------------------------------------------------
// table (V, N), ids (M), each of M and N also several axes or none -> (M, N). ids: any integer dtype, or float32. An id
// outside [0, V) is a fault.
Id gather(Emit &e, Id table, Id ids);
// Zeros in the shape of the table (V, N), plus every row of (M, N) added to the row of its id (M).
Id scatter_add(Emit &e, Id rows, Id ids, Id table);
struct RowSums {
  Id ids, rows;  // (M) int64: the distinct ids, ascending, padded with V; (M, N): their sums
};
RowSums row_sums(Emit &e, Id rows, Id ids, Id table);
// x (N, C), labels (N) -> (N): x[n, labels[n]]. A label outside [0, C) is a fault; where `valid` (bool, N) is false it
// counts as 0.
Id pick(Emit &e, Id x, Id labels, Id valid = none);
// scores (N, T, S) -> bool (T, S): whether t - before <= s <= t + after.
Id band_mask(Emit &e, Id scores, int64_t before, int64_t after);
inline Id causal_mask(Emit &e, Id scores) { return band_mask(e, scores, max_dim, 0); }

// ---- segments and counts -----------------------------------------------------------------------------------------
// Rows belong to segments by id, in any order. Letters: E rows, V segments, B any batch axes. ids (B, E), any integer
// dtype: a row with a negative id belongs to no segment; an id of V or more is a fault. V is the axis of `like` at the
// position of E in ids; its leading axes are B; only its shape is read.
Id segment_sum(Emit &e, Id x, Id ids, Id like);      // x (B, E, N) -> (B, V, N); 0 if empty
Id segment_max(Emit &e, Id x, Id ids, Id like);      // the same; the lowest float if empty
Id segment_softmax(Emit &e, Id x, Id ids, Id like);  // x (B, E, N) -> (B, E, N); 0 for rows without segment
Id segment_gather(Emit &e, Id x, Id ids);            // x (B, V, N) -> (B, E, N): its segment's row, or 0

// Number of bounds (K, ascending) below each element: int32, 0 for NaN.
Id bucketize(Emit &e, Id x, Id bounds);
// (count): the sum, in double, of the weights in each bucket (int32, any axes), or without weights the count. Elements
// in no bucket are ignored.
Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count);
Id top_k(Emit &e, Id x, int64_t k);  // bool: the k largest along the last axis, the first of equals

// ---- order ---------------------------------------------------------------------------------------------------------
struct Sorted {
  Id y, places;  // the sorted last axis; int32: the source position of each element; stable
};
Sorted sort(Emit &e, Id x, bool descending);
Id cumulate(Emit &e, Id x, int axis, const Cumulate &how);  // cumulative sums or products
// Non-maximum suppression of boxes (B, N, 4) for each class of scores (B, C, N), by descending score.
struct Chosen {
  Id places, count;  // (B C min(most, N), 3) int64: batch, class, box; number of valid rows, int64 ()
};
Chosen non_max_suppression(Emit &e, Id boxes, Id scores, const Suppression &how);

// ---- products ----------------------------------------------------------------------------------------------------
struct MatMul {
  bool transpose_a = false, transpose_b = false;
  bool bfloat16 = false;  // rounds both sides to it; set by Emit
  void fields(auto &f) const { f("transpose_a", transpose_a), f("transpose_b", transpose_b), f("bfloat16", bfloat16); }
};
// a (N, M, K) x b (N, K, L) or (K, L) [+ bias (L)] -> (N, M, L); leading axes broadcast.
Id matmul(Emit &e, Id a, Id b, MatMul how = {}, Id bias = none);

struct Attention {
  bool causal = false, heads = false;
  float scale = 1;
  void fields(auto &f) const { f("causal", causal), f("heads", heads), f("scale", scale); }
};
struct AttentionValues {
  Id y, sum;  // sum (N, T): of exp(score - max); 0, with y = 0, for a query that sees no key
};
// softmax(scale q k^T) v for q (N, T, D), k (N, S, D), v (N, S, W) and mask (N, S), bool or none, of the valid keys.
// causal: only keys up to the query's step. Masked values must still be finite. With heads q is (N, T, H, D), k (N, S,
// G, D), v (N, S, G, W), y (N, T, H, W) and sum (N, H, T); head h uses head h / (H / G) of keys and values. A source of
// one sequence broadcasts to N.
AttentionValues attention(Emit &e, Id q, Id k, Id v, Id mask, const Attention &how);

enum class Padding { valid, same, causal };
inline std::string to_string(Padding p) {
  return p == Padding::valid ? "valid" : p == Padding::same ? "same" : "causal";
}
struct Conv {
  std::vector<int64_t> strides{1, 1}, dilation{1, 1};  // for one to three axes
  Padding padding = Padding::valid;
  int64_t groups = 1;
  bool bfloat16 = false;  // as in MatMul
  void fields(auto &f) const {
    f("strides", strides), f("dilation", dilation), f("padding", padding), f("groups", groups), f("bfloat16", bfloat16);
  }
};
// x (B, H, W, C), weights (KH, KW, C / groups, F) [+ bias (F)] -> (B, OH, OW, F), or one or three spatial axes. Causal
// padding applies to the last one only.
Id conv(Emit &e, Id x, Id weights, Id bias, Conv how);
// The input gradient of a convolution as a layer: x (B, H, W, C), weights (KH, KW, F, C) -> (B, OH, OW, F).
// output_padding: output size beyond the last windows; -1: Keras's default.
Id conv_transpose(Emit &e, Id x, Id weights, Conv how, const std::vector<int64_t> &output_padding);
struct Pool {
  bool average = false;
  std::vector<int64_t> size{2, 2}, strides{2, 2};  // for one to three axes
  Padding padding = Padding::valid;
  bool adaptive = false;  // size: of the output, for windows that divide the input; no strides
  void fields(auto &f) const {
    f("average", average), f("size", size), f("strides", strides), f("padding", padding), f("adaptive", adaptive);
  }
};
Id pool(Emit &e, Id x, const Pool &how);  // x (B, H, W, C), or one or three spatial axes

// ---- recurrence --------------------------------------------------------------------------------------------------
struct LstmValues {
  Id y, h, c;  // (B, T, U) in processing order; (B, U) after the last step
};
// x (B, T, I), kernel (I, 4U), recurrent_kernel (U, 4U), bias (4U) or none, h0 c0 (B, U) or none = zeros, mask (B, T)
// bool or none. Gates i f c o; go_backwards processes steps from last to first.
LstmValues lstm(Emit &e, Id x, Id kernel, Id recurrent_kernel, Id bias, Id h0, Id c0, Id mask, bool go_backwards);
// One step of a GRU: the new state (B, U) from the products with the input and the state, (B, 3U) each, and the
// previous state. Gates z r h, sigmoid and tanh, reset gate after the product.
Id gru_cell(Emit &e, Id from_x, Id from_h, Id h);

// ---- random numbers, checks, updates -----------------------------------------------------------------------------
// 0 with probability rate, else 1 / (1 - rate), in the shape of the first `keep` axes of like, then `tail`; `draw`
// (int64 scalar) is the number of the draw.
Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);
// Standard normal numbers, and uniform ones in [0, 1), in the same way.
Id random_normal(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);
Id random_uniform(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);
// A fault if x has a NaN or an infinity.
void check_finite(Emit &e, Id x);

// Elements [begin, end) of a block with other treatment.
struct UpdateExcept {
  int64_t begin, end;
  bool moves;  // without decay; false: unchanged
  void fields(auto &f) const { f("begin", begin), f("end", end), f("moves", moves); }
};
struct UpdateFrom {
  Id w, g, lr;                         // flat float32 blocks; a float32 scalar
  Id t = none;                         // int64 scalar, from 1; for rules that read it
  Id number = none;                    // float32 scalar, for Nadam
  std::vector<Id> slots{};             // as many as the rule needs, shaped as w
  std::vector<UpdateExcept> except{};  // ascending
};
// One pass by a rule of rules.hpp; returns the new w, then the new slots.
template <class How>
std::vector<Id> update(Emit &e, const How &how, const UpdateFrom &from);

}  // namespace dl4::ops
