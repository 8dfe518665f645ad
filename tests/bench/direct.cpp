// Walks the layers of a row and lists the direct calls that do their work.
#include "direct.hpp"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "loops.hpp"

namespace bench {
namespace {

using Json = nlohmann::json;

// As many OpenMP threads as the floor may have, while it is made and while it runs.
void set_threads(int threads) { omp_set_num_threads(threads); }

// What the call of a product or a convolution does itself.
Activation within(const std::string &activation) {
  if (activation == "relu") return Activation::relu;
  if (activation == "gelu") return Activation::gelu;
  return activation == "sigmoid" ? Activation::sigmoid : Activation::none;
}

}  // namespace

int64_t Direct::Value::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

float *Direct::buffer(int64_t n) {
  buffers_.push_back(std::make_unique<std::vector<float>>(static_cast<size_t>(n) + 16));
  auto at = reinterpret_cast<uintptr_t>(buffers_.back()->data());
  return buffers_.back()->data() + (64 - at % 64) % 64 / sizeof(float);
}

Direct::Value Direct::value(std::vector<int64_t> shape, bool trained) {
  Value v{std::move(shape)};
  v.data = buffer(v.elements());
  if (training_ && trained) v.grad = buffer(v.elements());
  return v;
}

Direct::Trained Direct::weight(const std::string &name) const { return weights_.at(name); }
void Direct::note(const std::string &layer, const std::string &routine) {
  routines_ += (routines_.empty() ? "" : "; ") + layer + ": " + routine;
}

Direct::Direct(const Row &row, const Data &data, const Weights &weights, int threads, bool training)
    : row_(row), data_(data), threads_(threads), training_(training) {
  set_threads(threads);
  size_t total = 0;
  for (const auto &[name, w] : weights) total += w.values.size();
  all_.resize(total);
  grads_.resize(total);
  m_.resize(total);
  v_.resize(total);
  size_t at = 0;
  for (const auto &[name, w] : weights) {
    std::ranges::copy(w.values, all_.begin() + static_cast<std::ptrdiff_t>(at));
    weights_[name] = {all_.data() + at, grads_.data() + at, static_cast<int64_t>(w.values.size())};
    at += w.values.size();
  }
  for (size_t i = 0; i < row.inputs.size(); ++i) {
    Value v{row.inputs[i].shape};
    if (row.inputs[i].ids)
      v.ids = data.ids[i].data();
    else
      v.data = const_cast<float *>(data.inputs[i].data());
    values_[row.inputs[i].name] = v;
  }
  for (const Layer &l : row.layers) add_layer(l);
  set_threads(1);
}

void Direct::run() {
  set_threads(threads_);
  for (const Call &call : forward_) call();
  set_threads(1);
}

double Direct::step() {
  set_threads(threads_);
  for (const Call &call : forward_) call();
  const Value &y = values_.at(row_.outputs[0]);
  double loss = row_.training.loss.starts_with("sparse")
                    ? crossentropy(y.data, data_.labels.data(), y.grad, y.rows(), y.shape.back())
                    : mean_squared_error(y.data, data_.targets.data(), y.grad, y.elements());
  for (size_t i = backward_.size(); i-- > 0;) backward_[i]();
  auto n = static_cast<int64_t>(all_.size());
  if (row_.training.optimizer == "Adam")
    adam(threads_, ++steps_, all_.data(), grads_.data(), m_.data(), v_.data(), n);
  else
    sgd(threads_, all_.data(), grads_.data(), n);
  set_threads(1);
  return loss;
}

std::span<const float> Direct::output(size_t i) const {
  const Value &v = values_.at(row_.outputs[i]);
  return {v.data, static_cast<size_t>(v.elements())};
}

void Direct::add_layer(const Layer &l) {
  auto in = [&](size_t i) -> const Value & { return values_.at(l.inputs.at(i)); };
  const Value x = in(0);
  int threads = threads_;
  if (l.kind == "Dense") return dense(l, x);
  if (l.kind == "Conv2D") return conv(l, x);
  if (l.kind == "LSTM") return lstm(l, x);
  if (l.kind == "Attention") return attention(l, x, in(1), l.inputs.size() > 2 ? in(2) : in(1));
  if (l.kind == "MatMul") return matmul(l, x, in(1), Json::parse(l.attributes).value("transpose_b", false));
  if (l.kind == "Flatten") {
    values_[l.name] = x;
    values_[l.name].shape = {x.shape[0], x.elements() / x.shape[0]};
  } else if (l.kind == "Add") {
    Value y = values_[l.name] = value(x.shape, false);
    forward_.push_back([a = x.data, b = in(1).data, y] { add(a, b, y.data, y.elements()); });
  } else if (l.kind == "Softmax") {
    Value y = values_[l.name] = value(x.shape, false);
    forward_.push_back([=] {
      std::memcpy(y.data, x.data, static_cast<size_t>(y.elements()) * sizeof(float));
      softmax(threads, y.data, y.rows(), y.shape.back());
    });
  } else if (l.kind == "MaxPooling2D") {
    Image image{x.shape[0], x.shape[1], x.shape[2], x.shape[3]};
    Value y = values_[l.name] = value({image.n, image.h / 2, image.w / 2, image.c}, x.grad);
    forward_.push_back([=] { max_pool(threads, image, x.data, y.data); });
    if (y.grad) backward_.push_back([=] { max_pool_grad(threads, image, x.data, y.data, y.grad, x.grad); });
  } else if (l.kind == "GlobalAveragePooling1D") {
    Value y = values_[l.name] = value({x.shape[0], x.shape[2]}, x.grad);
    forward_.push_back([=] { mean_steps(threads, x.data, y.data, x.shape[0], x.shape[1], x.shape[2]); });
    if (y.grad)
      backward_.push_back([=] {
        std::fill_n(x.grad, x.elements(), 0.0f);
        mean_steps_grad(threads, y.grad, x.grad, x.shape[0], x.shape[1], x.shape[2]);
      });
  } else if (l.kind == "Embedding") {
    Trained w = weight(l.name + "/embeddings");
    int64_t n = x.elements(), width = Json::parse(l.attributes).at("output_dim");
    std::vector<int64_t> shape = x.shape;
    shape.push_back(width);
    Value y = values_[l.name] = value(shape, true);
    forward_.push_back([=] { gather(threads, w.data, x.ids, y.data, n, width); });
    if (y.grad)
      backward_.push_back([=] {
        std::fill_n(w.grad, w.size, 0.0f);
        scatter_add(y.grad, x.ids, w.grad, n, width);
      });
  } else {
    throw std::runtime_error("no direct call does the work of " + l.kind);
  }
}

void Direct::after(const std::string &activation, const Value &y, bool last) {
  int threads = threads_;
  if (activation == "softmax") {
    forward_.push_back([=] { softmax(threads, y.data, y.rows(), y.shape.back()); });
    if (y.grad && !last) throw std::runtime_error("a softmax that is trained stands last, with its loss");
  } else if (activation == "relu" && y.grad) {
    backward_.push_back([=] { relu_grad(threads, y.data, y.grad, y.elements()); });
  } else if (activation != "linear" && (y.grad || within(activation) == Activation::none)) {
    throw std::runtime_error("no loop for " + activation);
  }
}

void Direct::dense(const Layer &l, const Value &x) {
  Json a = Json::parse(l.attributes);
  std::string activation = a.value("activation", "linear");
  Trained w = weight(l.name + "/kernel"), b = weight(l.name + "/bias");
  int64_t m = x.rows(), k = x.shape.back(), n = a.at("units");
  std::vector<int64_t> shape = x.shape;
  shape.back() = n;
  Value y = values_[l.name] = value(shape, true);
  Routine r =
      product({1, m, n, k, false, false, x.data, w.data, b.data, y.data, !training_, within(activation)}, threads_);
  note(l.name, r.name);
  forward_.push_back(r.call);
  if (training_) {
    // Run from the end: the activation's gradient, then these.
    Call by_x = x.grad ? product({1, m, k, n, false, true, y.grad, w.data, nullptr, x.grad}, threads_).call : Call();
    Call by_w = product({1, k, n, m, true, false, x.data, y.grad, nullptr, w.grad}, threads_).call;
    backward_.push_back([=] {
      by_w();
      column_sums(y.grad, b.grad, m, n);
      if (by_x) by_x();
    });
  }
  after(activation, y, &l == &row_.layers.back());
}

void Direct::conv(const Layer &l, const Value &x) {
  Json a = Json::parse(l.attributes);
  std::string activation = a.value("activation", "linear");
  Trained w = weight(l.name + "/kernel"), b = weight(l.name + "/bias");
  Convolution c{};
  c.n = x.shape[0], c.h = x.shape[1], c.w = x.shape[2], c.c = x.shape[3];
  c.k = a.at("kernel_size"), c.oc = a.at("filters"), c.stride = a.value("strides", 1);
  bool same = a.value("padding", "valid") == "same";
  c.oh = same ? (c.h + c.stride - 1) / c.stride : (c.h - c.k) / c.stride + 1;
  c.ow = same ? (c.w + c.stride - 1) / c.stride : (c.w - c.k) / c.stride + 1;
  int64_t pad = same ? std::max<int64_t>(0, (c.oh - 1) * c.stride + c.k - c.h) : 0;
  c.pad_before = pad / 2, c.pad_after = same ? pad - pad / 2 : (c.oh - 1) * c.stride + c.k - c.h;
  Value y = values_[l.name] = value({c.n, c.oh, c.ow, c.oc}, true);
  c.x = x.data, c.kernel = w.data, c.bias = b.data, c.y = y.data;
  c.activation = within(activation), c.constant = !training_;
  c.dx = x.grad, c.dy = y.grad, c.dkernel = w.grad, c.dbias = b.grad;
  Routine r = convolution(c);
  note(l.name, r.name);
  forward_.push_back(r.call);
  if (training_) backward_.push_back(convolution_backward(c));
  after(activation, y, false);
}

void Direct::lstm(const Layer &l, const Value &x) {
  Trained w = weight(l.name + "/kernel"), r = weight(l.name + "/recurrent_kernel"), b = weight(l.name + "/bias");
  int64_t h = Json::parse(l.attributes).at("units");
  Value y = values_[l.name] = value({x.shape[0], h}, true);
  auto calls = recurrent(
      {x.shape[1], x.shape[0], x.shape[2], h, x.data, w.data, r.data, b.data, y.data, y.grad, w.grad, r.grad, b.grad},
      training_);
  note(l.name, calls.forward.name);
  forward_.push_back(calls.forward.call);
  if (training_) backward_.push_back(calls.backward);
}

void Direct::matmul(const Layer &l, const Value &a, const Value &b, bool transpose_b) {
  int64_t items = a.shape[0], m = a.shape[1], k = a.shape[2], n = b.shape[transpose_b ? 1 : 2];
  Value y = values_[l.name] = value({items, m, n}, false);
  Routine r = product({items, m, n, k, false, transpose_b, a.data, b.data, nullptr, y.data}, threads_);
  note(l.name, r.name);
  forward_.push_back(r.call);
}

void Direct::attention(const Layer &l, const Value &q, const Value &v, const Value &k) {
  int64_t items = q.shape[0], tq = q.shape[1], tv = v.shape[1], d = q.shape[2], dv = v.shape[2];
  int threads = threads_;
  float *p = buffer(items * tq * tv);
  Value y = values_[l.name] = value({items, tq, dv}, q.grad);
  Routine scores = product({items, tq, tv, d, false, true, q.data, k.data, nullptr, p}, threads);
  Routine sum = product({items, tq, dv, tv, false, false, p, v.data, nullptr, y.data}, threads);
  note(l.name, scores.name + ", " + sum.name);
  forward_.insert(forward_.end(), {scores.call, [=] { softmax(threads, p, items * tq, tv); }, sum.call});
  if (!y.grad) return;
  // Gradients of query, key and value add up where they are one value, as they are here.
  if (q.grad != v.grad || q.grad != k.grad) throw std::runtime_error("only self-attention is trained");
  float *dp = buffer(items * tq * tv);
  auto times = [&](int64_t m, int64_t n, int64_t depth, bool ta, bool tb, const float *a, const float *b, float *c,
                   bool add) {
    return product({items, m, n, depth, ta, tb, a, b, nullptr, c, false, Activation::none, add}, threads).call;
  };
  Call dv_call = times(tv, dv, tq, true, false, p, y.grad, v.grad, false);
  Call dp_call = times(tq, tv, dv, false, true, y.grad, v.data, dp, false);
  Call dq_call = times(tq, d, tv, false, false, dp, k.data, q.grad, true);
  Call dk_call = times(tv, d, tq, true, false, dp, q.data, k.grad, true);
  backward_.push_back([=] {
    dv_call();
    dp_call();
    softmax_grad(threads, p, dp, items * tq, tv);
    dq_call();
    dk_call();
  });
}

}  // namespace bench
