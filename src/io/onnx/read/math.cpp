// ONNX's elementwise ops.
#include <cmath>

#include "io/onnx/read/math.hpp"
#include "kinds/layers/elementwise/functions.hpp"

namespace dl4::io::onnx {

Json activation(const char *name, Json config) {
  return {{"activation", {{"class_name", name}, {"config", std::move(config)}}}};
}

Node by_number(const Op &op, const char *kind, Node x, double number) { return op.layer(kind, {{"x2", number}}, {x}); }

Node last_of(const Op &op, Node x, std::vector<Dim> dims, int64_t size) {
  if (op.shape(x).last() != free_dim) return x;
  dims.back() = {size, {}};
  return op.layer("ReshapeLike", {}, {x, op.zeros(dims)});
}

Node with_dims(const Op &op, Node x, const std::vector<Dim> &from, const std::vector<Dim> &to) {
  Ints target = sizes_of(to);
  const auto free = std::count(target.begin(), target.end(), free_dim);
  if (!to.empty() && !from.empty() && to[0] == from[0] && free <= (to[0].known() ? 1 : 2)) {
    target.erase(target.begin());
    return op.layer("Reshape", {{"target_shape", target}}, {x});
  }
  if (free > 1) return op.layer("ReshapeLike", {}, {x, op.zeros(to)});
  if (static_cast<int>(to.size()) >= max_rank) op.refuse("gives a value of ", to.size(), " axes");
  return op.reshape(x, target);
}

std::vector<Dim> elements_at(const std::vector<Dim> &elements, const std::vector<Dim> &dims,
                             const std::vector<Ints> &places) {
  std::vector<size_t> found{0};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    std::vector<size_t> next;
    for (size_t at : found)
      for (int64_t place : places[axis])
        next.push_back(at * static_cast<size_t>(dims[axis].factor) + static_cast<size_t>(place));
    found = std::move(next);
  }
  std::vector<Dim> some;
  for (size_t at : found) some.push_back(elements[at]);
  return some;
}

void unary(const Op &op, const char *kind, Json config, bool not_negative) {
  each(
      op, [&](Node x) { return op.layer(kind, config, {x}); }, not_negative);
}

void activate(const Op &op, const char *name, Json config, bool not_negative) {
  unary(op, "Activation", activation(name, std::move(config)), not_negative);
}

namespace {

// ---- several operands ---------------------------------------------------------------------------------------------

bool is_number(const Op &op, size_t i) {
  if (op.in(i).filled) return true;
  const auto t = op.constant(i);
  if (!t || t->elements() != 1 || t->dtype == DType::string) return false;
  const double v = op.number(i, 0);
  return std::isfinite(v) && std::abs(v) < 9e15;
}

// The axis order for several inputs: that of a permuted one, if the others can be permuted alike.
Perm common(const Op &op, const std::vector<size_t> &inputs) {
  int rank = 0;
  for (size_t i : inputs) rank = std::max(rank, op.in(i).rank());
  Perm best = plain(rank);
  for (size_t i : inputs) {
    const Value &v = op.in(i);
    if (v.forms.empty()) continue;
    if (v.rank() != rank) return plain(rank);
    if (v.forms[0].perm != plain(rank)) best = v.forms[0].perm;
  }
  return best;
}

Node in_form(const Op &op, size_t i, const Perm &perm) {
  Value &v = op.in(i);
  if (perm == plain(static_cast<int>(perm.size()))) return op.as(v, plain(v.rank()));
  if (v.rank() == static_cast<int>(perm.size())) return op.as(v, perm);
  const auto t = op.constant(i);             // of lower rank
  if (!t) return op.as(v, plain(v.rank()));  // refuses
  Ints dims(perm.size() - static_cast<size_t>(v.rank()), 1);
  dims.insert(dims.end(), t->shape.begin(), t->shape.end());
  return op.constant_node(transposed(reshaped(*t, Shape(dims)), perm));
}

// Promotes integers of two types to int64.
void unify(const Op &op, Node &a, Node &b) {
  const DType x = op.r.graph().dtype(a), y = op.r.graph().dtype(b);
  if (x == y || x == DType::f32 || y == DType::f32 || x == DType::boolean || y == DType::boolean) return;
  a = op.cast(a, DType::i64), b = op.cast(b, DType::i64);
}

// a op b as a layer, a scalar as its attribute.
Node joined(const Op &op, const char *kind, size_t i, size_t j, const Perm &perm) {
  const kinds::Function *f = kinds::function(kind);
  const bool of_bytes = f && (!f->binary || ops::supports(*f->binary, DType::u8));
  const auto side = [&](size_t k) { return of_bytes ? in_form(op, k, perm) : wide(op, in_form(op, k, perm)); };
  // The scalar must not enlarge the result.
  const auto within = [](const std::vector<Dim> &small, const std::vector<Dim> &large) {
    return std::equal(small.rbegin(), small.rend(), large.rbegin(), [](const Dim &a, const Dim &b) {
      return a == b || a == Dim{1, {}};
    });
  };
  const auto fits = [&](size_t number, size_t other) {
    return is_number(op, number) && !is_number(op, other) && op.in(number).rank() <= op.in(other).rank() &&
           (!op.in(number).filled || within(op.in(number).dims, op.in(other).dims));
  };
  if (fits(j, i)) return op.layer(kind, {{"x2", op.number(j, 0)}}, {side(i)});
  if (fits(i, j)) return op.layer(kind, {{"x1", op.number(i, 0)}}, {side(j)});
  Node a = side(i), b = side(j);
  unify(op, a, b);
  return op.layer(kind, {}, {a, b});
}

// Integers wrap in the first input's type.
void give_number(const Op &op, Node y, std::vector<Dim> dims, const Perm &perm) {
  const DType type = op.r.graph().dtype(y);
  if (type == DType::i32 || type == DType::i64 || type == DType::u8) y = wrapped(op, y, op.in(0).onnx_type());
  op.give(0, y, std::move(dims), perm);
}

}  // namespace

