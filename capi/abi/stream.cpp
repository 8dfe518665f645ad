// Streams: sequences processed in parts.
#include "io/native/model.hpp"
#include "options.hpp"
#include "tensors.hpp"

namespace dl4::capi {
namespace {

struct StreamOptions {
  int64_t batch = 1, seed = 0;
  void fields(kinds::Fields &f) {
    f("batch", batch, "sequences that go on side by side").within(1, max_dim);
    f("seed", seed, "of the generator that dl4_stream_next() draws from");
  }
};

struct ForkOptions {
  std::optional<int64_t> seed;
  void fields(kinds::Fields &f) {
    f("seed", seed, "begins the copy's generator with it; null: it draws what the first one draws");
  }
};

struct NextOptions : runtime::Sampling {
  void fields(kinds::Fields &f) {
    f("temperature", temperature, "below 1 the likely ids become likelier, 0 takes the likeliest").at_least(0);
    f("top_k", top_k, "only the k likeliest ids; 0: all").at_least(0);
    f("top_p", top_p, "of these the fewest whose probabilities sum to p, the likeliest first").within(0, 1);
    f("stop", stop, "ids that end a sequence");
    f("from_logits", from_logits, "false: the output holds probabilities");
  }
};

io::States with_generator(io::States states, const dl4_stream &stream) {
  states.emplace_back("generator", stream.sampler.state());
  return states;
}

// Holds the turns of many streams of one session with batch 1.
class Turns {
 public:
  // cores: receives theirs, reusing its memory.
  Turns(std::span<dl4_stream *const> streams, std::vector<runtime::Stream *> &cores)
      : streams_(streams), cores_(cores) {
    cores_.clear();
    cores_.reserve(streams.size());
    try {
      for (size_t i = 0; i < streams.size(); ++i) {
        read_ahead(i);
        take(i);
      }
    } catch (...) {
      give();
      throw;
    }
  }
  ~Turns() { give(); }
  Turns(const Turns &) = delete;
  Turns &operator=(const Turns &) = delete;

 private:
  void take(size_t i) {
    dl4_stream &s = element(streams_[i], "streams", i);
    if (s.session.get() != streams_[0]->session.get())
      refuse_argument("streams", text("streams[", i, "] is of another session than streams[0]"));
    if (s.core.batch() != 1)
      fail(Code::unsupported, "streams[", i, "]: expected a stream of batch 1, got one of ", s.core.batch());
    const auto before = streams_.first(i);
    try {
      s.turn.take("stream");
    } catch (const Error &) {
      if (const auto same = std::ranges::find(before, &s); same != before.end())
        refuse_argument("streams", text("streams[", i, "] is streams[", same - before.begin(), "] again"));
      throw;
    }
    cores_.push_back(&s.core);
  }
  void give() noexcept {
    for (size_t i = 0; i < cores_.size(); ++i) {
      read_ahead(i);
      streams_[i]->turn.give();
    }
  }
  // Prefetches: most streams are not in cache.
  void read_ahead(size_t i) const noexcept {
    constexpr size_t ahead = 12, line = 64;
    if (i + ahead >= streams_.size()) return;
    const auto *at = reinterpret_cast<const std::byte *>(streams_[i + ahead]);
    __builtin_prefetch(at, 1);
    __builtin_prefetch(at + line);
  }
  const std::span<dl4_stream *const> streams_;
  std::vector<runtime::Stream *> &cores_;
};

// A block of the session, for one run.
class Block {
 public:
  explicit Block(dl4_session &session) : session_(session) {
    {
      std::lock_guard lock(session.blocks_mutex);
      if (!session.blocks.empty()) {
        block_ = std::move(session.blocks.back());
        session.blocks.pop_back();
        return;
      }
    }
    block_.reset(new dl4_session::Block{runtime::StreamBlock(session.streams.ticks)});
  }
  ~Block() {
    std::lock_guard lock(session_.blocks_mutex);
    try {
      session_.blocks.push_back(std::move(block_));
    } catch (const std::bad_alloc &) {  // the next run makes one
    }
  }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;
  dl4_session::Block *operator->() const { return block_.get(); }

