// ONNX's products: matrices, einsum, attention.

#include "io/onnx/read/math.hpp"

namespace dl4::io::onnx {

Node product(const Op &op, size_t a, Node x, size_t b, Node y, std::vector<Dim> &dims,
             const std::function<Node(Node, Node)> &of_matrices) {
  Value front_a = op.in(a), front_b = op.in(b);
  const std::vector<Dim> of_a = front_a.dims, of_b = front_b.dims;
  const bool row = of_a.size() == 1, column = of_b.size() == 1;
  front_a.dims.resize(row ? 0 : of_a.size() - 2), front_b.dims.resize(column ? 0 : of_b.size() - 2);
  dims = op.broadcast({&front_a, &front_b});
  Ints gone;
  const auto rank = static_cast<int64_t>(dims.size()) + 2;
  if (row)
    gone.push_back(rank - 2), x = op.layer("ExpandDims", {{"axis", 0}}, {x});
  else
    dims.push_back(of_a[of_a.size() - 2]);
  if (column)
    gone.push_back(rank - 1), y = op.layer("ExpandDims", {{"axis", 1}}, {y});
  else
    dims.push_back(of_b.back());
  const Node z = of_matrices(x, y);
  return gone.empty() ? z : op.layer("Squeeze", {{"axis", gone}}, {z});
}

namespace {

// A value, or its stored form, with the last two axes swapped.
Node matrix(const Op &op, size_t i, bool &swapped) {
  Value &v = op.in(i);
  Perm turned = plain(v.rank());
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  swapped = !v.forms.empty() && v.forms[0].perm == turned;
  return op.as(v, swapped ? turned : plain(v.rank()));
}

// The next node, if it adds a constant of `units` numbers along the last axis and is the value's only reader.
const NodeProto *bias_behind(const Op &op, int64_t units, Tensor &bias) {
  const NodeProto *next = op.wants(0) ? op.r.only_reader(op.node.out[0]) : nullptr;
  if (!next || next->op != "Add" || !next->domain.empty() || next->in.size() != 2 || next->out.size() != 1)
    return nullptr;
  const std::string_view other = next->in[next->in[0] == op.node.out[0] ? 1 : 0];
  if (other == op.node.out[0]) return nullptr;
  const auto t = op.r.constant_named(other);
  if (!t || t->dtype != DType::f32 || t->elements() != units || t->shape.rank() < 1 || t->shape.last() != units ||
      t->shape.rank() > op.in(0).rank())
    return nullptr;
  bias = reshaped(*t, {units});
  return next;
}

// x times a constant: a Dense layer.
void dense(const Op &op, Node x, std::vector<Dim> dims, const Tensor &kernel, std::optional<Tensor> bias) {
  const int64_t units = kernel.shape[1];
  x = last_of(op, x, dims, kernel.shape[0]);
  Tensor found;
  const NodeProto *next = bias ? nullptr : bias_behind(op, units, found);
  if (next) bias = found;
  Weights weights{{"kernel", kernel}};
  if (bias) weights.emplace_back("bias", *bias);
  const Node y = op.weighted("Dense", {{"units", units}, {"use_bias", bias.has_value()}}, {x}, weights);
  dims.back() = {units, {}};
  if (!next) return op.give(0, y, dims);
  op.r.skip(*next);
  Op(op.r, *next).give(0, y, dims);
}

void matmul(const Op &op) {
  Value &a = op.in(0), &b = op.in(1);
  if (a.rank() < 1 || b.rank() < 1) fail(Code::corrupt_file, "multiplies a value without axes");
  const auto kernel = op.constant(1);
  if (kernel && kernel->shape.rank() == 2 && a.rank() >= 2 && kernel->elements() > 0 && !op.constant(0))
    return dense(op, op.x(0), a.dims, *kernel, {});
  bool swap_a = false, swap_b = false;
  const Node x = a.rank() == 1 ? op.x(0) : matrix(op, 0, swap_a), y = b.rank() == 1 ? op.x(1) : matrix(op, 1, swap_b);
  std::vector<Dim> dims;
  const Node z = product(op, 0, x, 1, y, dims, [&](Node m, Node n) {
    return op.layer("MatMul", {{"transpose_a", swap_a}, {"transpose_b", swap_b}}, {m, n});
  });
  op.give(0, z, dims);
}

Tensor scaled(const Tensor &t, double by) {
  if (by == 1) return t;
  Tensor to = make_tensor(DType::f32, t.shape);
  for (int64_t i = 0; i < t.elements(); ++i) to.as<float>()[i] = static_cast<float>(by) * t.as<float>()[i];
  return to;
}

void gemm(const Op &op) {
  Value &a = op.in(0), &b = op.in(1);
  if (a.rank() != 2 || b.rank() != 2)
    fail(Code::corrupt_file, "multiplies values of ", a.rank(), " and ", b.rank(), " axes");
  const bool transpose_a = op.flag("transA"), transpose_b = op.flag("transB");
  const double alpha = op.real("alpha"), beta = op.real("beta");
  std::vector<Dim> dims{a.dims[transpose_a ? 1 : 0], b.dims[transpose_b ? 0 : 1]};
  const auto kernel = op.constant(1);
  const auto c = op.has(2) ? op.constant(2) : std::nullopt;
  const int64_t units = dims[1].known() ? dims[1].factor : -1;
  if (kernel && kernel->elements() > 0 && !op.constant(0) && (!op.has(2) || (c && c->elements() == units))) {
    const Tensor k = scaled(transpose_b ? transposed(*kernel, {1, 0}) : *kernel, alpha);
    std::optional<Tensor> bias;
    if (c) bias = scaled(reshaped(*c, {units}), beta);
    if (!c || c->shape.rank() < 2 || c->shape[0] == 1)
      return dense(op, op.as(a, transpose_a ? Perm{1, 0} : Perm{0, 1}), dims, k, bias);
  }
  Node y = op.layer("MatMul", {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}, {op.x(0), op.x(1)});
  if (alpha != 1) y = by_number(op, "BroadcastMultiply", y, alpha);
  if (op.has(2)) {
    Node z = op.x(2);
    if (beta != 1) z = by_number(op, "BroadcastMultiply", z, beta);
    y = plus(op, y, z);
  }
  op.give(0, y, dims);
}

// ---- Einsum --------------------------------------------------------------------------------------------------------

bool holds(const std::string &s, char c) { return s.find(c) != s.npos; }

// The diagonal of two axes with one letter, as the last axis; false: none.
bool diagonal(const Op &op, std::string &letters, Node &x, std::vector<Dim> &dims) {
  size_t i = 0, j = letters.npos;
  for (; i < letters.size() && j == letters.npos; ++i) j = letters.find(letters[i], i + 1);
  if (j == letters.npos) return false;
  const Dim n = dims[--i];
  if (!(n == dims[j])) fail(Code::corrupt_file, "has a diagonal of two sizes");
  known(op, n, "a diagonal");
  Ints perm;
  for (size_t k = 0; k < dims.size(); ++k)
    if (k != i && k != j) perm.push_back(static_cast<int64_t>(k));
  perm.insert(perm.end(), {static_cast<int64_t>(i), static_cast<int64_t>(j)});
  const Node places = op.places(n),
             same = op.layer("Equal", {}, {op.layer("ExpandDims", {{"axis", 1}}, {places}), places});
  x = op.layer("Where", {{"x2", 0}}, {same, op.layer("Transpose", {{"perm", perm}}, {x})});
  x = op.layer("Sum", {{"axis", Ints{-1}}}, {x});
  letters.push_back(letters[i]), letters.erase(j, 1), letters.erase(i, 1);
  dims.push_back(n), dims.erase(dims.begin() + perm.back()), dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

void einsum(const Op &op) {
  std::string equation = op.string("equation"), unused, dots, all, said, out;
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> parts{""};
  for (char c : equation.substr(0, arrow))
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  if (parts.size() != op.inputs()) fail(Code::corrupt_file, "has an equation for ", parts.size(), " inputs");
  for (char c = 'a'; c <= 'z'; ++c)
    if (!holds(equation, c)) unused += c;
  // Replaces "..." by unused letters.
  const auto spelled = [&](const std::string &term, std::optional<int> rank) {
    const size_t at = term.find("...");
    if (at == term.npos) return term;
    if (rank) {
      const int n = *rank - (static_cast<int>(term.size()) - 3);
      if (n < 0) fail(Code::corrupt_file, "has an equation of more axes than its input");
      if (!dots.empty() && static_cast<int>(dots.size()) != n)
        op.refuse("with \"...\" of different numbers of axes is not supported");
      dots = unused.substr(0, static_cast<size_t>(n));
    }
    return term.substr(0, at) + dots + term.substr(at + 3);
  };
  std::vector<Node> in;
  std::map<char, Dim> sizes;
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<Dim> dims = op.in(i).dims;
    std::string letters = spelled(parts[i], op.in(i).rank());
    if (letters.size() != dims.size()) fail(Code::corrupt_file, "has an equation of other axes than its inputs");
    for (size_t k = 0; k < dims.size(); ++k)
      if (Dim &d = sizes[letters[k]]; d == Dim{}) d = dims[k];
    all += letters;
    in.push_back(op.x(i));
    while (diagonal(op, letters, in.back(), dims))
      ;
    said += (i > 0 ? "," : "") + letters;
  }
  if (arrow != equation.npos) {
    out = spelled(equation.substr(arrow + 2), {});
  } else {
    out = dots;
    for (char c = 'A'; c <= 'z'; ++c)
      if (std::count(all.begin(), all.end(), c) == 1 && !holds(dots, c)) out += c;
  }
  std::vector<Dim> dims;
  for (char c : out) {
    if (!holds(all, c) || std::count(out.begin(), out.end(), c) > 1)
      fail(Code::corrupt_file, "has an equation whose result is none of its axes");
    dims.push_back(sizes[c]);
  }
  op.give(0, op.layer("Einsum", {{"subscripts", said + "->" + out}}, in), dims);
}

// ---- Det -----------------------------------------------------------------------------------------------------------

// Expansion along the first remaining row, over the remaining columns.
Node determinant(const Op &op, const std::vector<std::vector<Node>> &cells, size_t row, unsigned columns,
                 std::map<unsigned, Node> &known) {
  if (const auto it = known.find(columns); it != known.end()) return it->second;
  Node sum = graph::no_node;
  bool negative = false;
  for (size_t j = 0; j < cells.size(); ++j) {
    if (!(columns >> j & 1)) continue;
    const unsigned left = columns & ~(1u << j);
    Node term = cells[row][j];
    if (left) term = times(op, term, determinant(op, cells, row + 1, left, known));
    sum = sum == graph::no_node ? term : negative ? minus(op, sum, term) : plus(op, sum, term);
    negative = !negative;
  }
  return known[columns] = sum;
}

void det(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() < 2) fail(Code::corrupt_file, "expects a matrix");
  const int64_t n = known(op, v.dims.back(), "a matrix");
  if (!(v.dims[v.dims.size() - 2] == v.dims.back())) fail(Code::corrupt_file, "expects a square matrix");
  if (n < 1 || n > 4) op.refuse("of a matrix of ", n, " rows is not supported, only of up to 4");
  const Node x = op.x(0);
  const int rank = v.rank();
  std::vector<std::vector<Node>> cells(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const Node row = op.cut(x, rank - 2, i, 1);
    for (int64_t j = 0; j < n; ++j) cells[static_cast<size_t>(i)].push_back(op.cut(row, rank - 1, j, 1));
  }
  std::map<unsigned, Node> known;
  const Node y = determinant(op, cells, 0, (1u << n) - 1, known);
  op.give(0, op.layer("Squeeze", {{"axis", Ints{rank - 2, rank - 1}}}, {y}), {v.dims.begin(), v.dims.end() - 2});
}

}  // namespace

constexpr Row product_table[] = {
    {"MatMul", matmul, "A~ B~ > Y", slow},
    {"Gemm", gemm, "A~ B~ C~@-10 C~?@11 > Y; alpha=1.0 beta=1.0 broadcast@-6=0|1 transA=0|1 transB=0|1", slow},
    {"Einsum", einsum, "Inputs~+ > Output; equation:string!", slow},
    {"Det", det, "X~ > Y", slow}};
const std::span<const Row> product_rows = product_table;

}  // namespace dl4::io::onnx
