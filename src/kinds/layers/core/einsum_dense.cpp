// EinsumDense: a product with a kernel by an equation.
#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "kinds/layers/core/einsum.hpp"
#include "kinds/layers/core/lora.hpp"
#include "kinds/layers/core/weights.hpp"

namespace dl4::kinds {
namespace {

using ops::Id;

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
    f("equation", equation)
        .required(R"("abc,cd->abd")")
        .doc(
            "the axes of x, of the kernel and of y as letters: \"abc,cd->abd\"; \"...\" stands for any first or last "
            "axes");
    f("output_shape", output_shape)
        .required("[3, 4]")
        .at_least(1)
        .at_most(max_dim)
        .doc("y's axes without the batch and without those of \"...\"; null: as in x");
    f("activation", activation).doc("applied to the sum");
    f("bias_axes", bias_axes).doc("the letters of y along which there is a bias; null: none");
    weights.fields(f);
    f.drop("use_bias");
    lora.fields(f);
    f("quantization", quantization).doc(quantization_doc);
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
DL4_KINDS(einsum_dense, EinsumDense)
}  // namespace dl4::kinds
