// Old forms of ops, read as their current ones.
// Experimental ops of ONNX, written by converters from CoreML before opset 7; ONNX Runtime still supports them.

#include "base/take.hpp"
#include "io/onnx/read/math.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {
namespace {

// The current node in place of an old one.
class Today {
 public:
  explicit Today(const Op &op) : op_(op), node_(op.node) {}

  Today &without(std::initializer_list<std::string_view> attributes) {
    for (std::string_view name : attributes)
      std::erase_if(node_.attributes, [&](const Attribute &a) { return a.name == name; });
    return *this;
  }
  Today &with(Attribute a) {
    without({a.name});
    node_.attributes.push_back(std::move(a));
    return *this;
  }
  // Replaces input i by a value, keeping the existing ones.
  Today &input(size_t i, Value v) {
    names_[i] = op_.r.free_name("input");
    op_.r.set(names_[i], std::move(v));
    if (node_.in.size() <= i) node_.in.resize(i + 1);
    node_.in[i] = names_[i];
    return *this;
  }
  void read() const { op_.row->read(Op(op_.r, node_, op_.row)); }

 private:
  const Op &op_;
  NodeProto node_;
  std::array<std::string, 4> names_;
};

// Input i with axes of size 1 appended.
Value with_axes(const Op &op, size_t i, int count) {
  Ints axes;
  for (int k = 0; k < count; ++k) axes.push_back(op.in(i).rank() + k);
  return Nodes{op}.of("Unsqueeze", {op.in(i), numbers(axes)});
}

// The second input's axes match the first's from "axis" on, or its last ones; without "broadcast" all.
void pairwise(const Op &op) {
  const Value &a = op.in(0), &b = op.in(1);
  Today today(op);
  today.without({"broadcast", "axis", "consumed_inputs"});
  if (!op.flag("broadcast")) {
    if (a.rank() != b.rank())
      fail(Code::corrupt_file, "without \"broadcast\": expected two values of one shape, got ", a.rank(), " and ",
           b.rank(), " axes");
  } else if (b.rank() > a.rank()) {
    fail(Code::corrupt_file, "broadcasts a second input of ", b.rank(), " axes to a first of ", a.rank());
  } else if (op.says("axis") && b.rank() > 0) {
    const int64_t axis = op.axis(a.rank()), behind = a.rank() - axis - b.rank();
    if (behind < 0)
      fail(Code::corrupt_file, "broadcasts ", b.rank(), " axes from axis ", axis, " of ", a.rank(), " on");
    if (behind > 0) today.input(1, with_axes(op, 1, static_cast<int>(behind)));
  }
  today.read();
}

// The slope is one number, or one per channel.
void prelu(const Op &op) {
  Today today(op);
  if (op.in(1).rank() == 1 && op.in(0).rank() > 2 && !(op.in(1).dims[0] == Dim{}))
    today.input(1, with_axes(op, 1, op.in(0).rank() - 2));
  today.read();
}

// "is_test" 0, the default, means training.
void batch_normalization(const Op &op) {
  Today(op).without({"is_test"}).with(AttributeRef{"training_mode", !op.flag("is_test")}).read();
}

// A flag instead of an input.
void dropout(const Op &op) {
  const bool trains = !op.flag("is_test");
  float_only(op, 0);
  Today today(op);
  today.without({"ratio", "is_test", "consumed_inputs"}).input(1, Nodes{op}.real(op.real("ratio")));
  today.input(2, number(trains, Type::boolean)).read();
}

void reshape(const Op &op) {
  const auto target = op.integers("shape");
  if (!target) fail(Code::corrupt_file, "has no \"shape\"");
  Today(op).without({"shape", "consumed_inputs"}).input(1, numbers(*target)).read();
}

void pad(const Op &op) {
  const auto pads = op.integers("paddings");
  if (!pads) fail(Code::corrupt_file, "has no \"paddings\"");
  Today(op).without({"paddings"}).with(AttributeRef{"pads", *pads}).read();
}

// The type by name.
void cast(const Op &op) {
  const std::string to = op.string("to");
  constexpr std::pair<std::string_view, Type> types[] = {
      {"FLOAT", Type::float32},   {"UINT8", Type::uint8},    {"INT8", Type::int8},     {"UINT16", Type::uint16},
      {"INT16", Type::int16},     {"INT32", Type::int32},    {"INT64", Type::int64},   {"BOOL", Type::boolean},
      {"FLOAT16", Type::float16}, {"DOUBLE", Type::float64}, {"UINT32", Type::uint32}, {"UINT64", Type::uint64},
  };
  for (const auto &[name, type] : types)
    if (to == name) return Today(op).with(AttributeRef{"to", static_cast<int64_t>(type)}).read();
  op.refuse("to \"", to, "\" is not supported");
}

// Repeats along one axis.
void tile(const Op &op) {
  const double times = op.number(1, 1), axis = op.number(2, 0);
  Ints repeats(op.in(0).dims.size(), 1);
  repeats[static_cast<size_t>(op.axis_of(static_cast<int64_t>(axis), op.in(0).rank()))] = static_cast<int64_t>(times);
  Today(op).input(1, numbers(repeats)).read();
}

void top_k(const Op &op) { Today(op).without({"k"}).input(1, numbers({op.integer("k")})).read(); }

void upsample(const Op &op) {
  Today(op)
      .without({"height_scale", "width_scale"})
      .with(AttributeRef{"scales", std::vector<double>{1, 1, op.real("height_scale"), op.real("width_scale")}})
      .read();
}

struct Old {
  int64_t before;  // opset below which they apply
  std::string_view ops;
  Handler read;
};

constexpr Old forms[] = {
    {2, "Pad", pad},
    {5, "Reshape", reshape},
    {6, "Cast", cast},
    {6, "Tile", tile},
    {7, "Add And Div Equal Greater Less Mul Or Pow Sub Xor", pairwise},
    {7, "BatchNormalization", batch_normalization},
    {7, "Dropout", dropout},
    {7, "PRelu", prelu},
    {7, "Upsample", upsample},
    {10, "TopK", top_k},
};

}  // namespace

