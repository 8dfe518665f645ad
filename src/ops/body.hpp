// A Program that is an op's attribute: its bits, its shapes, and the writer of one that reads the Program around it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/emit.hpp"
#include "ops/op.hpp"

namespace dl4::ops {

// Equal bits: the same computation.
std::string bits_of(const Program &p);
// The Programs that an op runs.
std::vector<const Program *> bodies(const Op &op);
// Does a step of it say that it is volatile?
bool some_volatile(const Program &p);
// Indented lines: those of a Program within another.
std::string indented(const std::string &lines);
// What all its values are, for these inputs. Refuses what does not fit.
PerValue<Operand> infer_body(const Program &p, Operands inputs);

class BodyWriter {
 public:
  explicit BodyWriter(Emit &around) : body(program_, around), around_(around) {}
  BodyWriter(const BodyWriter &) = delete;
  BodyWriter &operator=(const BodyWriter &) = delete;

  // A value of the Program around it.
  Id constant(Id outside);
  // An input that is not one of these values.
  Id own(const std::string &name, const Operand &what);

  struct Written {
    std::shared_ptr<const Program> body;
    std::vector<Id> outside;  // by input behind its own
  };
  Written written(const std::vector<Id> &outputs);

 private:
  Program program_;

 public:
  Emit body;

 private:
  Emit &around_;
  std::map<Id, Id> constants_;  // by value outside
  std::vector<Id> outside_, own_, seen_;
};

}  // namespace dl4::ops