void pairwise(const Op &op, const char *kind) {
  const Perm perm = common(op, {0, 1});
  give_number(op, joined(op, kind, 0, 1, perm), op.broadcast({&op.in(0), &op.in(1)}), perm);
}

namespace {

// ---- sizes ---------------------------------------------------------------------------------------------------------

// Broadcasts the elements of `list` from shape `from` to another.
std::vector<Dim> spread(const std::vector<Dim> &list, const std::vector<Dim> &from, const std::vector<Dim> &to,
                        size_t n) {
  std::vector<Dim> all;
  for (size_t i = 0; i < n; ++i) {
    size_t left = i, place = 0, step = 1;
    for (size_t k = 1; k <= from.size(); ++k) {
      const auto has = static_cast<size_t>(from[from.size() - k].factor),
                 wants = static_cast<size_t>(to[to.size() - k].factor);
      if (has != 1) place += left % wants * step;
      left /= wants, step *= has;
    }
    all.push_back(list[place]);
  }
  return all;
}

// Computes integers known while reading: f(elements of each input) for each element of the broadcast shape. False if
// impossible.
template <class F>
bool on_elements(const Op &op, Type type, F f, size_t operands = 0) {
  std::vector<std::vector<Dim>> lists;
  std::vector<const Value *> values;
  for (size_t i = 0; i < (operands ? operands : op.inputs()); ++i) {
    auto list = op.elements(i);
    if (!list) return false;
    lists.push_back(std::move(*list));
    values.push_back(&op.in(i));
  }
  const std::vector<Dim> dims = op.broadcast(values);
  int64_t n = 1;
  for (const Dim &d : dims) n = checked_mul(n, d.factor);
  if (n > static_cast<int64_t>(most_listed)) return false;
  for (size_t i = 0; i < lists.size(); ++i) {
    for (size_t k = 1; k <= values[i]->dims.size(); ++k) {
      const Dim &has = values[i]->dims[values[i]->dims.size() - k];
      if (!(has == Dim{}) && !(has == dims[dims.size() - k])) return false;  // does not broadcast
    }
    lists[i] = spread(lists[i], values[i]->dims, dims, static_cast<size_t>(n));
  }
  std::vector<Dim> out;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const std::optional<Dim> d = f(lists, i);
    if (!d || (d->known() && !holds(type, d->factor))) return false;
    out.push_back(*d);
  }
  op.give_elements(0, std::move(out), dims, type);
  return true;
}

