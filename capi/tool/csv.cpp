// Comma-separated numbers.
#include <algorithm>
#include <charconv>
#include <optional>

#include "arrays.hpp"

namespace dl4::tool {
namespace {

std::string_view trimmed(std::string_view s) {
  constexpr const char *blank = " \t\r";
  const size_t first = s.find_first_not_of(blank);
  return first == s.npos ? std::string_view() : s.substr(first, s.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view row) {
  std::vector<std::string_view> cells;
  for (size_t from = 0; from <= row.size();) {
    const size_t to = std::min(row.find(',', from), row.size());
    cells.push_back(trimmed(row.substr(from, to - from)));
    from = to + 1;
  }
  return cells;
}

std::optional<double> number_in(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double v = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return v;
}

}  // namespace

Csv read_csv(const std::string &path) {
  const std::string text = read_text(path);
  Csv csv;
  int64_t line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view row = std::string_view(text).substr(at, end - at);
    at = end + 1;
    ++line;
    if (trimmed(row).empty()) continue;
    const auto refuse = [&](const std::string &expected, const std::string &got) {
      throw Refusal(refused,
                    '"' + path + "\", line " + std::to_string(line) + ": expected " + expected + ", got " + got);
    };
    const std::vector<std::string_view> cells = cells_of(row);
    const auto columns = static_cast<int64_t>(cells.size());
    const bool first = csv.columns == 0;
    if (!first && columns != csv.columns) refuse(std::to_string(csv.columns) + " columns", std::to_string(columns));
    csv.columns = columns;
    if (first && !std::all_of(cells.begin(), cells.end(), number_in)) {
      csv.names.assign(cells.begin(), cells.end());
      continue;
    }
    for (std::string_view cell : cells) {
      const std::optional<double> v = number_in(cell);
      if (!v) refuse("a number", '"' + std::string(cell.substr(0, 40)) + '"');
      csv.values.push_back(*v);
    }
    ++csv.rows;
  }
  if (csv.rows == 0) throw Refusal(refused, '"' + path + "\" has no rows of numbers");
  return csv;
}

}  // namespace dl4::tool
