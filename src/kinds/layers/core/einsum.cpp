// Products by equations: EinsumDense, of an input and a kernel, and Einsum, of inputs; MatMul.
#include <cctype>

#include "kinds/layers/core/quantization.hpp"

namespace dl4::kinds {
namespace {

using ops::Emit, ops::Id;

bool has(const std::string &labels, char c) { return labels.find(c) != std::string::npos; }

// A product of matrices.
using MatrixProduct = ops::Id (*)(ops::Emit &, ops::Id, ops::Id);
inline ops::Id matrix_product(ops::Emit &e, ops::Id a, ops::Id b) { return ops::matmul(e, a, b); }

// x, w and y: a letter per axis, distinct within each. Sums over letters not in y.
ops::Id einsum_product(ops::Emit &e, const std::string &x_letters, const std::string &w_letters,
                       const std::string &y_letters, ops::Id x, ops::Id w, MatrixProduct product = matrix_product);
// For one operand: sums, then permutes to the order of y.
ops::Id einsum_alone(ops::Emit &e, const std::string &x_letters, const std::string &y_letters, ops::Id x);

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
    f("subscripts", subscripts,
      "the axes of each input and of the output as letters: \"bij,bjk->bik\"; \"...\" stands for any axes")
        .required(R"("abc,abd->acd")");
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
          const bool repeats = has(out, l) && (a == 1 || b == 1);  // as NumPy broadcasts
          if (a != b && a != free_dim && b != free_dim && !repeats)
            fail(Code::shape_mismatch, "axis '", l, "': input ", k, " has ", b, ", input ", i, " has ", a);
        }
  }
};

struct MatMul : LayerOf<MatMul> {
  static constexpr const char *keras = "numpy.Matmul";
  static constexpr const char *doc =
      "The matrix product of the last two axes of two inputs: keras.ops.matmul. Leading axes broadcast.";
  bool transpose_a = false, transpose_b = false;

  void fields(Fields &f) override {
    f("transpose_a", transpose_a, "swaps the last two axes of a first");
    f("transpose_b", transpose_b, "swaps the last two axes of b first");
  }
  static constexpr PlainFacts plain{.inputs = {{"a", "(..., M, K)"}, {"b", "(..., K, L)"}},
                                    .outputs = {{"y", "(..., M, L)"}}};
  Arity arity() const override { return {2, 2}; }

  std::vector<Symbol> call(Call &c) const override {
    for (int i = 0; i < 2; ++i) {
      c.need_rank_from(i, 2);
      c.need_float(i);
    }
    return {{ops::matmul(c.e, c.x(0), c.x(1), {.transpose_a = transpose_a, .transpose_b = transpose_b})}};
  }
};

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
  const Shape of_w = e.shape(w);
  const auto dims = [&](const std::string &letters) {
    std::vector<int64_t> list;
    for (char l : letters) list.push_back(of_w[static_cast<int>(ws.find(l))]);
    return Shape(list);
  };
  const auto joined = [&](const std::string &letters) {
    return dims(letters).known() ? dims(letters).elements() : free_dim;
  };
  const std::string both = those_of(y_letters, [&](char l) { return has(xs, l) && has(ws, l); });
  const std::string rows = those_of(y_letters, [&](char l) { return !has(ws, l); });
  const std::string sums = those_of(ws, [&](char l) { return !has(y_letters, l); });
  std::string columns = those_of(y_letters, [&](char l) { return !has(xs, l); }), batch = both;
  x = in_letters(e, x, xs, both + rows + sums);
  if (sums.size() != 1) x = ops::reshape(e, x, static_cast<int>(both.size() + rows.size()), {joined(sums)});
  // One free dim of a reshape is inferred: of several free columns all but the last count as batch, which x repeats.
  for (Shape s = dims(columns); std::count(s.begin(), s.end(), free_dim) > 1; s = dims(columns)) {
    batch += columns[0];
    columns.erase(0, 1);
    x = ops::expand_dims(e, x, static_cast<int>(both.size()));
  }
  const int fixed = static_cast<int>(batch.size());
  if (rows.empty()) x = ops::expand_dims(e, x, fixed);
  const int64_t k = joined(sums), n = joined(columns);
  const bool apart = k == free_dim && n == free_dim;
  if (apart && sums.size() != 1) {  // sums first, then columns
    w = ops::reshape(e, in_letters(e, w, ws, batch + columns + sums), fixed + static_cast<int>(columns.size()), {k});
    w = in_letters(e, w, batch + columns + '*', batch + '*' + columns);
  } else {
    w = in_letters(e, w, ws, batch + sums + columns);
  }
  if (apart && columns.size() != 1) w = ops::reshape(e, w, fixed + 1, {n});
  Shape tail{k, n};
  for (size_t i = 1; i < rows.size() && fixed > 0; ++i) {
    tail = tail.inserted(0, 1);
    if (apart) w = ops::expand_dims(e, w, fixed);
  }
  if (!apart && (sums.size() != 1 || columns.size() != 1 || tail.rank() > 2)) w = ops::reshape(e, w, fixed, tail);
  Id y = product(e, x, w);
  if (rows.empty()) y = ops::squeeze(e, y, fixed);
  if (columns.size() != 1) y = ops::reshape(e, y, fixed + static_cast<int>(rows.size()), dims(columns));
  return in_letters(e, y, batch + rows + columns, y_letters);
}