Handler old_reader_of(std::string_view op, int64_t opset) {
  for (const Old &old : forms)
    for (std::string_view list = old.ops; opset < old.before && !list.empty();)
      if (take(list, ' ') == op) return old.read;
  return nullptr;
}

namespace {

// An image times a number, plus a number per channel.
void image_scaler(const Op &op) {
  Value &v = op.in(0);
  if (v.rank() != 4) fail(Code::corrupt_file, "expects an image of four axes, got ", v.rank());
  const Perm perm = channels_last(4);
  Node y = by_number(op, "BroadcastMultiply", op.as(v, perm), op.real("scale"));
  if (const Attribute *bias = op.node.find("bias")) {
    const int64_t n = known(op, v.dims[1], "channels");
    if (static_cast<int64_t>(bias->floats.size()) != n)
      fail(Code::corrupt_file, "has \"bias\" of ", bias->floats.size(), " numbers for ", n, " channels");
    y = plus(op, y, op.constant_node(tensor_of(bias->floats, {n})));
  }
  op.give(0, y, v.dims, perm);
}

// alpha * f(beta * x)
void scaled(const Op &op, const char *function) {
  each(op, [&](Node x) {
    const Node inside = by_number(op, "BroadcastMultiply", x, op.real("beta"));
    return by_number(op, "BroadcastMultiply", op.layer("Activation", activation(function), {inside}), op.real("alpha"));
  });
}

void affine(const Op &op) {
  each(op, [&](Node x) {
    return by_number(op, "BroadcastAdd", by_number(op, "BroadcastMultiply", x, op.real("alpha")), op.real("beta"));
  });
}

// "border": left, top, right, bottom; "scale": height and width instead of right and bottom.
void crop(const Op &op) {
  Value &v = op.in(0);
  const Ints border = op.integers("border").value_or(Ints{}), size = op.integers("scale").value_or(Ints{});
  if (v.rank() != 4 || border.size() != 4 || (!size.empty() && size.size() != 2))
    fail(Code::corrupt_file, "expects an image of four axes, a \"border\" of four numbers and a \"scale\" of two");
  const Perm perm = channels_last(4);
  Node x = op.as(v, perm);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t n = known(op, v.dims[i + 2], "an axis"), from = border[1 - i], rest = border[3 - i];
    const int64_t left = size.empty() ? n - from - rest : size[i];
    if (from < 0 || rest < 0 || left < 1 || from > n || left > n - from)
      fail(Code::corrupt_file, "cuts ", left, " places from place ", from, " on out of ", n);
    x = op.cut(x, static_cast<int>(i) + 1, from, left);
  }
  op.give(0, x, v.dims, perm);
}

}  // namespace

constexpr Row experimental_table[] = {
    {"ImageScaler", image_scaler, "input~ > output; bias:floats scale=1.0"},
    {"Affine", affine, "X~ > Y; alpha=1.0 beta=0.0"},
    {"ParametricSoftplus", [](const Op &op) { scaled(op, "softplus"); }, "X~ > Y; alpha:float! beta:float!"},
    {"ScaledTanh", [](const Op &op) { scaled(op, "tanh"); }, "input~ > output; alpha:float! beta:float!"},
    {"Crop", crop, "input~ > output; border:ints! scale:ints"},
};
const std::span<const Row> experimental_rows = experimental_table;

}  // namespace dl4::io::onnx
