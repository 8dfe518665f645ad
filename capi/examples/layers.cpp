// Layers as types: a small network of several kinds is described by dl4/layers.hpp and by names, and gives the same.
#include <cmath>
#include <cstdio>
#include <dl4/layers.hpp>

using namespace dl4::layers;

static dl4::Model typed() {
  dl4::Graph g;
  const Value x = Input(g, "x", {-1, 12, 12, 2});
  Conv2D conv({.filters = 4, .kernel_size = {3, 3}, .padding = "same", .activation = "relu", .name = "conv"});
  Dense shared({.units = 5, .use_bias = false, .kernel_initializer = {"HeNormal", {{"seed", 7}}}, .name = "shared"});
  const Value h = Flatten()(MaxPooling2D({.pool_size = 2})(conv(x)));
  const Value steps = Reshape({.target_shape = {2, 72}})(h);
  const Value last = Bidirectional({.layer = LSTM({.units = 3}), .merge_mode = "sum", .name = "both"})(steps);
  const Value y = Concatenate({.axis = -1})({shared(last), shared(last)});
  return g.build({x}, {y});
}

static bool same() {
  const dl4::Model m = typed();
  dl4::Tensor x = dl4::Tensor::zeros({2, 12, 12, 2});
  for (size_t i = 0; i < x.data().size(); ++i) x.data()[i] = static_cast<float>(i % 7) - 3;
  const dl4::Tensors out = dl4::Session(m).run({x});
  bool right = out[0].dims() == dl4::Dims{2, 10};
  float sum = 0;
  for (size_t i = 0; i < 5; ++i) {
    right = right && out[0].data()[i] == out[0].data()[i + 5];  // one layer, called twice
    sum += std::fabs(out[0].data()[i]);
  }
  std::printf("%zu weights, sum %.4f\n", m.weight_names().size(), static_cast<double>(sum));
  return right && sum > 0 && m.weight_names().size() == 2 + 6 + 1;
}

// What the library refuses comes as its exception, with the attribute.
static bool refused() {
  dl4::Graph g, other;
  const Value x = Input(g, "x", {-1, 4}), y = Input(other, "y", {-1, 4});
  try {
    Dense({.activation = "relu"})(x);
    return false;
  } catch (const dl4::Error &e) {
    if (e.detail.find("\"units\"") == std::string::npos) return false;
  }
  Dense d({.units = 2});
  d(x);
  try {
    d(y);
    return false;
  } catch (const std::invalid_argument &) {
    return true;
  }
}

int main() {
  try {
    return same() && refused() ? 0 : 1;
  } catch (const dl4::Error &e) {
    std::fprintf(stderr, "layers: %s\n", e.what());
    return 1;
  }
}