// "ab,bc->ac" at a known rank: a letter per axis, including those of "...".
struct Equation {
  std::string x, kernel, y;
  size_t elided = 0;  // axes of "..."
  bool left = false;  // "..." comes first
};

[[noreturn]] void refuse(const std::string &equation) {
  refuse_attribute("equation",
                   "expected the form [X],[Y]->[Z], ...[X],[Y]->...[Z] or [X]...,[Y]->[Z]..., with a letter "
                   "for each axis and none twice in one place, got \"",
                   equation, '"');
}

// X, Y and Z, with '.' for "...".
Equation parsed(const std::string &equation) {
  std::string s = equation;
  for (size_t at; (at = s.find("...")) != std::string::npos;) s.replace(at, 3, ".");
  const size_t comma = s.find(','), arrow = s.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) refuse(equation);
  Equation q{s.substr(0, comma), s.substr(comma + 1, arrow - comma - 1), s.substr(arrow + 2)};
  for (std::string *part : {&q.x, &q.kernel, &q.y}) {
    std::string sorted = *part;
    std::sort(sorted.begin(), sorted.end());
    bool fits = !part->empty() && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    for (char c : *part) fits = fits && (c == '.' || std::isalpha(static_cast<unsigned char>(c)));
    if (!fits) refuse(equation);
  }
  const bool x_left = q.x.front() == '.', x_right = q.x.back() == '.', any = has(q.x, '.') || has(q.y, '.');
  if (has(q.kernel, '.') || (any && !(x_left && q.y.front() == '.') && !(x_right && q.y.back() == '.')))
    refuse(equation);
  if (any && (q.x.size() < 2 || q.y.size() < 2)) refuse(equation);
  q.left = any && x_left;
  return q;
}

struct EinsumDense final : LayerOf<EinsumDense> {
  static constexpr const char *doc =
      "A Dense layer over any axes: the product of x and a kernel that an equation tells (\"abc,cd->abd\"), plus a "
      "bias, through an activation.";
  std::string equation;
  std::vector<std::optional<int64_t>> output_shape;
  Activation activation;
  std::optional<std::string> bias_axes;
  KernelAndBias weights;
  Lora lora;
  Quantized quantization;

