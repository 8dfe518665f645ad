// The ops by name: one emitter each, its file is ops/<op>.cpp. Letters: B batch, T time, H W C image, N any axes.
//
// An axis may be negative. Every emitter refuses shapes and dtypes that do not fit; only float32 carries gradients.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/emit.hpp"
#include "ops/functions.hpp"
#include "ops/rules.hpp"

namespace dl4::ops {

// ---- elementwise -------------------------------------------------------------------------------------------------
// f(x), float32; param: what the function's table entry says.
Id unary(Emit &e, Unary f, Id x, std::array<float, 3> param = {});
// NumPy broadcasting; comparisons and logic give bool.
Id binary(Emit &e, Binary f, Id a, Id b);
inline Id add(Emit &e, Id a, Id b) { return binary(e, Binary::add, a, b); }
inline Id sub(Emit &e, Id a, Id b) { return binary(e, Binary::sub, a, b); }
inline Id mul(Emit &e, Id a, Id b) { return binary(e, Binary::mul, a, b); }
inline Id div(Emit &e, Id a, Id b) { return binary(e, Binary::div, a, b); }
inline Id scale(Emit &e, Id a, float by) { return mul(e, a, e.scalar(by)); }
// where(mask, a, b) with broadcasting of all three; the side not taken never leaks, NaN included.
Id select(Emit &e, Id mask, Id a, Id b);
Id cast(Emit &e, Id x, DType to);  // x itself when it has that dtype; floats are truncated towards zero
// float32 rounded to floats of so many bits, of two nearest the even one; past the largest of them infinity. No
// gradient passes.
Id reduce_precision(Emit &e, Id x, int exponent_bits, int mantissa_bits);
// x, rounded to bfloat16 where products are of such operands; the gradient passes.
Id rounded(Emit &e, Id x);
// The first `keep` axes of `like`, then `tail`, filled with v. Only the shape of `like` is read.
Id fill(Emit &e, DType dtype, double v, Id like, int keep, const Shape &tail);
Id broadcast_like(Emit &e, Id x, Id like);  // x seen with the shape of like, by NumPy's rule
Id sum_like(Emit &e, Id x, Id like);        // the gradient of that: sums x down to the shape of like
Id mean_grad(Emit &e, Id x, Id like);       // broadcast_like with each element divided by the number of its copies
Id copy(Emit &e, Id x);                     // in other memory
Id stop_gradient(Emit &e, Id x);            // x, through which no gradient passes
Id straight_through(Emit &e, Id x, Id of);  // x, whose gradient goes to `of`, which has its shape

// ---- shape -------------------------------------------------------------------------------------------------------
// The first `keep` axes of x, then `tail`, in which one dim may be -1: what is left. No copy.
Id reshape(Emit &e, Id x, int keep, const Shape &tail);
Id reshape_like(Emit &e, Id x, Id like);  // as many elements, the shape of like
Id expand_dims(Emit &e, Id x, int axis);
Id squeeze(Emit &e, Id x, int axis);
Id transpose(Emit &e, Id x, std::vector<int> perm);  // dst axis i is src axis perm[i]
Id concat(Emit &e, std::vector<Id> xs, int axis);
// begin < 0: from the end; size -1: to the end.
Id slice(Emit &e, Id x, int axis, int64_t begin, int64_t size);
// Zeros before and after along an axis; a negative number cuts off as many.
Id pad(Emit &e, Id x, int axis, int64_t before, int64_t after);
// Each place of an axis `times` times; linear: float32 between the neighbours, as an image is made larger.
Id repeat(Emit &e, Id x, int axis, int64_t times, bool linear = false);
Id flip(Emit &e, Id x, int axis);
// int64 (n): 0, 1, ... for the n elements of an axis of `like`, of which only the shape is read.
Id indices(Emit &e, Id like, int axis);
// int64 (n): 0, 1, ... below the number n, an integer without axes: a size that a run computes.
Id range(Emit &e, Id n);
// `shape` elements of the 1-D x from element `offset` on; no copy.
Id view(Emit &e, Id x, int64_t offset, const Shape &shape);
// One 1-D value of `total` elements with part i from element offsets[i] on, zeros between.
Id pack(Emit &e, std::vector<Id> parts, std::vector<int64_t> offsets, int64_t total);

// ---- reductions --------------------------------------------------------------------------------------------------
// Over the axes given; all of them when empty. Over bool, max is "any" and min is "all".
Id reduce(Emit &e, Reduce f, Id x, std::vector<int> axes, bool keepdims = false);
Id argmax(Emit &e, Id x, int axis);  // int32, first of equals
Id square_sum(Emit &e, Id x);        // scalar, summed in double
// What sums over workers that run the same Program, each on its part of a batch.
class Collective {
 public:
  virtual ~Collective() = default;
  // The sums of all workers' `from` into `to`, which may be null; called by all of them in the same order, on the
  // thread of the run. Gives 0, or the number of a failure.
  virtual int32_t sum(const float *from, float *to, int64_t n) = 0;
};
Id all_reduce(Emit &e, std::shared_ptr<Collective> workers, Id x);
int64_t all_reduced(const Program &p, const Step &step);  // how many numbers the step sums over workers; -1: it doesn't
void leave_workers(Step &all_reduce);                     // it gives its source
Id softmax(Emit &e, Id x, int axis = -1);
Id log_softmax(Emit &e, Id x, int axis = -1);
Id sparsemax(Emit &e, Id x, int axis = -1);
// (B): minus the logarithm of the probability that the classes of x (B, T, C, before a softmax), with repetitions and
// then class 0 left out, are the labels (B, L), integers, of which 0 fills the end. A label outside [0, C) is a fault.
Id ctc(Emit &e, Id x, Id labels);
// 1 for the first of the largest along an axis, else 0. The gradient is softmax's: straight through.
Id hardmax(Emit &e, Id x, int axis = -1);
// (x - mean) / sqrt(variance + epsilon) over the last `axes` axes of x together, times gamma, plus beta, which have the
// shape of these axes or are none. Without `center` the mean counts as 0.
Id normalize(Emit &e, Id x, int axes, double epsilon, bool center, Id gamma = none, Id beta = none);

// ---- indexing ----------------------------------------------------------------------------------------------------
// table (V, N), ids (M), also with other or more axes for M and N -> (M, N). ids of any integer dtype, or float32. An
// id outside [0, V) is a fault of the run.
Id gather(Emit &e, Id table, Id ids);
// Zeros in the shape of the table (V, N) with every row (M, N) added to the row that its id (M) says.
Id scatter_add(Emit &e, Id rows, Id ids, Id table);
struct RowSums {
  Id ids, rows;  // (M) int64: the ids that came, ascending, filled up with V; (M, N): their sums
};
RowSums row_sums(Emit &e, Id rows, Id ids, Id table);
// x (N, C), labels (N) -> (N): x[n, labels[n]]. A label outside [0, C) is a fault; where `valid` (bool, N) is false it
// counts as 0.
Id pick(Emit &e, Id x, Id labels, Id valid = none);
// scores (N, T, S) -> bool (T, S): is key s among those from t - before to t + after?
Id band_mask(Emit &e, Id scores, int64_t before, int64_t after);
inline Id causal_mask(Emit &e, Id scores) { return band_mask(e, scores, max_dim, 0); }

// ---- segments and counts -----------------------------------------------------------------------------------------
// Rows that belong to segments by number, in any order of the rows. Letters: E rows, V segments, B any batch axes.
// ids (B, E), of any integer dtype: a row whose id is negative belongs to no segment; an id of V or more is a fault of
// the run. V is the axis of `like` that stands where E stands in ids; its leading axes are B; only its shape is read.
Id segment_sum(Emit &e, Id x, Id ids, Id like);      // x (B, E, N) -> (B, V, N); nothing is 0
Id segment_max(Emit &e, Id x, Id ids, Id like);      // the same; of nothing the lowest float
Id segment_softmax(Emit &e, Id x, Id ids, Id like);  // x (B, E, N) -> (B, E, N); 0 for a row of no segment
Id segment_gather(Emit &e, Id x, Id ids);            // x (B, V, N) -> (B, E, N): its segment's row, or 0

// How many of the bounds (K, ascending) lie below each element: int32, 0 for NaN.
Id bucketize(Emit &e, Id x, Id bounds);
// (count): for each number the sum, in double, of the weights whose bucket (int32, any axes) it is; without weights how
// many there are. What lies in no bucket is not counted.
Id bucket_sums(Emit &e, Id buckets, Id weights, int64_t count);
Id top_k(Emit &e, Id x, int64_t k);  // bool: which are the k largest of the last axis, the first of equals

// ---- order ---------------------------------------------------------------------------------------------------------
struct Sorted {
  Id y, places;  // the last axis in order; int32: from which place each comes, of equal ones the first first
};
Sorted sort(Emit &e, Id x, bool descending);
Id cumulate(Emit &e, Id x, int axis, const Cumulate &how);  // sums or products so far
// Of boxes (B, N, 4) those that remain, for each class of scores (B, C, N), the largest score first.
struct Chosen {
  Id places, count;  // (B C min(most, N), 3) int64: batch, class, box, of which the first `count` rows, int64 ()
};
Chosen non_max_suppression(Emit &e, Id boxes, Id scores, const Suppression &how);

// ---- products ----------------------------------------------------------------------------------------------------
struct MatMul {
  bool transpose_a = false, transpose_b = false;
  bool bfloat16 = false;  // both sides are rounded to it; set where Emit says so
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
  Id y, sum;  // sum (N, T): of exp(score - the largest); 0, and y too, for a query that sees no key
};
// softmax(scale q k^T) v for q (N, T, D), k (N, S, D), v (N, S, W), mask (N, S) bool or none: which keys have a weight;
// causal: of those up to the query's step. What is masked must be finite all the same. With heads q is (N, T, H, D), k
// (N, S, G, D), v (N, S, G, W), y (N, T, H, W) and sum (N, H, T); head h reads h / (H / G) of the keys and values.
AttentionValues attention(Emit &e, Id q, Id k, Id v, Id mask, const Attention &how);

enum class Padding { valid, same, causal };
inline std::string to_string(Padding p) {
  return p == Padding::valid ? "valid" : p == Padding::same ? "same" : "causal";
}
struct Conv {
  std::vector<int64_t> strides{1, 1}, dilation{1, 1};  // of one to three axes
  Padding padding = Padding::valid;
  int64_t groups = 1;
  bool bfloat16 = false;  // as of a MatMul
  void fields(auto &f) const {
    f("strides", strides), f("dilation", dilation), f("padding", padding), f("groups", groups), f("bfloat16", bfloat16);
  }
};
// x (B, H, W, C), weights (KH, KW, C / groups, F) [+ bias (F)] -> (B, OH, OW, F), or with one axis or three for H W.
// Causal pads the last of them only.
Id conv(Emit &e, Id x, Id weights, Id bias, Conv how);
// The gradient of a convolution by its input, as a layer: x (B, H, W, C), weights (KH, KW, F, C) -> (B, OH, OW, F).
// output_padding: what the output has beyond the places that the last windows reach; -1: Keras's default.
Id conv_transpose(Emit &e, Id x, Id weights, Conv how, const std::vector<int64_t> &output_padding);
struct Pool {
  bool average = false;
  std::vector<int64_t> size{2, 2}, strides{2, 2};  // of one to three axes
  Padding padding = Padding::valid;
  bool adaptive = false;  // size: of the output, whose windows divide up the input; without strides
  void fields(auto &f) const {
    f("average", average), f("size", size), f("strides", strides), f("padding", padding), f("adaptive", adaptive);
  }
};
Id pool(Emit &e, Id x, const Pool &how);  // x (B, H, W, C), or with one axis or three for H W

// ---- recurrence --------------------------------------------------------------------------------------------------
struct LstmValues {
  Id y, h, c;  // (B, T, U) in the order of the steps taken; (B, U) after the last step
};
// x (B, T, I), kernel (I, 4U), recurrent_kernel (U, 4U), bias (4U) or none, h0 c0 (B, U) or none = zeros,
// mask (B, T) bool or none. Gates i f c o; go_backwards takes the steps from the last to the first.
LstmValues lstm(Emit &e, Id x, Id kernel, Id recurrent_kernel, Id bias, Id h0, Id c0, Id mask, bool go_backwards);
// One step of a GRU: the new state (B, U) from the products with the input and with the state, (B, 3U) each, and the
// state before. Gates z r h, sigmoid and tanh, the reset gate after the product.
Id gru_cell(Emit &e, Id from_x, Id from_h, Id h);

// ---- chance, checks, updates -------------------------------------------------------------------------------------
// 0 with probability rate, else 1 / (1 - rate), in the shape of the first `keep` axes of like and then `tail`;
// `draw` (int64 scalar) counts the draws.
Id random_keep(Emit &e, double rate, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);
// Normals of mean 0 and deviation 1, and numbers from 0 to 1, shaped and counted likewise.
Id random_normal(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);
Id random_uniform(Emit &e, uint64_t seed, Id draw, Id like, int keep, const Shape &tail);
// A fault of the run where x holds a NaN or an infinity.
void check_finite(Emit &e, Id x);

// Elements [begin, end) of a block that an update treats otherwise.
struct UpdateExcept {
  int64_t begin, end;
  bool moves;  // without decay; false: not at all
  void fields(auto &f) const { f("begin", begin), f("end", end), f("moves", moves); }
};
struct UpdateFrom {
  Id w, g, lr;                         // flat float32 blocks; a float32 scalar
  Id t = none;                         // int64 scalar, counts from 1; of rules that read it
  Id number = none;                    // float32 scalar; Nadam
  std::vector<Id> slots{};             // as many as the rule keeps, as large as w
  std::vector<UpdateExcept> except{};  // ascending
};
// One pass by a rule of rules.hpp; gives the new w, then the new slots.
template <class How>
std::vector<Id> update(Emit &e, const How &how, const UpdateFrom &from);

}  // namespace dl4::ops
