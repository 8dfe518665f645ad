// The objects of the opaque handles.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host.hpp"
#include "base/json.hpp"
#include "base/tensor.hpp"
#include "context.hpp"
#include "graph/lower.hpp"
#include "graph/model.hpp"
#include "object.hpp"
#include "runtime/runner.hpp"
#include "runtime/sampler.hpp"
#include "runtime/stream_block.hpp"
#include "train/fit.hpp"

// NOLINTBEGIN: the names are those of the header.
struct dl4_error final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::error;
  dl4_error() : Object(type) {}
  dl4::Code code = dl4::Code::internal;
  const char *message = "", *detail = "{}";
  std::string message_text, detail_text;
  bool is_static = false;  // static storage, never freed

 private:
  void destroy() noexcept override {
    if (!is_static) delete this;
  }
};

struct dl4_blob final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::blob;
  explicit dl4_blob(std::string bytes) : Object(type), bytes(std::move(bytes)) {}
  const std::string bytes;
};

struct dl4_cancel final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::cancel;
  dl4_cancel() : Object(type) {}
  std::atomic<int32_t> triggered{0};
};

struct dl4_context final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::context;
  explicit dl4_context(const dl4::Json &options) : Object(type), core(std::make_shared<dl4::capi::Context>(options)) {}
  const std::shared_ptr<dl4::capi::Context> core;
};

struct dl4_tensor final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::tensor;
  // Dense, using `t`'s memory.
  explicit dl4_tensor(dl4::Tensor t);
  dl4_tensor(dl4::DType dtype, const dl4::Shape &shape, const int64_t *strides, dl4::Bytes data);

  dl4::runtime::View view() const { return {dtype, shape, data.get(), dense ? nullptr : strides.data()}; }
  int64_t bytes() const { return dl4::checked_mul(shape.elements(), dl4::size_of(dtype)); }
  // Dense: shares the memory, or copies a strided tensor.
  dl4::Tensor as_dense() const;
  // Takes over the bytes of a dense tensor of equal shape and type.
  void assign(const dl4::Tensor &t) const;

  const dl4::DType dtype;
  const dl4::Shape shape;
  std::array<int64_t, dl4::max_rank> strides;
  bool dense = true, read_only = false;
  dl4::Bytes data;  // the first element; replaced when a host function sees successive runs
};

struct dl4_model final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::model;
  dl4_model(std::shared_ptr<dl4::capi::Context> context, std::shared_ptr<dl4::graph::Model> core,
            std::shared_ptr<dl4::capi::Gate> weights);
  const std::shared_ptr<dl4::capi::Context> context;
  const std::shared_ptr<dl4::graph::Model> core;
  const std::shared_ptr<dl4::capi::Gate> weights;  // of the weights, shared by models that share them
  std::vector<std::string> input_names, output_names;
  dl4::Json training{};  // compile config of its file
};

namespace dl4::capi {
// The host's function to call when the library no longer needs `user`; null while the call may still fail.
struct Release {
  explicit Release(void *user = nullptr) : user(user) {}
  ~Release() {
    if (f) give_back([&] { f(user); });
  }
  Release(const Release &) = delete;
  Release &operator=(const Release &) = delete;
  void *user;
  dl4_release_fn f = nullptr;
};

// A model for a config, its path there, and the gate of its weights.
struct GivenModel {
  Json architecture() const;
  graph::Given model;
  std::shared_ptr<Gate> weights;
};
}  // namespace dl4::capi

struct dl4_refs final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::refs;
  dl4_refs() : Object(type) {}
  mutable dl4::capi::Gate gate;
  std::map<std::string, std::vector<dl4_node>> nodes;
  std::map<std::string, dl4::capi::GivenModel> models;
};

struct dl4_graph final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::graph;
  explicit dl4_graph(std::shared_ptr<dl4::capi::Context> context)
      : Object(type), context(std::move(context)), core(this->context->settings()) {}
  const std::shared_ptr<dl4::capi::Context> context;
  mutable dl4::capi::Gate gate;
  const std::shared_ptr<dl4::capi::Gate> weights = std::make_shared<dl4::capi::Gate>();
  dl4::graph::Graph core;
  std::vector<dl4::graph::Node> merged_in, merged_out;  // of the last merge_json
};

