// The characters of UTF-8, and what stands for bytes that are none.
#include "base/tokens.hpp"

#include "base/utf8.hpp"
#include "base/vocabulary.hpp"

namespace dl4 {
namespace {

// How many bytes of what is no character count as one, as in the Unicode standard (3.9, "maximal subpart"): those that
// could have begun one.
size_t ill_formed(std::string_view s) noexcept {
  auto at = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  const unsigned lead = at(0);
  size_t more = lead >= 0xC2 && lead <= 0xDF   ? 1
                : lead >= 0xE0 && lead <= 0xEF ? 2
                : lead >= 0xF0 && lead <= 0xF4 ? 3
                                               : 0;
  unsigned least = lead == 0xE0 ? 0xA0u : lead == 0xF0 ? 0x90u : 0x80u;
  unsigned most = lead == 0xED ? 0x9Fu : lead == 0xF4 ? 0x8Fu : 0xBFu;
  size_t n = 1;
  for (; n <= more && at(n) >= least && at(n) <= most; ++n) least = 0x80, most = 0xBF;
  return n;
}

}  // namespace

std::string_view Tokenizer::character(std::string_view s, size_t &taken) noexcept {
  taken = utf8_length(s);
  if (taken) return s.substr(0, taken);
  taken = ill_formed(s);
  return "\xEF\xBF\xBD";
}

size_t Ngrams::Hash::operator()(const Edge &e) const noexcept {
  return static_cast<size_t>(scattered(static_cast<uint64_t>(e.item) ^ scattered(static_cast<uint64_t>(e.from))));
}

Ngrams::Ngrams(std::span<const int64_t> flat, std::span<const int64_t> lengths, std::span<const int64_t> columns,
               int64_t most_skipped, int64_t width)
    : most_skipped_(most_skipped), width_(width), ngrams_(static_cast<int64_t>(lengths.size())), column_of_{-1} {
  if (lengths.empty() || lengths.size() != columns.size())
    fail(Code::invalid_argument, "expected a column for each n-gram, got ", columns.size(), " for ", lengths.size());
  if (flat.size() >= INT32_MAX) fail(Code::unsupported, "n-grams of ", flat.size(), " items are too many");
  for (const auto &list : {flat, lengths, columns})
    for (const int64_t v : list) digest_ = scattered(digest_ ^ static_cast<uint64_t>(v)) + 1;
  for (const int64_t c : columns) {
    if (c < 0 || c >= max_dim) fail(Code::invalid_argument, "expected columns from 0 to ", max_dim - 1, ", got ", c);
    width_ = std::max(width_, c + 1);
  }
  std::unordered_map<int64_t, size_t> taken;
  size_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (const auto [other, fresh] = taken.emplace(columns[i], i); !fresh)
      fail(Code::unsupported, "n-grams ", other->second, " and ", i, " have one column, ", columns[i]);
    if (lengths[i] < 1 || static_cast<size_t>(lengths[i]) > flat.size() - at)
      fail(Code::invalid_argument, "n-gram ", i, ": expected 1 to ", flat.size() - at, " items, got ", lengths[i]);
    int32_t node = 0;
    for (const size_t end = at + static_cast<size_t>(lengths[i]); at < end; ++at) {
      const auto [edge, fresh] = next_.emplace(Edge{node, flat[at]}, static_cast<int32_t>(column_of_.size()));
      if (fresh) column_of_.push_back(-1);
      node = edge->second;
    }
    if (column_of_[static_cast<size_t>(node)] >= 0) fail(Code::invalid_argument, "n-gram ", i, " comes again");
    column_of_[static_cast<size_t>(node)] = columns[i];
  }
  if (at != flat.size())
    fail(Code::invalid_argument, "expected ", at, " items in the n-grams, as their lengths say, got ", flat.size());
}

void Ngrams::count(std::span<const int64_t> row, float *columns) const noexcept {
  const auto n = static_cast<int64_t>(row.size());
  for (int64_t step = 1; step <= most_skipped_ + 1 && (step == 1 || step < n); ++step)
    for (int64_t first = 0; first < n; ++first) {
      int32_t node = 0;
      for (int64_t i = first; i < n; i += step) {
        const auto edge = next_.find({node, row[static_cast<size_t>(i)]});
        if (edge == next_.end()) break;
        node = edge->second;
        const int64_t column = column_of_[static_cast<size_t>(node)];
        if (column >= 0 && (step == 1 || i > first)) columns[column] += 1;
      }
    }
}

}  // namespace dl4
