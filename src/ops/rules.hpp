// Update rules of optimizers, as attributes of update ops. Backends implement them.
#pragma once

#include "base/error.hpp"

namespace dl4::ops {

// Each rule has a name, its number of slots per weight, whether it reads t or the number, and whether a zero gradient
// changes nothing. Parameters are double: 1 - beta is rounded to float, beta is not.
struct Sgd {
  static constexpr const char *name = "sgd";
  static constexpr bool counts = false, has_number = false;
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
  int slots() const { return momentum != 0; }  // velocity
  bool rests() const { return momentum == 0; }
  void fields(auto &f) const { f("momentum", momentum), f("weight_decay", weight_decay), f("nesterov", nesterov); }
};

struct Adam {
  static constexpr const char *name = "adam";
  static constexpr bool counts = true, has_number = false;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, weight_decay = 0;
  bool amsgrad = false;
  int slots() const { return amsgrad ? 3 : 2; }  // m, v, maximum of v
  bool rests() const { return false; }
  void fields(auto &f) const {
    f("beta_1", beta_1), f("beta_2", beta_2), f("epsilon", epsilon), f("weight_decay", weight_decay);
    f("amsgrad", amsgrad);
  }
};

struct RmsProp {
  static constexpr const char *name = "rmsprop";
  static constexpr bool counts = false, has_number = false;
  double rho = 0.9, momentum = 0, epsilon = 1e-7, weight_decay = 0;
  bool centered = false;
  int slots() const { return 1 + (momentum > 0) + centered; }  // v, then momentum, then mean gradient
  bool rests() const { return false; }
  void fields(auto &f) const {
    f("rho", rho), f("momentum", momentum), f("epsilon", epsilon), f("weight_decay", weight_decay);
    f("centered", centered);
  }
};

struct Adagrad {
  static constexpr const char *name = "adagrad";
  static constexpr bool counts = false, has_number = false;
  double epsilon = 1e-7, weight_decay = 0;
  int slots() const { return 1; }  // sum of squares
  bool rests() const { return epsilon > 0; }
  void fields(auto &f) const { f("epsilon", epsilon), f("weight_decay", weight_decay); }
};

struct Adadelta {
  static constexpr const char *name = "adadelta";
  static constexpr bool counts = false, has_number = false;
  double rho = 0.95, epsilon = 1e-7, weight_decay = 0;
  int slots() const { return 2; }  // mean squares of gradients and steps
  bool rests() const { return false; }
  void fields(auto &f) const { f("rho", rho), f("epsilon", epsilon), f("weight_decay", weight_decay); }
};

struct Adamax {
  static constexpr const char *name = "adamax";
  static constexpr bool counts = true, has_number = false;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, weight_decay = 0;
  int slots() const { return 2; }  // m, norm
  bool rests() const { return false; }
  void fields(auto &f) const {
    f("beta_1", beta_1), f("beta_2", beta_2), f("epsilon", epsilon), f("weight_decay", weight_decay);
  }
};

struct Nadam {
  static constexpr const char *name = "nadam";
  static constexpr bool counts = true, has_number = true;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, weight_decay = 0;
  int slots() const { return 2; }  // m, v
  bool rests() const { return false; }
  void fields(auto &f) const {
    f("beta_1", beta_1), f("beta_2", beta_2), f("epsilon", epsilon), f("weight_decay", weight_decay);
  }
};

struct Lion {
  static constexpr const char *name = "lion";
  static constexpr bool counts = false, has_number = false;
  double beta_1 = 0.9, beta_2 = 0.99, weight_decay = 0;
  int slots() const { return 1; }  // m
  bool rests() const { return false; }
  void fields(auto &f) const { f("beta_1", beta_1), f("beta_2", beta_2), f("weight_decay", weight_decay); }
};

struct Ftrl {
  static constexpr const char *name = "ftrl";
  static constexpr bool counts = false, has_number = false;
  double power = -0.5, l1 = 0, l2 = 0, l2_shrinkage = 0, beta = 0, weight_decay = 0;
  int slots() const { return 2; }  // sum of squares, linear
  bool rests() const { return false; }
  void fields(auto &f) const {
    f("power", power), f("l1", l1), f("l2", l2), f("l2_shrinkage", l2_shrinkage), f("beta", beta);
    f("weight_decay", weight_decay);
  }
};

// Adam's bias-corrected step instead of w, which Lamb scales per weight. Does not read w.
struct Lamb {
  static constexpr const char *name = "lamb";
  static constexpr bool counts = true, has_number = false;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, weight_decay = 0;
  int slots() const { return 2; }  // m, v
  bool rests() const { return false; }
  void fields(auto &f) const { f("beta_1", beta_1), f("beta_2", beta_2), f("epsilon", epsilon); }
};

// w is an average of g: w += (g - w) * lr.
struct Average {
  static constexpr const char *name = "average";
  static constexpr bool counts = false, has_number = false;
  double weight_decay = 0;
  int slots() const { return 0; }
  bool rests() const { return false; }
  void fields(auto &) const {}
};

#define DL4_UPDATES(X) \
  X(Sgd) X(Adam) X(RmsProp) X(Adagrad) X(Adadelta) X(Adamax) X(Nadam) X(Lion) X(Ftrl) X(Lamb) X(Average)

// A range of a flat block, seen as rows, whose gradient comes as some of the rows (ops.hpp: RowSums).
struct RowPart {
  int64_t begin, end;  // elements of the block; may end within a row
  int64_t rows, width;
  void fields(auto &f) const { f("begin", begin), f("end", end), f("rows", rows), f("width", width); }
};
inline std::string to_string(const RowPart &p) { return text(p.begin, '+', p.rows, 'x', p.width); }

}  // namespace dl4::ops
