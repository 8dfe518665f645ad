// A guitar amplifier: an LSTM learns how a distortion changes a sound, then plays sample by sample, as an effect does.
#include <cmath>
#include <cstdio>
#include <dl4/dl4.hpp>
#include <vector>

namespace {

constexpr float pi = 3.14159265f;

// What is to be learned: a curve that bends more the louder the sound has just been.
struct Amplifier {
  float level = 0;
  float operator()(float x) {
    level += 0.05f * (std::abs(x) - level);
    return std::tanh((2 + 4 * level) * x);
  }
};

// A string: a tone that fades.
float string(int64_t t, float frequency) {
  const auto seconds = static_cast<float>(t) / 8000;
  return std::exp(-6 * seconds) * std::sin(2 * pi * frequency * seconds);
}

dl4::Model learned() {
  constexpr int64_t notes = 32, length = 128;
  dl4::Graph g;
  const dl4::Node x = g.input("sound", {-1, -1, 1});
  const dl4::Node h = g.add("LSTM", x, {{"units", 12}, {"return_sequences", true}});
  dl4::Model model = g.build({x}, {g.add("Dense", h, {{"units", 1}})});
  const dl4::Tensor clean = dl4::Tensor::zeros({notes, length, 1});
  const dl4::Tensor loud = dl4::Tensor::zeros({notes, length, 1});
  for (int64_t n = 0; n < notes; ++n) {
    Amplifier amplifier;
    for (int64_t t = 0; t < length; ++t) {
      const auto at = static_cast<size_t>(n * length + t);
      clean.data()[at] = 0.9f * string(t, 80 + 20 * static_cast<float>(n));
      loud.data()[at] = amplifier(clean.data()[at]);
    }
  }
  dl4::Trainer trainer(model, {{"optimizer", dl4::Attrs::kind("Adam", {{"learning_rate", 0.01}})}, {"loss", "mse"}});
  trainer.fit(dl4::Dataset({clean}, {loud}, {{"batch_size", 8}}), {{"epochs", 300}});
  return model;
}

void play() {
  constexpr int64_t length = 4800;
  const dl4::Session session(learned(), {{"states", true}});
  const dl4::Stream one(session), blocks(session);
  Amplifier amplifier;
  const dl4::Tensor sound = dl4::Tensor::zeros({1, length, 1});
  std::vector<float> played;
  double error = 0, power = 0;
  const dl4::Tensor in = dl4::Tensor::zeros({1, 1, 1});
  const dl4::Tensor out = dl4::Tensor::zeros({1, 1, 1});
  for (int64_t t = 0; t < length; ++t) {
    const float x = string(t % 1600, 110);
    sound.data()[static_cast<size_t>(t)] = in.data()[0] = x;
    one.run(std::span(&in, 1), std::span(&out, 1));  // into the same tensors: nothing is allocated
    const double y = static_cast<double>(amplifier(x)), is = static_cast<double>(out.data()[0]);
    error += (is - y) * (is - y), power += y * y;
    played.push_back(out.data()[0]);
  }
  const dl4::Tensors whole = blocks.run({sound});
  std::printf("%zu samples, one at a time\n", played.size());
  std::printf("error below 5 %% of the sound: %s\n", error < 0.05 * power ? "yes" : "no");
  const bool same = std::equal(played.begin(), played.end(), whole[0].data().begin());
  std::printf("the same bits in one block: %s\n", same ? "yes" : "no");
}

}  // namespace

int main() {
  try {
    play();
    return 0;
  } catch (const dl4::Error &e) {
    std::fprintf(stderr, "guitar: %s\n", e.what());
    return 1;
  }
}
