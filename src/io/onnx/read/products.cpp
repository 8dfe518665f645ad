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

struct Term {
  std::string labels;
  Node node;
  std::vector<Dim> dims;
};

bool holds(const std::string &s, char c) { return s.find(c) != s.npos; }

// Replaces "..." by unused letters.
std::string spelled(const Op &op, const std::string &term, int rank, std::string &dots) {
  const size_t at = term.find("...");
  if (at == term.npos) return term;
  std::string name = dots;
  if (rank >= 0) {
    const int n = rank - (static_cast<int>(term.size()) - 3);
    if (n < 0) fail(Code::corrupt_file, "has an equation of more axes than its input");
    if (!dots.empty() && static_cast<int>(dots.size()) != n)
      op.refuse("with \"...\" of different numbers of axes is not supported");
    name.clear();
    for (int i = 0; i < n; ++i) name += static_cast<char>('0' + i);
    dots = name;
  }
  return term.substr(0, at) + name + term.substr(at + 3);
}

Term ordered(const Op &op, const Term &t, const std::string &labels) {
  Ints perm;
  Term to{labels, t.node, {}};
  for (char c : labels) {
    perm.push_back(static_cast<int64_t>(t.labels.find(c)));
    to.dims.push_back(t.dims[t.labels.find(c)]);
  }
  if (labels != t.labels) to.node = op.layer("Transpose", {{"perm", perm}}, {t.node});
  return to;
}