  void fields(Fields &f) override {
    f("equation", equation,
      "the axes of x, of the kernel and of y as letters: \"abc,cd->abd\"; \"...\" stands for any first or last "
      "axes")
        .required(R"("abc,cd->abd")");
    f("output_shape", output_shape, "y's axes without the batch and without those of \"...\"; null: as in x")
        .required("[3, 4]")
        .within(1, max_dim);
    f("activation", activation, "applied to the sum");
    f("bias_axes", bias_axes, "the letters of y along which there is a bias; null: none");
    weights.fields(f);
    f.drop("use_bias");
    lora.fields(f);
    f("quantization", quantization, quantization_doc);
  }
  static constexpr PlainFacts plain{
      .inputs = {{"x", "(B, ...)"}},
      .outputs = {{"y", "(B, ...)"}},
      .weights = {{"kernel", "by the equation"},
                  {"bias", "y's axes from the first of bias_axes on", "bias_axes"},
                  {"lora_kernel_a", "the kernel's, the last axis of size lora_rank", "lora_rank"},
                  {"lora_kernel_b", "(lora_rank, the kernel's last axis)", "lora_rank"}}};
  void check() override {
    lora.check(weights.kernel_constraint, quantization);
    const Equation q = parsed(equation);
    // Keras multiplies x by the first matrix with the kernel's equation.
    if (lora && quantization && (q.kernel.back() != q.y.back() || has(q.x, q.kernel.back())))
      unsupported_attribute("lora_rank", "with quantization kernel and output have to end in the same letter, got \"",
                            equation, '"');
    for (char c : q.y)
      if (c != '.' && !has(q.x, c) && !has(q.kernel, c)) refuse_letter("equation", c, "neither in x nor in the kernel");
    for (char c : q.kernel)
      if (!has(q.x, c) && !has(q.y, c)) refuse_letter("equation", c, "of the kernel neither in x nor in y");
    if (bias_axes && bias_axes->empty()) refuse_letter("bias_axes", ' ', "not given at all");
    for (char c : bias_axes.value_or(""))
      if (c == '.' || !has(q.y, c)) refuse_letter("bias_axes", c, "not in y");
    const size_t letters = q.y.size() - (has(q.y, '.') ? (q.left ? 1 : 2) : 1);
    if (output_shape.size() != letters)
      refuse_attribute("output_shape", "expected ", letters, " axes, got ", output_shape.size());
  }

  std::vector<Symbol> call(Call &c) const override {
    c.as_float(0);
    const Equation q = at_rank(c);
    const Shape y_dims = output(c, q);
    std::vector<int64_t> dims, in, out;
    for (size_t i = 0; i < q.kernel.size(); ++i) {
      const size_t at = q.y.find(q.kernel[i]);
      const bool is_out = at != std::string::npos;
      dims.push_back(is_out ? y_dims[static_cast<int>(at)] : c.shape()[static_cast<int>(q.x.find(q.kernel[i]))]);
      (is_out ? out : in).push_back(static_cast<int64_t>(i));
      if (dims.back() == free_dim)
        fail(Code::shape_mismatch, "axis \"", q.kernel[i], "\" of the kernel should be known, got an input ",
             c.shape());
    }
    Id y = ops::none;
    if (quantization) {
      y = quantized(c, q, Shape(dims), y_dims);
    } else {
      const Id w = c.host.weight({"kernel", Shape(dims), weights.kernel_initializer_over(in, out),
                                  weights.kernel_regularizer, weights.kernel_constraint, true, bool(lora)});
      const Id b = bias_axes ? bias(c, q, y_dims) : ops::none;
      y = einsum_product(c.e, q.x, q.kernel, q.y, c.x(), lora_kernel(Shape(dims)).added(c, w));
      if (b != ops::none) y = ops::add(c.e, y, b);
    }
    y = activation(c.e, y);
    c.penalize(weights.activity_regularizer, y);
    return {{y}};
  }

 private:
  [[noreturn]] static void refuse_letter(const char *key, char letter, const char *why) {
    refuse_attribute(key, "the letter '", letter, "' is ", why);
  }

  // Assigns letters to the axes of "...".
  Equation at_rank(const Call &c) const {
    Equation q = parsed(equation);
    const auto rank = static_cast<size_t>(c.shape().rank());
    const bool any = has(q.x, '.');
    const size_t letters = q.x.size() - (any ? 1 : 0);
    if (any ? rank < letters : rank != letters) c.need_rank(0, static_cast<int>(letters));
    q.elided = rank - letters;
    std::string names;
    for (char l = 'A'; names.size() < q.elided; l = l == 'Z' ? 'a' : static_cast<char>(l + 1))
      if (!has(q.x + q.kernel + q.y, l)) names += l;
    for (std::string *part : {&q.x, &q.y})
      if (const size_t at = part->find('.'); at != std::string::npos) part->replace(at, 1, names);
    return q;
  }

