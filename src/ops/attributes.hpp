// Attributes of ops, read by backends, for ops that are private to one file. Ops that passes match are declared in
// headers of their own.
#pragma once

#include "ops/custom.hpp"
#include "ops/elementwise.hpp"
#include "ops/ops.hpp"

namespace dl4::ops::attributes {

struct Along {
  int axis;
  void fields(auto &f) const { f("axis", axis); }
};

// Elementwise ops.
struct UnaryGrad {
  Function function;
  void fields(auto &f) const { f("", function); }
};

struct Select : None {};

struct Cast {
  DType to;
  void fields(auto &f) const { f("", to); }
};

struct ReducePrecision {
  int exponent_bits, mantissa_bits;
  void fields(auto &f) const { f("exponent_bits", exponent_bits), f("mantissa_bits", mantissa_bits); }
};

struct Fill {
  DType dtype;
  double v;
  int keep;
  Shape tail;
  void fields(auto &f) const { f("", dtype), f("v", v), f("keep", keep), f("tail", tail); }
};

struct CheckFinite : None {};
// Random numbers.
struct RandomKeep {
  double rate;
  uint64_t seed;
  int keep;
  Shape tail;
  void fields(auto &f) const { f("rate", rate), f("seed", seed), f("keep", keep), f("tail", tail); }
};

struct RandomUniform {
  uint64_t seed;
  int keep;
  Shape tail;
  void fields(auto &f) const { f("seed", seed), f("keep", keep), f("tail", tail); }
};

struct RandomNormal : RandomUniform {};
// Data movement.
struct Copy : None {};
struct StopGradient : None {};
struct StraightThrough : None {};

struct Reshape {
  int keep;
  Shape tail;
  void fields(auto &f) const { f("keep", keep), f("tail", tail); }
};

struct ReshapeLike : None {};
struct ExpandDims : Along {};
struct Squeeze : Along {};

struct Transpose {
  std::vector<int> perm;
  void fields(auto &f) const { f("perm", perm); }
};

struct Concat : Along {};
struct SplitLike : Along {};

struct Slice {
  int axis;
  int64_t begin, size;
  void fields(auto &f) const { f("axis", axis), f("begin", begin), f("size", size); }
};

struct PadLike : Slice {};

struct PlaceLike {
  int64_t offset;
  void fields(auto &f) const { f("offset", offset); }
};

struct View {
  int64_t offset;  // in elements
  Shape shape;
  int64_t element_bytes;
  void fields(auto &f) const { f("offset", offset), f("shape", shape), f("element_bytes", element_bytes); }
};

struct Repeating {
  int axis;
  int64_t times;
  bool linear;
  void fields(auto &f) const { f("axis", axis), f("times", times), f("linear", linear); }
};

struct Repeat {
  Repeating how;
  void fields(auto &f) const { how.fields(f); }
};

struct RepeatGrad : Repeat {};

struct Flip : Along {};
struct Delay : None {};
// Rows by index.
struct Gather : None {};
struct RowSums : None {};
struct Pick : None {};
struct PickGrad : None {};
struct Indices : Along {};
struct SegmentSum : None {};
struct SegmentMax : None {};
struct SegmentSoftmax : None {};
struct SegmentGather : None {};
// Reductions.
struct Reduction {
  ops::Reduce f;
  std::vector<int> axes;  // ascending, non-negative
  bool keepdims;
  void fields(auto &v) const { v("", f), v("axes", axes), v("keepdims", keepdims); }
};

struct Argmax : Along {};
struct SquareSum : None {};
struct Bucketize : None {};

struct BucketSums {
  int64_t count;
  void fields(auto &f) const { f("count", count); }
};

struct TopK {
  int64_t k;
  void fields(auto &f) const { f("k", k); }
};

struct Sort {
  bool descending;
  void fields(auto &f) const { f("descending", descending); }
};

struct NonMaxSuppression {
  ops::Suppression how;
  void fields(auto &f) const {
    f("most", how.most), f("overlap", how.overlap), f("least", how.least), f("centres", how.centres);
  }
};

struct Cumulation {
  int axis;
  ops::Cumulate how;
  void fields(auto &f) const {
    f("axis", axis), f("product", how.product), f("exclusive", how.exclusive), f("reverse", how.reverse);
  }
};
// Normalisations of rows.
struct SoftmaxGrad {
  bool log;
  int axis;
  void fields(auto &f) const { f("log", log), f("axis", axis); }
};

struct Sparsemax : Along {};
struct SparsemaxGrad : Along {};
struct Hardmax : Along {};

struct Normalize {
  int axes;  // the last ones, which form a row
  double epsilon;
  bool center;
  void fields(auto &f) const { f("axes", axes), f("epsilon", epsilon), f("center", center); }
};
struct NormalizeGrad : Normalize {};
// Convolutions and pooling.
struct ConvData {
  ops::Conv how;
  void fields(auto &f) const { how.fields(f); }
};

struct ConvWeights {
  ops::Conv how;
  bool bias;
  void fields(auto &f) const { how.fields(f), f("bias", bias); }
};

struct ConvTranspose {
  ops::Conv how;
  std::vector<int64_t> output_padding;  // -1: Keras's default
  void fields(auto &f) const { how.fields(f), f("output_padding", output_padding); }
};

struct Pool {
  ops::Pool how;
  void fields(auto &f) const { how.fields(f); }
};

struct PoolGrad : Pool {};
// Attention.
struct Attention {
  ops::Attention how;
  void fields(auto &f) const { how.fields(f); }
};

struct AttentionGrad {
  ops::Attention how;
  std::array<int, 3> into;  // destinations of dq, dk, dv; -1: not wanted
  void fields(auto &f) const { how.fields(f), f("into", into); }
};

struct BandMask {
  int64_t before, after;
  void fields(auto &f) const { f("before", before), f("after", after); }
};
// Recurrence.
struct Lstm {
  bool go_backwards;
  void fields(auto &f) const { f("go_backwards", go_backwards); }
};

struct LstmGrad : Lstm {};

struct GruCell : None {};
struct GruCellGrad : None {};
struct Ctc : None {};
// Functions of the host.
struct AllReduce {
  std::shared_ptr<Collective> workers;  // null: none
  void fields(auto &) const {}
};

struct Custom {
  std::shared_ptr<const CustomFunction> f;
  void fields(auto &list) const { list("", f->name()); }
};

struct CustomGrad {
  std::shared_ptr<const CustomFunction> f;
  size_t n_src;
  void fields(auto &list) const { list("", f->name()); }
};

}  // namespace dl4::ops::attributes
