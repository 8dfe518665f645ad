// Sizes known only at run time, and arithmetic with them while reading.
#pragma once

#include <map>

#include "ops/sizes.hpp"

namespace dl4::io::onnx {

// A product of a number and symbols.
struct Dim {
  int64_t factor = 1;
  std::vector<int> symbols;  // ascending
  bool known() const { return symbols.empty(); }
  auto operator<=>(const Dim &) const = default;
};
Dim operator*(const Dim &a, const Dim &b);
std::optional<Dim> operator/(const Dim &a, const Dim &b);  // none if it is not exact

// A symbol is the size of an axis, or computed from others; equal expressions give the same symbol.
class Symbols {
 public:
  int fresh();

  Dim sum(const Dim &a, const Dim &b, int64_t sign = 1);
  std::optional<Dim> quotient(const Dim &a, const Dim &b);  // truncated; none: division by 0
  std::optional<Dim> rest(const Dim &a, const Dim &b);      // with b's sign
  Dim largest(const Dim &a, const Dim &b);
  Dim smallest(const Dim &a, const Dim &b);
  Dim equal(const Dim &a, const Dim &b);  // 1 or 0
  Dim less(const Dim &a, const Dim &b);
  Dim chosen(const Dim &first, const Dim &a, const Dim &b);  // a if `first` is 1, b if it is 0

  // The broadcast size of two sizes; none: unknown.
  std::optional<Dim> broadcast(const Dim &a, const Dim &b) const;

  bool not_negative(const Dim &d) const;
  bool is_axis(const Dim &d) const;  // or a product of axis sizes
  // The formula of ops::formulas. place(symbol): an axis, as "0.1". Refuses formulas that are too long.
  template <class F>
  std::string formula(const Dim &d, F place) const {
    std::string text;
    size_t left = 4000;
    write(d, text, left, [&](int symbol) { return std::string(place(symbol)); });
    return text;
  }

 private:
  using Step = ops::SizeStep;
  struct Made {
    Step how = Step::axis;  // for an axis, `of` is empty
    std::vector<Dim> of;
    bool not_negative = true;
    auto operator<=>(const Made &) const = default;
  };
  Dim made(Step how, std::vector<Dim> of, bool not_negative);
  // The terms of d, by their symbols.
  void add(std::map<std::vector<int>, int64_t> &to, const Dim &d, int64_t times) const;
  template <class F>
  void write(const Dim &d, std::string &text, size_t &left, F place) const;

  std::vector<Made> all_;
  std::map<Made, int> known_;
};

template <class F>
void Symbols::write(const Dim &d, std::string &text, size_t &left, F place) const {
  const auto step = [&] {
    if (left-- == 0) fail(Code::unsupported, "a size that is computed in more than 4000 steps");
  };
  const auto word = [&](const std::string &s) {
    step();
    text += text.empty() ? s : ' ' + s;
  };
  step();  // before recursing
  if (d.factor != 1 || d.known()) word(std::to_string(d.factor));
  for (size_t i = 0; i < d.symbols.size(); ++i) {
    const Made &m = all_[static_cast<size_t>(d.symbols[i])];
    static constexpr const char *names[] = {"", "", "+", "-", "*", "/", "%", "max", "min", "=", "<"};
    if (m.how == Step::axis) word(place(d.symbols[i]));
    for (size_t k = 0; k < m.of.size(); ++k) {
      write(m.of[k], text, left, place);
      if (k > 0) word(names[static_cast<size_t>(m.how)]);
    }
    if (i > 0 || d.factor != 1) word("*");
  }
}

}  // namespace dl4::io::onnx
