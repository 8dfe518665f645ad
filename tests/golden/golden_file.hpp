// The files of goldens: cases and their tensors, and how one value agrees with another.
#pragma once

#include <dl4/dl4.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace golden {

using Json = nlohmann::json;

struct Array {
  int32_t dtype = DL4_FLOAT32;
  std::vector<int64_t> shape;
  std::vector<char> bytes;

  int64_t elements() const;
  double at(int64_t i) const;
  std::vector<double> values() const;
  // Rows [from, to) of the first axis.
  Array rows(int64_t from, int64_t to) const;
  bool operator==(const Array &) const = default;
};

Array floats(std::vector<int64_t> shape, const std::vector<float> &values);
Array ids(int64_t n);  // 0, 1, ..., n - 1 as int32

using Arrays = std::map<std::string, Array>;

struct Case {
  std::string family, name;
  Json fields;
  Arrays tensors;  // by "<role>/<name>"

  std::string full_name() const { return family + "/" + name; }
  bool has(const std::string &key) const { return fields.contains(key); }
  // The tensors of a role by what follows "<role>/".
  Arrays role(const std::string &role) const;
};

// Every case of every file, in order. A file that cannot be read ends the program: no golden is skipped.
const std::vector<Case> &all_cases();

// "" if `got` agrees with `expected` by the case's tolerance; else where it does not and by how much.
std::string difference(const Array &expected, const Array &got, double rtol, double atol);

}  // namespace golden
