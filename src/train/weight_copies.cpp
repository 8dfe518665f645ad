#include "train/weight_copies.hpp"

namespace dl4::train {
namespace {

constexpr char prefix[] = "kept:";
std::string name_of(size_t number, const std::string &weight) { return text(prefix, number, ':', weight); }

}  // namespace

void WeightCopies::keep(size_t number) {
  for (const auto &w : model_.weights()) tensors_[name_of(number, w->name)] = clone(w->value);
}

void WeightCopies::restore(size_t number) {
  for (const auto &w : model_.weights())
    if (auto it = tensors_.find(name_of(number, w->name)); it != tensors_.end()) model_.set_weight(w->name, it->second);
}

bool WeightCopies::is_one(const std::string &name) { return name.starts_with(prefix); }

void WeightCopies::check(const Tensors &saved) const {
  for (const auto &[name, t] : saved) {
    const size_t colon = name.find(':', sizeof prefix - 1);
    if (colon == std::string::npos) fail(Code::corrupt_file, "the checkpoint has a tensor \"", name, '"');
    model_.need_fit(name.substr(colon + 1), t.dtype, t.shape);
  }
}

}  // namespace dl4::train
