// Sharing of memory, by one rule after another.
#include "plan/placement.hpp"

#include <algorithm>

#include "ops/matched.hpp"
#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::plan {

using namespace ops;
using Region = Place::Region;

Placement::Placement(Program &program, std::span<const std::string> off) : p_(program) {
  auto on = [&](const char *pass) { return std::find(off.begin(), off.end(), pass) == off.end(); };
  number_ = PerValue<int32_t>(p_);
  for (const auto *list : {&p_.inputs, &p_.states})
    for (size_t i = 0; i < list->size(); ++i) number_[(*list)[i]] = static_cast<int32_t>(i);
  follow();
  claim_outputs();
  claim_writes();
  if (on("join_parts")) join_parts();
  if (on("in_place")) overwrite();

  auto used = uses(p_);
  wanted_ = PerValue<bool>(p_, true);
  for (const Step &s : p_.steps)
    for (Id v : s.dst)
      if (s.dst.size() > 1 && used[v] == 0) wanted_[v] = false;
}

int64_t Placement::bytes(Id v) const { return checked_mul(p_[v].shape.elements(), size_of(p_[v].dtype)); }

const Placement::Home &Placement::home(Id v) {
  Home &h = home_[v];
  for (;;) {
    const Home &next = home_[h.root];
    if (next.root == h.root) return h;
    h = {next.root, checked_add(next.offset, h.offset)};
  }
}

void Placement::follow() {
  for (Id v : home_.grow(p_)) home_[v] = {v, 0};
  claimed_.grow(p_);
  joined_.grow(p_);
  maker_.grow(p_, -1);
  last_read_.grow(p_, -1);
  for (; followed_ < p_.steps.size(); ++followed_) {
    const Step &s = p_.steps[followed_];
    for (Id v : s.dst) maker_[v] = static_cast<int32_t>(followed_);
    if (s.op->is_view()) {
      home_[s.dst[0]] = {home(s.src[0]).root, checked_add(home(s.src[0]).offset, s.op->view_offset())};
      continue;
    }
    for (size_t i = 0; i < s.src.size(); ++i)
      if (s.src[i] != none && s.op->reads(static_cast<int>(i)))
        last_read_[home(s.src[i]).root] = static_cast<int32_t>(followed_);
  }
}

bool Placement::is_whole_temp(Id v) {
  Id root = home(v).root;
  return p_[root].role == Role::temp && home(v).offset == 0 && bytes(root) == bytes(v) &&
         claimed_[root].region == Region::nowhere && !joined_[root];
}

void Placement::move(Id root, Id to, int64_t offset) {
  home_[root] = {to, offset};
  auto &last = last_read_[to];
  last = std::max(last, last_read_[root]);
}

void Placement::claim_outputs() {
  for (size_t j = 0; j < p_.outputs.size(); ++j) {
    if (!is_whole_temp(p_.outputs[j])) {
      Emit e(p_);
      p_.outputs[j] = copy(e, p_.outputs[j]);
      follow();
    }
    claimed_[home(p_.outputs[j]).root] = {Region::output, static_cast<int32_t>(j), 0};
  }
}

// A value may be computed directly in the state's memory if the old contents are not read afterwards, nor by the step
// that makes it unless that is elementwise.
bool Placement::claim_write(Write w) {
  if (!is_whole_temp(w.value)) return false;
  Id root = home(w.value).root;
  auto made = maker_[root];
  int32_t last = last_read_[w.state];
  if (last > made) return false;
  if (last == made) {
    const Step &s = p_.steps[static_cast<size_t>(made)];
    auto dst = std::find(s.dst.begin(), s.dst.end(), root) - s.dst.begin();
    int over = s.op->overwrites(static_cast<int>(dst));
    for (size_t i = 0; i < s.src.size(); ++i)
      if (s.src[i] != none && home(s.src[i]).root == w.state &&
          (static_cast<int>(i) != over || home(s.src[i]).offset != 0))
        return false;
  }
  claimed_[root] = {Region::state, number_[w.state], 0};
  return true;
}

void Placement::claim_writes() {
  std::erase_if(p_.writes, [&](const Write &w) { return home(w.value).root == w.state && home(w.value).offset == 0; });
  Emit e(p_);
  // A write from another state saves that state's contents first.
  for (Write &w : p_.writes)
    if (p_[home(w.value).root].role == Role::state) w.value = copy(e, w.value);
  follow();
  for (Write &w : p_.writes) {
    if (claim_write(w)) continue;
    w.value = copy(e, w.value);
    follow();
    if (!claim_write(w)) fail(Code::internal, "the write of state \"", p_[w.state].name, "\" finds no place");
  }
}

void Placement::join_parts() {
  for (const Step &s : p_.steps) {
    auto *op = as<PackOp>(s);
    if (!op) continue;
    Id pack = s.dst[0];
    if (home(pack).root != pack || claimed_[pack].region == Region::state) continue;
    std::vector<Id> sorted = s.src;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < s.src.size(); ++i) {
      Id part = s.src[i];
      auto [from, to] = std::equal_range(sorted.begin(), sorted.end(), part);
      if (!is_whole_temp(part) || to - from != 1) continue;
      Id root = home(part).root;
      move(root, pack, op->offset_bytes(i));
      joined_[root] = true;
    }
    joined_[pack] = true;
  }
}

