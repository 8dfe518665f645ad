// Which memory each value of a Program takes: its own, another value's, a state's or an output's.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "plan/memory.hpp"
#include "plan/plan.hpp"

namespace dl4::plan {

class Placement {
 public:
  // Adds to `program` the copies that outputs and writes need, then decides who shares memory: views always, "in_place"
  // and "join_parts" unless they are in `off`.
  Placement(ops::Program &program, std::span<const std::string> off);

  // False for a destination that no one reads and that its step can leave out.
  bool is_wanted(ops::Id v) const { return wanted_[v]; }

  // Lays out the arena; scratch: bytes by step. Of several steps in one only the arguments have a place, from the first
  // to the last of them. Afterwards the members below hold.
  void lay_out(std::span<const int64_t> scratch, std::span<const PlanStep> steps, int64_t guard_bytes,
               std::vector<Tensor> &constants);
  ops::PerValue<Place> of;
  std::vector<Place> scratch_of;  // by step
  std::vector<Guard> guards;
  int64_t arena_bytes = 0;

 private:
  struct Home {
    ops::Id root;    // the value whose buffer this value lies in
    int64_t offset;  // bytes from its start
  };
  const Home &home(ops::Id v);
  int64_t bytes(ops::Id v) const;
  bool is_whole_temp(ops::Id v);  // made by a step, alone in a buffer of its own size, not yet claimed
  void move(ops::Id root, ops::Id to, int64_t offset);

  void follow();  // the steps added since it was last called
  void claim_outputs();
  void claim_writes();
  bool claim_write(ops::Write w);
  void join_parts();
  void overwrite();
  // By value, then the scratch of each step; of a value without bytes in the arena none.
  std::vector<Life> lives_of(std::span<const int64_t> scratch, std::span<const PlanStep> steps,
                             ops::PerValue<bool> &in_arena);
  void place_in_arena(std::vector<Life> &lives, int64_t guard_bytes);

  ops::Program &p_;
  size_t followed_ = 0;                       // steps
  ops::PerValue<Home> home_;                  // a root may have got another root since
  ops::PerValue<int32_t> maker_, last_read_;  // steps; by value and by root, -1 = none
  ops::PerValue<int32_t> number_;             // of an input, a state or a constant among its kind
  ops::PerValue<Place> claimed_;              // by root
  ops::PerValue<bool> joined_, wanted_;
};

}  // namespace dl4::plan
