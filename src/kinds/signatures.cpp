#include "kinds/signatures.hpp"

#include <algorithm>

#include "base/inflate.hpp"

extern const char dl4_signatures[];
extern const long long dl4_signatures_size, dl4_signatures_deflated;

namespace dl4::kinds {
namespace {

// Removes and returns the text before the mark, and removes the mark.
std::string_view cut(std::string_view &text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::vector<Signature> parsed(std::string_view text) {
  std::vector<Signature> all;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    if (line.starts_with('#')) continue;
    Signature &s = all.emplace_back();
    for (std::string_view *field : {&s.category, &s.name, &s.positional, &s.call}) *field = cut(line, '|');
  }
  return all;
}

}  // namespace

const std::vector<Signature> &signatures() {
  static const std::string lines =
      inflated({dl4_signatures, static_cast<size_t>(dl4_signatures_deflated)}, dl4_signatures_size);
  static const std::vector<Signature> all = parsed(lines);
  return all;
}

const Signature *signature(std::string_view category, std::string_view name) {
  const auto it =
      std::ranges::find_if(signatures(), [&](const Signature &s) { return s.category == category && s.name == name; });
  return it == signatures().end() ? nullptr : &*it;
}

std::string_view keras_module(std::string_view category) {
  static constexpr std::pair<std::string_view, std::string_view> modules[] = {
      {"layer", "keras.layers"},
      {"activation", "keras.activations"},
      {"loss", "keras.losses"},
      {"metric", "keras.metrics"},
      {"optimizer", "keras.optimizers"},
      {"schedule", "keras.optimizers.schedules"},
      {"callback", "keras.callbacks"},
      {"initializer", "keras.initializers"},
      {"constraint", "keras.constraints"},
      {"regularizer", "keras.regularizers"}};
  return std::ranges::find(modules, category, &std::pair<std::string_view, std::string_view>::first)->second;
}

}  // namespace dl4::kinds