 private:
  dl4_session &session_;
  std::unique_ptr<dl4_session::Block> block_;
};

// Adapter for run_on().
struct ManyInBlock {
  runtime::StreamBlock &block;
  const runtime::Many many;
  void check(std::span<const runtime::View> in) const { block.check(many, in); }
  auto outputs(std::span<const runtime::View> in, const std::atomic<int32_t> *cancel) const {
    return block.outputs(many, in, cancel);
  }
  void need_room(int64_t bytes) const { block.need_room(bytes); }
  void run(std::span<const runtime::View> in, std::span<const runtime::View> out,
           const std::atomic<int32_t> *cancel) const {
    block.run(many, in, out, cancel);
  }
};

// Adapter for run_on().
struct Alone {
  runtime::Stream &stream;
  void check(std::span<const runtime::View> in) const { stream.check(in); }
  auto outputs(std::span<const runtime::View> in, const std::atomic<int32_t> *cancel) const {
    return stream.outputs(in, cancel);
  }
  void need_room(int64_t bytes) const { stream.need_room(bytes); }
  void run(std::span<const runtime::View> in, std::span<const runtime::View> out,
           const std::atomic<int32_t> *cancel) const {
    stream.run(in, out, cancel);
  }
};

// Runs the steps and returns the logits of the last one.
Tensor last_logits(dl4_stream &stream, std::span<const runtime::View> in, const std::atomic<int32_t> *cancel) {
  stream.core.check(in);
  const std::vector<ops::Operand> expected = stream.core.outputs(in, cancel);
  const int64_t batch = stream.core.batch();
  if (const Shape &shape = expected[0].shape; expected.size() != 1 || expected[0].dtype != DType::f32 ||
                                              shape.rank() < 2 || shape.rank() > 3 || shape[0] != batch ||
                                              shape[shape.rank() - 1] < 1)
    fail(Code::unsupported, "expected a model with one output, logits float32 [B, V] or [B, T, V], got ",
         expected.size() == 1 ? text(expected[0].dtype, ' ', shape) : text(expected.size(), " outputs"));
  const Shape &shape = expected[0].shape;
  if (shape.elements() == 0) fail(Code::unsupported, "these steps complete no step of the output");
  stream.core.need_room(checked_mul(shape.elements(), size_of(DType::f32)));
  if (!stream.output.data || stream.output.shape != shape)
    stream.output = stream.context->memory->tensor(DType::f32, shape);
  const Tensor &whole = stream.output;
  const runtime::View out{whole.dtype, whole.shape, whole.data.get()};
  stream.core.run(in, {&out, 1}, cancel);
  const int64_t ids = shape[shape.rank() - 1], row = shape.elements() / batch;
  Tensor last = stream.context->memory->tensor(DType::f32, {batch, ids});
  for (int64_t b = 0; b < batch; ++b)
    std::copy_n(whole.as<float>() + checked_mul(b + 1, row) - ids, ids, last.as<float>() + checked_mul(b, ids));
  return last;
}

void ask(dl4_logits_fn logits, void *user, dl4_tensor &tensor) {
  const int32_t answer = call_host("logits function", [&] { return logits(user, &tensor); });
  if (answer != 0)
    throw Error(Code::callback_failed, text("the logits function gave ", answer))
        .with("answer", std::to_string(answer));
}

}  // namespace

Json describe_stream_options() { return kinds::describe_fields<StreamOptions>(); }
Json describe_next_options() { return kinds::describe_fields<NextOptions>(); }
Json describe_fork_options() { return kinds::describe_fields<ForkOptions>(); }

}  // namespace dl4::capi

using namespace dl4;
using namespace dl4::capi;

dl4_error *dl4_stream_create(dl4_session *s, const char *options, dl4_stream **out) {
  return produce(__func__, out, [&] {
    dl4_session &session = object(s, "session");
    const auto o = read_options<StreamOptions>(options);
    if (!session.streams.ticks.how)
      fail(Code::unsupported, "the session can't be run step by step: ", session.streams.why_none);
    return new dl4_stream(session, o.batch, o.seed);
  });
}

dl4_error *dl4_stream_run(dl4_stream *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                          dl4_cancel *cancel) {
  return guard<FlushToZero>(__func__, [&](Entry &entry) {
    dl4_stream &stream = object(s, "stream");
    dl4_cancel *flag = object_or_null(cancel, "cancel");
    Turn::One turn(stream.turn, "stream");
    entry.log_to(stream.context->log);
    RunOn<Alone> core{{stream.core}, stream.core.outputs_count()};
    run_tensors(core, *stream.context->memory, {in, n_in, out, n_out}, flag ? &flag->triggered : nullptr);
  });
}

