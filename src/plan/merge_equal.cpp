// Pass: of steps with equal op, attributes and sources only the first stays.
#include <cstring>
#include <map>

#include "ops/op.hpp"
#include "plan/passes.hpp"

namespace dl4::plan {

void merge_equal(ops::Program &p) {
  std::vector<ops::Id> same(p.values.size());
  for (size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ops::Id>(v);
  auto find = [&](ops::Id v) { return v == ops::none ? v : same[static_cast<size_t>(v)]; };

  // Small constants with the same bytes are one value.
  std::map<std::string, ops::Id> constants;
  for (size_t v = 0; v < p.values.size(); ++v) {
    const ops::Value &value = p.values[v];
    if (value.role != ops::Role::constant || value.data.bytes() > 64) continue;
    std::string key = text(to_string(value.dtype), to_string(value.shape), '|');
    key.append(reinterpret_cast<const char *>(value.data.data.get()), static_cast<size_t>(value.data.bytes()));
    same[v] = constants.emplace(std::move(key), static_cast<ops::Id>(v)).first->second;
  }

  std::map<std::string, size_t> seen;
  std::vector<ops::Step> kept;
  for (ops::Step &step : p.steps) {
    for (ops::Id &v : step.src) v = find(v);
    std::string key = text(step.op->name(), '{', step.op->attributes(), '}');
    for (ops::Id v : step.src) key += text(' ', v);
    if (!step.op->is_volatile()) {
      auto [it, fresh] = seen.emplace(std::move(key), kept.size());
      if (!fresh) {
        const ops::Step &first = kept[it->second];
        for (size_t i = 0; i < step.dst.size(); ++i) same[static_cast<size_t>(step.dst[i])] = first.dst[i];
        continue;
      }
    }
    kept.push_back(std::move(step));
  }
  p.steps = std::move(kept);
  for (ops::Id &v : p.outputs) v = find(v);
  for (ops::Write &w : p.writes) w.value = find(w.value);
}

}  // namespace dl4::plan
