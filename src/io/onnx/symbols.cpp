#include "io/onnx/symbols.hpp"

#include <numeric>

namespace dl4::io::onnx {
namespace {

constexpr size_t most_summands = 64, most_symbols = size_t{1} << 20;
const Dim one{1, {}}, nothing{0, {}};

}  // namespace

Dim operator*(const Dim &a, const Dim &b) {
  Dim d{checked_mul(a.factor, b.factor), a.symbols};
  d.symbols.insert(d.symbols.end(), b.symbols.begin(), b.symbols.end());
  if (d.symbols.size() > 64) fail(Code::unsupported, "a size that is the product of more than 64 free ones");
  std::sort(d.symbols.begin(), d.symbols.end());
  if (d.factor == 0) d.symbols.clear();
  return d;
}

std::optional<Dim> operator/(const Dim &a, const Dim &b) {
  if (b.factor == 0 || (a.factor == INT64_MIN && b.factor == -1) || a.factor % b.factor != 0) return {};
  Dim d{a.factor / b.factor, {}};
  std::set_difference(a.symbols.begin(), a.symbols.end(), b.symbols.begin(), b.symbols.end(),
                      std::back_inserter(d.symbols));
  if (d.symbols.size() + b.symbols.size() != a.symbols.size()) return {};
  return d;
}

int Symbols::fresh() {
  if (all_.size() >= most_symbols) fail(Code::unsupported, "more than ", most_symbols, " free sizes");
  all_.emplace_back();
  return static_cast<int>(all_.size()) - 1;
}

Dim Symbols::made(Step how, std::vector<Dim> of, bool not_negative) {
  Made m{how, std::move(of), not_negative};
  const auto it = known_.find(m);
  if (it != known_.end()) return {1, {it->second}};
  const int symbol = fresh();
  all_.back() = m;
  known_.emplace(std::move(m), symbol);
  return {1, {symbol}};
}

bool Symbols::not_negative(const Dim &d) const {
  return d.factor >= 0 && std::all_of(d.symbols.begin(), d.symbols.end(),
                                      [&](int s) { return all_[static_cast<size_t>(s)].not_negative; });
}

std::optional<Dim> Symbols::broadcast(const Dim &a, const Dim &b) const {
  if (a == b || b == one) return a;
  if (a == one) return b;
  if (a.known() || b.known()) return a.known() ? a : b;
  // At most so many of a, and a number: if it is less than a, it broadcasts only if it is 1, and that number is not.
  const auto bounds = [&](const Dim &least, const Dim &d) {
    if (least.factor != 1 || least.symbols.size() != 1) return false;
    const Made &m = all_[static_cast<size_t>(least.symbols[0])];
    if (m.how != Step::minimum || std::find(m.of.begin(), m.of.end(), d) == m.of.end()) return false;
    return std::any_of(m.of.begin(), m.of.end(), [](const Dim &other) { return other.known() && other.factor > 1; });
  };
  if (bounds(b, a)) return a;
  if (bounds(a, b)) return b;
  return {};
}

bool Symbols::is_axis(const Dim &d) const {
  return std::all_of(d.symbols.begin(), d.symbols.end(),
                     [&](int s) { return all_[static_cast<size_t>(s)].how == Step::axis; });
}

void Symbols::add(std::map<std::vector<int>, int64_t> &to, const Dim &d, int64_t times) const {
  const Made *m = d.symbols.size() == 1 ? &all_[static_cast<size_t>(d.symbols[0])] : nullptr;
  if (m && m->how == Step::add) {
    for (const Dim &part : m->of) add(to, part, checked_mul(d.factor, times));
    return;
  }
  int64_t &n = to[d.symbols];
  n = checked_add(n, checked_mul(d.factor, times));
}

Dim Symbols::sum(const Dim &a, const Dim &b, int64_t sign) {
  std::map<std::vector<int>, int64_t> summands;
  add(summands, a, 1), add(summands, b, sign);
  std::erase_if(summands, [](const auto &s) { return s.second == 0; });
  if (summands.empty()) return nothing;
  if (summands.size() > most_summands) fail(Code::unsupported, "a size that is the sum of more than 64");
  for (const auto &[symbols, n] : summands)
    if (n == INT64_MIN) fail(Code::unsupported, "a size of ", n);
  if (summands.size() == 1) return {summands.begin()->second, summands.begin()->first};
  int64_t common = 0;
  for (const auto &[symbols, n] : summands) common = std::gcd(common, n);
  if (summands.rbegin()->second < 0) common = -common;
  std::vector<Dim> parts;
  for (const auto &[symbols, n] : summands) parts.push_back({n / common, symbols});
  const bool positive = std::all_of(parts.begin(), parts.end(), [&](const Dim &d) { return not_negative(d); });
  Dim d = made(Step::add, std::move(parts), positive);
  d.factor = common;
  return d;
}

std::optional<Dim> Symbols::quotient(const Dim &a, const Dim &b) {
  if (b.factor == 0) return {};
  if (b == one) return a;
  if (const auto even = a / b) return even;  // by a size too: with no positions nothing is divided
  if (a.factor == INT64_MIN && b.factor == -1) return {};
  if (a.known() && b.known()) return Dim{a.factor / b.factor, {}};
  return made(Step::divide, {a, b}, not_negative(a) && not_negative(b));
}

std::optional<Dim> Symbols::rest(const Dim &a, const Dim &b) {
  if (b.factor == 0) return {};
  if (b.known() && (b.factor == -1 || a.factor % b.factor == 0)) return nothing;  // also where a / -1 overflows
  if (a.known() && b.known()) {
    const int64_t rest = b.factor == -1 ? 0 : a.factor % b.factor;
    return Dim{(rest < 0) != (b.factor < 0) ? rest + b.factor : rest, {}};
  }
  return made(Step::modulo, {a, b}, not_negative(b));
}

Dim Symbols::largest(const Dim &a, const Dim &b) {
  if (not_negative(sum(a, b, -1))) return a;
  if (not_negative(sum(b, a, -1))) return b;
  return made(Step::maximum, {std::min(a, b), std::max(a, b)}, not_negative(a) || not_negative(b));
}
Dim Symbols::smallest(const Dim &a, const Dim &b) {
  if (not_negative(sum(a, b, -1))) return b;
  if (not_negative(sum(b, a, -1))) return a;
  return made(Step::minimum, {std::min(a, b), std::max(a, b)}, not_negative(a) && not_negative(b));
}

Dim Symbols::less(const Dim &a, const Dim &b) {
  const Dim apart = sum(b, a, -1);
  if (not_negative(sum(apart, one, -1))) return one;
  if (not_negative(apart * Dim{-1, {}})) return nothing;
  return made(Step::less, {a, b}, true);
}
Dim Symbols::equal(const Dim &a, const Dim &b) {
  const Dim apart = sum(a, b, -1);
  if (apart == nothing) return one;
  if (not_negative(sum(apart, one, -1)) || not_negative(sum(apart * Dim{-1, {}}, one, -1))) return nothing;
  return made(Step::equal, {std::min(a, b), std::max(a, b)}, true);
}

Dim Symbols::chosen(const Dim &first, const Dim &a, const Dim &b) {
  if (first.known()) return first.factor != 0 ? a : b;
  return a == b ? a : sum(b, first * sum(a, b, -1));
}

}  // namespace dl4::io::onnx
