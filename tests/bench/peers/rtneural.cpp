// RTNeural's static models behind C functions, step by step. Built against a folder of its sources by streams.sh, once
// for each of its backends.
#include <RTNeural/RTNeural.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using Rows = std::vector<std::vector<float>>;

Rows rows(const float *from, int n, int m) {
  Rows all;
  for (int i = 0; i < n; ++i) all.emplace_back(from + i * m, from + (i + 1) * m);
  return all;
}

Rows transposed(const float *from, int n, int m) {
  Rows all(static_cast<size_t>(m), std::vector<float>(static_cast<size_t>(n)));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) all[static_cast<size_t>(j)][static_cast<size_t>(i)] = from[i * m + j];
  return all;
}

// Weights as Keras has them, in its order.
template <int in, int out>
void set(RTNeural::DenseT<float, in, out> &to, const float *const *w) {
  to.setWeights(transposed(w[0], in, out));
  to.setBias(w[1]);
}

template <int in, int out, int kernel, int dilation>
void set(RTNeural::Conv1DT<float, in, out, kernel, dilation> &to, const float *const *w) {
  std::vector<Rows> all(out, Rows(in, std::vector<float>(kernel)));  // the latest step first
  for (int k = 0; k < kernel; ++k)
    for (int i = 0; i < in; ++i)
      for (int o = 0; o < out; ++o) all[o][i][kernel - 1 - k] = w[0][(k * in + i) * out + o];
  to.setWeights(all);
  to.setBias({w[1], w[1] + out});
}

template <int in, int out>
void set(RTNeural::GRULayerT<float, in, out> &to, const float *const *w) {
  to.setWVals(rows(w[0], in, 3 * out));
  to.setUVals(rows(w[1], out, 3 * out));
  to.setBVals(rows(w[2], 2, 3 * out));
}

template <int in, int out>
void set(RTNeural::LSTMLayerT<float, in, out> &to, const float *const *w) {
  to.setWVals(rows(w[0], in, 4 * out));
  to.setUVals(rows(w[1], out, 4 * out));
  to.setBVals({w[2], w[2] + 4 * out});
}

struct Net {
  virtual ~Net() = default;
  virtual void run(const float *x, int64_t steps, float *y) = 0;
};

template <int in, int out, class... Layers>
struct Static final : Net {
  RTNeural::ModelT<float, in, out, Layers...> model;
  void run(const float *x, int64_t steps, float *y) override {
    for (int64_t t = 0; t < steps; ++t) {
      alignas(64) float step[in];
      std::memcpy(step, x + t * in, sizeof step);
      model.forward(step);
      std::memcpy(y + t * out, model.getOutputs(), out * sizeof(float));
    }
  }
};

template <int size, class Layer>
std::unique_ptr<Net> one(const float *const *w) {
  auto net = std::make_unique<Static<size, size, Layer>>();
  set(net->model.template get<0>(), w);
  net->model.reset();
  return net;
}

template <int size>
std::unique_ptr<Net> of_size(const std::string &kind, const float *const *w) {
  using namespace RTNeural;
  if (kind == "Dense") return one<size, DenseT<float, size, size>>(w);
  if (kind == "Conv1D") return one<size, Conv1DT<float, size, size, size - 1, 1>>(w);
  if (kind == "GRU") return one<size, GRULayerT<float, size, size>>(w);
  if (kind == "LSTM") return one<size, LSTMLayerT<float, size, size>>(w);
  return nullptr;
}

std::unique_ptr<Net> sample(const float *const *w) {
  using namespace RTNeural;
  auto net = std::make_unique<Static<1, 1, DenseT<float, 1, 8>, TanhActivationT<float, 8>, Conv1DT<float, 8, 4, 3, 2>,
                                     TanhActivationT<float, 4>, GRULayerT<float, 4, 8>, DenseT<float, 8, 1>>>();
  set(net->model.get<0>(), w);
  set(net->model.get<2>(), w + 2);
  set(net->model.get<4>(), w + 4);
  set(net->model.get<5>(), w + 7);
  net->model.reset();
  return net;
}

}  // namespace

extern "C" void *rtneural_make(const char *kind, int32_t size, const float *const *weights) {
  const std::string k = kind;
  if (k == "sample") return sample(weights).release();
  if (size == 8) return of_size<8>(k, weights).release();
  if (size == 16) return of_size<16>(k, weights).release();
  if (size == 32) return of_size<32>(k, weights).release();
  if (size == 64) return of_size<64>(k, weights).release();
  return nullptr;
}

extern "C" void rtneural_run(void *net, const float *x, int64_t steps, float *y) {
  static_cast<Net *>(net)->run(x, steps, y);
}

extern "C" void rtneural_free(void *net) { delete static_cast<Net *>(net); }
