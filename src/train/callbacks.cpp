// Calls of callbacks.
#include "train/callbacks.hpp"

#include <algorithm>

namespace dl4::train {

template <class F>
void Callbacks::each(F f) {
  try {
    for (at_ = 0; at_ < list_.size(); ++at_) f(*list_[at_], t_.position().callbacks[at_]["state"]);
  } catch (...) {
    failed = begun_;
    throw;
  }
}

Outside &Callbacks::outside() const {
  if (!outside_) fail(Code::internal, "a callback that writes files has no file system");
  return *outside_;
}

void Callbacks::prepare() {
  for (const auto &c : list_) c->prepare(*this);
}

void Callbacks::train_begin(bool resumed, int64_t epochs, bool validates) {
  epochs_ = epochs;
  names_ = t_.results().names();
  if (validates)
    for (const std::string &name : t_.results().names()) names_.push_back("val_" + name);
  const Json before = std::move(t_.position().callbacks);
  if (!resumed) t_.copies.forget();
  Json now = Json::array();
  std::vector<bool> again;
  for (size_t i = 0; i < list_.size(); ++i) {
    Json entry{{"kind", kinds::to_json(list_[i].get())}, {"state", Json::object()}};
    // The same kind at the same index keeps its state.
    const bool same = resumed && i < before.size() && before[i]["kind"] == entry["kind"];
    again.push_back(same);
    now.push_back(same ? before[i] : std::move(entry));
  }
  t_.position().callbacks = std::move(now);
  kinds::Moment at = moment();
  each([&](const kinds::Callback &c, Json &state) {
    at.resumed = again[at_];
    c.train_begin(*this, at, state);
  });
  begun_ = true;
}

void Callbacks::epoch_begin() {
  each([&](const kinds::Callback &c, Json &state) { c.epoch_begin(*this, moment(), state); });
}

void Callbacks::batch_end(const std::vector<double> &means) {
  if (list_.empty()) return;
  kinds::Logs logs;
  for (size_t i = 0; i < means.size(); ++i) logs.push_back({t_.results().names()[i], means[i]});
  each([&](const kinds::Callback &c, Json &state) { c.batch_end(*this, moment(), state, logs); });
  each([&](const kinds::Callback &c, Json &state) { c.settled(*this, moment(), state, false); });
}

void Callbacks::test_begin() {
  each([&](const kinds::Callback &c, Json &state) { c.test_begin(*this, state); });
}

void Callbacks::test_end() {
  each([&](const kinds::Callback &c, Json &state) { c.test_end(*this, state); });
}

void Callbacks::epoch_end(kinds::Logs &logs) {
  kinds::Moment ended = moment();
  --ended.epoch;
  each([&](const kinds::Callback &c, Json &state) { c.epoch_end(*this, ended, state, logs); });
}

void Callbacks::epoch_settled() {
  each([&](const kinds::Callback &c, Json &state) { c.settled(*this, moment(), state, true); });
}

void Callbacks::train_end() {
  each([&](const kinds::Callback &c, Json &state) { c.train_end(*this, moment(), state); });
  t_.position().callbacks = Json::array();
  t_.copies.forget();
}

std::optional<bool> Callbacks::rises(const std::string &name) const {
  const auto &all = t_.results().names();
  const std::string plain = name.starts_with("val_") ? name.substr(4) : name;
  const auto it = std::ranges::find(all, plain);
  if (it == all.end()) return std::nullopt;
  return t_.results().rises(static_cast<size_t>(it - all.begin()));
}

}  // namespace dl4::train
