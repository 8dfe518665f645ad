// The optimizers' updates, as passes match them.
#pragma once

#include "ops/wants.hpp"

namespace dl4::ops {

inline std::string to_string(const UpdateExcept &x) {
  return text(x.begin, '-', x.end, x.moves ? " undecayed" : " kept");
}

// Updates source 0 by a gradient: source 1, except for the `parts`, whose ids and rows are further sources. Sources: w,
// g, lr, t, number, the rule's slots; destinations: w, slots.
class UpdateOp {
 public:
  static constexpr int first_slot = 5;
  virtual ~UpdateOp() = default;
  virtual std::shared_ptr<const Op> with_rows(std::vector<RowPart> parts) const = 0;
};

template <class How>
struct UpdateOf final : NotDifferentiable<UpdateOf<How>, "update">, UpdateOp {
  How how;
  std::vector<UpdateExcept> except;
  std::vector<RowPart> parts;

  explicit UpdateOf(const How &how, std::vector<UpdateExcept> except = {}, std::vector<RowPart> parts = {})
      : how(how), except(std::move(except)), parts(std::move(parts)) {}
  void fields(auto &f) const {
    how.fields(f);
    f("except", except), f("rows", parts);
  }
  std::string_view name() const override { return How::name; }
  std::vector<Operand> infer(Operands src) const override;
  int overwrites(int dst) const override { return dst == 0 ? 0 : first_slot - 1 + dst; }
  std::shared_ptr<const Op> with_rows(std::vector<RowPart> rows) const override {
    return std::make_shared<UpdateOf>(how, except, std::move(rows));
  }
};

inline void want_number(const char *who, const Operand &x, DType t) {
  want_type(who, x, t);
  if (x.shape.rank() != 0) fail(Code::shape_mismatch, who, " is one number, got ", x.shape);
}

// Checks the gradient of a block of n elements whose `parts` are separate.
inline void want_gradient(const char *op, Operands src, std::span<const RowPart> parts, size_t first) {
  want_float(op, src[1]);
  Shape expected = src[0].shape;
  for (const RowPart &p : parts) expected = {expected.elements() - (p.end - p.begin)};
  same_shape(op, expected, src[1].shape);
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t ids = first + 2 * i;  // bounded: of a step's sources
    want_type(op, src[ids], DType::i64);
    same_shape(op, src[ids].shape.joined({parts[i].width}), src[ids + 1].shape);
  }
}

}  // namespace dl4::ops
