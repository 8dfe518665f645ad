// What the row of an operator says of its nodes, as text:
//
//     X W B? > Y=X; auto_pad=NOTSET|SAME_UPPER group=1 pads:ints axis@13:int! spatial@-8=1|
//
// Inputs and outputs: "?" may be left out, "*" any number, "+" one or more; "=X": of the type that input X has.
// Attributes: "=1" the default, ":ints" the type, "!" must be there, "a|b" all values that are read, the default first,
// "1|" that one alone. Behind a name or a word, "@13" is from that opset on, "@-8" up to it, "@7-9" both.
#pragma once

#include <string_view>
#include <vector>

#include "io/onnx/file.hpp"

namespace dl4::io::onnx {

struct AttributeSchema {
  std::string_view name;
  std::string_view type;    // "int"; of a default or of the first word
  std::string_view values;  // "a|b@13", "1"; "": any, without a default
  bool required = false, closed = false;

  std::string_view otherwise() const;  // the default, the first of the values
};

class Schema {
 public:
  Schema(std::string_view text, int64_t opset) : text_(text), opset_(opset) {}

  // Refuses other inputs, outputs, attributes, types and words, by name.
  void check(const NodeProto &node) const;
  // The attribute in this opset; none: it has none of that name.
  std::optional<AttributeSchema> attribute(std::string_view name) const;
  // The input whose type output i has; SIZE_MAX: none.
  size_t type_of(size_t output) const;

 private:
  struct Slot {
    std::string_view name, type_of;
    char count = 0;  // or ?, *, +
  };
  std::vector<Slot> slots(std::string_view list) const;
  std::string_view inputs() const { return text_.substr(0, text_.find(" > ") + 1); }
  std::string_view outputs() const;
  std::string_view attributes() const;
  void check(const Attribute &a) const;
  static void check(const char *what, const std::vector<std::string_view> &names, const std::vector<Slot> &slots);

  std::string_view text_;
  int64_t opset_;
};

// Cuts a word off the front, and what stands between it and the next.
std::string_view cut_word(std::string_view &list, char between);

}  // namespace dl4::io::onnx
