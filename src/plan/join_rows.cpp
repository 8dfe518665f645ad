// Pass: joins adjacent steps on rows of few channels with equal row counts, such as the layers of a small net in a
// stream, into one kernel. Values read only inside stay out of memory, and a ring's window is read in place.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "backend/backend.hpp"
#include "plan/memory.hpp"
#include "plan/passes.hpp"
#include "plan/plan.hpp"

namespace dl4::plan {
namespace {

using namespace ops;
using kernels::RowCode, kernels::RowStep;

constexpr size_t least = 3;  // joining fewer steps, or none with a product, does not pay off

// The taps of windows.
struct Taps {
  int64_t count = 1, dilation = 1;
  bool operator==(const Taps &) const = default;
};

class Joiner {
 public:
  Joiner(const Program &p, std::vector<PlanStep> &steps) : p_(p), steps_(steps), readers_(p) {
    for (size_t s = 0; s < p.steps.size(); ++s)
      for (Id v : p.steps[s].src)
        if (v != none) readers_[v].push_back(s);
    kept_ = PerValue<bool>(p, false);
    for (Id v : p.outputs) kept_[v] = true;
    for (const Write &w : p.writes) kept_[w.value] = true;
  }

  std::vector<PlanStep> joined() {
    std::vector<PlanStep> all;
    for (size_t begin = 0, end = 0; begin < steps_.size(); begin = end) {
      const auto rows = rows_of(begin);
      for (end = begin + 1; rows && end < steps_.size() && rows_of(end) == rows;) ++end;
      join(begin, end, all);
    }
    return all;
  }

 private:
  const RowStep *row_step(size_t s) const { return steps_[s].kernel->rows.get(); }
  const Step &step(size_t s) const { return p_.steps[static_cast<size_t>(steps_[s].number)]; }
  // Items and rows per item of a step that can be joined.
  std::optional<std::pair<int64_t, int64_t>> rows_of(size_t s) const {
    const RowStep *r = row_step(s);
    if (!r || !kernels::are_row_channels(r->in) || !kernels::can_join_rows(r->rows)) return {};
    return std::pair(r->items, r->rows);
  }

  // For a ring in [begin, end): the taps that all readers of its window use, if all of them are in the range.
  std::optional<Taps> taps_of(size_t end, size_t s) const {
    const Id window = step(s).dst[1];
    const RowStep &ring = *row_step(s);
    std::optional<Taps> taps;
    size_t found = 0;
    for (size_t i = s + 1; i < end; ++i) {
      const Step &reader = step(i);
      for (size_t k = 0; k < reader.src.size(); ++k) {
        if (reader.src[k] != window) continue;
        const RowStep &r = *row_step(i);
        const Taps own{r.taps, r.dilation};
        if ((taps && *taps != own) || k != 0) return {};
        if (r.does != RowStep::Does::product) return {};
        taps = own, ++found;
      }
    }
    if (!taps || found != readers_[window].size() || kept_[window]) return {};
    return checked_add(checked_mul(taps->count - 1, taps->dilation), ring.rows) == ring.count ? taps : std::nullopt;
  }

  void leave(size_t begin, size_t end, std::vector<PlanStep> &all) {
    for (; begin < end; ++begin) all.push_back(std::move(steps_[begin]));
  }

  void join(size_t begin, size_t end, std::vector<PlanStep> &all) {
    const auto is_product = [&](const PlanStep &s) { return s.kernel->rows->does == RowStep::Does::product; };
    const std::span some(steps_.begin() + static_cast<std::ptrdiff_t>(begin), end - begin);
    if (end - begin < least || std::ranges::none_of(some, is_product)) return leave(begin, end, all);
    for (size_t s = begin; s < end; ++s) {
      if (row_step(s)->does != RowStep::Does::ring || taps_of(end, s)) continue;
      join(begin, s, all);
      leave(s, s + 1, all);
      return join(s + 1, end, all);
    }
    make(begin, end, all);
  }

