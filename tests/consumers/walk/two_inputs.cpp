// Layers of two inputs, in a project that says no standard of C++ itself.
#include <dl4/dl4.hpp>
#include <dl4/layers.hpp>

#include <iostream>

int main() {
  using namespace dl4;
  using namespace dl4::layers;
  Graph g;
  const Value a = Input(g, "a", {-1, 5, 8}), b = Input(g, "b", {-1, 5, 8});
  const Value sum = Add()({a, b});
  const Value seen = MultiHeadAttention({.num_heads = 2, .key_dim = 4})({sum, a});
  std::cout << seen.shape().size() << " axes\n";
  return seen.shape().size() == 3 ? 0 : 1;
}
