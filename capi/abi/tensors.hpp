// The caller's tensors as arguments of a run.
#pragma once

#include <memory>
#include <new>
#include <type_traits>

#include "base/strings.hpp"
#include "border.hpp"

namespace dl4::capi {

// A list that allocates only if it is long.
template <class T>
class Few {
 public:
  explicit Few(size_t most) : data_(reinterpret_cast<T *>(room_)) {
    if (most <= in_room) return;
    more_ = std::make_unique<std::byte[]>(most * sizeof(T));
    data_ = reinterpret_cast<T *>(more_.get());
  }
  Few(const Few &) = delete;
  Few &operator=(const Few &) = delete;
  // Adds the result of make(), up to the limit; constructed in place, since a copy would stall on it.
  template <class F>
  void add(F make) {
    new (data_ + size_++) T(make());
  }
  operator std::span<const T>() const { return {data_, size_}; }
  std::span<T> all() { return {data_, size_}; }
  T &operator[](size_t i) { return data_[i]; }
  size_t size() const { return size_; }

 private:
  static_assert(std::is_trivially_destructible_v<T>);
  static constexpr size_t in_room = 16;
  alignas(T) std::byte room_[in_room * sizeof(T)];
  std::unique_ptr<std::byte[]> more_;
  T *data_;
  size_t size_ = 0;
};

// The caller's tensor for output i.
inline dl4_tensor &output(dl4_tensor *slot, size_t i) {
  dl4_tensor &t = element(slot, "out", i);
  if (t.read_only) refuse_argument("out", text("out[", i, "] is read-only"));
  return t;
}

// Stores new tensors in the slots; null where the caller passed one.
using Made = std::vector<Ref<dl4_tensor>>;
inline void give(Made made, std::span<dl4_tensor *> out) {
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i]) out[i] = made[i].detach();
}

// The tensors that the caller passed for outputs, held; null where a new one is wanted.
inline std::vector<Ref<dl4_tensor>> yours_of(std::span<dl4_tensor *const> slots, size_t outputs) {
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i]) output(slots[i], i);
  if (slots.size() != outputs) fail(Code::invalid_argument, "expected ", outputs, " outputs, got ", slots.size());
  return {slots.begin(), slots.end()};
}

// Copies the strings of an output, which a run leaves in the memory of its inputs, its model and what it returns.
inline void own_strings(dl4_tensor &t) {
  if (t.dtype != DType::string) return;
  t.data = copy_of(t.as_dense(), INT64_MAX).data;
  t.read_only = true;
}

// Complete outputs: fills the caller's tensors, and stores new ones in empty slots.
inline void give_whole(std::vector<Tensor> whole, std::span<const Ref<dl4_tensor>> yours, std::span<dl4_tensor *> out) {
  Made made(whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    if (!yours[i]) {
      made[i] = Ref<dl4_tensor>::adopt(new dl4_tensor(std::move(whole[i])));
    } else if (yours[i]->dtype != whole[i].dtype || yours[i]->shape != whole[i].shape) {
      fail(Code::shape_mismatch, "output ", i, ": expected ", whole[i].dtype, ' ', whole[i].shape, ", got ",
           yours[i]->dtype, ' ', yours[i]->shape);
    }
  }
  for (size_t i = 0; i < whole.size(); ++i)
    if (yours[i]) yours[i]->assign(whole[i]);
  give(std::move(made), out);
}

// Arguments of a call that runs.
struct InAndOut {
  dl4_tensor *const *in;
  int64_t n_in;
  dl4_tensor **out;
  int64_t n_out;
};

// Tensors made for NULL slots; stored once the run has succeeded.
class MadeOutputs final : public runtime::Wanted {
 public:
  explicit MadeOutputs(std::span<dl4_tensor *> slots) : slots_(slots), made_(slots.size()) {}
  bool has(size_t i) const override { return !slots_[i]; }
  runtime::View take(size_t i, Tensor t) override {
    made_[i] = Ref<dl4_tensor>::adopt(new dl4_tensor(std::move(t)));
    return made_[i]->view();
  }
  void give() {
    for (const auto &t : made_)
      if (t) own_strings(*t);
    capi::give(std::move(made_), slots_);
  }

 private:
  const std::span<dl4_tensor *> slots_;
  Made made_;
};

// Common entry of all runs. core: has run() like a runtime::Runner.
template <class Core>
void run_tensors(Core &core, const Memory &memory, const InAndOut &given, const std::atomic<int32_t> *cancel) {
  const auto sources = array(given.in, given.n_in, "in");
  Few<runtime::View> from(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) from.add([&] { return element(sources[i], "in", i).view(); });
  const auto slots = array(given.out, given.n_out, "out");
  Few<runtime::View> to(slots.size());
  bool make = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    make |= !slots[i];
    to.add([&] { return slots[i] ? output(slots[i], i).view() : runtime::View(); });
  }
  if (!make) return void(core.run(from, to.all(), nullptr, memory, cancel));
  MadeOutputs made(slots);
  const MadeStrings strings = core.run(from, to.all(), &made, memory, cancel);
  made.give();
}

// A stream as such a core.
template <class Core>
struct RunOn {
  Core core;
  size_t outputs;
  MadeStrings run(std::span<const runtime::View> in, std::span<runtime::View> out, runtime::Wanted *wanted,
                  const Memory &memory, const std::atomic<int32_t> *cancel) {
    runtime::run_on(core, outputs, in, out, wanted, memory, cancel);
    return {};  // a stream gives none
  }
};

}  // namespace dl4::capi
