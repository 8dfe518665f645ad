// sizes, zeros_of, and their formulas.
#include "ops/sizes.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ops/attributes.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

constexpr std::string_view names[] = {"", "", "+", "-", "*", "/", "%", "max", "min", "=", "<"};
constexpr size_t most_steps = 4096;

std::optional<int64_t> integer(std::string_view s) {
  int64_t v = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  return error == std::errc() && end == s.data() + s.size() ? std::optional(v) : std::nullopt;
}

int64_t applied(SizeStep f, int64_t a, int64_t b) {
  if ((f == SizeStep::divide || f == SizeStep::modulo) && b == 0) fail(Code::shape_mismatch, "a size is divided by 0");
  switch (f) {
    case SizeStep::add:
      return checked_add(a, b);
    case SizeStep::subtract:
      return checked_add(a, checked_mul(b, -1));
    case SizeStep::multiply:
      return checked_mul(a, b);
    case SizeStep::divide:
      return b == -1 ? checked_mul(a, -1) : a / b;
    case SizeStep::modulo: {
      const int64_t rest = b == -1 ? 0 : a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case SizeStep::maximum:
      return std::max(a, b);
    case SizeStep::minimum:
      return std::min(a, b);
    case SizeStep::equal:
      return a == b;
    default:
      return a < b;
  }
}

struct SizesOp final : StopsGradients<SizesOp, "sizes", attributes::Sizes> {
  std::vector<Operand> infer(Operands src) const override {
    return {{DType::i64, {static_cast<int64_t>(computed(formulas, src).size())}}};
  }
  bool reads(int) const override { return false; }
};

struct ZerosOfOp final : StopsGradients<ZerosOfOp, "zeros_of", attributes::ZerosOf> {
  std::vector<Operand> infer(Operands src) const override {
    std::vector<int64_t> dims;
    for (const auto &d : computed(formulas, src)) {
      if (d && *d < 0) fail(Code::shape_mismatch, "an axis of ", *d, " places");
      dims.push_back(d.value_or(free_dim));
    }
    return {{DType::boolean, Shape(dims)}};
  }
  bool reads(int) const override { return false; }
};

}  // namespace

Formulas formulas(const std::vector<std::string> &words) {
  Formulas all;
  for (const std::string &word : words) {
    const auto refuse = [&](const auto &...why) { fail(Code::invalid_argument, '"', word, "\": ", why...); };
    size_t at = 0, depth = 0;
    while (at < word.size()) {
      const size_t end = std::min(word.find(' ', at), word.size());
      const std::string_view part = std::string_view(word).substr(at, end - at);
      at = end + 1;
      const auto *name = std::find(std::begin(names) + 2, std::end(names), part);
      const size_t dot = part.find('.');
      if (name != std::end(names)) {
        if (depth < 2) refuse("expected two numbers before ", std::string(part));
        --depth;
        all.insert(all.end(), {name - std::begin(names), 0});
      } else if (const auto number = integer(part)) {
        all.insert(all.end(), {static_cast<int64_t>(SizeStep::number), *number}), ++depth;
      } else {
        const auto source = integer(part.substr(0, dot)),
                   axis = dot == part.npos ? std::nullopt : integer(part.substr(dot + 1));
        if (!source || !axis || *source < 0 || *source > 1 << 20 || *axis < 0 || *axis >= max_rank)
          refuse("expected numbers, axes as \"0.1\" and + - * / % max min = <, got \"", std::string(part), '"');
        all.insert(all.end(), {static_cast<int64_t>(SizeStep::axis), checked_add(checked_mul(*source, 64), *axis)});
        ++depth;
      }
      if (all.size() / 2 > most_steps) refuse("more than ", most_steps, " steps");
    }
    if (depth != 1) refuse("expected one number at its end, got ", depth);
    all.insert(all.end(), {-1, 0});
  }
  return all;
}

std::vector<std::optional<int64_t>> computed(const Formulas &f, Operands src) {
  std::vector<std::optional<int64_t>> all, stack;
  for (size_t i = 0; i + 1 < f.size(); i += 2) {
    const int64_t of = f[i + 1];
    if (f[i] < 0) {
      all.push_back(stack.at(0)), stack.clear();
      continue;
    }
    const auto step = static_cast<SizeStep>(f[i]);
    if (step == SizeStep::number) {
      stack.emplace_back(of);
    } else if (step == SizeStep::axis) {
      const auto source = static_cast<size_t>(of / 64);
      if (source >= src.size()) fail(Code::invalid_argument, "a size of input ", source, " of ", src.size(), " inputs");
      const Shape &s = src[source].shape;
      if (of % 64 >= s.rank()) fail(Code::shape_mismatch, "the size of axis ", of % 64, " of ", s);
      const int64_t n = s[static_cast<int>(of % 64)];
      stack.push_back(n == free_dim ? std::nullopt : std::optional(n));
    } else {
      const auto b = stack.back();
      stack.pop_back();
      auto &a = stack.back();
      a = a && b ? std::optional(applied(step, *a, *b)) : std::nullopt;
    }
  }
  return all;
}

Id sizes(Emit &e, std::vector<Id> like, Formulas f) { return e.value(make<SizesOp>(std::move(f)), std::move(like)); }
Id zeros_of(Emit &e, std::vector<Id> like, Formulas f) {
  return e.value(make<ZerosOfOp>(std::move(f)), std::move(like));
}

}  // namespace dl4::ops