Term summed(const Op &op, Term t, const std::string &keep) {
  Ints axes;
  Term to{"", t.node, {}};
  for (size_t i = 0; i < t.labels.size(); ++i)
    if (holds(keep, t.labels[i]))
      to.labels += t.labels[i], to.dims.push_back(t.dims[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  if (!axes.empty()) to.node = op.layer("Sum", {{"axis", axes}}, {t.node});
  return to;
}

// Merges several axes, at the end or before it.
Node joined(const Op &op, const Term &t, size_t batch, size_t rows) {
  const size_t columns = t.labels.size() - batch - rows;
  if (rows == 1 && columns == 1) return t.node;
  std::vector<Dim> to(t.dims.begin(), t.dims.begin() + static_cast<std::ptrdiff_t>(batch));
  const auto size = [&](size_t from, size_t n) {
    Dim d;
    for (size_t i = from; i < from + n; ++i) d = d * t.dims[i];
    return d;
  };
  to.push_back(size(batch, rows)), to.push_back(size(batch + rows, columns));
  return with_dims(op, t.node, t.dims, to);
}

Term contracted(const Op &op, Term a, Term b, const std::string &rest) {
  std::string batch, left, right, sum;
  for (char c : a.labels) (holds(b.labels, c) ? (holds(rest, c) ? batch : sum) : left) += c;
  for (char c : b.labels)
    if (!holds(a.labels, c)) right += c;
  if (batch.empty() && sum.size() == 1 && left.size() == 1 && right.size() > 1) {  // rows come from the left
    std::swap(a, b);
    std::swap(left, right);
  }
  a = ordered(op, a, batch + left + sum), b = ordered(op, b, batch + sum + right);
  Term to{batch + left + right, graph::no_node, {}};
  to.dims.assign(a.dims.begin(), a.dims.begin() + static_cast<std::ptrdiff_t>(batch.size() + left.size()));
  to.dims.insert(to.dims.end(), b.dims.end() - static_cast<std::ptrdiff_t>(right.size()), b.dims.end());
  if (batch.empty() && sum.size() == 1 && right.size() == 1 && left.size() > 1) {
    to.node = op.layer("MatMul", {}, {a.node, b.node});
    return to;
  }
  Node y = op.layer("MatMul", {}, {joined(op, a, batch.size(), left.size()), joined(op, b, batch.size(), sum.size())});
  if (left.size() != 1 || right.size() != 1) {
    const auto across = [](auto from, auto end) {
      Dim d;
      for (; from != end; ++from) d = d * *from;
      return d;
    };
    const auto rows = to.dims.begin() + static_cast<std::ptrdiff_t>(batch.size()),
               columns = rows + static_cast<std::ptrdiff_t>(left.size());
    std::vector<Dim> flat(to.dims.begin(), rows);
    flat.push_back(across(rows, columns)), flat.push_back(across(columns, to.dims.end()));
    y = with_dims(op, y, flat, to.dims);
  }
  to.node = y;
  return to;
}

// The diagonal of two axes with one letter; false: none.
bool diagonal(const Op &op, Term &t) {
  const auto twice = std::find_if(t.labels.begin(), t.labels.end(),
                                  [&](char c) { return std::count(t.labels.begin(), t.labels.end(), c) > 1; });
  if (twice == t.labels.end()) return false;
  const char letter = *twice;
  std::string rest;
  Ints perm, last;
  std::vector<Dim> dims;
  for (size_t i = 0; i < t.labels.size(); ++i)
    if (t.labels[i] == letter && last.size() < 2)
      last.push_back(static_cast<int64_t>(i));
    else
      rest += t.labels[i], dims.push_back(t.dims[i]), perm.push_back(static_cast<int64_t>(i));
  const Dim n = t.dims[static_cast<size_t>(last[0])];
  const int64_t size = known(op, n, "a diagonal");
  if (!(n == t.dims[static_cast<size_t>(last[1])])) fail(Code::corrupt_file, "has a diagonal of two sizes");
  perm.insert(perm.end(), last.begin(), last.end());
  const Node x = op.layer("Transpose", {{"perm", perm}}, {t.node});
  Ints target, places;
  for (size_t i = 1; i < dims.size(); ++i) target.push_back(known_or_free(dims[i]));
  if (std::count(target.begin(), target.end(), free_dim) > 1) op.refuse("with so many free axes is not supported");
  target.push_back(checked_mul(size, size));
  const Node flat = dims.empty() ? op.reshape(x, target) : op.layer("Reshape", {{"target_shape", target}}, {x});
  op.take(checked_mul(size, place_bytes));
  for (int64_t i = 0; i < size; ++i) places.push_back(i * (size + 1));
  t.node = op.layer("Take", {{"indices", places}, {"axis", static_cast<int64_t>(dims.size())}}, {flat});
  t.labels = rest + letter;
  dims.push_back(n);
  t.dims = dims;
  return true;
}

void einsum(const Op &op) {
  std::string equation = op.string("equation"), dots;
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  std::vector<std::string> parts{""};
  for (char c : equation.substr(0, arrow))
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  if (parts.size() != op.inputs() || parts.empty())
    fail(Code::corrupt_file, "has an equation for ", parts.size(), " inputs");
  std::vector<Term> terms;
  std::string all;
  for (size_t i = 0; i < parts.size(); ++i) {
    Value &v = op.in(i);
    terms.push_back({spelled(op, parts[i], v.rank(), dots), op.x(i), v.dims});
    if (static_cast<int>(terms.back().labels.size()) != v.rank())
      fail(Code::corrupt_file, "has an equation of other axes than its inputs");
    all += terms.back().labels;
    while (diagonal(op, terms.back()))
      ;
  }
  std::string out;
  if (arrow != equation.npos)
    out = spelled(op, equation.substr(arrow + 2), -1, dots);
  else {
    out = all;
    std::sort(out.begin(), out.end());
    std::string once;
    for (char c : out)
      if (std::count(out.begin(), out.end(), c) == 1 || holds(dots, c)) once += holds(once, c) ? "" : std::string(1, c);
    out = once;
  }
  for (char c : out)
    if (!holds(all, c) || std::count(out.begin(), out.end(), c) > 1)
      fail(Code::corrupt_file, "has an equation whose result is none of its axes");
  Term done = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string later = out;
    for (size_t k = i + 1; k < terms.size(); ++k) later += terms[k].labels;
    done = summed(op, done, later + terms[i].labels);
    done = contracted(op, done, summed(op, terms[i], later + done.labels), later);
  }
  done = ordered(op, summed(op, done, out), out);
  op.give(0, done.node, done.dims);
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