dl4_error *dl4_stream_reset(dl4_stream *s) {
  return guard(__func__, [&] {
    dl4_stream &stream = object(s, "stream");
    Turn::One turn(stream.turn, "stream");
    stream.core.reset();
    stream.sampler.reset();
  });
}

dl4_error *dl4_stream_reset_row(dl4_stream *s, int64_t row) {
  return guard(__func__, [&] {
    dl4_stream &stream = object(s, "stream");
    Turn::One turn(stream.turn, "stream");
    need_index(row, stream.core.batch());
    stream.core.reset(row);
    stream.sampler.reset(row);
  });
}

dl4_error *dl4_stream_fork(const dl4_stream *s, const char *options, dl4_stream **out) {
  return produce(__func__, out, [&] {
    const dl4_stream &stream = object(s, "stream");
    const auto o = read_options<ForkOptions>(options);
    Turn::One turn(stream.turn, "stream");
    Ref<dl4_stream> made = Ref<dl4_stream>::adopt(new dl4_stream(stream));
    if (o.seed) made->sampler.seed(*o.seed);
    return made.detach();
  });
}

dl4_error *dl4_stream_run_many(dl4_stream *const *streams, int64_t n, const int64_t *steps, dl4_tensor *const *in,
                               int64_t n_in, dl4_tensor **out, int64_t n_out, dl4_cancel *cancel) {
  return guard<FlushToZero>(__func__, [&](Entry &entry) {
    const auto all = array(streams, n, "streams");
    if (all.empty()) refuse_argument("streams", "expected at least 1, got 0");
    dl4_cancel *flag = object_or_null(cancel, "cancel");
    dl4_session &session = *element(all[0], "streams", 0).session;
    Block block(session);
    Turns turns(all, block->streams);
    entry.log_to(session.context->log);
    const auto each = steps ? std::span(steps, all.size()) : std::span<const int64_t>();
    RunOn<ManyInBlock> core{{block->core, {block->streams, each}},
                            static_cast<size_t>(dl4_port_count(all[0], DL4_OUTPUTS))};
    run_tensors(core, *session.context->memory, {in, n_in, out, n_out}, flag ? &flag->triggered : nullptr);
  });
}

dl4_error *dl4_stream_next(dl4_stream *s, dl4_tensor *const *in, int64_t n_in, const char *options,
                           dl4_logits_fn logits, void *user, int64_t *ids, int64_t n, dl4_cancel *cancel) {
  return guard<FlushToZero>(__func__, [&](Entry &entry) {
    dl4_stream &stream = object(s, "stream");
    Ref<dl4_cancel> keep(object_or_null(cancel, "cancel"));
    Ref<dl4_stream> keep_stream(&stream);
    Turn::One turn(stream.turn, "stream");
    entry.log_to(stream.context->log);
    const auto sources = array(in, n_in, "in");
    const auto to = array(ids, n, "ids");
    if (n != stream.core.batch())
      refuse_argument("n", text("expected ", stream.core.batch(), ", the stream's batch, got ", n));
    if (const char *given = options ? options : "{}"; stream.sampling_text != given) {
      runtime::Sampling read = read_options<NextOptions>(given);
      stream.sampling_text = given;
      stream.sampling = std::move(read);
    }
    std::vector<runtime::View> from;
    for (size_t i = 0; i < sources.size(); ++i) from.push_back(element(sources[i], "in", i).view());
    auto last = Ref<dl4_tensor>::adopt(new dl4_tensor(last_logits(stream, from, keep ? &keep->triggered : nullptr)));
    try {
      if (logits) ask(logits, user, *last);
      const auto count = static_cast<size_t>(last->shape.elements());
      stream.sampler.draw({reinterpret_cast<const float *>(last->data.get()), count}, stream.sampling, to);
    } catch (...) {
      stream.core.undo();
      throw;
    }
  });
}

dl4_error *dl4_stream_save_bytes(const dl4_stream *s, dl4_blob **out) {
  return produce(__func__, out, [&] {
    const dl4_stream &stream = object(s, "stream");
    Turn::One turn(stream.turn, "stream");
    return make_blob(io::save_states(with_generator(stream.core.saved(), stream)));
  });
}

dl4_error *dl4_stream_load_bytes(dl4_stream *s, const void *data, int64_t bytes) {
  return guard(__func__, [&] {
    dl4_stream &stream = object(s, "stream");
    Turn::One turn(stream.turn, "stream");
    stream.core.own();
    io::load_states(with_generator(stream.core.states(), stream), io::Memory(bytes_of(data, bytes)));
  });
}
