#include "print.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "command.hpp"

namespace dl4::tool {

std::string printable(std::string text) {
  for (char &c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7f) c = '?';
  }
  return text;
}

void print(const std::string &text) {
  const std::string safe = printable(text);
  if (std::fwrite(safe.data(), 1, safe.size(), stdout) == safe.size() && std::fflush(stdout) == 0) return;
  if (errno == EPIPE) throw Refusal(files, "");  // whoever reads has seen enough
  throw Refusal(files, std::string("cannot write to standard output: ") + std::strerror(errno));
}

void print(const Json &json) { print(json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'); }

namespace {

bool is_number(const std::string &s) {
  return !s.empty() && (std::isdigit(static_cast<unsigned char>(s[0])) || s[0] == '-' || s == "nan" || s == "inf");
}

// Of UTF-8.
size_t width_of(const std::string &s) {
  return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>> &rows) {
  const size_t columns = rows.at(0).size();
  std::vector<size_t> width(columns, 0);
  std::vector<bool> right(columns, rows.size() > 1);
  for (const auto &row : rows)
    for (size_t i = 0; i < columns; ++i) {
      width[i] = std::max(width[i], width_of(row[i]));
      if (&row != &rows[0] && !is_number(row[i])) right[i] = false;
    }
  std::string out;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < columns; ++i) {
      const std::string fill(width[i] - width_of(row[i]), ' ');
      line += (i ? "  " : "") + (right[i] ? fill + row[i] : row[i] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string wrapped(const std::string &text, size_t first, size_t next) {
  std::string out, line(first, ' ');
  bool empty = true;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && width_of(line) + 1 + width_of(word) > 80) {
      out += line + '\n';
      line.assign(next, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  return out + line + '\n';
}

std::string did_you_mean(const std::string &given, const std::vector<std::string> &words) {
  if (given.size() > 64) return "";
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::string near;
  size_t least = std::max<size_t>(2, given.size() / 3) + 1;
  for (const std::string &word : words) {  // by Levenshtein's distance
    std::vector<size_t> row(word.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (const char c : given) {
      size_t diagonal = row[0]++;
      for (size_t i = 1; i <= word.size(); ++i) {
        const size_t change = diagonal + (lower(c) != lower(word[i - 1]));
        diagonal = row[i];
        row[i] = std::min({row[i] + 1, row[i - 1] + 1, change});
      }
    }
    if (row.back() >= least) continue;
    least = row.back();
    near = word;
  }
  return near.empty() ? "" : "; did you mean \"" + near + "\"?";
}

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", v);
  return text;
}

std::string size(int64_t bytes) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double n = static_cast<double>(bytes);
  size_t unit = 0;
  for (; n >= 1024 && unit < 4; ++unit) n /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", n, units[unit]);
  return text;
}

std::string shape(const std::vector<int64_t> &dims) {
  std::string s = "[";
  for (int64_t d : dims) s += (s.size() > 1 ? ", " : "") + (d < 0 ? "?" : std::to_string(d));
  return s + ']';
}

Json json_shape(const std::vector<int64_t> &dims) {
  Json j = Json::array();
  for (int64_t d : dims) j.push_back(d < 0 ? Json(nullptr) : Json(d));
  return j;
}

}  // namespace dl4::tool
