// A whole program by dl4.hpp: describes a network, trains it on exclusive or, runs
// and saves it.
#include <dl4/dl4.hpp>
#include <iomanip>
#include <iostream>

static bool learn() {
  dl4::Graph g;
  const dl4::Node x = g.input("x", {-1, 2});
  const dl4::Node hidden =
      g.add("Dense", x, {{"units", 8}, {"activation", "tanh"}});
  const dl4::Node answer =
      g.add("Dense", hidden, {{"units", 1}, {"activation", "sigmoid"}});
  dl4::Model model = g.build({x}, {answer});

  const auto cases = dl4::Tensor::of({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const auto answers = dl4::Tensor::of({0, 1, 1, 0}, {4, 1});
  const auto adam = dl4::Attrs::kind("Adam", {{"learning_rate", 0.05}});
  dl4::Trainer trainer(model,
                       {{"optimizer", adam}, {"loss", "BinaryCrossentropy"}});
  trainer.fit(dl4::Dataset({cases}, {answers}), {{"epochs", 300}});

  const dl4::Tensors out = dl4::Session(model).run({cases});
  model.save("xor.safetensors");
  bool right = true;
  for (size_t i = 0; i < 4; ++i) {
    const auto c = cases.data(), p = out[0].data(), y = answers.data();
    std::cout << c[2 * i] << " xor " << c[2 * i + 1] << " = " << std::fixed
              << std::setprecision(3) << p[i] << std::defaultfloat << '\n';
    right = right && (p[i] > 0.5f) == (y[i] > 0.5f);
  }
  return right;
}

int main() {
  try {
    return learn() ? 0 : 1;
  } catch (const dl4::Error &e) {
    std::cerr << "xor: " << e.what() << '\n';
    return 1;
  }
}
