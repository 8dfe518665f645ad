// Comma-separated numbers.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <version>

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

// invalid_argument: it is no number.
std::errc read_number(std::string_view cell, double &v) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
#if defined(__cpp_lib_to_chars)
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  return end == cell.data() + cell.size() ? error : std::errc::invalid_argument;
#else  // a C++ library without from_chars for floats; the command has the locale "C"
  const std::string text(cell);
  if (text.find_first_of("-.0123456789iInN") != 0 || text.find_first_of("xX") != text.npos)
    return std::errc::invalid_argument;
  char *end = nullptr;
  v = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::errc::invalid_argument;
  const bool zero = text.substr(0, text.find_first_of("eE")).find_first_of("123456789") == text.npos;
  const bool past = (std::isinf(v) && text.find_first_of("iI") == text.npos) || (v == 0 && !zero);
  return past ? std::errc::result_out_of_range : std::errc();
#endif
}

bool is_word(std::string_view cell) {
  double v = 0;
  return read_number(cell, v) == std::errc::invalid_argument;
}

// A cell in quotes from `at` on, which moves behind it.
std::string quoted(std::string_view text, size_t &at, const std::string &path) {
  std::string cell;
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      cell += text[at];
    } else if (text.substr(at + 1).starts_with('"')) {
      cell += text[at++];
    } else {
      ++at;
      return cell;
    }
  }
  throw Refusal(refused, '"' + path + "\": a cell in quotes has no end");
}

// The cells of the row from `at` on, which moves to the next.
std::vector<std::string> next_row(std::string_view text, size_t &at, const std::string &path) {
  std::vector<std::string> cells;
  for (;;) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    const bool quotes = at < text.size() && text[at] == '"';
    std::string cell = quotes ? quoted(text, at, path) : "";
    const size_t end = std::min(text.find_first_of(",\n", at), text.size());
    if (!quotes) cell = trimmed(text.substr(at, end - at));
    cells.push_back(std::move(cell));
    at = std::min(end + 1, text.size());
    if (end == text.size() || text[end] == '\n') return cells;
  }
}

}  // namespace

Columns read_columns(const std::string &path, const std::string &names) {
  const std::string text = read_text(path);
  Columns table{path, {}, {}, {}};
  for (const std::string_view name : names.empty() ? std::vector<std::string_view>() : cells_of(names))
    table.names.emplace_back(name);
  table.cells.resize(table.names.size());
  size_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  for (int64_t row = 1; at < text.size(); ++row) {
    const std::vector<std::string> cells = next_row(text, at, path);
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (table.names.empty()) {
      table.names = cells;
      table.cells.resize(cells.size());
      continue;
    }
    if (cells.size() != table.names.size())
      throw Refusal(refused, '"' + path + "\", row " + std::to_string(row) + ": expected " +
                                 std::to_string(table.names.size()) + " columns, got " + std::to_string(cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) table.cells[i].push_back(cells[i]);
    table.rows.push_back(row);
  }
  if (table.rows.empty())
    throw Refusal(refused, '"' + path + "\" has no rows" + (names.empty() ? " below a line of names" : ""));
  return table;
}

Tensor column_of(const Columns &table, const std::string &name, const Slot &slot, double scale) {
  const auto at = std::find(table.names.begin(), table.names.end(), name);
  if (at == table.names.end()) {
    std::string all;
    for (const std::string &n : table.names) all += (all.empty() ? "" : ", ") + n;
    throw Refusal(refused, '"' + table.path + "\" has no column \"" + name + "\"; it has " + all.substr(0, 300));
  }
  if (std::find(at + 1, table.names.end(), name) != table.names.end())
    throw Refusal(refused, '"' + table.path + "\" has several columns \"" + name + '"');
  const std::vector<std::string> &cells = table.cells[static_cast<size_t>(at - table.names.begin())];
  const auto rows = static_cast<int64_t>(cells.size());
  Dims dims = slot.dims;
  if (dims.empty() || elements(dims, 1) != 1)
    throw Refusal(refused,
                  "input \"" + slot.name + "\" has the shape " + shape(dims) + ", a column is one value a row");
  dims[0] = rows;
  if (slot.dtype == DL4_STRING) return Tensor::of_strings(cells, dims);
  Csv csv{{}, rows, 1};
  for (size_t i = 0; i < cells.size(); ++i) {
    double v = 0;
    if (read_number(cells[i], v) != std::errc())
      throw Refusal(refused, '"' + table.path + "\", row " + std::to_string(table.rows[i]) +
                                 ": expected a number in column \"" + name + "\", got \"" + cells[i].substr(0, 40) +
                                 '"');
    csv.values.push_back(v);
  }
  return converted(columns_of(csv, 0, 1, dims, table.path), slot.dtype, scale, table.path);
}

Csv read_csv(const std::string &path) {
  const std::string text = read_text(path);
  Csv csv;
  int64_t line = 0;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  for (size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; at < text.size();) {
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
    if (first && std::all_of(cells.begin(), cells.end(), is_word)) continue;
    for (size_t i = 0; i < cells.size(); ++i) {
      double v = 0;
      if (read_number(cells[i], v) != std::errc())
        refuse("a number in column " + std::to_string(i + 1), '"' + std::string(cells[i].substr(0, 40)) + '"');
      csv.values.push_back(v);
    }
    ++csv.rows;
  }
  if (csv.rows == 0) throw Refusal(refused, '"' + path + "\" has no rows of numbers");
  return csv;
}

}  // namespace dl4::tool
