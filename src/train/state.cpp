// Creates, follows, saves and restores slots.
// JSON of a fit's position, as in checkpoints.
#include "train/state.hpp"

namespace dl4::train {
namespace {

void refuse_unlike(const std::string &name, DType dtype, const Shape &shape, const Tensor &got) {
  if (dtype != got.dtype || shape != got.shape)
    fail(Code::shape_mismatch, '"', name, "\": expected ", dtype, ' ', shape, ", the checkpoint has ", got.dtype, ' ',
         got.shape);
}

}  // namespace

void State::need_room(const Slots &slots, int64_t more, const char *what) const {
  int64_t bytes = checked_add(parameters.block().bytes(), more);
  for (const auto &[name, slot] : slots) bytes = checked_add(bytes, slot.value.bytes());
  if (bytes > memory_limit_)
    fail(Code::out_of_memory, "the weights, optimizer and gradients of the ", what, bytes,
         " bytes, the memory limit is ", memory_limit_);
}

Tensor &State::add(const std::string &name, Slot slot) {
  if (auto it = slots_.find(name); it != slots_.end()) return it->second.value;
  Tensor &t = slot.value;
  need_room(slots_, t.bytes(), "trainer take at least ");
  t.data = allocate(t.bytes());
  if (t.dtype == DType::i64)
    std::fill_n(t.as<int64_t>(), t.elements(), static_cast<int64_t>(slot.start));
  else
    std::fill_n(t.as<float>(), t.elements(), static_cast<float>(slot.start));
  return slots_.emplace(name, std::move(slot)).first->second.value;
}

Tensor &State::number(const std::string &name, DType dtype, double start) {
  return add(name, {{dtype, {}, nullptr}, start});
}

Tensor &State::per_weight(const std::string &name, double start) {
  return add(name, {{DType::f32, parameters.block().shape, nullptr}, start, true});
}

Tensor &State::of_weight(const std::string &weight, const std::string &name, const Shape &shape) {
  return add(kept::slot_of(weight, name), {{DType::f32, shape, nullptr}, 0, false, weight});
}

const Tensor *State::find(const std::string &name) const {
  auto it = slots_.find(name);
  return it == slots_.end() ? nullptr : &it->second.value;
}

const Tensor &State::bound(const std::string &name) const {
  if (name == kept::weights) return parameters.block();
  if (const Tensor *t = find(name)) return *t;
  for (const auto &w : parameters.weights())
    if (name == kept::frozen(w->name)) return w->value();
  fail(Code::internal, "the trainer keeps no \"", name, '"');
}

State State::followed() const {
  State next(parameters.weights(), memory_limit_);
  auto trained = [&](const std::string &weight) {
    bool found = false;
    next.parameters.each([&](const graph::Weight &w, int64_t, int64_t) { found |= w.name == weight; });
    return found;
  };
  for (const auto &[name, slot] : slots_) {
    if (!slot.weight.empty() && !trained(slot.weight)) continue;
    const Shape shape = slot.is_per_weight ? next.parameters.block().shape : slot.value.shape;
    Tensor &to = next.add(name, {{slot.value.dtype, shape, nullptr}, slot.start, slot.is_per_weight, slot.weight});
    if (!slot.is_per_weight) {
      std::ranges::copy(slot.value.memory(), to.data.get());
      continue;
    }
    for (size_t i = 0; i < parameters.offsets().size(); ++i) {
      const int64_t was = parameters.offsets()[i], is = next.parameters.offsets()[i];
      if (is < 0 || (was < 0 && name != kept::average)) continue;
      // The average of a newly trainable weight starts with its value.
      const float *from = was < 0 ? parameters.weights()[i]->value().as<float>() : slot.value.as<float>() + was;
      std::copy_n(from, parameters.weights()[i]->spec.shape.elements(), to.as<float>() + is);
    }
  }
  next.version_ = version() + 1;
  return next;
}

std::map<std::string, Tensor> State::tensors() const {
  std::map<std::string, Tensor> all;
  for (const auto &w : parameters.weights()) all[kept::weight_prefix + w->name] = w->value();
  for (const auto &[name, slot] : slots_) all[kept::slot_prefix + name] = slot.value;
  return all;
}

State::Slots State::read(const std::map<std::string, Tensor> &saved) const {
  Slots slots = slots_;
  size_t known = 0;
  for (const auto &[name, t] : saved) {
    if (name.rfind(kept::slot_prefix, 0) != 0) continue;
    ++known;
    const std::string key = name.substr(sizeof kept::slot_prefix - 1);
    auto it = slots.find(key);
    if (it == slots.end()) {  // slots not created yet are created now, as in the saved run
      if (key == kept::gradients)
        it = slots.emplace(key, Slot{{DType::f32, parameters.block().shape, nullptr}, 0, true}).first;
      else if (key == kept::accumulated)
        it = slots.emplace(key, Slot{{DType::i64, {}, nullptr}}).first;
      else
        fail(Code::shape_mismatch, "the checkpoint has a \"", key, "\", which this trainer's optimizer does not keep");
    }
    Tensor &to = it->second.value;
    refuse_unlike(key, to.dtype, to.shape, t);
    to = clone(t);
    if (to.dtype == DType::i64 && (*to.as<int64_t>() < 0 || *to.as<int64_t>() >= int64_t{1} << 53))
      fail(Code::corrupt_file, "the checkpoint's \"", key, "\" is ", *to.as<int64_t>());
  }
  need_room(slots, 0, "checkpoint take ");
  if (known + parameters.weights().size() != saved.size())
    fail(Code::shape_mismatch, "the checkpoint holds ", saved.size(), " tensors, this trainer knows ",
         known + parameters.weights().size());
  for (auto &[name, slot] : slots) {
    if (saved.count(kept::slot_prefix + name)) continue;
    if (name != kept::gradients && name != kept::accumulated)
      fail(Code::not_found, "the checkpoint has no slot \"", name, '"');
    slot.value = make_zeros(slot.value.dtype, slot.value.shape);  // nothing was accumulated when it was saved
  }
  return slots;
}

void State::restore(const std::map<std::string, Tensor> &saved) {
  const auto &weights = parameters.weights();
  std::vector<const Tensor *> values;
  for (const auto &w : weights) {
    auto it = saved.find(kept::weight_prefix + w->name);
    if (it == saved.end()) fail(Code::not_found, "the checkpoint has no weight \"", w->name, '"');
    refuse_unlike(w->name, w->value().dtype, w->value().shape, it->second);
    values.push_back(&it->second);
  }
  Slots slots = read(saved);
  std::vector<Tensor> frozen(weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    if (parameters.offsets()[i] < 0) frozen[i] = clone(*values[i]);
  parameters.collect();
  parameters.make_writable();
  // Nothing fails from here on.
  for (size_t i = 0; i < weights.size(); ++i) {
    Tensor &to = weights[i]->value();
    if (parameters.offsets()[i] < 0) {
      to = std::move(frozen[i]);
      weights[i]->block().reset();
    } else {
      std::ranges::copy(values[i]->memory(), to.data.get());
    }
  }
  slots_ = std::move(slots);
  ++version_;
}

Json Position::to_json() const {
  return {{"in_fit", in_fit},    {"epoch", epoch},     {"batch", batch}, {"epochs_seen", epochs_seen},
          {"sums", sums.values}, {"history", history}, {"data", data},   {"callbacks", callbacks}};
}

void Position::move_to(int64_t to_epoch, int64_t to_batch) {
  *this = {.in_fit = true, .resumes = true, .epoch = to_epoch, .batch = to_batch, .epochs_seen = to_epoch};
}

Position Position::from_json(const Json &j, size_t sums) {
  Position p;
  try {
    p.in_fit = p.resumes = j.at("in_fit").get<bool>();
    p.epoch = j.at("epoch").get<int64_t>();
    p.batch = j.at("batch").get<int64_t>();
    p.epochs_seen = j.at("epochs_seen").get<int64_t>();
    p.sums.values = j.at("sums").get<std::vector<double>>();
    p.history = j.at("history");
    p.data = j.at("data");
    if (const Json *callbacks = j.find("callbacks")) p.callbacks = *callbacks;  // not in older files
  } catch (const Error &error) {
    fail(Code::corrupt_file, "the checkpoint's position: ", error.message);
  }
  auto counted = [](int64_t n) { return n >= 0 && n <= most_epochs; };
  bool fits = counted(p.epoch) && counted(p.batch) && counted(p.epochs_seen) && p.history.is_object() &&
              (p.data.is_null() || p.data.is_object()) && (p.sums.empty() || p.sums.values.size() == sums);
  fits = fits && p.callbacks.is_array();
  for (const Json &c : p.callbacks) {
    const Json *state = c.find("state");
    fits = fits && c.find("kind") && state && state->is_object();
  }
  if (fits)
    for (const auto &[name, list] : p.history.items()) fits = fits && list.is_array();
  if (!fits) fail(Code::corrupt_file, "the checkpoint's position does not fit this trainer");
  return p;
}

}  // namespace dl4::train
