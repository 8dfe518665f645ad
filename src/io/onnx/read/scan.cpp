// ONNX's Scan.
#include <algorithm>

#include "base/error.hpp"
#include "io/onnx/read/loops.hpp"

namespace dl4::io::onnx {
namespace {

// An attribute with `count` numbers.
Ints each(const Op &op, const char *name, size_t count) {
  const Ints list = op.integers(name).value_or(Ints(count, 0));
  if (list.size() != count) fail(Code::corrupt_file, "has ", list.size(), " \"", name, "\" for ", count);
  return list;
}

// Indices of nonzero entries.
Ints set_among(const Ints &list) {
  Ints numbers;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i] != 0) numbers.push_back(static_cast<int64_t>(i));
  return numbers;
}

// Moves the axis to the front.
Perm first(int rank, int64_t axis) {
  Perm perm = plain(rank);
  perm.erase(perm.begin() + axis);
  perm.insert(perm.begin(), static_cast<int>(axis));
  return perm;
}

struct Parts {
  const File &body;
  size_t states, sequences, stacked;
  Ints axes, backwards, out_axes, reversed;
};

Parts parts(const Op &op) {
  const File &body = body_of(op, "body");
  const int64_t sequences = op.integer("num_scan_inputs");
  const size_t inputs = op.inputs(), outputs = body.outputs.size();
  if (sequences < 1 || static_cast<size_t>(sequences) > inputs || body.inputs.size() != inputs)
    fail(Code::corrupt_file, "has ", inputs, " inputs and a body of ", body.inputs.size());
  const size_t states = inputs - static_cast<size_t>(sequences);
  if (outputs < states || op.node.out.size() > outputs)
    fail(Code::corrupt_file, "has ", op.node.out.size(), " outputs and a body of ", outputs);
  Parts p{body, states, inputs - states, outputs - states, {}, {}, {}, {}};
  p.axes = each(op, "scan_input_axes", p.sequences);
  p.out_axes = each(op, "scan_output_axes", p.stacked);
  p.backwards = each(op, "scan_input_directions", p.sequences);
  p.reversed = each(op, "scan_output_directions", p.stacked);
  return p;
}

void scan_all(const Op &op) {
  const Parts p = parts(op);
  Inside inside(op, p.body);
  std::vector<Node> in;
  Dim time{};
  for (size_t i = 0; i < p.states + p.sequences; ++i) {
    Value &v = op.in(i);
    std::vector<Dim> dims = v.dims;
    Perm perm = plain(v.rank());
    if (i >= p.states) {
      if (dims.empty()) fail(Code::corrupt_file, "has a sequence without axes");
      const int64_t axis = op.axis_of(p.axes[i - p.states], v.rank());
      const auto at = dims.begin() + axis;
      if (i > p.states && at->known() && time.known() && *at != time)
        fail(Code::corrupt_file, "goes over sequences of ", time.factor, " and ", at->factor, " steps");
      if (i == p.states || at->known()) time = *at;
      perm = first(v.rank(), axis);
      dims.erase(at);
    }
    inside.input(i, v, dims);
    in.push_back(op.as(v, perm));
  }
  inside.reader.nodes();
  Values values;
  for (const Port &port : p.body.outputs) {
    Value &v = inside.reader.value(port.name);
    inside.output(v);
    values.push_back(v);
  }
  const auto y = inside.scan(in, p.states, p.sequences, set_among(p.backwards), set_among(p.reversed));
  for (size_t i = 0; i < op.node.out.size(); ++i) {
    std::vector<Dim> dims = i < p.states ? op.in(i).dims : values[i].dims;
    Perm perm = plain(static_cast<int>(dims.size()));
    if (i >= p.states) {
      const int rank = static_cast<int>(dims.size()) + 1;
      const int64_t axis = op.axis_of(p.out_axes[i - p.states], rank);
      dims.insert(dims.begin() + axis, time);
      perm = first(rank, axis);
    }
    give_like(op, i, y[i], values[i], std::move(dims), std::move(perm));
  }
}

// Before opset 9 inputs have a batch axis, and each sample is a separate Scan.
void batched(const Op &op) {
  if (op.has(0)) op.refuse("with lengths of the sequences is not supported");
  const size_t inputs = op.inputs() - 1;
  if (inputs == 0 || op.in(1).rank() == 0 || !op.in(1).dims[0].known())
    op.refuse("of a free batch is not supported before opset 9");
  const int64_t batch = op.in(1).dims[0].factor;
  if (batch < 1) op.refuse("of an empty batch is not supported");
  Attributes said = op.node.attributes;
  for (Attribute &a : said)
    if (a.name == "directions") a.name = "scan_input_directions";
  std::vector<Values> out(op.node.out.size());
  for (int64_t b = 0; b < batch; ++b) {
    Values in;
    for (size_t i = 1; i <= inputs; ++i) in.push_back(Nodes{op}.at(op.in(i), 0, b));
    const Values of_one = computed(op, "Scan", in, said, out.size());
    for (size_t i = 0; i < out.size(); ++i) out[i].push_back(of_one[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) op.give_value(i, stacked(op, out[i], {}));
}

void scan(const Op &op) { op.opset() < 9 ? batched(op) : scan_all(op); }

}  // namespace

constexpr Row scan_table[] = {{"Scan", scan,
                               "sequence_lens?@-8 initial_state_and_scan_inputs+ > final_state_and_scan_outputs+; "
                               "body:graph! directions@-8:ints "
                               "num_scan_inputs:int! scan_input_axes@9:ints scan_input_directions@9:ints "
                               "scan_output_axes@9:ints scan_output_directions@9:ints",
                               slow}};
const std::span<const Row> scan_rows = scan_table;

}  // namespace dl4::io::onnx
