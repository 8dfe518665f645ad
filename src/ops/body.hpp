// A Program as an op's attribute: its bits, its shapes, and a writer whose body may read the Program around it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/emit.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// Equal bits mean equal computations.
std::string bits_of(const Program &p);
// The Programs that an op contains.
std::vector<const Program *> bodies(const Op &op);
// Whether any of its steps is volatile.
bool some_volatile(const Program &p);
// Indents the listing of a nested Program.
std::string indented(const std::string &lines);
// Kinds of all its values for these inputs. Refuses inputs that don't fit.
PerValue<Operand> infer_body(const Program &p, Operands inputs);

class BodyWriter {
 public:
  explicit BodyWriter(Emit &around) : body(program_, around), around_(around) {}
  BodyWriter(const BodyWriter &) = delete;
  BodyWriter &operator=(const BodyWriter &) = delete;

  // Makes a value of the enclosing Program available.
  Id constant(Id outside);
  // An additional input.
  Id own(const std::string &name, const Operand &what);

  struct Written {
    std::shared_ptr<const Program> body;
    std::vector<Id> outside;  // by input after its own
  };
  Written written(const std::vector<Id> &outputs);

 private:
  Program program_;

 public:
  Emit body;

 private:
  Emit &around_;
  std::map<Id, Id> constants_;  // by outside value
  std::vector<Id> outside_, own_, seen_;
};

}  // namespace dl4::ops