  // A value of the kernel under construction.
  struct Value {
    size_t life;
    int64_t channels;
    Taps taps{};
    int arg = -1;  // argument index if it is in memory
    bool by_pointers = false;
  };
  struct Making {
    std::vector<RowCode> codes;
    std::vector<std::array<int, 6>> places;  // lifetimes by code, for a, b, to, staging and sum; -1: none
    std::vector<Life> lives;
    std::map<Id, Value> values;
    std::vector<std::shared_ptr<const kernels::PackedFloats>> keeps;
    PlanStep joined;
    std::vector<int64_t> apart;  // by argument: bytes between items
    int64_t rows;

    size_t life(int64_t floats) {
      const auto now = static_cast<int32_t>(codes.size());
      lives.push_back({checked_mul(floats, 4), now, now});
      return lives.size() - 1;
    }
    int use(size_t life) {
      lives[life].last = static_cast<int32_t>(codes.size());
      return static_cast<int>(life);
    }
    int arg(Id v, int64_t floats) {  // floats: per item; 0: the same for all items
      joined.values.push_back(v);
      apart.push_back(checked_mul(floats, 4));
      return static_cast<int>(joined.values.size()) - 1;
    }
    void add(RowCode code, std::array<int, 6> at) {
      codes.push_back(std::move(code));
      places.push_back(at);
    }
  };

  // Floats per item of the rows that windows with these taps read.
  static int64_t floats_of(const Making &m, int64_t channels, Taps taps) {
    return checked_mul(checked_add(m.rows, checked_mul(taps.count - 1, taps.dilation)), channels);
  }

  // The lifetime of a source, which is loaded first if it is only in memory.
  int source(Making &m, Id v, int64_t channels, Taps taps = {}) {
    auto found = m.values.find(v);
    if (found != m.values.end() && found->second.taps == taps && found->second.channels == channels)
      return m.use(found->second.life);
    const int arg = found != m.values.end() ? found->second.arg : m.arg(v, floats_of(m, channels, taps));
    Value made{m.life(checked_mul(m.rows, channels, taps.count)), channels, taps, arg};
    RowCode load{.does = RowCode::Does::load, .in = static_cast<int32_t>(channels)};
    load.taps = static_cast<int32_t>(taps.count), load.dilation = taps.dilation, load.arg = arg;
    m.add(load, {-1, -1, static_cast<int>(made.life), -1, -1, -1});
    m.values.insert_or_assign(v, made);
    return m.use(made.life);
  }

  bool is_read_outside(size_t begin, size_t end, Id v) const {
    if (kept_[v]) return true;
    size_t inside = 0;
    for (size_t s = begin; s < end; ++s) inside += static_cast<size_t>(std::ranges::count(step(s).src, v));
    return inside != readers_[v].size();
  }

  void make(size_t begin, size_t end, std::vector<PlanStep> &all) {
    Making m;
    m.rows = row_step(begin)->rows;
    for (size_t s = begin; s < end; ++s) {
      const RowStep &r = *row_step(s);
      if (r.does == RowStep::Does::ring)
        add_ring(m, s, *taps_of(end, s));
      else
        add(m, s, is_read_outside(begin, end, step(s).dst[0]));
    }
    const int64_t bytes = place(m.lives);
    for (size_t i = 0; i < m.codes.size(); ++i) {
      RowCode &c = m.codes[i];
      int64_t *const at[] = {&c.a, &c.b, &c.to, &c.staging, &c.sum_from, &c.sum_to};
      for (size_t k = 0; k < std::size(at); ++k)
        if (m.places[i][k] >= 0) *at[k] = m.lives[static_cast<size_t>(m.places[i][k])].offset / 4;
    }
    PlanStep &joined = m.joined;
    joined.first = steps_[begin].number;
    joined.number = steps_[end - 1].number;
    joined.scope = steps_[begin].scope;
    for (size_t s = begin; s < end; ++s) joined.text += text(s > begin ? "; " : "", steps_[s].text);
    joined.kernel = kernels::joined_rows(m.rows, std::move(m.codes), bytes / 4, std::move(m.keeps),
                                         row_step(begin)->items, std::move(m.apart));
    all.push_back(std::move(joined));
  }

