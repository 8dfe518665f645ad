// A net of characters that types: learns a sentence by heart, then goes on from its first letters, one character a
// call.
#include <algorithm>
#include <cstdio>
#include <dl4/dl4.hpp>
#include <string>

namespace {

const std::string sentence = "the quick brown fox jumps over the lazy dog, and the dog sleeps on. ";
const std::string letters = "abcdefghijklmnopqrstuvwxyz,. ";

int32_t id_of(char c) { return static_cast<int32_t>(letters.find(c)); }

dl4::Tensor ids(const std::string &text) {
  const dl4::Tensor t = dl4::Tensor::zeros<int32_t>({1, static_cast<int64_t>(text.size())});
  std::transform(text.begin(), text.end(), t.data<int32_t>().begin(), id_of);
  return t;
}

dl4::Model learned() {
  constexpr int64_t length = 24;
  const auto vocabulary = static_cast<int64_t>(letters.size()), windows = static_cast<int64_t>(sentence.size());
  dl4::Graph g;
  const dl4::Node x = g.input("ids", {-1, -1}, DL4_INT32);
  dl4::Node y = g.add("Embedding", x, {{"input_dim", vocabulary}, {"output_dim", 16}});
  y = g.add("LSTM", y, {{"units", 64}, {"return_sequences", true}});
  dl4::Model model = g.build({x}, {g.add("Dense", y, {{"units", vocabulary}})});

  const dl4::Tensor from = dl4::Tensor::zeros<int32_t>({windows, length});
  const dl4::Tensor next = dl4::Tensor::zeros<int32_t>({windows, length});
  for (int64_t w = 0; w < windows; ++w)
    for (int64_t i = 0; i < length; ++i) {
      const auto at = static_cast<size_t>(w * length + i);
      from.data<int32_t>()[at] = id_of(sentence[static_cast<size_t>((w + i) % windows)]);
      next.data<int32_t>()[at] = id_of(sentence[static_cast<size_t>((w + i + 1) % windows)]);
    }
  dl4::Trainer trainer(model, {{"optimizer", dl4::Attrs::kind("Adam", {{"learning_rate", 0.01}})},
                               {"loss", dl4::Attrs::kind("SparseCategoricalCrossentropy", {{"from_logits", true}})}});
  trainer.fit(dl4::Dataset({from}, {next}, {{"batch_size", 17}}), {{"epochs", 40}});
  return model;
}

void type(const dl4::Session &session, const std::string &prompt, const dl4::Attrs &options) {
  const dl4::Stream stream(session, {{"seed", 1}});
  std::string typed = prompt;
  for (dl4::Tensor next = ids(prompt); typed.back() != '.' && typed.size() < 80;
       next = ids(typed.substr(typed.size() - 1)))
    typed += letters[static_cast<size_t>(stream.next({next}, options)[0])];
  std::printf("%s\n", typed.c_str());
}

}  // namespace

int main() {
  try {
    const dl4::Session session(learned(), {{"states", true}});
    const int64_t end = id_of('.');
    type(session, "the quick b", {{"temperature", 0}, {"stop", end}});
    type(session, "over ", {{"temperature", 0.2}, {"top_k", 5}, {"top_p", 0.9}, {"stop", end}});
    return 0;
  } catch (const dl4::Error &e) {
    std::fprintf(stderr, "typing: %s\n", e.what());
    return 1;
  }
}