using SizeRule = std::optional<Dim> (*)(Symbols &, const Dim &, const Dim &);
bool on_sizes(const Op &op, SizeRule rule, Type type) {
  return on_elements(op, type,
                     [&](const auto &lists, size_t i) { return rule(op.symbols(), lists[0][i], lists[1][i]); });
}
bool on_sizes(const Op &op, SizeRule rule) { return on_sizes(op, rule, op.in(0).onnx_type()); }

void add(const Op &op) {
  const SizeRule rule = [](Symbols &s, const Dim &a, const Dim &b) { return std::optional(s.sum(a, b)); };
  if (!on_sizes(op, rule)) pairwise(op, "BroadcastAdd");
}
void sub(const Op &op) {
  const SizeRule rule = [](Symbols &s, const Dim &a, const Dim &b) { return std::optional(s.sum(a, b, -1)); };
  if (!on_sizes(op, rule)) pairwise(op, "BroadcastSubtract");
}
void mul(const Op &op) {
  const SizeRule rule = [](Symbols &, const Dim &a, const Dim &b) { return std::optional(a * b); };
  if (!on_sizes(op, rule)) pairwise(op, "BroadcastMultiply");
}
// Integer division, truncated: without the remainder the quotient is exact.
void whole_quotient(const Op &op) {
  const Perm perm = common(op, {0, 1});
  const Node rest = joined(op, "Fmod", 0, 1, perm);
  Node a = wide(op, in_form(op, 0, perm)), b = wide(op, in_form(op, 1, perm));
  unify(op, a, b);
  const Node whole = op.layer("BroadcastSubtract", {}, {a, rest});
  give_number(op, op.layer("FloorDivide", {}, {whole, b}), op.broadcast({&op.in(0), &op.in(1)}), perm);
}
void div(const Op &op) {
  if (on_sizes(op, [](Symbols &s, const Dim &a, const Dim &b) { return s.quotient(a, b); })) return;
  const DType type = op.in(0).dtype;
  if (type == DType::i32 || type == DType::i64 || type == DType::u8) return whole_quotient(op);
  floats_only(op);
  pairwise(op, "Divide");
}
// Integers to constant powers, by squaring.
void whole_power(const Op &op) {
  const auto e = op.constant(1);
  if (!e) op.refuse("of integers to powers that the model computes is not supported; they must be constants");
  Ints powers = e->dtype == DType::f32 ? Ints(static_cast<size_t>(e->elements())) : ints_of(*e);
  for (size_t i = 0; i < powers.size(); ++i) {
    const double p = e->dtype == DType::f32 ? static_cast<double>(e->as<float>()[i]) : static_cast<double>(powers[i]);
    if (!(p >= 0 && p < 64 && p == std::floor(p))) op.refuse("of integers to the power ", p, " is not supported");
    powers[i] = static_cast<int64_t>(p);
  }
  Node square = wide(op, op.x(0)), y = graph::no_node;
  for (int bit = 0; bit == 0 || std::any_of(powers.begin(), powers.end(), [&](int64_t p) { return p >> bit; }); ++bit) {
    if (bit > 0) square = times(op, square, square);
    Tensor has = make_tensor(DType::boolean, e->shape);
    for (size_t i = 0; i < powers.size(); ++i) has.as<uint8_t>()[i] = powers[i] >> bit & 1;
    const Node factor = op.layer("Where", {{"x2", 1}}, {op.constant_node(has), square});
    y = bit == 0 ? factor : times(op, y, factor);
  }
  give_number(op, y, op.broadcast({&op.in(0), &op.in(1)}), {});
}

void pow(const Op &op) {
  const DType base = op.in(0).dtype;
  if (base == DType::i32 || base == DType::i64 || base == DType::u8) return whole_power(op);
  float_only(op, 0);
  Value &exponent = op.in(1);
  const bool number = exponent.dtype == DType::f32 && is_number(op, 1) && exponent.rank() <= op.in(0).rank();
  if (number && op.number(1, 0) == 2) return unary(op, "Square", Json::object(), true);
  if (number && op.number(1, 0) == 3)  // two products, like ONNX Runtime
    return each(
        op, [&](Node x) { return times(op, op.layer("Square", {}, {x}), x); }, false);
  pairwise(op, "Power");
}

