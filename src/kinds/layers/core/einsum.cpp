// Einsum: products of inputs by an equation.
#include "kinds/layers/core/einsum.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/error.hpp"
#include "kinds/layer.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit;
using ops::Id;

template <class F>
std::string those_of(const std::string &all, F keep) {
  std::string s;
  std::copy_if(all.begin(), all.end(), std::back_inserter(s), keep);
  return s;
}

Id in_letters(Emit &e, Id v, const std::string &from, const std::string &to) {
  std::vector<int> perm;
  for (char l : to) perm.push_back(static_cast<int>(from.find(l)));
  return from == to ? v : ops::transpose(e, v, perm);
}

// Sums v over the letters for which `alone` holds.
template <class F>
Id summed(Emit &e, std::string &letters, Id v, F alone) {
  std::vector<int> over;
  for (size_t i = 0; i < letters.size(); ++i)
    if (alone(letters[i])) over.push_back(static_cast<int>(i));
  if (over.empty()) return v;
  letters = those_of(letters, [&](char l) { return !alone(l); });
  return ops::reduce(e, ops::Reduce::sum, v, over);
}

struct Einsum final : LayerOf<Einsum> {
  static constexpr const char *keras = "numpy.Einsum";
  static constexpr const char *doc =
      "Products of inputs whose axes an equation names, summed over what the output has not: keras.ops.einsum.";
  std::string subscripts;

  void fields(Fields &f) override {
    f("subscripts", subscripts)
        .required(R"("abc,abd->acd")")
        .doc("the axes of each input and of the output as letters: \"bij,bjk->bik\"; \"...\" stands for any axes");
  }
  static constexpr PlainFacts plain{.inputs = {{"x...", "(...), by the equation"}},
                                    .outputs = {{"y", "(...), by the equation"}}};
  Arity arity() const override {
    const int n = static_cast<int>(parts().first.size());
    return {n, n};
  }
  void check() override {
    for (const std::string &part : parts().first) need_plain(part);
    need_plain(parts().second);
  }

  std::vector<Symbol> call(Call &c) const override {
    auto [in, out] = parts();
    size_t most = 0;  // axes of "..."
    for (size_t i = 0; i < in.size(); ++i) {
      c.as_float(static_cast<int>(i));
      const auto rank = static_cast<size_t>(c.shape(static_cast<int>(i)).rank()),
                 letters = in[i].size() - has(in[i], '.');
      if (has(in[i], '.') ? rank < letters : rank != letters)
        fail(Code::shape_mismatch, "input ", i, ": expected ", letters, " axes as in \"", subscripts, "\", got ",
             c.shape(static_cast<int>(i)));
      if (has(in[i], '.')) most = std::max(most, rank - letters);
    }
    std::string spare;
    for (char l = 'A'; spare.size() < most; l = l == 'Z' ? 'a' : static_cast<char>(l + 1))
      if (!has(subscripts, l)) spare += l;
    for (size_t i = 0; i < in.size(); ++i)
      if (const size_t at = in[i].find('.'); at != std::string::npos) {
        const size_t n = static_cast<size_t>(c.shape(static_cast<int>(i)).rank()) - (in[i].size() - 1);
        in[i].replace(at, 1, spare.substr(most - n));
      }
    if (const size_t at = out.find('.'); at != std::string::npos) out.replace(at, 1, spare);
    need_sizes(c, in, out);
    Id y = c.x();
    std::string letters = in[0];
    for (size_t i = 1; i < in.size(); ++i) {
      std::string rest = out;
      for (size_t k = i + 1; k < in.size(); ++k) rest += in[k];
      std::string next;
      for (char l : letters + in[i])
        if (!has(next, l) && (i + 1 == in.size() ? has(out, l) : has(rest, l))) next += l;
      if (i + 1 == in.size()) next = out;
      y = einsum_product(c.e, letters, in[i], next, y, c.x(static_cast<int>(i)));
      letters = next;
    }
    return {{in.size() == 1 ? einsum_alone(c.e, letters, out, y) : y}};
  }

