// A keyword spotter: listens to a WAV file, 20 ms at a time, and says which word it has heard. The words are whistles
// that rise ("up") or fall ("down"), which the program learns first.     keywords [FILE.wav]
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <dl4/dl4.hpp>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int64_t rate = 8000, frame = 160, bands = 10;
constexpr float pi = 3.14159265f;
constexpr std::array<const char *, 3> words = {"", "up", "down"};

void whistle(std::vector<float> &sound, size_t begin, size_t word) {
  constexpr size_t length = rate * 3 / 10;
  float phase = 0;
  for (size_t i = 0; i < length && begin + i < sound.size(); ++i) {
    const float part = static_cast<float>(i) / length, up = 300 + 700 * part, down = 1000 - 700 * part;
    phase += 2 * pi * (word == 1 ? up : down) / rate;
    sound[begin + i] += 0.5f * std::sin(phase);
  }
}

// How much of each band a frame has.
void features(const float *sound, float *to) {
  for (int64_t b = 0; b < bands; ++b) {
    float re = 0, im = 0;
    for (int64_t i = 0; i < frame; ++i) {
      const float angle = 2 * pi * (200 + 100 * static_cast<float>(b)) * static_cast<float>(i) / rate;
      re += sound[i] * std::cos(angle), im += sound[i] * std::sin(angle);
    }
    to[b] = std::log10(1e-3f + (re * re + im * im) / (frame * frame)) / 3 + 1;
  }
}

dl4::Model learned() {
  constexpr int64_t clips = 96, frames = 50;
  dl4::Graph g;
  const dl4::Node x = g.input("frames", {-1, -1, bands});
  const dl4::Node h = g.add("GRU", x, {{"units", 16}, {"return_sequences", true}});
  dl4::Model model = g.build({x}, {g.add("Dense", h, {{"units", 3}, {"activation", "softmax"}})});
  const dl4::Tensor in = dl4::Tensor::zeros({clips, frames, bands});
  const dl4::Tensor word = dl4::Tensor::zeros<int32_t>({clips, frames});
  std::mt19937 random(3);
  for (int64_t c = 0; c < clips; ++c) {
    std::vector<float> sound(frames * frame);
    for (float &v : sound) v = 0.01f * (static_cast<float>(random() % 2048) / 1024 - 1);
    const auto which = static_cast<int32_t>(c % 3);
    const size_t begin = random() % (sound.size() / 2);
    if (which) whistle(sound, begin, static_cast<size_t>(which));
    for (int64_t f = 0; f < frames; ++f) {
      features(sound.data() + f * frame, in.data().data() + (c * frames + f) * bands);
      const int64_t after = f * frame - static_cast<int64_t>(begin);  // the word is known from its middle on
      word.data<int32_t>()[static_cast<size_t>(c * frames + f)] =
          which && after > rate * 15 / 100 && after < rate * 35 / 100 ? which : 0;
    }
  }
  dl4::Trainer trainer(model, {{"optimizer", dl4::Attrs::kind("Adam", {{"learning_rate", 0.01}})},
                               {"loss", "SparseCategoricalCrossentropy"}});
  trainer.fit(dl4::Dataset({in}, {word}, {{"batch_size", 16}}), {{"epochs", 40}});
  return model;
}

void write_wav(const std::string &path, const std::vector<float> &sound) {
  std::string bytes = "RIFF";
  const auto number = [&](size_t n, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>(n >> 8 * i & 255);
  };
  number(36 + 2 * sound.size(), 4), bytes += "WAVEfmt ", number(16, 4), number(1, 2), number(1, 2);
  number(rate, 4), number(2 * rate, 4), number(2, 2), number(16, 2), bytes += "data", number(2 * sound.size(), 4);
  for (const float v : sound) number(static_cast<uint16_t>(static_cast<int16_t>(v * 32767)), 2);
  std::ofstream(path, std::ios::binary) << bytes;
}

// The samples of a file as write_wav() makes it.
std::vector<float> read_wav(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> sound;
  for (size_t i = 44; i + 1 < bytes.size(); i += 2)
    sound.push_back(static_cast<int16_t>(static_cast<uint8_t>(bytes[i]) | static_cast<uint8_t>(bytes[i + 1]) << 8) /
                    32768.0f);
  return sound;
}

void listen(const std::string &path) {
  const dl4::Stream stream(dl4::Session(learned(), {{"states", true}}));
  const std::vector<float> sound = read_wav(path);
  const dl4::Tensor in = dl4::Tensor::zeros({1, 1, bands});
  const dl4::Tensor out = dl4::Tensor::zeros({1, 1, 3});
  size_t heard = 0;
  for (int64_t f = 0; (f + 1) * frame <= static_cast<int64_t>(sound.size()); ++f) {
    features(sound.data() + f * frame, in.data().data());
    stream.run(std::span(&in, 1), std::span(&out, 1));
    const auto p = out.data();
    const auto word = static_cast<size_t>(std::max_element(p.begin(), p.end()) - p.begin());
    if (word != heard && p[word] > 0.8f) {
      heard = word;
      if (word) std::printf("second %d: %s\n", static_cast<int>(f * frame / rate), words[word]);
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  try {
    std::string path = argc > 1 ? argv[1] : "keywords.wav";
    if (argc < 2) {
      std::vector<float> sound(4 * rate);
      whistle(sound, rate * 3 / 10, 1);
      whistle(sound, rate * 14 / 10, 2);
      whistle(sound, rate * 33 / 10, 1);
      write_wav(path, sound);
    }
    listen(path);
    return 0;
  } catch (const dl4::Error &e) {
    std::fprintf(stderr, "keywords: %s\n", e.what());
    return 1;
  }
}