// Decides a comparison of sizes if it is known for all of them.
bool decided(const Op &op, SizeRule rule) {
  return on_elements(op, Type::boolean, [&](const auto &lists, size_t i) {
    const auto d = rule(op.symbols(), lists[0][i], lists[1][i]);
    return d && d->known() ? d : std::nullopt;
  });
}
}  // namespace

std::optional<Dim> free_size(const Op &op, size_t i) {
  const Value &v = op.in(i);
  if (v.asked && v.asked->what == Asked::What::number) return v.asked->size;
  if (v.dtype == DType::boolean) return {};
  const auto list = op.elements(i);
  if (!list || list->size() != 1 || (*list)[0].known()) return {};
  return (*list)[0];
}
void give_asked(const Op &op, Asked asked, DType dtype, std::vector<Dim> dims) {
  Value v;
  v.type = dtype == DType::f32 ? Type::float32 : Type::boolean;
  v.dtype = dtype;
  v.dims = std::move(dims);
  v.asked = std::move(asked);
  op.give_value(0, std::move(v));
}

namespace {

// Compares a number with a free size; which: the operand that is the number.
bool asks(const Op &op, size_t which, Asked::What what) {
  const auto size = free_size(op, 1 - which);
  if (!size || size->factor <= 0) return false;
  const auto t = op.constant(which);
  if (!t || t->elements() != 1) return false;
  const double than = op.number(which, 0);
  if (than != std::floor(than) || std::abs(than) > 1e9) return false;
  if (what == Asked::What::is_one && (than != 1 || *size != Dim{1, size->symbols})) return false;
  if (!op.symbols().is_axis(*size)) return false;
  give_asked(op, {what, *size, static_cast<int64_t>(than)}, DType::boolean, op.broadcast({&op.in(0), &op.in(1)}));
  return true;
}
void equals(const Op &op) {
  const auto one = Asked::What::is_one;
  const SizeRule rule = [](Symbols &s, const Dim &a, const Dim &b) { return std::optional(s.equal(a, b)); };
  if (decided(op, rule) || asks(op, 0, one) || asks(op, 1, one)) return;
  if (!on_sizes(op, rule, Type::boolean)) pairwise(op, "Equal");
}
void less(const Op &op) {
  const SizeRule rule = [](Symbols &s, const Dim &a, const Dim &b) { return std::optional(s.less(a, b)); };
  if (decided(op, rule) || asks(op, 0, Asked::What::is_above)) return;
  if (!on_sizes(op, rule, Type::boolean)) pairwise(op, "Less");
}
void greater(const Op &op) {
  const SizeRule rule = [](Symbols &s, const Dim &a, const Dim &b) { return std::optional(s.less(b, a)); };
  if (decided(op, rule) || asks(op, 1, Asked::What::is_above)) return;
  if (!on_sizes(op, rule, Type::boolean)) pairwise(op, "Greater");
}

using Chosen = Dim (Symbols::*)(const Dim &, const Dim &);
void fold(const Op &op, const char *kind, bool mean = false, Chosen chosen = nullptr) {
  std::vector<const Value *> all;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < op.inputs(); ++i) all.push_back(&op.in(i)), numbers.push_back(i);
  if (op.inputs() == 0) op.refuse("has no inputs");
  if (chosen && on_elements(op, op.in(0).onnx_type(), [&](const auto &lists, size_t i) {
        Dim best = lists[0][i];
        for (const auto &list : lists) best = (op.symbols().*chosen)(best, list[i]);
        return std::optional(best);
      }))
    return;
  const Perm perm = common(op, numbers);
  Node y = op.inputs() > 1 ? joined(op, kind, 0, 1, perm) : in_form(op, 0, perm);
  for (size_t i = 2; i < op.inputs(); ++i) {
    Node b = wide(op, in_form(op, i, perm));
    unify(op, y, b);
    y = op.layer(kind, {}, {y, b});
  }
  if (mean) y = by_number(op, "BroadcastMultiply", y, 1.0 / static_cast<double>(op.inputs()));
  give_number(op, y, op.broadcast(all), perm);
}

