// Sequences and Optionals: lists of values that exist only while reading.
#include <algorithm>

#include "base/error.hpp"
#include "io/onnx/read/nodes.hpp"

namespace dl4::io::onnx {
namespace {

const Values &list_of(const Op &op, size_t i) {
  const Value &v = op.any(i);
  if (!v.list) op.refuse("expected a sequence as input ", i, ", got ", v.absent ? "no value" : "a tensor");
  return *v.list;
}

int64_t integer_of(const Op &op, size_t i) {
  const auto t = op.constant(i);
  if (!t || t->elements() != 1) op.refuse("its input ", i, " is computed by the model; it must be a constant number");
  return ints_of(*t)[0];
}

// An index into a list of that size; omitted: its end.
size_t place(const Op &op, size_t i, int64_t size, bool behind) {
  const int64_t at = op.has(i) ? integer_of(op, i) : behind ? size : size - 1;
  const int64_t from_begin = at < 0 ? at + size : at;
  if (at < -size || from_begin > size - (behind ? 0 : 1) || from_begin < 0)
    fail(Code::corrupt_file, "names place ", at, " of a sequence of ", size);
  return static_cast<size_t>(from_begin);
}

void construct(const Op &op) {
  Values list;
  for (size_t i = 0; i < op.inputs(); ++i) list.push_back(op.in(i));
  op.give_value(0, sequence(op, std::move(list)));
}

void empty(const Op &op) { op.give_value(0, sequence(op, {})); }

void insert(const Op &op) {
  Values list = list_of(op, 0);
  const size_t at = place(op, 2, static_cast<int64_t>(list.size()), true);
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), op.in(1));
  op.give_value(0, sequence(op, std::move(list)));
}

void erase(const Op &op) {
  Values list = list_of(op, 0);
  const size_t at = place(op, 1, static_cast<int64_t>(list.size()), false);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  op.give_value(0, sequence(op, std::move(list)));
}

void at(const Op &op) {
  const Values &list = list_of(op, 0);
  if (!op.has(1)) fail(Code::corrupt_file, "has no input 1");
  op.give_value(0, list[place(op, 1, static_cast<int64_t>(list.size()), false)]);
}

void length(const Op &op) { op.give_value(0, number(static_cast<int64_t>(list_of(op, 0).size()))); }

void split_to_sequence(const Op &op) {
  const Nodes nodes{op};
  const Value &v = op.in(0);
  const int64_t axis = op.axis(v.rank());
  const Dim whole = v.dims[static_cast<size_t>(axis)];
  if (!whole.known()) op.refuse("of a free axis is not supported; export it with that size");
  Ints sizes;
  const bool squeezed = !op.has(1) && !op.flag("keepdims");
  const auto given = op.has(1) ? op.elements(1) : std::nullopt;
  if (op.has(1) && !given) op.refuse("its input 1 is computed by the model; it must be constant");
  if (given && op.in(1).rank() > 0) {
    for (const Dim &d : *given) {
      if (!d.known()) op.refuse("into a part of a free size is not supported");
      sizes.push_back(d.factor);
    }
  } else {
    const int64_t each = given ? (*given)[0].factor : 1;
    if (each < 1 || (given && !(*given)[0].known())) fail(Code::corrupt_file, "splits into parts of ", each);
    op.take(checked_mul(whole.factor / each + 1, static_cast<int64_t>(sizeof(Value) + 64)));
    for (int64_t left = whole.factor; left > 0; left -= each) sizes.push_back(std::min(each, left));
  }
  if (sizes.empty()) return op.give_value(0, sequence(op, {}));
  Values list = computed(op, "Split", {v, numbers(sizes)}, {{"axis", axis}}, sizes.size());
  if (squeezed)
    for (Value &one : list) one = nodes.of("Squeeze", {one, numbers({axis})});
  op.give_value(0, sequence(op, std::move(list)));
}

void concat_of_sequence(const Op &op) {
  const Nodes nodes{op};
  Values list = list_of(op, 0);
  if (list.empty()) op.refuse("of an empty sequence is not supported");
  const bool fresh = op.flag("new_axis");
  const int64_t axis = op.axis(list[0].rank() + (fresh ? 1 : 0));
  if (fresh)
    for (Value &v : list) v = nodes.unsqueeze(v, axis);
  op.give_value(0, nodes.of("Concat", list, {{"axis", axis}}));
}

// Runs once per element of the first sequence; tensors are the same each time.
void map(const Op &op) {
  const File &body = body_of(op, "body");
  const size_t count = list_of(op, 0).size();
  if (body.outputs.size() < op.node.out.size())
    fail(Code::corrupt_file, "has ", op.node.out.size(), " outputs and a body of ", body.outputs.size());
  std::vector<Values> out(op.node.out.size());
  for (size_t n = 0; n < count; ++n) {
    Values in;
    for (size_t i = 0; i < op.inputs(); ++i) {
      const Value &v = op.any(i);
      if (v.list && v.list->size() != count)
        fail(Code::corrupt_file, "goes over sequences of ", count, " and ", v.list->size());
      in.push_back(v.list ? (*v.list)[n] : v);
    }
    const Values of_one = inlined(op, body, in);
    for (size_t i = 0; i < out.size(); ++i) out[i].push_back(of_one[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) op.give_value(i, sequence(op, std::move(out[i])));
}

void optional(const Op &op) {
  Value v;
  v.absent = true;
  op.give_value(0, op.has(0) ? op.any(0) : v);
}

void has_element(const Op &op) { op.give_value(0, number(op.has(0) && !op.any(0).absent ? 1 : 0, Type::boolean)); }

void get_element(const Op &op) {
  if (op.any(0).absent) fail(Code::corrupt_file, "reads an Optional without a value");
  op.give_value(0, op.any(0));
}

}  // namespace

constexpr Row sequence_table[] = {
    {"SequenceConstruct", construct, "inputs+ > output_sequence"},
    {"SequenceEmpty", empty, " > output; dtype:int"},
    {"SequenceInsert", insert, "input_sequence tensor position? > output_sequence"},
    {"SequenceErase", erase, "input_sequence position? > output_sequence"},
    {"SequenceAt", at, "input_sequence position > tensor"},
    {"SequenceLength", length, "input_sequence > length"},
    {"SplitToSequence", split_to_sequence, "input split? > output_sequence; axis=0 keepdims=1|0"},
    {"ConcatFromSequence", concat_of_sequence, "input_sequence > concat_result; axis:int! new_axis=0|1"},
    {"SequenceMap", map, "input_sequence additional_inputs* > out_sequence+; body:graph!", slow},
    {"Optional", optional, "input? > output; type:type_proto"},
    {"OptionalHasElement", has_element, "input@-17 input?@18 > output"},
    {"OptionalGetElement", get_element, "input > output"},
};
const std::span<const Row> sequence_rows = sequence_table;

}  // namespace dl4::io::onnx
