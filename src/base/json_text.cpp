// JSON parser for untrusted text, and the writer.
#include <algorithm>
#include <cfenv>
#include <charconv>
#include <cmath>

#include "base/json.hpp"
#include "base/strings.hpp"
#include "base/utf8.hpp"

namespace dl4 {
namespace {

constexpr int max_nesting = 64;
constexpr int64_t memory_of_any_text = int64_t{16} << 20, memory_of_a_byte = 5;
constexpr int64_t overhead = 16;  // of a block on the heap

// Round to nearest without traps within a scope, whatever the caller has set.
class Rounding {
 public:
  Rounding() {
    std::feholdexcept(&kept_);
    std::fesetround(FE_TONEAREST);
  }
  ~Rounding() { std::fesetenv(&kept_); }
  Rounding(const Rounding &) = delete;
  Rounding &operator=(const Rounding &) = delete;

 private:
  std::fenv_t kept_;
};

}  // namespace

// Parsed values go onto a stack. The end of an array or object moves its elements into one block.
class JsonReader {
 public:
  JsonReader(std::string_view text, const Json::Limits &limits) : text_(text), limits_(limits) {
    const auto size = static_cast<int64_t>(text.size());
    limits_.memory = std::min(limits.memory, memory_of_any_text + memory_of_a_byte * size);
  }

  Json read() {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // byte order mark
    value(0);
    space();
    if (at_ < text_.size()) refuse("the end of the text");
    return std::move(stack_.back());
  }

 private:
  // The next character; 0 at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool skip(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }

  [[noreturn]] void refuse(const char *expected) const {
    std::string_view before = text_.substr(0, at_), rest = text_.substr(at_);
    auto line = std::count(before.begin(), before.end(), '\n') + 1;
    before.remove_prefix(before.rfind('\n') + 1);
    auto column = 1 + std::count_if(before.begin(), before.end(), [](char c) { return (c & '\xC0') != '\x80'; });
    std::string got = "the end";
    if (size_t n = utf8_length(rest); n && static_cast<unsigned char>(rest[0]) >= ' ')
      got = text('\'', rest.substr(0, n), '\'');
    else if (!rest.empty())
      got = text("byte ", static_cast<int>(static_cast<unsigned char>(rest[0])));
    fail(Code::invalid_argument, "line ", line, ", column ", column, ": expected ", expected, ", got ", got);
  }

  void charge(size_t bytes) {
    used_ += static_cast<int64_t>(bytes) + overhead;
    if (used_ > limits_.memory)
      fail(Code::out_of_memory, "the values of the text would take more than ", limits_.memory, " bytes");
  }
  void refund(size_t bytes) { used_ -= static_cast<int64_t>(bytes) + overhead; }
  template <class T>
  void reserve(std::vector<T> &v, size_t n) {
    if (n <= v.capacity()) return;
    size_t old = v.capacity(), more = std::max({n, 2 * old, size_t{64}});
    charge(more * sizeof(T));
    v.reserve(more);
    if (old) refund(old * sizeof(T));
  }
  void push(Json v) {
    reserve(stack_, stack_.size() + 1);
    stack_.push_back(std::move(v));
  }

