// Ops with windows along the steps: a ring keeps the earlier steps that a window reads.
#include <algorithm>

#include "ops/attributes.hpp"
#include "ops/conv.hpp"
#include "ops/ops.hpp"
#include "plan/ticks/writer.hpp"

namespace dl4::plan::ticks {
namespace {

using namespace ops;

// The spatial axis of x that is the steps' axis; none if the steps are in the batch.
std::optional<size_t> axis_of_steps(Writer &w, size_t spatial) {
  const Timed &x = w.src(0);
  if (x.rows) return {};
  if (x.axis < 1 || x.axis > static_cast<int>(spatial)) w.refuse("its windows do not move along the axis of the steps");
  for (int i = 1; i < w.sources(); ++i)
    if (w.src(i).kind != Timed::Kind::fixed) w.refuse("its weights are not the same at all steps");
  return static_cast<size_t>(x.axis - 1);
}

// Taps at least this many steps apart are read in place. Nearer ones would read what was written just before.
constexpr int64_t apart_by_channel = 4;

struct Moves {
  int64_t taps, dilation, stride;
  bool from_zeros;  // causal padding
};
struct Windows {
  Id v;
  bool apart;  // a single window, its taps gathered side by side
  int64_t n, late;
};

Windows windows_of(Writer &w, const Moves &m) {
  const int64_t back = (m.taps - 1) * m.dilation;
  const bool from_zeros = m.from_zeros || w.src(0).lead > 0;
  const Timed x = m.from_zeros ? w.aligned(w.without_lead(w.src(0)))
                               : w.delayed(w.src(0), std::max<int64_t>(0, w.src(0).lead - back));
  w.need_parts(x.n, m.stride);
  const int64_t windows = x.n / m.stride;
  // The first window of a tick ends at its step `end`.
  const int64_t first = x.late + (m.from_zeros ? 0 : back), end = first % m.stride;
  const int64_t skip = m.stride - 1 - end, late = (first - end) / m.stride;
  const bool by_channel = m.dilation >= apart_by_channel;
  if (windows == 1) return {w.window(x, m.taps, m.dilation, skip, from_zeros, by_channel), true, 1, late};
  const int64_t count = back + (windows - 1) * m.stride + 1;
  return {w.window(x, count, 1, skip, from_zeros, by_channel), false, windows, late};
}

void set(Writer &w, const Windows &windows, Id y) {
  Timed t = w.src(0);
  t.v = y;
  t.lead = 0;
  t.n = windows.n;
  t.late = windows.late;
  w.set(t);
}

// Whether each window is one step. Refuses padding that depends on the sequence's end.
template <class How>
bool is_of_each_step(const Writer &w, const How &how, int64_t taps, size_t at) {
  if (taps == 1 && how.strides[at] == 1 && w.src(0).lead == 0) return true;
  if (taps > 1 && how.padding == Padding::same)
    w.refuse("with padding \"same\" its output at one step depends on later steps; \"causal\" or \"valid\" stream");
  if (how.padding != Padding::valid && how.strides.size() > 1)
    w.refuse(text("padding ", how.padding, " along the steps and other axes"));
  return false;
}

void conv(Writer &w, const ConvOp &op) {
  const auto at = axis_of_steps(w, op.how.strides.size());
  const int64_t channels = w.shape(0).last();
  const bool by_channels = op.how.groups == channels && w.result().last() == channels;
  w.need_apart(op.how.strides.size() > 1 || !at || (op.how.groups > 1 && !by_channels));
  if (!at) return w.follows(w.src(0), 0);
  Conv how = op.how;
  const int64_t taps = w.shape(1)[static_cast<int>(*at)];
  if (is_of_each_step(w, how, taps, *at)) return w.follows(w.src(0), w.src(0).axis);
  const Windows windows =
      windows_of(w, {taps, how.dilation[*at], how.strides[*at], taps > 1 && how.padding == Padding::causal});
  how.padding = Padding::valid;
  if (windows.apart) how.dilation[*at] = how.strides[*at] = 1;
  std::vector<Id> src{windows.v};
  for (int i = 1; i < w.sources(); ++i) src.push_back(w.now(i));
  set(w, windows, w.e.value(std::make_shared<ConvOp>(how, op.fused), std::move(src)));
}

void pool(Writer &w, const attributes::Pool &op) {
  const auto at = axis_of_steps(w, op.how.size.size());
  if (!at) return w.follows(w.src(0), 0);
  Pool how = op.how;
  if (how.adaptive) w.refuse("the windows of its output depend on the number of all steps");
  const int64_t taps = how.size[*at];
  if (is_of_each_step(w, how, taps, *at)) return w.follows(w.src(0), w.src(0).axis);
  const Windows windows = windows_of(w, {taps, 1, how.strides[*at], false});
  how.padding = Padding::valid;
  if (windows.apart) how.strides[*at] = 1;
  set(w, windows, ops::pool(w.e, windows.v, how));
}

// An output step is complete once the last input step that adds to it has arrived.
void conv_transpose(Writer &w, const attributes::ConvTranspose &op) {
  w.need_apart();
  const auto at = axis_of_steps(w, op.how.strides.size());
  if (!at) return w.follows(w.src(0), 0);
  Conv how = op.how;
  std::vector<int64_t> more = op.output_padding;
  const int64_t stride = how.strides[*at], reach = (w.shape(1)[static_cast<int>(*at)] - 1) * how.dilation[*at] + 1;
  if (how.strides.size() > 1 && how.padding != Padding::valid)
    w.refuse(text("padding ", how.padding, " along the steps and other axes"));
  const int64_t earlier = (reach - 1) / stride;
  // As many zeros as "same" removes at the start.
  int64_t cut = 0;
  if (how.padding == Padding::same && reach > stride) {
    if (more[*at] >= 0) w.refuse("\"output_padding\" with padding \"same\"");
    cut = (reach - stride) / 2;
  }
  const Timed x = earlier > 0 ? w.aligned(w.src(0)) : w.src(0);
  how.padding = Padding::valid;
  more[*at] = -1;
  const Id window = earlier > 0 ? w.window(x, earlier + x.n, 1, 0, true) : x.v;
  const Id whole = ops::conv_transpose(w.e, window, w.now(1), how, more);
  Timed t = x;
  t.n = checked_mul(x.n, stride);
  t.late = checked_add(checked_mul(x.late, stride), cut);
  t.v = ops::slice(w.e, whole, x.axis, checked_mul(earlier, stride), t.n);
  w.set(t);
}

}  // namespace

std::span<const Row> window_rows() {
  static const Row all[] = {
      row<ConvOp, conv>(),
      row<attributes::Pool, pool>(),
      row<attributes::ConvTranspose, conv_transpose>(),
  };
  return all;
}

}  // namespace dl4::plan::ticks