// For flags.
void logical(const Op &op, const char *kind, SizeRule rule) {
  if (!on_sizes(op, rule, Type::boolean)) pairwise(op, kind);
}
void negated(const Op &op) {
  const auto rule = [&](const auto &lists, size_t i) {
    return std::optional(op.symbols().equal(lists[0][i], Dim{0, {}}));
  };
  if (!on_elements(op, Type::boolean, rule)) unary(op, "LogicalNot");
}

// ---- selects and types --------------------------------------------------------------------------------------------

void where(const Op &op) {
  const auto chosen = [&](const auto &lists, size_t i) {
    return std::optional(op.symbols().chosen(lists[0][i], lists[1][i], lists[2][i]));
  };
  if (on_elements(op, op.in(1).onnx_type(), chosen)) return;
  const Perm perm = common(op, {0, 1, 2});
  Node x = in_form(op, 1, perm), y = in_form(op, 2, perm);
  unify(op, x, y);
  op.give(0, op.layer("Where", {}, {in_form(op, 0, perm), x, y}), op.broadcast({&op.in(0), &op.in(1), &op.in(2)}),
          perm);
}

// NaN stays NaN.
void clip(const Op &op) {
  constexpr double most = std::numeric_limits<float>::max();
  const bool attributes = op.opset() < 11;
  const auto bound = [&](size_t i, const char *name, double otherwise) {
    const double v = attributes ? op.real(name, otherwise) : op.number(i, otherwise);
    return std::isinf(v) ? std::copysign(most, v) : v;
  };
  if (!attributes &&
      ((op.has(1) && !op.constant(1)) || (op.has(2) && !op.constant(2)) || op.in(0).dtype != DType::f32)) {
    Value &v = op.in(0);
    const Perm perm = v.perm();
    Node y = wide(op, op.as(v, perm));
    if (op.has(1)) y = op.layer("BroadcastMaximum", {}, {y, wide(op, op.x(1))});
    if (op.has(2)) y = op.layer("BroadcastMinimum", {}, {y, wide(op, op.x(2))});
    return op.give(0, op.cast(y, v.dtype), v.dims, perm);
  }
  const double low = bound(1, "min", -most), high = bound(2, "max", most);
  if (low > high) return unary(op, "Clip", {{"x_min", high}, {"x_max", high}});
  if (low == 0 && high == most) return unary(op, "ReLU", Json::object(), true);
  if (low == 0 && high == 6) return activate(op, "relu6", Json::object(), true);
  unary(op, "Clip", {{"x_min", low}, {"x_max", high}}, low >= 0);
}

// A function that integers have too.
void of_numbers(const Op &op, const char *kind, bool not_negative = false) {
  Value &v = op.in(0);
  if (v.dtype == DType::f32) return unary(op, kind, Json::object(), not_negative);
  const Perm perm = v.perm();
  give_number(op, op.layer(kind, {}, {wide(op, op.as(v, perm))}), v.dims, perm);
}

void negative(const Op &op) {
  const auto less = [](const auto &lists, size_t i) { return std::optional(lists[0][i] * Dim{-1, {}}); };
  if (!on_elements(op, op.in(0).onnx_type(), less)) of_numbers(op, "Negative");
}

void as_it_is(const Op &op) { op.give_value(0, op.any(0)); }

// ---- composed functions -------------------------------------------------------------------------------------------

void prelu(const Op &op) {
  const Perm perm = common(op, {0, 1});
  const Node x = in_form(op, 0, perm), slope = in_form(op, 1, perm);
  const Node scaled = times(op, x, slope);
  op.give(0, op.layer("Where", {}, {by_number(op, "Less", x, 0), scaled, x}), op.broadcast({&op.in(0), &op.in(1)}),
          perm);
}

