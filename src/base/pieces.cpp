// A part of the syntax of regular expressions, and the case of letters.
#include "base/pieces.hpp"

#include <algorithm>

namespace dl4 {
namespace {

[[noreturn]] void refuse(std::string_view expression, std::string_view why) {
  throw Error(Code::unsupported, text("expected classes of characters, as [a-z]+, for an expression, got \"",
                                      printable(excerpt(expression)), "\": ", why));
}

bool is_mark(char c) { return byte_table.kind[static_cast<unsigned char>(c)] == ByteTable::mark; }

// What is left of an expression.
struct Reading {
  std::string_view whole, left;

  bool take(std::string_view s) {
    if (!left.starts_with(s)) return false;
    left.remove_prefix(s.size());
    return true;
  }
  char next() {
    if (left.empty()) refuse(whole, "it ends too early");
    const char c = left.front();
    if (static_cast<unsigned char>(c) >= 128) refuse(whole, "of ASCII alone");
    left.remove_prefix(1);
    return c;
  }
  static void add(Characters &to, char first, char last) {
    for (int c = first; c <= last; ++c) to.ascii[static_cast<size_t>(c)] = true;
  }
  static Characters other_than(Characters c) {
    for (bool &b : c.ascii) b = !b;
    c.others = !c.others;
    return c;
  }
  // Behind a backslash: a class, or a character.
  std::optional<Characters> named(char c) {
    Characters all;
    if (c == 'w' || c == 'W')
      add(all, 'a', 'z'), add(all, 'A', 'Z'), add(all, '0', '9'), add(all, '_', '_');
    else if (c == 'd' || c == 'D')
      add(all, '0', '9');
    else if (c == 's' || c == 'S')
      add(all, '\t', '\n'), add(all, '\f', '\r'), add(all, ' ', ' ');
    else
      return {};
    return c < 'a' ? other_than(all) : all;
  }
  char escaped(char c) {
    constexpr std::string_view names = "nrtfv", of = "\n\r\t\f\v";
    if (const size_t at = names.find(c); at != names.npos) return of[at];
    if (!is_mark(c)) refuse(whole, "an escape that is not read");
    return c;
  }
  Characters list() {
    const bool negated = take("^");
    Characters all;
    for (bool first = true; first || !take("]"); first = false) {
      char from = next();
      if (from == '[' && left.starts_with(":")) refuse(whole, "a class by name");
      if (from == '\\') {
        const char c = next();
        if (const auto some = named(c)) {
          for (size_t i = 0; i < 128; ++i) all.ascii[i] |= some->ascii[i];
          all.others |= some->others;
          continue;
        }
        from = escaped(c);
      }
      char to = from;
      if (left.size() > 1 && left[0] == '-' && left[1] != ']') {
        next();
        to = next();
        if (to == '\\') to = escaped(next());
        if (to < from) refuse(whole, "a range that is empty");
      }
      add(all, from, to);
    }
    return negated ? other_than(all) : all;
  }
  Characters one() {
    const char c = next();
    if (c == '[') return list();
    if (c == '\\') {
      const char name = next();
      if (const auto some = named(name)) return *some;
      Characters all;
      const char is = escaped(name);
      add(all, is, is);
      return all;
    }
    if (std::string_view(".+*?()|{}^$").find(c) != std::string_view::npos)
      refuse(whole, "an operator that is not read");
    Characters all;
    add(all, c, c);
    return all;
  }
};

}  // namespace

Splitter Splitter::at(std::string delimiter, int64_t most, std::string pad) {
  Splitter s;
  s.delimiter_ = std::move(delimiter), s.most_ = most, s.pad_ = std::move(pad);
  return s;
}

Splitter Splitter::by(std::string expression, int64_t least, std::string pad) {
  Splitter s;
  s.expression_ = std::move(expression), s.least_ = least, s.pad_ = std::move(pad);
  if (s.expression_ == ".") {
    s.runs_.emplace().ascii.fill(true);
    s.runs_->others = true;
    return s;
  }
  Reading r{s.expression_, s.expression_};
  const bool bounded = r.take("\\b");
  s.runs_ = r.one();
  while (!r.left.empty() && !r.left.starts_with("+") && r.left != "\\b") {
    if (r.one() != *s.runs_) refuse(r.whole, "several classes");
    ++s.run_;
  }
  s.repeats_ = r.take("+");
  const bool bounds = r.take("\\b");
  if (!r.left.empty()) refuse(r.whole, "more than classes");
  if ((bounded || bounds) && !(bounded && bounds && s.repeats_ && *s.runs_ == *r.named('w')))
    refuse(r.whole, "\\b around others than \\w");
  return s;
}

std::string between(const std::vector<std::string_view> &separators) {
  Characters any;
  for (std::string_view s : separators) {
    Reading r{s, s};
    const Characters c = r.one();
    r.take("+");
    if (!r.left.empty()) refuse(s, "a separator of several characters");
    if (c.others) refuse(s, "a separator past ASCII");
    for (size_t i = 0; i < 128; ++i) any.ascii[i] |= c.ascii[i];
  }
  std::string all = "[^";
  for (size_t i = 0; i < 128; ++i) {
    if (!any.ascii[i]) continue;
    const auto c = static_cast<char>(i);
    if (is_mark(c)) all += '\\';
    all += c;
  }
  if (all.size() == 2) return ".";
  return all + "]+";
}

char32_t in_case(char32_t c, bool upper) noexcept {
  // Of letters in a row: capitals, and how far the small ones are behind them.
  struct Row {
    char32_t first, last;
    int32_t apart;
  };
  static constexpr Row rows[] = {{'A', 'Z', 32},     {0xC0, 0xD6, 32},    {0xD8, 0xDE, 32},   {0x386, 0x386, 38},
                                 {0x388, 0x38A, 37}, {0x38C, 0x38C, 64},  {0x38E, 0x38F, 63}, {0x391, 0x3A1, 32},
                                 {0x3A3, 0x3AB, 32}, {0x400, 0x40F, 80},  {0x410, 0x42F, 32}, {0x4C0, 0x4C0, 15},
                                 {0x531, 0x556, 48}, {0x178, 0x178, -121}};
  // Each capital stands before its small letter.
  static constexpr Row pairs[] = {{0x100, 0x12F, 1}, {0x132, 0x137, 1},   {0x139, 0x148, 1},  {0x14A, 0x177, 1},
                                  {0x179, 0x17E, 1}, {0x460, 0x481, 1},   {0x48A, 0x4BF, 1},  {0x4C1, 0x4CE, 1},
                                  {0x4D0, 0x52F, 1}, {0x1E00, 0x1E95, 1}, {0x1EA0, 0x1EFF, 1}};
  // Letters of which some become several, or one far away.
  static constexpr Row unknown[] = {
      {0x130, 0x131, 0},     {0x149, 0x149, 0},     {0x17F, 0x2AF, 0},     {0x345, 0x345, 0},     {0x370, 0x373, 0},
      {0x376, 0x377, 0},     {0x37B, 0x37F, 0},     {0x390, 0x390, 0},     {0x3B0, 0x3B0, 0},     {0x3C2, 0x3C2, 0},
      {0x3CF, 0x3FF, 0},     {0x587, 0x587, 0},     {0x10A0, 0x10FF, 0},   {0x13A0, 0x13FF, 0},   {0x1C80, 0x1CBF, 0},
      {0x1D00, 0x1DBF, 0},   {0x1E96, 0x1E9F, 0},   {0x1F00, 0x1FFF, 0},   {0x2100, 0x218F, 0},   {0x24B6, 0x24E9, 0},
      {0x2C00, 0x2D2F, 0},   {0xA640, 0xA7FF, 0},   {0xAB30, 0xABBF, 0},   {0xFB00, 0xFB17, 0},   {0xFF21, 0xFF5A, 0},
      {0x10400, 0x105BF, 0}, {0x10C80, 0x10CFF, 0}, {0x10D50, 0x10D8F, 0}, {0x118A0, 0x118DF, 0}, {0x16E40, 0x16EDF, 0},
      {0x1D400, 0x1D7FF, 0}, {0x1E900, 0x1E943, 0}};
  const auto of = [](const Row &r, char32_t x) { return x >= r.first && x <= r.last; };
  if (c < 128)
    return static_cast<unsigned char>(upper ? (c >= 'a' && c <= 'z' ? c - 32 : c)
                                            : (c >= 'A' && c <= 'Z' ? c + 32 : c));
  if (upper && (c == 0xB5 || c == 0xDF)) return 0;
  for (const Row &r : unknown)
    if (of(r, c)) return 0;
  for (const Row &r : rows) {
    const auto apart = static_cast<char32_t>(r.apart);
    if (!upper && of(r, c)) return c + apart;
    if (upper && of(r, c - apart)) return c - apart;
  }
  for (const Row &r : pairs)
    if (of(r, c)) return (c - r.first) % 2 == (upper ? 1 : 0) ? (upper ? c - 1 : c + 1) : c;
  return c;
}

std::string_view append_in_case(std::string_view text, bool upper, bool ascii, std::string &to) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 128 || ascii) {
      to += first < 128 ? static_cast<char>(in_case(first, upper)) : text[0];
      text.remove_prefix(1);
      continue;
    }
    const size_t n = utf8_length(text);
    const char32_t c = n ? in_case(utf8_character(text), upper) : 0;
    if (!c) break;
    append_utf8(c, to);
    text.remove_prefix(n);
  }
  return text;
}

}  // namespace dl4
