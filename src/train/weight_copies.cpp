#include "train/weight_copies.hpp"

namespace dl4::train {
namespace {

constexpr char prefix[] = "kept:";
std::string name_of(size_t number, const std::string &weight) { return text(prefix, number, ':', weight); }

}  // namespace

void WeightCopies::keep(size_t number) {
  for (const auto &w : t_.model->weights()) tensors[name_of(number, w->name)] = clone(w->value());
}

void WeightCopies::restore(size_t number) {
  for (const auto &w : t_.model->weights())
    if (auto it = tensors.find(name_of(number, w->name)); it != tensors.end())
      t_.model->set_weight(w->name, it->second);
}

WeightCopies::Tensors WeightCopies::taken_from(Tensors &saved) const {
  Tensors copies;
  for (auto it = saved.lower_bound(prefix); it != saved.end() && it->first.starts_with(prefix);)
    copies.insert(saved.extract(it++));
  for (const auto &[name, t] : copies) {
    const size_t colon = name.find(':', sizeof prefix - 1);
    if (colon == std::string::npos) fail(Code::corrupt_file, "the checkpoint has a tensor \"", name, '"');
    t_.model->need_fit(name.substr(colon + 1), t.dtype, t.shape);
  }
  return copies;
}

}  // namespace dl4::train