void mod(const Op &op) {
  const SizeRule rest = [](Symbols &s, const Dim &a, const Dim &b) { return s.rest(a, b); };
  if (op.integer("fmod")) return pairwise(op, "Fmod");
  if (!on_sizes(op, rest)) pairwise(op, "Mod");
}
void invert(const Op &op) {
  Value &v = op.in(0);
  const Perm perm = v.perm();
  give_number(op, op.layer("BitwiseNot", {}, {op.as(v, perm)}), v.dims, perm);
}
void shift(const Op &op) {
  if (op.string("direction") == "LEFT") return pairwise(op, "LeftShift");
  if (op.in(0).onnx_type() != Type::uint64) return pairwise(op, "RightShift");
  // The highest bit is no sign.
  const Node by = op.x(1),
             one = op.layer("LeftShift", {{"x1", -1}}, {op.layer("BroadcastSubtract", {{"x1", 64}}, {by})});
  const Node moved = op.layer("RightShift", {}, {op.x(0), by});
  const Node kept = op.layer("BitwiseNot", {}, {one});
  op.give(0, op.layer("BitwiseAnd", {}, {moved, kept}), op.broadcast({&op.in(0), &op.in(1)}));
}

}  // namespace

constexpr Row math_table[] = {
    {"Neg", negative, "X > Y=X; consumed_inputs@-5:ints"},
    {"Abs", [](const Op &op) { of_numbers(op, "Absolute", true); }, "X > Y=X; consumed_inputs@-5:ints"},
    {"Sign", [](const Op &op) { of_numbers(op, "Sign"); }, "input > output=input"},
    {"PRelu", prelu, "X~ slope~ > Y; consumed_inputs@-5:ints"},
    {"Add", add, "A B > C=A; axis@-6:int broadcast@-6=0|1 consumed_inputs@-5:ints"},
    {"Sub", sub, "A B > C=A; axis@-6:int broadcast@-6=0|1 consumed_inputs@-5:ints"},
    {"Mul", mul, "A B > C=A; axis@-6:int broadcast@-6=0|1 consumed_inputs@-5:ints"},
    {"Div", div, "A B > C=A; axis@-6:int broadcast@-6=0|1 consumed_inputs@-5:ints"},
    {"Pow", pow, "X Y > Z=X; axis@-6:int broadcast@-6=0|1"},
    {"Mod", mod, "A B > C=A; fmod=0|1"},
    {"BitShift", shift, "X Y > Z=X; direction!LEFT|RIGHT"},
    {"BitwiseNot", invert, "X > Y=X"},
    {"Sum", [](const Op &op) { fold(op, "BroadcastAdd"); }, "data_0+ > sum=data_0; consumed_inputs@-5:ints"},
    {"Mean", [](const Op &op) { fold(op, "BroadcastAdd", true); }, "data_0+ > mean; consumed_inputs@-5:ints"},
    {"Max", [](const Op &op) { fold(op, "BroadcastMaximum", false, &Symbols::largest); },
     "data_0+ > max=data_0; consumed_inputs@-5:ints"},
    {"Min", [](const Op &op) { fold(op, "BroadcastMinimum", false, &Symbols::smallest); },
     "data_0+ > min=data_0; consumed_inputs@-5:ints"},
    {"Equal", equals, "A B > C; axis@-6:int broadcast@-6=0|1"},
    {"Less", less, "A B > C; axis@-6:int broadcast@-6=0|1"},
    {"Greater", greater, "A B > C; axis@-6:int broadcast@-6=0|1"},
    {"And",
     [](const Op &op) {
       logical(op, "LogicalAnd", [](Symbols &, const Dim &a, const Dim &b) { return std::optional(a * b); });
     },
     "A B > C; axis@-6:int broadcast@-6=0|1"},
    {"Or",
     [](const Op &op) {
       logical(op, "LogicalOr", [](Symbols &s, const Dim &a, const Dim &b) { return std::optional(s.largest(a, b)); });
     },
     "A B > C; axis@-6:int broadcast@-6=0|1"},
    {"Xor",
     [](const Op &op) {
       logical(op, "LogicalXor", [](Symbols &s, const Dim &a, const Dim &b) {
         return std::optional(s.equal(s.equal(a, b), Dim{0, {}}));
       });
     },
     "A B > C; axis@-6:int broadcast@-6=0|1"},
    {"Not", negated, "X > Y"},
    {"Where", where, "condition X Y > output=X"},
    {"Clip", clip,
     "input min?@11 max?@11 > output=input; consumed_inputs@-5:ints max@-5:float "
     "max@6-10=3.4028235e+38 min@-5:float min@6-10=-3.4028235e+38"},
    {"Identity", as_it_is, "input > output"},
};
const std::span<const Row> math_rows = math_table;

}  // namespace dl4::io::onnx
