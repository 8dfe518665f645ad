// reshape, reshape_like, expand_dims, squeeze: the same elements in another shape; view: a range of a flat block in
// another shape. Without copies. sizes, zeros_of, and their formulas.

#include "ops/attributes.hpp"
#include "ops/sizes.hpp"
#include "ops/wants.hpp"

namespace dl4::ops {
namespace {

// Shared by all: a view of source 0, and the gradient as a view.
template <class T, Literal op_name, class A>
struct Reshaping : OpOf<T, op_name, A> {
  void gradient(Gradient &g) const override { g.set(0, reshape_like(g.e, g.diff_dst(), g.src(0))); }
  bool is_view() const override { return true; }
  bool takes_strings() const override { return true; }
  bool reads(int src) const override { return src == 0; }
};

// The product of the known dims; `free` counts the others.
int64_t product(std::span<const int64_t> dims, int &free) {
  int64_t n = 1;
  free = 0;
  for (int64_t d : dims) {
    if (d == free_dim)
      ++free;
    else
      n = checked_mul(n, d);
  }
  return n;
}

struct ReshapeOp final : Reshaping<ReshapeOp, "reshape", attributes::Reshape> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (keep < 0 || keep > x.rank()) fail(Code::invalid_argument, "reshape can't keep ", keep, " axes of ", x);
    auto refuse = [&] { fail(Code::shape_mismatch, "can't reshape ", x, " to ", x.first(keep).joined(tail)); };
    int free, open;
    int64_t rest = product(x.dims().subspan(static_cast<size_t>(keep)), free), made = product(tail.dims(), open);
    if (open > 1) fail(Code::invalid_argument, "reshape: more than one -1 in ", tail);
    Shape full = tail;
    if (free == 0 && open == 0 && made != rest) refuse();
    if (free == 0 && open == 1) {
      if (made == 0 ? rest != 0 : rest % made != 0) refuse();
      for (int i = 0; i < full.rank(); ++i)
        if (full[i] == free_dim) full = full.with(i, made ? rest / made : 0);
    }
    // A single free dim must be an integer.
    if (free == 1 && open == 0 && (rest == 0 ? made != 0 : made % rest != 0)) refuse();
    return {{src[0].dtype, x.first(keep).joined(full)}};
  }
};

struct ReshapeLikeOp final : Reshaping<ReshapeLikeOp, "reshape_like", attributes::ReshapeLike> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape, &like = src[1].shape;
    if (x.known() && like.known() && x.elements() != like.elements())
      fail(Code::shape_mismatch, "can't reshape ", x, " to ", like);
    return {{src[0].dtype, like}};
  }
};

struct ExpandDimsOp final : Reshaping<ExpandDimsOp, "expand_dims", attributes::ExpandDims> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[0].shape.inserted(axis, 1)}}; }
};

struct SqueezeOp final : Reshaping<SqueezeOp, "squeeze", attributes::Squeeze> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x[axis] != 1 && x[axis] != free_dim) fail(Code::shape_mismatch, "squeeze: axis ", axis, " of ", x, " is not 1");
    return {{src[0].dtype, x.without(axis)}};
  }
};

// Zeros in the shape of source 1, with source 0 at element `offset`.
struct PlaceLikeOp final : OpOf<PlaceLikeOp, "place_like", attributes::PlaceLike> {
  std::vector<Operand> infer(Operands src) const override { return {{src[0].dtype, src[1].shape}}; }
  void gradient(Gradient &g) const override { g.set(0, view(g.e, g.diff_dst(), offset, g.e.shape(g.src(0)))); }
  bool reads(int src) const override { return src == 0; }
};

struct ViewOp final : OpOf<ViewOp, "view", attributes::View> {
  std::vector<Operand> infer(Operands src) const override {
    const Shape &x = src[0].shape;
    if (x.rank() != 1) fail(Code::shape_mismatch, "view expects a flat block, got ", x);
    int64_t end = checked_add(offset, shape.elements());
    if (offset < 0 || (x[0] != free_dim && end > x[0]))
      fail(Code::shape_mismatch, "view: ", shape, " from element ", offset, " is outside ", x);
    return {{src[0].dtype, shape}};
  }
  void gradient(Gradient &g) const override {
    g.set(0, g.e.value(make<PlaceLikeOp>(offset), {g.diff_dst(), g.src(0)}));
  }
  bool is_view() const override { return true; }
  int64_t view_offset() const override { return checked_mul(offset, element_bytes); }
};

}  // namespace

Id reshape(Emit &e, Id x, int keep, const Shape &tail) { return e.value(make<ReshapeOp>(keep, tail), {x}); }

Id reshape_like(Emit &e, Id x, Id like) {
  if (e.shape(x) == e.shape(like) && e.shape(x).known()) return x;
  return e.value(make<ReshapeLikeOp>(), {x, like});
}

Id expand_dims(Emit &e, Id x, int axis) { return e.value(make<ExpandDimsOp>(axis), {x}); }
Id squeeze(Emit &e, Id x, int axis) { return e.value(make<SqueezeOp>(axis), {x}); }

Id view(Emit &e, Id x, int64_t offset, const Shape &shape) {
  if (!shape.known()) fail(Code::invalid_argument, "view: the shape ", shape, " must be known");
  return e.value(make<ViewOp>(offset, shape, size_of(e.dtype(x))), {x});
}

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
