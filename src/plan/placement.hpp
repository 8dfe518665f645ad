// Decides where each value of a Program is stored: a buffer of its own, another value's, a state's or an output's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plan/memory.hpp"
#include "plan/plan.hpp"

namespace dl4::plan {

// Can a step that overwrites src write dst there, element by element? A broadcast source with wider elements may have the
// same number of bytes.
inline bool fits_over(const ops::Value &src, const ops::Value &dst) {
  return size_of(src.dtype) == size_of(dst.dtype) && src.shape.elements() == dst.shape.elements();
}

class Placement {
 public:
  // Adds the copies to `program` that outputs and writes need, then decides which values share memory: views always,
  // "in_place" and "join_parts" unless in `off`.
  Placement(ops::Program &program, std::span<const std::string> off);

  // False for an unread destination that its step can omit.
  bool is_wanted(ops::Id v) const { return wanted_[v]; }

  // Lays out the arena; scratch: bytes by step. In a joined step only the arguments have a place, from its first to its
  // last step. Fills the members below.
  void lay_out(std::span<const int64_t> scratch, std::span<const PlanStep> steps, int64_t guard_bytes,
               std::vector<Tensor> &constants);
  ops::PerValue<Place> of;
  std::vector<Place> scratch_of;  // by step
  std::vector<Guard> guards;
  int64_t arena_bytes = 0;

 private:
  struct Home {
    ops::Id root;    // the value whose buffer contains this value
    int64_t offset;  // bytes from its start
  };
  const Home &home(ops::Id v);
  int64_t bytes(ops::Id v) const;
  bool is_whole_temp(ops::Id v);  // made by a step, the only value of its buffer, unclaimed
  void move(ops::Id root, ops::Id to, int64_t offset);

  void follow();  // processes steps added since the last call
  void claim_outputs();
  void claim_writes();
  bool claim_write(ops::Write w);
  void join_parts();
  void overwrite();
  // Lifetimes of values, then of each step's scratch; values without bytes in the arena have none.
  std::vector<Life> lives_of(std::span<const int64_t> scratch, std::span<const PlanStep> steps,
                             ops::PerValue<bool> &in_arena);
  void place_in_arena(std::vector<Life> &lives, int64_t guard_bytes);

  ops::Program &p_;
  size_t followed_ = 0;                       // number of steps
  ops::PerValue<Home> home_;                  // a root may have a root of its own by now
  ops::PerValue<int32_t> maker_, last_read_;  // step indices by value and by root, -1: none
  ops::PerValue<int32_t> number_;             // index of an input, state or constant among its kind
  ops::PerValue<Place> claimed_;              // by root
  ops::PerValue<bool> joined_, wanted_;
};

}  // namespace dl4::plan
