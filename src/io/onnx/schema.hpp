// The schema of an operator's nodes, as the text in its row:
//
//     X W B? > Y=X; auto_pad=NOTSET|SAME_UPPER group=1 pads:ints axis@13:int! spatial@-8=1|
//
// Inputs and outputs: "~" floats alone, "?" optional, "*" any number, "+" one or more; "=X": has the type of input X.
// Attributes: "=1" the default, ":ints" the type, "!" required, "a|b" all accepted values, the default first, "1|" only
// that one. After a name or a word, "@13" means from that opset on, "@-8" up to it, "@7-9" both.
#pragma once

#include "io/onnx/file.hpp"

namespace dl4::io::onnx {

struct AttributeSchema {
  std::string_view name;
  std::string_view type;    // "int"; from the default or the first word
  std::string_view values;  // "a|b@13", "1"; "": any, without a default
  bool required = false, closed = false;

  std::string_view otherwise() const;  // the default, which is the first value
};

class Schema {
 public:
  Schema(std::string_view text, int64_t opset) : text_(text), opset_(opset) {}

  // Refuses other inputs, outputs, attributes, types and words, by name.
  void check(const NodeProto &node) const;
  // The attribute in this opset; none: no such attribute.
  std::optional<AttributeSchema> attribute(std::string_view name) const;
  // Whether the input may be of floats alone.
  bool of_floats(size_t input) const;
  // The input whose type output i has; SIZE_MAX: none.
  size_t type_of(size_t output) const;

 private:
  struct Slot {
    std::string_view name, type_of;
    char count = 0;  // or ?, *, +
    bool of_floats = false;
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

}  // namespace dl4::io::onnx
