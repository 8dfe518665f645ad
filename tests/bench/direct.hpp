// The floor of a row: the same work by direct calls of the best library routine for each layer, one after the other.
// With two threads the libraries thread as they like (OpenMP).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loops.hpp"
#include "model.hpp"
#include "row.hpp"

namespace bench {

using Call = std::function<void()>;

class Direct {
 public:
  Direct(const Row &row, const Data &data, const Weights &weights, int threads, bool training);

  void run();     // forward
  double step();  // forward, loss, backward, update: the loss
  // The routine that each layer's forward product takes, for the report.
  const std::string &routines() const { return routines_; }
  std::span<const float> output(size_t i) const;

 private:
  // A layer's output; grad is there in training where something is to be trained before it.
  struct Value {
    std::vector<int64_t> shape;
    float *data = nullptr, *grad = nullptr;
    const int32_t *ids = nullptr;
    int64_t elements() const;
    int64_t rows() const { return elements() / shape.back(); }
  };
  struct Trained {
    float *data, *grad;
    int64_t size;
  };

  float *buffer(int64_t n);
  Value value(std::vector<int64_t> shape, bool trained);
  Trained weight(const std::string &name) const;
  void note(const std::string &layer, const std::string &routine);

  void add_layer(const Layer &l);
  void dense(const Layer &l, const Value &x);
  void conv(const Layer &l, const Value &x);
  void lstm(const Layer &l, const Value &x);
  void attention(const Layer &l, const Value &q, const Value &v, const Value &k);
  void matmul(const Layer &l, const Value &a, const Value &b, bool transpose_b);
  void after(const std::string &activation, const Value &y, bool last);

  const Row &row_;
  const Data &data_;
  int threads_;
  bool training_;
  std::vector<std::unique_ptr<std::vector<float>>> buffers_;
  std::vector<float> all_, grads_, m_, v_;  // weights, gradients and slots in one block each
  std::map<std::string, Trained> weights_;
  std::map<std::string, Value> values_;
  std::vector<Call> forward_, backward_;  // backward_ in order of the layers: run from the end
  std::string routines_;
  int64_t steps_ = 0;
};

// A product C = A B (+ bias), row-major; A stored [k, m] and B stored [n, k] where transposed. beta 1 adds to C.
struct Product {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  const float *a = nullptr, *b = nullptr, *bias = nullptr;
  float *c = nullptr;
  bool constant_b = false;  // may be packed
  Activation activation = Activation::none;
  bool add = false;
};

struct Routine {
  std::string name;
  Call call;
};

// The fastest of the candidates on these operands, as measured here and now.
Routine fastest(std::vector<Routine> candidates);
Routine product(const Product &p, int threads);

// Convolutions of NHWC images by Keras's kernels [kh, kw, c, oc]; forward with bias and activation.
struct Convolution {
  int64_t n, h, w, c, k, oc, oh, ow, stride, pad_before, pad_after;
  const float *x, *kernel, *bias;
  float *y;
  Activation activation;
  bool constant;
  float *dx, *dy, *dkernel, *dbias;  // dx may be null
};
Routine convolution(const Convolution &c);
Call convolution_backward(const Convolution &c);

// oneDNN's LSTM over [b, t, i]; y_last [b, h] is the last output.
struct Recurrent {
  int64_t t, b, i, h;
  const float *x, *kernel, *recurrent, *bias;
  float *y_last;
  float *dy_last, *dkernel, *drecurrent, *dbias;
};
struct RecurrentCalls {
  Routine forward;
  Call backward;  // empty unless training
};
RecurrentCalls recurrent(const Recurrent &r, bool training);

}  // namespace bench