struct dl4_session final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::session;
  // The program of the session's streams, or why there is none.
  struct Streams {
    dl4::runtime::Ticks ticks;
    std::string why_none;
  };
  dl4_session(const dl4_model &model, const char *no_batches, std::shared_ptr<dl4::runtime::Executable> core,
              std::unique_ptr<dl4::runtime::Runner> runner, dl4::graph::Inference &&in, Streams streams)
      : Object(type),
        context(model.context),
        core(std::move(core)),
        runner(std::move(runner)),
        streams(std::move(streams)),
        written(in.written.empty() ? nullptr : model.weights),
        no_batches(no_batches),
        output_names(std::move(in.output_names)),
        masked(std::move(in.masked)),
        states(in.states) {}
  const std::shared_ptr<dl4::capi::Context> context;
  const std::shared_ptr<dl4::runtime::Executable> core;  // the whole Program, with its ports
  const std::unique_ptr<dl4::runtime::Runner> runner;
  const Streams streams;
  const std::shared_ptr<dl4::capi::Gate> written;  // of weights that runs assign; null: none
  const char *const no_batches;                    // why dl4_session_predict() refuses; null: it does not
  const std::vector<std::string> output_names;
  const std::vector<bool> masked;  // by output of the model
  const size_t states;             // number of state inputs and outputs after the model's
  // Idle blocks for runs of many streams.
  dl4::Mutex blocks_mutex;
  struct Block {
    dl4::runtime::StreamBlock core;
    std::vector<dl4::runtime::Stream *> streams{};  // of the run
  };
  std::vector<std::unique_ptr<Block>> blocks;
};

// Aligned so that a run of many streams touches two cache lines of each.
struct alignas(64) dl4_stream final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::stream;
  dl4_stream(dl4_session &session, int64_t batch, int64_t seed)
      : Object(type),
        context(session.context),
        session(&session),
        core(session.streams.ticks, batch),
        sampler(batch, seed) {}
  explicit dl4_stream(const dl4_stream &other)  // holding its turn
      : Object(type),
        context(other.context),
        session(other.session),
        core(other.core.fork()),
        sampler(other.sampler.fork()) {}
  const std::shared_ptr<dl4::capi::Context> context;
  const dl4::capi::Ref<dl4_session> session;
  mutable dl4::capi::Turn turn;
  dl4::runtime::Stream core;
  // For dl4_stream_next().
  dl4::runtime::Sampler sampler;
  dl4::runtime::Sampling sampling;
  std::string sampling_text;  // options it was parsed from
  dl4::Tensor output;         // of its last run
};

struct dl4_dataset final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::dataset;
  dl4_dataset() : Object(type) {}
  ~dl4_dataset() override {
    core.reset();
    held.clear();
  }
  dl4::capi::Gate gate;
  std::unique_ptr<dl4::train::Dataset> core;
  size_t nx = 0, ny = 0;                         // number of tensors that the batch callback fills
  bool labels = true;                            // whether targets and weights are used
  std::vector<dl4::capi::Ref<dl4_tensor>> held;  // from the callback, until the next batch
  std::unique_ptr<dl4::capi::Release> user;      // argument of the callback
};

struct dl4_trainer final : dl4::capi::Object {
  static constexpr auto type = dl4::capi::Tag::trainer;
  dl4_trainer(dl4_model &model, const dl4::Json &options)
      : Object(type), model(&model), core(model.core, options, model.context->options()) {}
  mutable dl4::capi::Gate gate;
  const dl4::capi::Ref<dl4_model> model;
  dl4::train::Trainer core;
  dl4::train::Batch batch;                      // of the current call
  std::unique_ptr<dl4::capi::Release> workers;  // argument of their function
};
// NOLINTEND
