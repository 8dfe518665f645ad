// Sessions: a model made ready to run.
#include <memory_resource>

#include "batches.hpp"
#include "graph/lower.hpp"
#include "kinds/field.hpp"
#include "options.hpp"

namespace dl4::capi {
namespace {

struct SessionOptions {
  bool profile;
  static auto fields() {
    return std::tuple{kinds::field("profile", &SessionOptions::profile).otherwise(false).doc("keep times per step")};
  }
};

// The tensors to write to: the caller's, and new ones where a slot is NULL.
struct Outputs {
  explicit Outputs(std::pmr::memory_resource *memory = std::pmr::get_default_resource())
      : made(memory), views(memory) {}
  std::pmr::vector<Ref<dl4_tensor>> made;  // by slot, null where the caller brought one
  std::pmr::vector<runtime::View> views;

  void give(dl4_tensor **out) {
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i]) out[i] = std::exchange(made[i], {}).detach();
  }
};

void take(Outputs &o, dl4_tensor *slot, size_t i) {
  if (slot) {
    dl4_tensor &t = element(slot, "out", i);
    if (t.read_only) refuse_argument("out", text("out[", i, "] is read-only"));
    o.views.push_back(t.view());
  } else {
    o.views.emplace_back();
  }
  o.made.emplace_back();
}

}  // namespace

std::string describe(dl4_session &s, int32_t format) {
  if (format == DL4_FORMAT_TEXT) return s.core->describe();
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::session, format);
  auto side = [&](const std::vector<ops::Id> &ids) {
    Json list = Json::array();
    for (ops::Id id : ids) {
      const ops::Value &v = s.core->program()[id];
      list.push_back({{"name", v.name}, {"dtype", to_string(v.dtype)}, {"shape", v.shape.dims()}});
    }
    return list;
  };
  const auto &p = s.core->program();
  return dump({{"inputs", side(p.inputs)},
               {"outputs", side(p.outputs)},
               {"steps", p.steps.size()},
               {"cached_bytes", s.core->cached_bytes()}});
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_session_create(const dl4_model *m, const dl4_attrs *options, dl4_session **out) {
  clear(out);
  return guard(__func__, [&] {
    const dl4_model &model = object(m, "m");
    dl4_session *&to = needed(out, "out");
    SessionOptions given;
    kinds::read_fields(given, plain(options, "options"));
    LogDelivery delivery(model.context->log);
    Gate::Reading reading(*model.weights, "model");
    ops::Program program = graph::inference_program(*model.core);
    runtime::Options run = model.context->options();
    run.constant_states = true;
    run.profile = given.profile;
    auto core = runtime::Session::make(std::move(program), model.core->pin(), std::make_shared<ops::Packs>(), run);
    to = new dl4_session(model.context, std::move(core));
  });
}

dl4_error *dl4_session_run(dl4_session *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                           dl4_cancel *cancel) {
  return guard(__func__, [&] {
    dl4_session &session = object(s, "s");
    dl4_cancel *flag = object_or_null(cancel, "cancel");
    std::byte room[4096];  // a run allocates nothing, unless it has very many inputs and outputs
    std::pmr::monotonic_buffer_resource memory(room, sizeof room);
    auto sources = array(in, n_in, "in");
    std::pmr::vector<runtime::View> from(&memory);
    from.reserve(sources.size());
    for (size_t i = 0; i < sources.size(); ++i) from.push_back(element(sources[i], "in", i).view());
    auto slots = array(out, n_out, "out");
    Outputs to(&memory);
    to.made.reserve(slots.size());
    to.views.reserve(slots.size());
    bool make = false;
    for (dl4_tensor *slot : slots) {
      take(to, slot, to.views.size());
      make |= !slot;
    }
    LogDelivery delivery(session.context->log);
    session.core->check(from);
    if (to.views.size() != session.core->program().outputs.size())
      fail(Code::invalid_argument, "expected ", session.core->program().outputs.size(), " outputs, got ",
           to.views.size());
    if (make) {
      auto expected = session.core->outputs(from, flag ? &flag->triggered : nullptr);
      int64_t bytes = 0;
      for (size_t i = 0; i < to.views.size(); ++i)
        if (!out[i]) bytes = checked_add(bytes, checked_mul(expected[i].shape.elements(), size_of(expected[i].dtype)));
      session.core->need_room(bytes);
      for (size_t i = 0; i < to.views.size(); ++i) {
        if (out[i]) continue;
        Tensor t = session.context->memory->tensor(expected[i].dtype, expected[i].shape);
        to.made[i] = Ref<dl4_tensor>::adopt(new dl4_tensor(std::move(t)));
        to.views[i] = to.made[i]->view();
      }
    }
    session.core->run(from, to.views, flag ? &flag->triggered : nullptr);
    to.give(out);
  });
}

dl4_error *dl4_session_predict(dl4_session *s, dl4_dataset *d, dl4_cancel *cancel, dl4_tensor **out, int64_t n_out) {
  return guard(__func__, [&] {
    dl4_session &session = object(s, "s");
    dl4_dataset &data = object(d, "d");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    Outputs to;
    for (dl4_tensor *slot : array(out, n_out, "out")) take(to, slot, to.views.size());
    const auto &p = session.core->program();
    if (to.views.size() != p.outputs.size())
      fail(Code::invalid_argument, "expected ", p.outputs.size(), " outputs, got ", to.views.size());
    Ref<dl4_session> keep_session(&session);
    std::vector<Ref<dl4_tensor>> yours(out, out + n_out);
    LogDelivery delivery(session.context->log);
    Batches batches(data, p.inputs.size(), p.outputs.size(), false);
    auto whole = train::predict(*session.core, *data.core, *session.context->memory, flag(keep));
    for (size_t i = 0; i < whole.size(); ++i) {
      if (!yours[i]) {
        to.made[i] = Ref<dl4_tensor>::adopt(new dl4_tensor(std::move(whole[i])));
      } else if (yours[i]->dtype != whole[i].dtype || yours[i]->shape != whole[i].shape) {
        fail(Code::shape_mismatch, "output ", i, ": expected ", whole[i].dtype, ' ', whole[i].shape, ", got ",
             yours[i]->dtype, ' ', yours[i]->shape);
      }
    }
    for (size_t i = 0; i < whole.size(); ++i)
      if (yours[i]) yours[i]->assign(whole[i]);
    to.give(out);
  });
}
