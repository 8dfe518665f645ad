// Error messages and "did you mean".
#include "base/error.hpp"

#include <algorithm>

namespace dl4 {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein distance, ignoring case.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

// Initials of the words of a name: "lr" for "learning_rate".
std::string initials(const std::string &word) {
  std::string s;
  for (size_t i = 0; i < word.size(); ++i)
    if (word[i] != '_' && (i == 0 || word[i - 1] == '_')) s += lower(word[i]);
  return s;
}

std::string nearest(const std::string &given, const std::vector<std::string> &words) {
  if (given.size() > 64) return {};
  if (given.size() > 1)
    for (const auto &w : words)
      if (initials(w) == given) return w;
  std::string best;
  size_t least = std::max<size_t>(2, given.size() / 3) + 1;
  for (const auto &w : words) {
    if (size_t d = distance(given, w); d < least) {
      least = d;
      best = w;
    }
  }
  return best;
}

}  // namespace

namespace detail {
void append_chars(std::string &s, const void *chars) { s += static_cast<const char *>(chars); }
void append_char(std::string &s, const void *c) { s += *static_cast<const char *>(c); }
void append_view(std::string &s, const void *view) { s += *static_cast<const std::string_view *>(view); }
void append_string(std::string &s, const void *string) { s += *static_cast<const std::string *>(string); }

std::string text_of(std::initializer_list<Part> parts) {
  std::string s;
  for (const Part &p : parts) p.append(s, p.value);
  return s;
}

void fail_with(Code code, std::initializer_list<Part> parts) { throw Error(code, text_of(parts)); }
}  // namespace detail

Error::Error(Code code, std::string message) : code(code), message(std::move(message)) {}
Error::Error(const Error &) = default;
Error::~Error() = default;

Error &Error::with(std::string_view key, std::string_view value) {
  for (auto &fact : detail)
    if (fact.first == key) return *this;
  detail.emplace_back(key, value);
  return *this;
}

Error &Error::in(std::string_view who) {
  message = text(who, ": ", message);
  return *this;
}

Error &Error::suggest(const std::string &given, const std::vector<std::string> &words) {
  std::string near = nearest(given, words);
  if (near.empty()) return *this;
  message += "; did you mean \"" + near + "\"?";
  return with("did_you_mean", near);
}

}  // namespace dl4