  void add(Making &m, size_t s, bool stored) {
    if (is_added(m, s, stored) || is_summed(m, s, stored)) return;
    const RowStep &r = *row_step(s);
    const Step &of = step(s);
    RowCode code{.f = r.f, .in = static_cast<int32_t>(r.in), .out = static_cast<int32_t>(r.out)};
    code.taps = static_cast<int32_t>(r.taps), code.dilation = r.dilation, code.then = r.then;
    int a = source(m, of.src[0], r.in, {r.taps, r.dilation}), b = -1;
    if (r.does == RowStep::Does::binary) b = source(m, of.src[1], r.in);
    code.does = r.does == RowStep::Does::product  ? RowCode::Does::product
                : r.does == RowStep::Does::binary ? RowCode::Does::binary
                                                  : RowCode::Does::unary;
    if (r.does == RowStep::Does::product) {
      m.keeps.push_back(kernels::row_weights(*r.panels, checked_mul(r.in, r.taps), r.out));
      code.weights = m.keeps.back()->floats();
      if (r.bias) code.arg = m.arg(of.src[2], 0);
    }
    m.use(static_cast<size_t>(a));
    const auto window = m.values.find(of.src[0]);
    code.by_pointers = window->second.by_pointers;
    const Value made{m.life(checked_mul(m.rows, r.out)), r.out};
    m.add(code, {a, b, static_cast<int>(made.life), -1, -1, -1});
    add_value(m, s, made, stored);
  }

  // Fuses an addition whose other operand was made by the previous code for it alone: that code adds.
  bool is_added(Making &m, size_t s, bool stored) {
    const RowStep &r = *row_step(s);
    const Step &of = step(s);
    if (r.does != RowStep::Does::binary || r.f != Binary::add || of.src[0] == of.src[1]) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const auto made = m.values.find(of.src[i]), other = m.values.find(of.src[1 - i]);
      if (made == m.values.end() || other == m.values.end() || readers_[of.src[i]].size() != 1) continue;
      RowCode &last = m.codes.back();
      const bool is_made = last.does == RowCode::Does::product && !last.then.any && !last.adds && !last.sums &&
                           last.more == 0 && m.places.back()[2] == static_cast<int>(made->second.life);
      if (!is_made || other->second.channels != r.in || other->second.taps != Taps{}) continue;
      if (readers_[of.src[1 - i]].size() == 1 && merges(m, other->second, r.then)) {
        add_value(m, s, {other->second.life, r.out}, stored);
        return true;
      }
      // The operand is last used by that code, not by a following one.
      auto &life = m.lives[other->second.life];
      life.last = std::max(life.last, static_cast<int32_t>(m.codes.size()) - 1);
      m.places.back()[1] = static_cast<int>(other->second.life);
      last.adds = true, last.then = r.then;
      add_value(m, s, {made->second.life, r.out}, stored);
      return true;
    }
    return false;
  }

  // Fuses an addition to the previous product's result, which has other readers too: that code adds.
  bool is_summed(Making &m, size_t s, bool stored) {
    const RowStep &r = *row_step(s);
    const Step &of = step(s);
    if (r.does != RowStep::Does::binary || r.f != Binary::add || r.then.any || of.src[0] == of.src[1]) return false;
    if (m.codes.empty() || m.codes.back().does != RowCode::Does::product || m.codes.back().sums) return false;
    RowCode &last = m.codes.back();
    const bool by_unary = last.then.any && last.then.f != Unary::leaky_relu && last.then.f != Unary::relu;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const auto made = m.values.find(of.src[i]), other = m.values.find(of.src[1 - i]);
      if (made == m.values.end() || other == m.values.end() || by_unary) continue;
      auto &at = m.places.back();
      if (at[2] != static_cast<int>(made->second.life) || other->second.by_pointers) continue;
      if (other->second.channels != r.in || other->second.taps != Taps{}) continue;
      const auto now = static_cast<int32_t>(m.codes.size()) - 1;
      auto &life = m.lives[other->second.life];
      life.last = std::max(life.last, now);
      Value sum{m.life(checked_mul(m.rows, r.out)), r.out};
      m.lives[sum.life].first = now;
      at[4] = static_cast<int>(other->second.life), at[5] = static_cast<int>(sum.life);
      last.sums = true;
      add_value(m, s, sum, stored);
      return true;
    }
    return false;
  }