 private:
  // The letters of each input and of the output, with '.' for "...".
  std::pair<std::vector<std::string>, std::string> parts() const {
    std::string s = those_of(subscripts, [](char l) { return l != ' '; });
    for (size_t at; (at = s.find("...")) != std::string::npos;) s.replace(at, 3, ".");
    const size_t arrow = s.find("->");
    std::vector<std::string> in;
    const std::string left = s.substr(0, arrow);
    for (size_t at = 0, end; at <= left.size(); at = end + 1) {
      end = std::min(left.find(',', at), left.size());
      in.push_back(left.substr(at, end - at));
    }
    if (arrow != std::string::npos) return {in, s.substr(arrow + 2)};
    std::string out = has(left, '.') ? "." : "", sorted = left;
    std::sort(sorted.begin(), sorted.end());
    for (char l : sorted)
      if (std::isalpha(static_cast<unsigned char>(l)) && std::count(left.begin(), left.end(), l) == 1) out += l;
    return {in, out};
  }
  void need_plain(const std::string &part) const {
    std::string sorted = part;
    std::sort(sorted.begin(), sorted.end());
    const bool plain = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
                       std::all_of(part.begin(), part.end(),
                                   [](char l) { return l == '.' || std::isalpha(static_cast<unsigned char>(l)); });
    if (!plain)
      unsupported_attribute("subscripts", "expected a letter for each axis and none twice in one place, got \"",
                            subscripts, '"');
  }
  void need_sizes(Call &c, const std::vector<std::string> &in, const std::string &out) const {
    for (char l : out)
      if (std::none_of(in.begin(), in.end(), [&](const std::string &part) { return has(part, l); }))
        fail(Code::invalid_argument, "\"subscripts\": the letter '", l, "' of the output is in no input");
    for (size_t i = 0; i < in.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        for (char l : in[i]) {
          if (!has(in[k], l)) continue;
          const int64_t a = c.shape(static_cast<int>(i))[static_cast<int>(in[i].find(l))],
                        b = c.shape(static_cast<int>(k))[static_cast<int>(in[k].find(l))];
          if (a != b && a != free_dim && b != free_dim)
            fail(Code::shape_mismatch, "axis '", l, "': input ", k, " has ", b, ", input ", i, " has ", a);
        }
  }
};

}  // namespace

Id einsum_alone(Emit &e, const std::string &x_letters, const std::string &y_letters, Id x) {
  std::string letters = x_letters;
  x = summed(e, letters, x, [&](char l) { return !has(y_letters, l); });
  return in_letters(e, x, letters, y_letters);
}

// By one matrix product. Letters are classified as batch (in both and y), rows, sums and columns.
Id einsum_product(Emit &e, const std::string &x_letters, const std::string &w_letters, const std::string &y_letters,
                  Id x, Id w, MatrixProduct product) {
  std::string xs = x_letters, ws = w_letters;
  x = summed(e, xs, x, [&](char l) { return !has(y_letters, l) && !has(w_letters, l); });
  w = summed(e, ws, w, [&](char l) { return !has(y_letters, l) && !has(x_letters, l); });
  const std::string batch = those_of(y_letters, [&](char l) { return has(xs, l) && has(ws, l); });
  const std::string rows = those_of(y_letters, [&](char l) { return !has(ws, l); });
  const std::string columns = those_of(y_letters, [&](char l) { return !has(xs, l); });
  const std::string sums = those_of(ws, [&](char l) { return !has(y_letters, l); });
  x = in_letters(e, x, xs, batch + rows + sums);
  w = in_letters(e, w, ws, batch + sums + columns);
  const int fixed = static_cast<int>(batch.size()), kept = static_cast<int>(batch.size() + rows.size());
  const Shape dims = e.shape(w);
  const int first = fixed + static_cast<int>(sums.size());
  const auto joined = [&](int from, int to) {
    if (to - from == 1) return dims[from];
    for (int i = from; i < to; ++i)
      if (dims[i] == free_dim) fail(Code::shape_mismatch, "axes that are joined should be known, got ", dims);
    return dims.elements(from, to);
  };
  const int64_t k = joined(fixed, first), n = joined(first, dims.rank());
  if (sums.size() != 1) x = ops::reshape(e, x, kept, {k});
  if (rows.empty()) x = ops::expand_dims(e, x, fixed);
  Shape tail{k, n};
  for (size_t i = 1; i < rows.size() && !batch.empty(); ++i) tail = tail.inserted(0, 1);
  if (sums.size() != 1 || columns.size() != 1 || tail.rank() > 2) {
    // One free dim can be inferred.
    if (k == free_dim && n == free_dim) fail(Code::shape_mismatch, "axes that are joined should be known, got ", dims);
    w = ops::reshape(e, w, fixed, tail);
  }
  Id y = product(e, x, w);
  if (rows.empty()) y = ops::squeeze(e, y, fixed);
  if (columns.size() != 1) y = ops::reshape(e, y, kept, dims.last(static_cast<int>(columns.size())));
  return in_letters(e, y, batch + rows + columns, y_letters);
}

DL4_KINDS(einsum, Einsum)
}  // namespace dl4::kinds
