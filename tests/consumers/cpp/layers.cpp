// A user's C++20 program: layers as types, of the header that is made when the library is built; a refusal is caught.
#include <dl4/layers.hpp>

int main() {
  dl4::Graph g;
  const dl4::layers::Value x = dl4::layers::Input(g, "x", {-1, 4}), y = dl4::layers::Dense({.units = 3})(x);
  const dl4::Model model = g.build({x}, {y});
  try {
    dl4::layers::Dense({.units = -1})(x);
  } catch (const dl4::Error &error) {
    if (error.code == DL4_INVALID_ARGUMENT) return dl4_port_count(model, DL4_WEIGHTS) == 2 ? 0 : 1;
  }
  return 1;
}