void Placement::overwrite() {
  for (size_t at = 0; at < p_.steps.size(); ++at) {
    const Step &s = p_.steps[at];
    for (size_t d = 0; d < s.dst.size(); ++d) {
      int over = s.op->overwrites(static_cast<int>(d));
      Id dst = s.dst[d];
      if (over < 0 || s.src[static_cast<size_t>(over)] == none || home(dst).root != dst || !is_whole_temp(dst))
        continue;
      Id src = s.src[static_cast<size_t>(over)], root = home(src).root;
      if (!is_whole_temp(src) || bytes(root) != bytes(dst) || last_read_[root] != static_cast<int32_t>(at)) continue;
      if (!fits_over(p_[src], p_[dst])) continue;
      bool alone = true;
      for (Id other : s.src) alone &= other == none || other == src || home(other).root != root;
      if (alone) move(dst, root, 0);
    }
  }
}

std::vector<Life> Placement::lives_of(std::span<const int64_t> scratch, std::span<const PlanStep> steps,
                                      PerValue<bool> &in_arena) {
  std::vector<Life> lives(p_.values.size() + p_.steps.size());
  auto touch = [&](Id v, size_t step) {
    Id root = home(v).root;
    if (p_[root].role != Role::temp || claimed_[root].region != Region::nowhere) return;
    Life &life = lives[static_cast<size_t>(root)];
    auto s = static_cast<int32_t>(step);
    if (!in_arena[root]) {
      in_arena[root] = true;
      life.bytes = bytes(root);
      life.first = life.last = s;
    }
    life.first = std::min(life.first, s);
    life.last = std::max(life.last, s);
  };
  std::vector<bool> is_joined(p_.steps.size());
  for (const PlanStep &joined : steps) {
    if (joined.first < 0) continue;
    const auto first = static_cast<size_t>(joined.first), last = static_cast<size_t>(joined.number);
    for (size_t s = first; s <= last; ++s) is_joined[s] = !p_.steps[s].op->is_view();
    for (Id v : joined.values) touch(v, first), touch(v, last);
  }
  for (size_t s = 0; s < p_.steps.size(); ++s) {
    const Step &step = p_.steps[s];
    for (size_t i = 0; i < step.src.size() && !is_joined[s]; ++i)
      if (step.src[i] != none && step.op->reads(static_cast<int>(i))) touch(step.src[i], s);
    for (Id v : step.dst)
      if (is_wanted(v) && !is_joined[s]) touch(v, s);
    Life &life = lives[p_.values.size() + s];
    life.bytes = scratch[s];
    life.first = life.last = static_cast<int32_t>(s);
  }
  return lives;
}

void Placement::place_in_arena(std::vector<Life> &lives, int64_t guard_bytes) {
  for (Life &life : lives)
    if (life.bytes > 0) life.bytes = checked_add(life.bytes, guard_bytes);
  std::vector<Life> needed;
  for (const Life &life : lives)
    if (life.bytes > 0) needed.push_back(life);
  arena_bytes = dl4::plan::place(needed);
  auto next = needed.begin();
  for (Life &life : lives) {
    if (life.bytes == 0) continue;
    life = *next++;
    if (guard_bytes) guards.push_back({life.offset + life.bytes - guard_bytes, guard_bytes, life.first, life.last});
  }
}

void Placement::lay_out(std::span<const int64_t> scratch, std::span<const PlanStep> steps, int64_t guard_bytes,
                        std::vector<Tensor> &constants) {
  PerValue<bool> in_arena(p_);
  std::vector<Life> lives = lives_of(scratch, steps, in_arena);
  place_in_arena(lives, guard_bytes);

  number_.grow(p_);
  for (Id v : p_.ids()) {
    if (p_[v].role != Role::constant) continue;
    number_[v] = static_cast<int32_t>(constants.size());
    constants.push_back(p_[v].data);
  }
  of = PerValue<Place>(p_);
  for (Id v : p_.ids()) {
    auto [root, offset] = home(v);
    const int32_t number = number_[root];
    Place place = claimed_[root];
    const Role role = p_[root].role;
    if (role == Role::temp && place.region == Region::nowhere && in_arena[root])
      place = {Region::arena, 0, std::max<int64_t>(0, lives[static_cast<size_t>(root)].offset)};
    if (role == Role::input) place = {Region::input, number, 0};
    if (role == Role::state) place = {Region::state, number, 0};
    if (role == Role::constant) place = {Region::constant, number, 0};
    place.offset = checked_add(place.offset, offset);
    of[v] = place;
  }

  for (size_t s = 0; s < p_.steps.size(); ++s)
    scratch_of.push_back(scratch[s] ? Place{Region::arena, 0, lives[p_.values.size() + s].offset} : Place{});
}

}  // namespace dl4::plan
