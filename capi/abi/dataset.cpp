// Datasets of tensors, or of batches from a callback.
#include "options.hpp"

namespace dl4::capi {
namespace {

struct CallbackOptions {
  std::optional<int64_t> steps;
  bool samples = false;
  void fields(kinds::Fields &f) {
    f("steps", steps, "batches of an epoch").at_least(0);
    f("samples", samples, "each call gives one sample, without an axis of the batch");
  }
};

// room: bytes available for copies, reduced by those used. optional: elements may be NULL.
std::vector<train::Source> sources(dl4_tensor *const *list, int64_t n, const char *argument, int64_t &room,
                                   bool optional = false) {
  std::vector<train::Source> all;
  for (dl4_tensor *t : array(list, n, argument)) {
    if (optional && !t) {
      all.emplace_back();
      continue;
    }
    element(t, argument, all.size());
    if (*argument != 'x' && t->dtype == DType::string)
      refuse_argument(argument, text("expected numbers, got strings at ", all.size()));
    auto owner = std::make_shared<Ref<dl4_tensor>>(t);
    if (!t->dense && t->bytes() > room)
      fail(Code::out_of_memory, '"', argument, "\": dense copies of the tensors would pass the memory limit, ",
           t->bytes(), " bytes for one of shape ", t->shape);
    if (!t->dense) room -= t->bytes();
    if (!t->dense) owner = std::make_shared<Ref<dl4_tensor>>(Ref<dl4_tensor>::adopt(new dl4_tensor(t->as_dense())));
    runtime::View view = (*owner)->view();
    all.push_back({view, std::move(owner)});
  }
  return all;
}

using Slots = std::vector<dl4_tensor *>;

// Takes ownership of what a batch function stored in the slots, even if it does not return.
struct Taken {
  ~Taken() {
    for (auto *list : {&x, &y, &w})
      for (dl4_tensor *t : *list) {
        valid &= !t || cast(t);
        if (cast(t)) held.push_back(Ref<dl4_tensor>::adopt(t));
      }
  }
  Slots &x, &y, &w;
  std::vector<Ref<dl4_tensor>> &held;
  bool &valid;
};

// Views of the tensors of one kind; empty if they are optional and there are none.
std::vector<runtime::View> views(const Slots &list, bool valid, bool optional, const char *name, int64_t index) {
  std::vector<runtime::View> found;
  bool all = valid, any = false;
  for (dl4_tensor *t : list) {
    found.push_back(valid && t ? t->view() : runtime::View{});
    if (*name != 'x' && found.back().dtype == DType::string)
      fail(Code::callback_failed, "the batch callback gave strings as ", name, " of batch ", index,
           ", expected numbers");
    all &= t != nullptr;
    any |= t != nullptr;
  }
  if (!valid || (!all && !optional))
    fail(Code::callback_failed, "the batch callback left ", name, " of batch ", index, " without a tensor");
  if (optional && !any) found.clear();
  return found;
}

// Requests one batch from the callback; its tensors are held until the next one.
int32_t ask(dl4_dataset &d, dl4_batch_fn fn, int64_t index, train::Batch &b) {
  d.held.clear();
  Slots x(d.nx), y(d.ny), w(d.ny);
  auto count = [](const Slots &list) { return static_cast<int64_t>(list.size()); };
  bool valid = true;
  d.held.reserve(x.size() + 2 * y.size());
  const int32_t answer = call_host("batch function", [&] {
    Taken taken{x, y, w, d.held, valid};
    return fn(d.user->user, index, x.data(), count(x), y.data(), count(y), w.data(), count(w));
  });
  if (answer != 0) return answer;
  b.x = views(x, valid, false, "x", index);
  b.y.clear();
  b.w.clear();
  if (!d.labels) return 0;
  b.y = views(y, valid, false, "y", index);
  b.w = views(w, valid, true, "w", index);
  return 0;
}

}  // namespace

Json describe_callback_options() { return kinds::describe_fields<CallbackOptions>(); }

std::string describe(dl4_dataset &d, int32_t format) {
  auto batches = d.core->batches();
  if (format == DL4_FORMAT_JSON) return dump({{"batches", batches ? Json(*batches) : Json(nullptr)}});
  if (format == DL4_FORMAT_TEXT) return batches ? text(*batches, " batches") : "as many batches as its callback gives";
  refuse_format(Tag::dataset, format);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_dataset_from_tensors(dl4_context *c, dl4_tensor *const *x, int64_t nx, dl4_tensor *const *y, int64_t ny,
                                    dl4_tensor *const *w, int64_t nw, const char *options, dl4_dataset **out) {
  return produce(__func__, out, [&] {
    auto o = train::TensorsOptions::parse(json_options(options));
    o.memory_limit = capi::context(c).core->settings().memory_limit;
    int64_t room = o.memory_limit;
    auto data = Ref<dl4_dataset>::adopt(new dl4_dataset);
    auto in = sources(x, nx, "x", room), targets = sources(y, ny, "y", room), weights = sources(w, nw, "w", room, true);
    data->core = train::from_tensors(std::move(in), std::move(targets), std::move(weights), o);
    return data.detach();
  });
}

dl4_error *dl4_dataset_from_callback(dl4_context *c, dl4_batch_fn fn, void *user, dl4_release_fn release,
                                     const char *options, dl4_dataset **out) {
  return produce(__func__, out, [&] {
    capi::context(c);
    if (!fn) refuse_argument("fn", "expected a function, got NULL");
    const auto o = read_options<CallbackOptions>(options);
    auto data = Ref<dl4_dataset>::adopt(new dl4_dataset);
    dl4_dataset *self = data.get();  // it owns the core
    data->user = std::make_unique<Release>(user);
    data->core = train::from_callback([self, fn](int64_t index, train::Batch &b) { return ask(*self, fn, index, b); },
                                      o.steps, o.samples);
    data->user->f = release;  // `release` is set only once the object exists
    return data.detach();
  });
}
