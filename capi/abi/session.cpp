// Sessions: models prepared for running.
#include "batches.hpp"
#include "options.hpp"
#include "running.hpp"
#include "tensors.hpp"

namespace dl4::capi {
namespace {

SessionOptions session_options(const char *options) {
  auto o = read_options<SessionOptions>(options);
  if (o.cotangents && o.gradients.empty())
    throw Error(Code::invalid_argument, "\"cotangents\": true needs \"gradients\", got none")
        .with("attribute", "cotangents");
  if (o.weights != kernels::WeightType::float32 && (o.training || !o.gradients.empty()))
    throw Error(Code::unsupported,
                text("\"weights\": expected \"float32\" with ", o.training ? "\"training\": true" : "\"gradients\"",
                     ", got \"", kernels::weight_type_names[static_cast<size_t>(o.weights)], '"'))
        .with("attribute", "weights");
  return o;
}

// Bytes that Executables keep; null ones are skipped.
struct Kept {
  int64_t cached_bytes = 0, packed_bytes = 0;
  Json plans = Json::array();
};
Kept kept_by(std::span<runtime::Executable *const> all) {
  Kept k;
  for (runtime::Executable *e : all) {
    if (!e) continue;
    k.cached_bytes += e->cached_bytes(), k.packed_bytes += e->packed_bytes();  // bounded: existing memory
    for (const Json &plan : e->plans()) k.plans.push_back(plan);
  }
  return k;
}

Json stream_facts(const runtime::Ticks &ticks) {
  Json outputs = Json::array();
  for (const auto &o : ticks.how->outputs) outputs.push_back({{"steps", o.steps}, {"late", o.late}});
  std::vector<runtime::Executable *> all{ticks.one.get()};
  for (const auto &e : ticks.together) all.push_back(e.get());
  Kept kept = kept_by(all);
  int64_t most = 1;
  for (const auto &t : ticks.how->together) most = std::max(most, t.ticks);
  return {{"steps", ticks.how->steps},
          {"steps_at_once", checked_mul(ticks.how->steps, most)},
          {"outputs", std::move(outputs)},
          {"cached_bytes", kept.cached_bytes},
          {"plans", std::move(kept.plans)}};
}

}  // namespace

std::string describe(dl4_session &s, int32_t format) {
  const std::vector<runtime::Executable *> running = s.runner->executables();
  if (format == DL4_FORMAT_TEXT) {
    std::string all;
    for (runtime::Executable *e : running) all += e->describe();
    return all;
  }
  if (format != DL4_FORMAT_JSON) refuse_format(Tag::session, format);
  auto side = [&](int32_t which) {
    Json list = Json::array();
    for (int64_t i = 0; i < dl4_port_count(&s, which); ++i) {
      const Port port = port_of(s, which, i);
      Json one{{"name", port.name}, {"dtype", to_string(port.dtype)}, {"shape", port.shape.dims()}};
      const auto at = static_cast<size_t>(i);
      if (which == DL4_OUTPUTS) one["masked"] = at < s.masked.size() && s.masked[at];
      list.push_back(std::move(one));
    }
    return list;
  };
  Kept kept = kept_by(running);
  Json all{{"inputs", side(DL4_INPUTS)},
           {"outputs", side(DL4_OUTPUTS)},
           {"steps", s.core->program().steps.size()},
           {"cached_bytes", kept.cached_bytes},
           {"packed_bytes", kept.packed_bytes},
           {"plans", std::move(kept.plans)}};
  if (s.streams.ticks.how) all["stream"] = stream_facts(s.streams.ticks);
  return dump(all);
}

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_session_create(const dl4_model *m, const char *options, dl4_session **out) {
  return produce(__func__, out, [&](Entry &entry) {
    const dl4_model &model = object(m, "model");
    const SessionOptions given = session_options(options);
    entry.log_to(model.context->log);
    Gate::Reading reading(*model.weights, "model");
    return make_session(model, given);
  });
}

dl4_error *dl4_session_output_shape(const dl4_session *s, const int32_t *ranks, const int64_t *in_dims, int64_t n_in,
                                    int64_t i, int64_t *dims, int64_t cap, int32_t *rank) {
  clear(rank);
  return guard(__func__, [&] {
    const dl4_session &session = object(s, "session");
    needed(rank, "rank");
    std::vector<Shape> in;
    for (int32_t r : array(ranks, n_in, "ranks")) {
      in.push_back(shape_of(r, in_dims, "in_dims"));
      if (in_dims) in_dims += r;
    }
    need_index(i, dl4_port_count(s, DL4_OUTPUTS));
    const Shape shape = session.runner->outputs(in)[static_cast<size_t>(i)].shape;
    if (!shape.known()) fail(Code::unsupported, "output ", i, " has the shape ", shape, ", whose sizes a run computes");
    give_shape(shape, dims, cap, rank);
  });
}

dl4_error *dl4_session_run(dl4_session *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                           dl4_cancel *cancel) {
  return guard(__func__, [&](Entry &entry) {
    dl4_session &session = object(s, "session");
    dl4_cancel *flag = object_or_null(cancel, "cancel");
    entry.log_to(session.context->log);
    std::optional<Gate::Alone> alone;
    if (session.written) alone.emplace(*session.written, "model");
    run_tensors(*session.runner, *session.context->memory, {in, n_in, out, n_out}, flag ? &flag->triggered : nullptr);
  });
}

dl4_error *dl4_session_predict(dl4_session *s, dl4_dataset *d, dl4_cancel *cancel, dl4_tensor **out, int64_t n_out) {
  return guard(__func__, [&](Entry &entry) {
    dl4_session &session = object(s, "session");
    dl4_dataset &data = object(d, "dataset");
    if (session.no_batches) fail(Code::unsupported, session.no_batches, ": a run takes one batch");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    const auto slots = array(out, n_out, "out");
    const auto &p = session.core->program();
    const std::vector<Ref<dl4_tensor>> yours = yours_of(slots, p.outputs.size());
    Ref<dl4_session> keep_session(&session);
    entry.log_to(session.context->log);
    Batches batches(data, p.inputs.size(), p.outputs.size(), false);
    give_whole(train::predict(*session.core, *data.core, *session.context->memory, flag(keep)), yours, slots);
  });
}