  void value(int depth) {
    space();
    switch (peek()) {
      case '{':
      case '[':
        return list(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", nullptr);
      default:
        return number();
    }
  }

  void word(std::string_view w, Json v) {
    if (text_.substr(at_, w.size()) != w) refuse("a value");
    at_ += w.size();
    push(std::move(v));
  }

  void list(int depth) {
    if (depth > max_nesting) fail(Code::invalid_argument, "nested deeper than ", max_nesting);
    const bool members = text_[at_++] == '{';
    const char end = members ? '}' : ']';
    const size_t first = stack_.size();
    space();
    if (!skip(end)) {
      do {
        if (members) key(first);
        value(depth);
        space();
      } while (skip(','));
      if (!skip(end)) refuse(members ? "',' or '}'" : "',' or ']'");
    }
    const size_t n = stack_.size() - first;
    if (members) need_distinct(first);
    if (n) charge(8 + n * sizeof(Json));
    Json all = Json::moved(members ? Json::Type::object : Json::Type::array, stack_.data() + first, n);
    stack_.resize(first);
    push(std::move(all));
  }

  void key(size_t first) {
    space();
    if (peek() != '"') refuse("a key in quotes");
    if (static_cast<int64_t>(stack_.size() - first) >= 2 * limits_.members)
      fail(Code::invalid_argument, "an object of more than ", limits_.members, " members");
    string();
    space();
    if (!skip(':')) refuse("':'");
  }

  void need_distinct(size_t first) {
    keys_.clear();
    reserve(keys_, (stack_.size() - first) / 2);
    for (size_t i = first; i < stack_.size(); i += 2) keys_.push_back(stack_[i].string());
    std::sort(keys_.begin(), keys_.end());
    auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    if (twice != keys_.end())
      fail(Code::invalid_argument, "the key \"", excerpt(*twice), "\" occurs twice in an object");
  }

  void string() {
    const size_t begin = ++at_;
    size_t escapes = 0;
    for (;; ++at_) {
      auto c = static_cast<unsigned char>(peek());
      if (c == '"') break;
      if (c < ' ') refuse("a character of a string or '\"'");
      if (c == '\\') {
        ++escapes, ++at_;
        if (at_ == text_.size()) refuse("an escape");
      } else if (c >= 0x80) {
        size_t n = utf8_length(text_.substr(at_));
        if (!n) refuse("UTF-8");
        at_ += n - 1;
      }
    }
    std::string_view raw = text_.substr(begin, at_ - begin);
    if (!escapes) {
      text_value(raw);
    } else {
      charge(raw.size());
      std::string plain;
      plain.reserve(raw.size());  // an escape is never shorter than the character it encodes
      at_ = begin;
      while (peek() != '"') unescape(plain);
      text_value(plain);
      refund(raw.size());
    }
    ++at_;
  }

  void text_value(std::string_view s) {
    if (s.size() > 14) charge(8 + s.size());
    push(s);
  }

  // Decodes one character or escape of a string.
  void unescape(std::string &to) {
    if (!skip('\\')) {
      to += text_[at_++];
      return;
    }
    constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    if (size_t i = names.find(peek()); i != std::string_view::npos) {
      ++at_;
      to += meanings[i];
      return;
    }
    if (peek() != 'u') refuse("one of \"\\/bfnrtu after \\");
    uint32_t c = code_unit();
    if (c >= 0xD800 && c < 0xE000) {
      if (c >= 0xDC00 || !skip('\\') || peek() != 'u') refuse("two surrogates, the high one first");
      uint32_t low = code_unit();
      if (low < 0xDC00 || low >= 0xE000) refuse("a low surrogate before it");
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    append_utf8(c, to);
  }

  // Parses "u" and four hexadecimal digits.
  uint32_t code_unit() {
    uint32_t unit = 0;
    std::string_view digits = text_.substr(++at_, 4);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (error != std::errc() || end != digits.data() + 4) refuse("four hexadecimal digits");
    at_ += 4;
    return unit;
  }

  std::string_view digits() {
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == begin) refuse(begin && text_[begin - 1] == '-' ? "a digit" : "a value");
    return text_.substr(begin, at_ - begin);
  }

  void number() {
    const size_t begin = at_;
    skip('-');
    std::string_view whole = peek() == '0' ? text_.substr(at_++, 1) : digits(), fraction;
    int32_t power = 0;
    const bool has_point = skip('.');
    if (has_point) fraction = digits();
    const bool has_exponent = skip('e') || skip('E');
    if (has_exponent) {
      const bool down = skip('-');
      if (!down) skip('+');
      std::string_view exponent = digits();
      auto error = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec;
      if (error != std::errc()) power = INT32_MAX;
      if (down) power = -power;
    }
    const char *first = text_.data() + begin, *last = text_.data() + at_;
    if (!has_point && !has_exponent) {
      int64_t i = 0;
      uint64_t u = 0;
      if (std::from_chars(first, last, i).ec == std::errc()) return push(i);
      if (std::from_chars(first, last, u).ec == std::errc()) return push(u);
    }
    double d = 0;
    if (!read_decimal({first, last}, d)) {
      // Out of range: an underflow gives 0 if the first nonzero digit follows the point, else the number is refused.
      size_t zeros = std::min(fraction.find_first_not_of('0'), fraction.size());
      int64_t before = whole == "0" ? -static_cast<int64_t>(zeros) : static_cast<int64_t>(whole.size());
      if (before + power > 0)
        fail(Code::invalid_argument, "the number ", excerpt({first, last}, 40), " is past the range of double");
      d = *first == '-' ? -0.0 : 0.0;
    }
    push(d);
  }

  std::string_view text_;
  Json::Limits limits_;
  size_t at_ = 0;
  int64_t used_ = 0;
  std::vector<Json> stack_;
  std::vector<std::string_view> keys_;
};

Json Json::parse(std::string_view text, const Limits &limits) {
  Rounding nearest;
  return JsonReader(text, limits).read();
}

namespace {

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void value(const Json &j, size_t depth = 0) {
    if (j.is_null())
      out += "null";
    else if (j.is_boolean())
      out += j.get<bool>() ? "true" : "false";
    else if (j.is_int64())
      out += std::to_string(j.get<int64_t>());
    else if (j.is_integer())
      out += std::to_string(j.get<uint64_t>());
    else if (j.is_number())
      real(j.get<double>());
    else if (j.is_string())
      string(j.get<std::string_view>());
    else if (j.empty())
      out += j.is_object() ? "{}" : "[]";
    else
      list(j, depth + 1);
  }