  Shape output(const Call &c, const Equation &q) const {
    const Shape x = c.shape();
    std::vector<int64_t> dims{x[0]};
    for (const auto &d : output_shape) dims.push_back(d.value_or(free_dim));
    for (size_t i = q.left ? 1 : 0; i < q.elided; ++i) {
      if (q.left)
        dims.insert(dims.begin() + static_cast<int64_t>(i), x[static_cast<int>(i)]);
      else
        dims.push_back(x[x.rank() - static_cast<int>(q.elided - i)]);
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t at = q.x.find(q.y[i]);
      if (at == std::string::npos) continue;
      const int64_t given = x[static_cast<int>(at)];
      if (dims[i] != free_dim && given != free_dim && dims[i] != given)
        fail(Code::shape_mismatch, "input and output shapes do not match at the shared axis '", q.y[i], "': ", given,
             " and ", dims[i]);
      if (dims[i] == free_dim) dims[i] = given;
    }
    return Shape(dims);
  }

  LoraKernel lora_kernel(const Shape &kernel) const {
    return {lora, "lora_kernel", kernel, weights.kernel_regularizer};
  }
  Id quantized(Call &c, const Equation &q, const Shape &kernel, const Shape &y_dims) const {
    KernelProduct p;
    p.kernel = kernel;
    p.einsum = true;
    p.rows = 1;
    std::vector<int64_t> scale;
    for (char l : q.y) {
      const size_t at = q.kernel.find(l);
      scale.push_back(at == std::string::npos ? 1 : kernel[static_cast<int>(at)]);
    }
    p.scale = Shape(scale);
    for (size_t i = 0; i < q.kernel.size(); ++i)
      if (!has(q.y, q.kernel[i])) p.rows = checked_mul(p.rows, kernel[static_cast<int>(i)]);
    for (size_t i = 0; i < q.x.size(); ++i)
      if (!has(q.y, q.x[i])) p.summed.push_back(static_cast<int>(i));
    p.product = [&](Id x, Id w, bool whole) {
      return einsum_product(c.e, q.x, q.kernel, q.y, x, w, whole ? whole_product : matrix_product);
    };
    p.to_output = [&](Id scales) {
      std::string kept, ordered;
      for (char l : q.x)
        if (has(q.y, l)) kept += l;
      for (char l : q.y)
        if (has(q.x, l)) ordered += l;
      Id v = scales;
      for (size_t i = p.summed.size(); i-- > 0;) v = ops::squeeze(c.e, v, p.summed[i]);
      v = einsum_alone(c.e, kept, ordered, v);
      for (size_t i = 0; i < q.y.size(); ++i)
        if (!has(q.x, q.y[i])) v = ops::expand_dims(c.e, v, static_cast<int>(i));
      return v;
    };
    p.bias = [&] { return bias_axes ? bias(c, q, y_dims) : ops::none; };
    if (lora)
      p.more = [&] {
        return lora_kernel(kernel).apart(c, [&](Id a) { return einsum_product(c.e, q.x, q.kernel, q.y, c.x(), a); });
      };
    return quantized_product(c, *quantization, c.x(), p);
  }

  Id bias(Call &c, const Equation &q, const Shape &y) const {
    size_t first = q.y.size();
    for (char l : *bias_axes) first = std::min(first, q.y.find(l));
    std::vector<int64_t> dims;
    for (size_t i = first; i < q.y.size(); ++i) dims.push_back(has(*bias_axes, q.y[i]) ? y[static_cast<int>(i)] : 1);
    for (int64_t d : dims)
      if (d == free_dim) fail(Code::shape_mismatch, "\"bias_axes\": an axis with a bias should be known, got ", y);
    return c.weight("bias", Shape(dims), weights.bias_initializer, weights.bias_regularizer, weights.bias_constraint);
  }
};

}  // namespace

DL4_KINDS(einsum, Einsum, MatMul, EinsumDense)

}  // namespace dl4::kinds
