// What a trainer keeps between steps: a block of weights of its own, slots, its place; out to checkpoints and in.
#include <algorithm>
#include <cstring>

#include "train/trainer.hpp"

namespace dl4::train {

Tensor &Trainer::slot(const std::string &name, DType dtype, const Shape &shape, double start) {
  if (auto it = slots_.find(name); it != slots_.end()) return it->second;
  Tensor t{dtype, shape, nullptr};
  int64_t bytes = checked_add(block_.bytes(), t.bytes());
  for (const auto &[other, kept] : slots_) bytes = checked_add(bytes, kept.bytes());
  if (bytes > run_.plan.memory_limit)
    fail(Code::out_of_memory, "the weights, optimizer and gradients of the trainer take at least ", bytes,
         " bytes, the memory limit is ", run_.plan.memory_limit);
  t.data = allocate(t.bytes());
  if (dtype == DType::i64)
    std::fill_n(t.as<int64_t>(), t.elements(), static_cast<int64_t>(start));
  else
    std::fill_n(t.as<float>(), t.elements(), static_cast<float>(start));
  return slots_.emplace(name, std::move(t)).first->second;
}

// A session that was made from these weights keeps them as they were: the trainer moves to a copy before it writes.
void Trainer::own_weights() {
  int64_t holders = 1;  // block_
  for (int64_t offset : offsets_) holders += offset >= 0 ? 1 : 0;
  for (const Compiled &c : compiled_) holders += std::count(c.states.begin(), c.states.end(), "weights");
  // Counting one more orders this after the reads of whoever dropped his reference before: use_count() alone does not.
  Bytes counted = block_.data;
  if (counted.use_count() == holders + 1) return;
  block_ = graph::gather_block(model_->weights(), offsets_);
  rebind();
}

// Allocates nothing, so that what was moved is always bound.
const Tensor &Trainer::bound(const std::string &state) const {
  if (state == "weights") return block_;
  if (auto it = slots_.find(state); it != slots_.end()) return it->second;
  for (const auto &w : model_->weights())
    if (w->name == state) return w->value;
  fail(Code::internal, "the trainer keeps no \"", state, '"');
}

void Trainer::rebind() {
  for (Compiled &c : compiled_)
    for (size_t i = 0; i < c.states.size(); ++i) c.session->set_state(i, bound(c.states[i]));
}

std::map<std::string, Tensor> Trainer::state() const {
  std::map<std::string, Tensor> all;
  for (const auto &w : model_->weights()) all["weight:" + w->name] = w->value;
  for (const auto &[name, t] : slots_) all["slot:" + name] = t;
  return all;
}

Json Trainer::position_json() const {
  return {{"in_fit", position.in_fit},           {"epoch", position.epoch},      {"batch", position.batch},
          {"epochs_seen", position.epochs_seen}, {"total", position.sums.total}, {"count", position.sums.count},
          {"history", position.history}};
}

void Trainer::restore(const std::map<std::string, Tensor> &state, const Json &j) {
  // Slots that this trainer has not made yet are made now, as the saved run had them.
  auto refuse = [](const std::string &name, const Tensor &expected, const Tensor &got) {
    if (expected.dtype != got.dtype || expected.shape != got.shape)
      fail(Code::shape_mismatch, '"', name, "\": expected ", expected.dtype, ' ', expected.shape,
           ", the checkpoint has ", got.dtype, ' ', got.shape);
  };
  std::map<std::string, Tensor> slots = slots_;
  std::vector<const Tensor *> weights;
  for (const auto &w : model_->weights()) {
    auto it = state.find("weight:" + w->name);
    if (it == state.end()) fail(Code::not_found, "the checkpoint has no weight \"", w->name, '"');
    refuse(w->name, w->value, it->second);
    weights.push_back(&it->second);
  }
  size_t known = weights.size();
  for (const auto &[name, t] : state) {
    if (name.rfind("slot:", 0) != 0) continue;
    ++known;
    std::string key = name.substr(5);
    auto it = slots.find(key);
    if (it != slots.end())
      refuse(key, it->second, t);
    else if (key == "gradients")
      refuse(key, block_, t);
    else if (key == "accumulated")
      refuse(key, slots.at("iterations"), t);
    else
      fail(Code::shape_mismatch, "the checkpoint has a \"", key, "\", which this trainer's optimizer does not keep");
    slots[key] = clone(t);
  }
  int64_t bytes = block_.bytes();
  for (const auto &[name, t] : slots) bytes = checked_add(bytes, t.bytes());
  if (bytes > run_.plan.memory_limit)
    fail(Code::out_of_memory, "the weights, optimizer and gradients of the checkpoint take ", bytes,
         " bytes, the memory limit is ", run_.plan.memory_limit);
  if (known != state.size())
    fail(Code::shape_mismatch, "the checkpoint holds ", state.size(), " tensors, this trainer knows ", known);
  for (auto &[name, t] : slots) {
    if (state.count("slot:" + name)) continue;
    if (name != "gradients" && name != "accumulated") fail(Code::not_found, "the checkpoint has no slot \"", name, '"');
    t = make_zeros(t.dtype, t.shape);  // nothing was accumulated when it was saved
  }
  Position p;
  try {
    p.in_fit = j.at("in_fit").get<bool>();
    p.epoch = j.at("epoch").get<int64_t>();
    p.batch = j.at("batch").get<int64_t>();
    p.epochs_seen = j.at("epochs_seen").get<int64_t>();
    p.sums.total = j.at("total").get<std::vector<double>>();
    p.sums.count = j.at("count").get<std::vector<double>>();
    p.history = j.at("history");
  } catch (const Error &error) {
    fail(Code::corrupt_file, "the checkpoint's position: ", error.message);
  }
  size_t names = names_.size();
  auto counted = [](int64_t n) { return n >= 0 && n < int64_t{1} << 53; };
  bool lists = p.history.is_object();
  if (lists)
    for (const auto &[name, list] : p.history.items()) lists = lists && list.is_array();
  for (const auto &[name, t] : slots)
    if (t.dtype == DType::i64 && !counted(*t.as<int64_t>()))
      fail(Code::corrupt_file, "the checkpoint's \"", name, "\" is ", *t.as<int64_t>());
  if (!counted(p.epoch) || !counted(p.batch) || !counted(p.epochs_seen) || p.sums.total.size() != p.sums.count.size() ||
      (!p.sums.total.empty() && p.sums.total.size() != names) || !lists)
    fail(Code::corrupt_file, "the checkpoint's position does not fit this trainer");

  std::vector<Tensor> frozen;
  for (size_t i = 0; i < weights.size(); ++i)
    if (offsets_[i] < 0) frozen.push_back(clone(*weights[i]));
  own_weights();
  // From here on nothing fails.
  auto next = frozen.begin();
  for (size_t i = 0; i < weights.size(); ++i) {
    Tensor &to = model_->weights()[i]->value;
    if (offsets_[i] < 0)
      to = std::move(*next++);
    else if (int64_t n = to.bytes())
      std::memcpy(to.data.get(), weights[i]->data.get(), static_cast<size_t>(n));
  }
  slots_ = std::move(slots);
  position = std::move(p);
  rebind();
}

}  // namespace dl4::train
