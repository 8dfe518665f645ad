// Finds the values between `wrt` and those with known gradients, then visits the steps backwards, applying their rules.
#include "ops/differentiate.hpp"

#include "ops/op.hpp"
#include "ops/ops.hpp"

namespace dl4::ops {
namespace {

// A rule that omits a source would silently lose a path of the gradient. A repeated source must be set once.
void check_complete(const Gradient &g, const Step &step) {
  for (size_t i = 0; i < step.src.size(); ++i) {
    bool found = !g.wants(static_cast<int>(i));
    for (size_t j = 0; j < step.src.size(); ++j) found |= step.src[j] == step.src[i] && g.diff_src[j] != none;
    if (!found) fail(Code::unsupported, step.op->name(), " has no gradient by its source ", i);
  }
}

}  // namespace

std::vector<Id> differentiate(Emit &e, std::span<const Cotangent> from, std::span<const Id> wrt) {
  Program &p = e.program;
  size_t n_steps = p.steps.size();

  // Forward pass: values that depend on wrt.
  PerValue<bool> depends(p);
  for (Id v : wrt) depends[v] = true;
  for (size_t s = 0; s < n_steps; ++s) {
    bool any = false;
    for (size_t i = 0; i < p.steps[s].src.size(); ++i) {
      Id v = p.steps[s].src[i];
      any |= v != none && p.steps[s].op->reads(static_cast<int>(i)) && depends[v];
    }
    if (!any) continue;
    for (Id v : p.steps[s].dst)
      if (p[v].dtype == DType::f32) depends[v] = true;
  }

  PerValue<Id> diff(p, none);
  for (const Cotangent &c : from)
    if (depends[c.value]) diff[c.value] = diff[c.value] == none ? c.diff : add(e, diff[c.value], c.diff);

  std::string scope = e.scope;
  for (size_t s = n_steps; s-- > 0;) {
    Step step = p.steps[s];  // a copy: emitting reallocates the list
    std::vector<Id> diff_dst;
    bool arrives = false;
    for (Id v : step.dst) {
      diff_dst.push_back(diff[v]);
      arrives |= diff_dst.back() != none;
    }
    if (!arrives) continue;
    std::vector<bool> wanted;
    bool any = false;
    for (size_t i = 0; i < step.src.size(); ++i) {
      Id v = step.src[i];
      wanted.push_back(v != none && depends[v] && p[v].dtype == DType::f32 && step.op->reads(static_cast<int>(i)));
      any |= wanted.back();
    }
    if (!any) continue;
    e.scope = step.scope;
    Gradient g(e, step, std::move(diff_dst), std::move(wanted));
    step.op->gradient(g);
    check_complete(g, step);
    for (size_t i = 0; i < step.src.size(); ++i) {
      if (g.diff_src[i] == none || !g.wants(static_cast<int>(i))) continue;
      Id &sum = diff[step.src[i]];
      sum = sum == none ? g.diff_src[i] : add(e, sum, g.diff_src[i]);
    }
  }
  e.scope = scope;

  std::vector<Id> result;
  for (Id v : wrt) result.push_back(diff[v]);
  return result;
}

void differentiate_as(Gradient &g, const std::function<Id(Emit &, const std::vector<Id> &)> &written, int destination) {
  const Id diff = g.diff_dst(destination);
  if (diff == none) return;
  // The sources are treated as independent, although one may depend on another.
  std::vector<Id> src, wrt;
  std::vector<int> which;
  for (int i = 0; i < g.sources(); ++i) {
    src.push_back(g.has(i) && g.wants(i) ? straight_through(g.e, g.src(i), g.src(i)) : g.src(i));
    if (!g.has(i) || !g.wants(i)) continue;
    wrt.push_back(src.back());
    which.push_back(i);
  }
  const std::vector<Id> found = differentiate(g.e, std::vector<Cotangent>{{written(g.e, src), diff}}, wrt);
  for (size_t i = 0; i < which.size(); ++i) {
    const Id before = g.diff_src[static_cast<size_t>(which[i])];
    if (found[i] == none && before == none) g.stop(which[i]);
    if (found[i] == none) continue;
    g.set(which[i], before == none ? found[i] : add(g.e, before, found[i]));
  }
}

}  // namespace dl4::ops
