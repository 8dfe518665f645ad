#include "io/onnx/schema.hpp"

#include <charconv>

#include "base/take.hpp"

namespace dl4::io::onnx {
namespace {

int64_t opset_of(std::string_view digits, int64_t otherwise) {
  std::from_chars(digits.data(), digits.data() + digits.size(), otherwise);
  return otherwise;
}

// Removes "@7-9" from the end; returns whether the opset is in the range.
bool in_range(std::string_view &name, int64_t opset) {
  const size_t at = name.find('@');
  if (at == name.npos) return true;
  const std::string_view range = name.substr(at + 1);
  name = name.substr(0, at);
  const size_t dash = range.find('-');
  const int64_t since = opset_of(range.substr(0, dash), 0);
  return opset >= since && (dash == range.npos || opset <= opset_of(range.substr(dash + 1), INT64_MAX));
}

constexpr std::string_view attribute_types[] = {"",      "float",  "int",  "string", "tensor",
                                                "graph", "floats", "ints", "strings"};

// Of a protobuf attribute; other types have number -1, none 0.
std::string type_named(int64_t type) {
  if (type > 0 && type < static_cast<int64_t>(std::size(attribute_types))) return std::string(attribute_types[type]);
  return type == 0 ? "none" : "other";
}
bool is_of(int64_t type, std::string_view wanted) {
  const auto it = std::find(std::begin(attribute_types), std::end(attribute_types), wanted);
  return type == (it == std::end(attribute_types) ? -1 : it - std::begin(attribute_types));
}

std::string_view type_of_word(std::string_view word) {
  if (word.find_first_not_of("-0123456789") == word.npos) return "int";
  return word.find_first_not_of("-+.e0123456789") == word.npos ? "float" : "string";
}

}  // namespace

std::string_view AttributeSchema::otherwise() const {
  std::string_view list = values, word = take(list, '|');
  return take(word, '@');
}

std::string_view Schema::outputs() const {
  const size_t at = text_.find("> ") + 2;
  return text_.substr(at, text_.find(';') - at);
}

std::string_view Schema::attributes() const {
  const size_t at = text_.find("; ");
  return at == text_.npos ? std::string_view() : text_.substr(at + 2);
}

std::vector<Schema::Slot> Schema::slots(std::string_view list) const {
  std::vector<Slot> all;
  while (!list.empty()) {
    std::string_view word = take(list, ' ');
    if (word.empty()) continue;
    Slot s;
    s.name = take(word, '='), s.type_of = word;
    if (!in_range(s.name, opset_)) continue;
    if (const char last = s.name.back(); last == '?' || last == '*' || last == '+') {
      s.count = last;
      s.name.remove_suffix(1);
    }
    s.of_floats = s.name.ends_with('~');
    s.name.remove_suffix(s.of_floats);
    all.push_back(s);
  }
  return all;
}

std::optional<AttributeSchema> Schema::attribute(std::string_view name) const {
  for (std::string_view list = attributes(); !list.empty();) {
    const std::string_view word = take(list, ' ');
    const size_t end = std::min(word.find_first_of(":=!"), word.size());
    std::string_view its = word.substr(0, end), rest = word.substr(end);
    if (!in_range(its, opset_) || its != name) continue;
    AttributeSchema a;
    a.name = its;
    if (rest.starts_with(':')) {
      a.required = rest.ends_with('!');
      a.type = rest.substr(1, rest.size() - 1 - a.required);
      return a;
    }
    a.required = rest.starts_with('!');
    a.values = rest.substr(1);
    a.closed = a.values.find('|') != rest.npos;
    a.type = type_of_word(a.otherwise());
    return a;
  }
  return {};
}

bool Schema::of_floats(size_t input) const {
  const std::vector<Slot> in = slots(inputs());
  return !in.empty() && in[std::min(input, in.size() - 1)].of_floats;
}

size_t Schema::type_of(size_t output) const {
  const std::vector<Slot> out = slots(outputs());
  if (out.empty()) return SIZE_MAX;
  const Slot &s = out[std::min(output, out.size() - 1)];
  const std::vector<Slot> in = slots(inputs());
  const auto it = std::find_if(in.begin(), in.end(), [&](const Slot &i) { return i.name == s.type_of; });
  return s.type_of.empty() || it == in.end() ? SIZE_MAX : static_cast<size_t>(it - in.begin());
}

void Schema::check(const char *what, const std::vector<std::string_view> &names, const std::vector<Slot> &slots) {
  const bool many = !slots.empty() && (slots.back().count == '*' || slots.back().count == '+');
  if (!many && names.size() > slots.size())
    fail(Code::corrupt_file, "has ", names.size(), ' ', what, "s, expected at most ", slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool missing = i >= names.size() || (names[i].empty() && slots[i].count == 0);
    if (missing && (slots[i].count == 0 || slots[i].count == '+'))
      fail(Code::corrupt_file, "has no ", what, ' ', i, ", \"", std::string(slots[i].name), '"');
  }
}

void Schema::check(const Attribute &a) const {
  const std::string name(a.name);
  const auto refuse = [&](const std::string &why) { throw Error(Code::unsupported, why).with("attribute", name); };
  const auto known = attribute(a.name);
  if (!known) refuse(text("has the attribute \"", name, "\", which it does not have in opset ", opset_));
  if (!is_of(a.type, known->type))
    refuse(
        text("the attribute \"", name, "\" is of type ", type_named(a.type), ", expected ", std::string(known->type)));
  if (!known->closed) return;
  const std::string said = a.type == 2 ? std::to_string(a.i) : std::string(a.s);
  std::string words;
  for (std::string_view list = known->values; !list.empty();) {
    std::string_view word = take(list, '|');
    if (!in_range(word, opset_)) continue;
    if (word == said) return;
    words += text(words.empty() ? "" : list.empty() ? " or " : ", ", std::string(word));
  }
  refuse(text('"', name, "\" of ", a.type == 2 ? said : text('"', said, '"'), " is not supported; expected ", words));
}

void Schema::check(const NodeProto &node) const {
  check("input", node.in, slots(inputs()));
  check("output", node.out, slots(outputs()));
  for (const Attribute &a : node.attributes) {
    check(a);
    if (node.find(a.name) != &a) fail(Code::corrupt_file, "has the attribute \"", std::string(a.name), "\" twice");
  }
  for (std::string_view list = attributes(); !list.empty();) {
    std::string_view word = take(list, ' ');
    std::string_view name = word.substr(0, std::min(word.find_first_of(":=!"), word.size()));
    if (!in_range(name, opset_) || node.find(name)) continue;
    if (attribute(name)->required) fail(Code::corrupt_file, "has no \"", std::string(name), '"');
  }
}

}  // namespace dl4::io::onnx
