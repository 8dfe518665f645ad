// Streams: sequences that go on.
#include "io/model_file.hpp"
#include "options.hpp"
#include "tensors.hpp"

namespace dl4::capi {
namespace {

struct StreamOptions {
  int64_t batch = 1;
  void fields(kinds::Fields &f) {
    f("batch", batch).at_least(1).at_most(max_dim).doc("sequences that go on side by side");
  }
};

std::vector<std::pair<std::string, Tensor>> named_states(const dl4_stream &stream) {
  std::vector<std::pair<std::string, Tensor>> all;
  for (size_t i = 0; i < stream.core.states().size(); ++i)
    all.emplace_back(stream.core.name(i), stream.core.states()[i]);
  return all;
}

}  // namespace

Json describe_stream_options() { return kinds::describe_fields<StreamOptions>(); }

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_stream_create(dl4_session *s, const char *options, dl4_stream **out) {
  clear(out);
  return guard(__func__, [&] {
    dl4_session &session = object(s, "s");
    dl4_stream *&to = needed(out, "out");
    const auto o = read_options<StreamOptions>(options);
    if (!session.why_no_stream.empty())
      fail(Code::unsupported, "the session can't be run step by step: ", session.why_no_stream);
    to = new dl4_stream(session, o.batch);
  });
}

dl4_error *dl4_stream_run(dl4_stream *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                          dl4_cancel *cancel) {
  return guard(__func__, [&](Entry &entry) {
    dl4_stream &stream = object(s, "s");
    dl4_cancel *flag = object_or_null(cancel, "cancel");
    Gate::OneAlone alone(stream.gate, "stream");
    entry.owes(stream.context->log);
    run_tensors(stream.core, stream.core.outputs_count(), *stream.context->memory, {in, n_in, out, n_out},
                flag ? &flag->triggered : nullptr);
  });
}

dl4_error *dl4_stream_reset(dl4_stream *s) {
  return guard(__func__, [&] {
    dl4_stream &stream = object(s, "s");
    Gate::OneAlone alone(stream.gate, "stream");
    stream.core.reset();
  });
}

dl4_error *dl4_stream_save_memory(const dl4_stream *s, dl4_blob **out) {
  clear(out);
  return guard(__func__, [&] {
    const dl4_stream &stream = object(s, "s");
    dl4_blob *&to = needed(out, "out");
    Gate::OneAlone alone(stream.gate, "stream");
    to = make_blob(io::save_states(named_states(stream)));
  });
}

dl4_error *dl4_stream_load_memory(dl4_stream *s, const void *data, int64_t bytes) {
  return guard(__func__, [&] {
    dl4_stream &stream = object(s, "s");
    Gate::OneAlone alone(stream.gate, "stream");
    io::load_states(named_states(stream), io::Memory(bytes_of(data, bytes)));
  });
}
