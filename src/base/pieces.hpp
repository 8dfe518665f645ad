// Texts cut into pieces of themselves.
#pragma once

#include <optional>

#include "base/tokens.hpp"
#include "base/utf8.hpp"

namespace dl4 {

// Characters: of ASCII by their number, and all others together.
struct Characters {
  std::array<bool, 128> ascii{};
  bool others = false;
  bool has(std::string_view c) const { return c.size() == 1 ? ascii[static_cast<unsigned char>(c[0])] : others; }
  bool operator==(const Characters &) const = default;
};

class Splitter {
 public:
  // At a delimiter, at most so often (below 0: at each); without one, at runs of ASCII's white space. pad: fills rows
  // of pieces up.
  static Splitter at(std::string delimiter, int64_t most, std::string pad);
  // The longest runs of the characters that an expression names, of `least` or more (not shorter than it asks for). It
  // is a part of RE2's syntax: a class as [a-z_], [^,;], \w, \d, \s or one character, once or several times the same,
  // "+" or not behind it; "." alone is any character. \b around \w is kept. Refuses others.
  static Splitter by(std::string expression, int64_t least, std::string pad);

  // f(piece) for each piece of a text; false: it is no UTF-8, where characters are asked for.
  template <class F>
  bool each(std::string_view text, F f) const {
    if (!runs_) return at_delimiters(text, f), true;
    size_t begin = 0, count = 0;
    const auto end_at = [&](size_t at) {
      if (count >= static_cast<size_t>(run_) && count >= static_cast<size_t>(least_)) f(text.substr(begin, at - begin));
      count = 0;
    };
    for (size_t i = 0; i < text.size();) {
      const size_t n = utf8_length(text.substr(i));
      if (!n) return false;
      if (!runs_->has(text.substr(i, n))) {
        end_at(i);
      } else {
        if (!count) begin = i;
        if (++count == static_cast<size_t>(run_) && !repeats_) end_at(i + n);
      }
      i += n;
    }
    end_at(text.size());
    return true;
  }
  const std::string &pad() const { return pad_; }
  void fields(auto &f) const {
    f("delimiter", delimiter_), f("most", most_), f("expression", expression_), f("least", least_), f("pad", pad_);
  }

 private:
  template <class F>
  void at_delimiters(std::string_view text, F &f) const {
    const bool spaces = delimiter_.empty();
    const auto skip = [&] {
      while (spaces && !text.empty() && is_space(text.front())) text.remove_prefix(1);
    };
    skip();
    if (spaces && text.empty()) return;
    for (int64_t n = 0; n != most_; ++n) {
      size_t at = 0;
      if (spaces)
        while (at < text.size() && !is_space(text[at])) ++at;
      else
        at = std::min(text.find(delimiter_), text.size());
      if (at == text.size()) break;
      f(text.substr(0, at));
      text.remove_prefix(at + (spaces ? 1 : delimiter_.size()));
      skip();
      if (spaces && text.empty()) return;
    }
    f(text);
  }

  std::string delimiter_, expression_, pad_;
  int64_t most_ = -1, least_ = 1, run_ = 1;
  std::optional<Characters> runs_;
  bool repeats_ = false;
};

// An expression for runs of characters other than those that the separators name, each of which is a character, escaped
// or a class. Refuses others.
std::string between(const std::vector<std::string_view> &separators);

// ASCII and the letters of Latin, Greek, Cyrillic and Armenian that become one other letter; of scripts without case
// each character as it is. 0: what becomes of it is not known here.
char32_t in_case(char32_t c, bool upper) noexcept;
// Appends a text in one case; ascii: A to Z alone change. Returns the rest of it from where that is impossible on: from
// a letter whose other case is not known, or from bytes that are no UTF-8.
std::string_view append_in_case(std::string_view text, bool upper, bool ascii, std::string &to);

}  // namespace dl4