  // Fuses a product of few sources with the one before if their results are only added: one code computes both.
  bool merges(Making &m, const Value &to_it, const kernels::Function &then) {
    if (m.codes.size() < 2) return false;
    RowCode &last = m.codes.back(), &first = m.codes[m.codes.size() - 2];
    const auto &at = m.places.back();
    auto &to = m.places[m.places.size() - 2];
    const bool fits = first.does == RowCode::Does::product && to[2] == static_cast<int>(to_it.life) &&
                      !first.then.any && !first.adds && !first.sums && first.more == 0 && first.out == last.out &&
                      last.arg < 0 && !last.by_pointers && last.taps == 1 && last.in <= kernels::most_more_sources;
    if (!fits) return false;
    first.more = last.in, first.more_weights = last.weights, first.then = then;
    to[1] = at[0];
    m.codes.pop_back(), m.places.pop_back();
    return true;
  }

  void add_value(Making &m, size_t s, Value made, bool stored) {
    if (stored) {
      made.arg = m.arg(step(s).dst[0], floats_of(m, made.channels, {}));
      RowCode store{.does = RowCode::Does::store, .in = static_cast<int32_t>(made.channels)};
      store.arg = made.arg;
      m.add(store, {m.use(made.life), -1, -1, -1, -1, -1});
    }
    m.values.insert_or_assign(step(s).dst[0], made);
  }

  void add_ring(Making &m, size_t s, Taps taps) {
    const RowStep &r = *row_step(s);
    const Step &of = step(s);
    const Id before = of.src[0], tick = of.src[2], after = of.dst[0];
    RowCode code{.does = r.turned ? RowCode::Does::turned_ring : RowCode::Does::ring, .in = static_cast<int32_t>(r.in)};
    code.taps = static_cast<int32_t>(taps.count), code.dilation = taps.dilation;
    code.capacity = r.capacity, code.each = r.each, code.count = r.count, code.first = r.first();
    int a = -1;
    const auto x = m.values.find(of.src[1]);
    if (r.turned)
      a = source(m, of.src[1], r.in);
    else if (x == m.values.end())
      code.arg = m.arg(of.src[1], floats_of(m, r.in, {}));
    else if (x->second.arg >= 0)
      code.arg = x->second.arg;
    else
      a = m.use(x->second.life);
    const int64_t state = checked_mul(r.capacity, r.in);
    code.from = m.arg(before, state), code.tick = m.arg(tick, 0), code.state = m.arg(after, state);
    const int staging = r.turned ? -1 : static_cast<int>(m.life(kernels::staging_floats(code, m.rows)));
    Value made{m.life(kernels::ring_floats(code, m.rows)), r.in, taps};
    made.by_pointers = true;
    m.add(code, {a, -1, static_cast<int>(made.life), staging, -1, -1});
    m.values.insert_or_assign(of.dst[1], made);
  }

  const Program &p_;
  std::vector<PlanStep> &steps_;
  PerValue<std::vector<size_t>> readers_;  // indices of steps, once per read
  PerValue<bool> kept_;
};

}  // namespace

void join_rows(const Program &p, std::vector<PlanStep> &steps) { steps = Joiner(p, steps).joined(); }

}  // namespace dl4::plan
