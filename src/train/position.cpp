// JSON of a fit's position, as in checkpoints.
#include "train/position.hpp"

#include "base/error.hpp"

namespace dl4::train {

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
