// Causal attention in a stream: a tick's queries attend to cached keys and values and to the tick's own.
#include "ops/attributes.hpp"
#include "ops/matched.hpp"
#include "plan/ticks/writer.hpp"

namespace dl4::plan::ticks {
namespace {

using namespace ops;

enum Source { src_q, src_k, src_v, src_attention_mask };
enum Destination { dst_y, dst_peak, dst_sum };

void set_all(Writer &w, Timed steps, Id y, Id peak, Id sum, bool heads) {
  steps.v = y;
  w.set(steps, dst_y);
  steps.axis = heads ? 2 : 1;
  steps.v = peak;
  w.set(steps, dst_peak);
  steps.v = sum;
  w.set(steps, dst_sum);
}

void attention(Writer &w, const attributes::Attention &op) {
  const bool heads = op.how.heads;
  const Timed &q = w.src(src_q);
  const bool to_steps = w.src(src_k).has_steps() || w.src(src_v).has_steps() || w.src(src_attention_mask).has_steps();
  for (int i : {src_q, src_k, src_v, src_attention_mask})
    if (w.src(i).kind == Timed::Kind::running) w.refuse("it needs the end of the sequence at each step");
  if (!to_steps) {  // attends to a fixed memory
    if (op.how.causal) w.refuse("its causal mask is over keys that are not a sequence");
    if (q.rows || q.axis != 1) w.refuse_mixing();
    w.need_apart();
    const std::vector<Id> made = w.again();
    return set_all(w, q, made[dst_y], made[dst_peak], made[dst_sum], heads);
  }
  if (!op.how.causal) w.refuse("its attention sees later steps; with \"use_causal_mask\" it streams");
  if (w.shape(src_q).rank() != (heads ? 4 : 3)) w.refuse_mixing();
  for (int i : {src_q, src_k, src_v, src_attention_mask})
    if (w.has(i) && (!w.src(i).has_steps() || w.src(i).rows || w.src(i).axis != 1)) w.refuse_mixing();
  if (w.cache().steps == 0)
    w.refuse("it keeps keys and values: the session's option \"cache\" must say of how many steps");
  Timed steps = w.meet();
  const int64_t each = w.each(steps), by = (each - steps.late % each) % each, count = w.cache().steps;
  const auto aligned = [&](int i) {
    Timed t = steps;
    t.v = w.met(i);
    return w.delayed(t, by);
  };
  const Timed query = aligned(src_q);
  const Writer::Kept keys = w.kept(aligned(src_k), count);
  const Writer::Kept values = w.step().src[src_v] == w.step().src[src_k] ? keys : w.kept(aligned(src_v), count);
  const Writer::Kept mask = w.has(src_attention_mask) ? w.kept(aligned(src_attention_mask), count) : Writer::Kept{};
  if (!w.cache().slides) w.need_ticks_below(checked_add(count, query.late) / each);
  const auto made =
      ops::cached_attention(w.e, query.v, keys.ring, values.ring, mask.ring, w.tick(),
                            {heads, op.how.scale, count, query.late, each}, {keys.fresh, values.fresh, mask.fresh});
  set_all(w, query, made.y, none, made.sum, heads);
}

}  // namespace

std::span<const Row> attention_rows() {
  static const Row all[] = {row<attributes::Attention, attention>()};
  return all;
}

}  // namespace dl4::plan::ticks
