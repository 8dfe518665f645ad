// Tensors of the caller's as a run reads and writes them.
#pragma once

#include <memory_resource>

#include "border.hpp"

namespace dl4::capi {

// The tensors to write to: the caller's, and new ones where a slot is NULL.
struct Outputs {
  explicit Outputs(std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : made(memory), views(memory) {}
  std::pmr::vector<Ref<dl4_tensor>> made;  // by slot, null where the caller brought one
  std::pmr::vector<runtime::View> views;

  void give(dl4_tensor **out) {
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i]) out[i] = std::exchange(made[i], {}).detach();
  }
};

inline void take(Outputs &o, dl4_tensor *slot, size_t i) {
  if (slot) {
    dl4_tensor &t = element(slot, "out", i);
    if (t.read_only) refuse_argument("out", text("out[", i, "] is read-only"));
    o.views.push_back(t.view());
  } else {
    o.views.emplace_back();
  }
  o.made.emplace_back();
}

// What a call that runs is given.
struct InAndOut {
  dl4_tensor *const *in;
  int64_t n_in;
  dl4_tensor **out;
  int64_t n_out;
};

// Runs a Session or a Stream with so many outputs: tensors are made for the slots that are NULL.
template <class Core>
void run_tensors(Core &core, size_t outputs, const Memory &made_in, const InAndOut &given,
                 const std::atomic<int32_t> *cancel) {
  std::byte room[4096];  // a run allocates nothing, unless it has very many inputs and outputs
  std::pmr::monotonic_buffer_resource memory(room, sizeof room);
  auto sources = array(given.in, given.n_in, "in");
  std::pmr::vector<runtime::View> from(&memory);
  from.reserve(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) from.push_back(element(sources[i], "in", i).view());
  auto slots = array(given.out, given.n_out, "out");
  Outputs to(&memory);
  to.made.reserve(slots.size());
  to.views.reserve(slots.size());
  bool make = false;
  for (dl4_tensor *slot : slots) {
    take(to, slot, to.views.size());
    make |= !slot;
  }
  if (make) {  // else the run itself checks
    core.check(from);
    if (to.views.size() != outputs)
      fail(Code::invalid_argument, "expected ", outputs, " outputs, got ", to.views.size());
    auto expected = core.outputs(from, cancel);
    int64_t bytes = 0;
    for (size_t i = 0; i < to.views.size(); ++i)
      if (!given.out[i])
        bytes = checked_add(bytes, checked_mul(expected[i].shape.elements(), size_of(expected[i].dtype)));
    core.need_room(bytes);
    for (size_t i = 0; i < to.views.size(); ++i) {
      if (given.out[i]) continue;
      to.made[i] = Ref<dl4_tensor>::adopt(new dl4_tensor(made_in.tensor(expected[i].dtype, expected[i].shape)));
      to.views[i] = to.made[i]->view();
    }
  }
  core.run(from, to.views, cancel);
  to.give(given.out);
}

}  // namespace dl4::capi