  std::string out;

 private:
  void list(const Json &j, size_t depth) {
    char before = j.is_object() ? '{' : '[';
    auto next = [&] {
      out += std::exchange(before, ',');
      line(depth);
    };
    for (const Json &item : j) {
      next();
      value(item, depth);
    }
    for (const auto &[key, member] : j.items()) {
      next();
      string(key);
      out += indent_ < 0 ? ":" : ": ";
      value(member, depth);
    }
    line(depth - 1);
    out += j.is_object() ? '}' : ']';
  }

  void line(size_t depth) {
    if (indent_ < 0) return;
    out += '\n';
    out.append(depth * static_cast<size_t>(indent_), ' ');
  }

  void string(std::string_view s) {
    constexpr std::string_view special = "\"\\\b\f\n\r\t", names = "\"\\bfnrt";
    constexpr char hex[] = "0123456789abcdef";
    out += '"';
    for (size_t i = 0; i < s.size();) {
      size_t n = utf8_length(s.substr(i));
      if (!n) fail(Code::invalid_argument, "a string that is not UTF-8: \"", valid_utf8(excerpt(s)), '"');
      if (size_t at = special.find(s[i]); at != std::string_view::npos)
        (out += '\\') += names[at];
      else if (static_cast<unsigned char>(s[i]) < ' ')
        ((out += "\\u00") += hex[s[i] >> 4]) += hex[s[i] & 15];
      else
        out += s.substr(i, n);
      i += n;
    }
    out += '"';
  }

  // The fewest digits that read back the same, with a point, and without an exponent from 1e-4 to 1e15.
  void real(double v) {
    if (!std::isfinite(v)) {
      out += "null";
      return;
    }
    char buffer[32];
    auto [last, error] = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific);
    std::string_view all(buffer, static_cast<size_t>(last - buffer));
    if (std::signbit(v)) {
      out += '-';
      all.remove_prefix(1);
    }
    const size_t e = all.find('e');
    int exponent = 0;
    std::from_chars(all.data() + e + (all[e + 1] == '+' ? 2 : 1), last, exponent);
    std::string digits(1, all[0]);
    if (e > 2) digits += all.substr(2, e - 2);
    if (exponent < -4 || exponent > 14) {
      out += all;
    } else if (exponent < 0) {
      out += "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    } else {
      const auto whole = static_cast<size_t>(exponent) + 1;
      if (digits.size() <= whole) digits.append(whole + 1 - digits.size(), '0');
      out += digits.insert(whole, ".");
    }
  }

  int indent_;
};

}  // namespace

std::string Json::dump(int indent) const {
  Writer w(indent);
  w.value(*this);
  return std::move(w.out);
}

std::string Json::shown() const { return excerpt(dump()); }

}  // namespace dl4
