// Runtimes of other frameworks through their C APIs, opened where their packages lie: c_calls.py makes the model and
// compares what comes out, here it is made ready and run. What is used of each API is declared here.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Array {
  const char *name;
  float *data;  // 64-byte aligned
  int64_t rank;
  const int64_t *dims;
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
  size_t bytes() const { return static_cast<size_t>(elements()) * sizeof(float); }
};

struct Request {
  const char *library;
  const void *model;
  size_t bytes;
  int threads;
  const Array *in;
  int64_t inputs;
  const Array *out;
  int64_t outputs;
};

class Library {
 public:
  explicit Library(const char *path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) throw std::runtime_error(dlerror());
  }
  template <class F>
  void get(F &f, const char *name) const {
    f = reinterpret_cast<F>(dlsym(handle_, name));
    if (!f) throw std::runtime_error(std::string("no function ") + name);
  }

 private:
  void *handle_;  // never closed: the runtimes leave threads behind
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual void run() = 0;
};

// OrtApi is a table of functions to which later versions only append: a function is its place.
class OnnxRuntime final : public Runtime {
 public:
  explicit OnnxRuntime(const Request &r) {
    struct Base {
      void *const *(*api)(uint32_t version);
      const char *(*version)();
    };
    const Base *(*base)();
    Library(r.library).get(base, "OrtGetApiBase");
    api_ = base()->api(17);
    if (!api_) throw std::runtime_error("no version 17 of OrtApi");
    static void *environment = nullptr;
    if (!environment) check<int, const char *, void **>(3, 3 /* errors */, "bench", &environment);
    void *options = nullptr, *memory = nullptr;
    check<void **>(10, &options);
    check<void *, int>(24, options, r.threads);
    check<void *, int>(25, options, 1);
    check<void *, const void *, size_t, void *, void **>(8, environment, r.model, r.bytes, options, &session_);
    release(100, options);
    check<int, int, void **>(69, 0 /* device */, 0 /* default */, &memory);
    check<void *, void **>(134, session_, &binding_);
    for (int64_t i = 0; i < r.inputs; ++i) bind(136, memory, r.in[i]);
    for (int64_t i = 0; i < r.outputs; ++i) bind(137, memory, r.out[i]);
    release(94, memory);
  }
  ~OnnxRuntime() override {
    release(135, binding_);
    for (void *v : values_) release(96, v);
    release(95, session_);
  }
  void run() override { check<void *, void *, void *>(133, session_, nullptr, binding_); }

 private:
  template <class... A>
  void check(int place, A... a) const {
    void *status = reinterpret_cast<void *(*)(A...)>(api_[place])(a...);
    if (status) throw std::runtime_error(reinterpret_cast<const char *(*)(void *)>(api_[2])(status));
  }
  void release(int place, void *object) const { reinterpret_cast<void (*)(void *)>(api_[place])(object); }
  void bind(int place, void *memory, const Array &a) {
    void *value = nullptr;
    check<void *, void *, size_t, const int64_t *, size_t, int, void **>(
        49, memory, a.data, a.bytes(), a.dims, static_cast<size_t>(a.rank), 1 /* float */, &value);
    values_.push_back(value);
    check<void *, const char *, void *>(place, binding_, a.name, value);
  }

  void *const *api_ = nullptr;
  void *session_ = nullptr, *binding_ = nullptr;
  std::vector<void *> values_;
};

class OpenVino final : public Runtime {
 public:
  explicit OpenVino(const Request &r) {
    Library library(r.library);
    int (*create)(void **), (*read)(void *, const char *, size_t, void *, void **);
    int (*compile)(void *, void *, const char *, size_t, void **, ...), (*request)(void *, void **);
    int (*wrap)(int, Shape, void *, void **), (*set_in)(void *, size_t, void *), (*set_out)(void *, size_t, void *);
    library.get(create, "ov_core_create");
    library.get(read, "ov_core_read_model_from_memory_buffer");
    library.get(compile, "ov_core_compile_model");
    library.get(request, "ov_compiled_model_create_infer_request");
    library.get(wrap, "ov_tensor_create_from_host_ptr");
    library.get(set_in, "ov_infer_request_set_input_tensor_by_index");
    library.get(set_out, "ov_infer_request_set_output_tensor_by_index");
    library.get(infer_, "ov_infer_request_infer");
    library.get(message_, "ov_get_last_err_msg");
    for (const char *kind : {"core", "model", "compiled_model", "infer_request", "tensor"}) {
      releases_.emplace_back();
      library.get(releases_.back(), (std::string("ov_") + kind + "_free").c_str());
    }
    check(create(&objects_[0]));
    check(read(objects_[0], static_cast<const char *>(r.model), r.bytes, nullptr, &objects_[1]));
    const std::string threads = std::to_string(r.threads);
    check(compile(objects_[0], objects_[1], "CPU", 8, &objects_[2], "INFERENCE_NUM_THREADS", threads.c_str(),
                  "NUM_STREAMS", "1", "PERFORMANCE_HINT", "LATENCY", "INFERENCE_PRECISION_HINT", "f32"));
    check(request(objects_[2], &objects_[3]));
    auto tensor = [&](const Array &a) {
      tensors_.push_back(nullptr);
      check(wrap(4 /* f32 */, {a.rank, const_cast<int64_t *>(a.dims)}, a.data, &tensors_.back()));
      return tensors_.back();
    };
    for (int64_t i = 0; i < r.inputs; ++i) check(set_in(objects_[3], static_cast<size_t>(i), tensor(r.in[i])));
    for (int64_t i = 0; i < r.outputs; ++i) check(set_out(objects_[3], static_cast<size_t>(i), tensor(r.out[i])));
  }
  ~OpenVino() override {
    for (void *t : tensors_) releases_[4](t);
    for (size_t i = 4; i-- > 0;) releases_[i](objects_[i]);
  }
  void run() override { check(infer_(objects_[3])); }

 private:
  struct Shape {
    int64_t rank, *dims;
  };
  void check(int status) const {
    if (status) throw std::runtime_error(message_());
  }
  int (*infer_)(void *) = nullptr;
  const char *(*message_)() = nullptr;
  void *objects_[4] = {};  // core, model, compiled model, request
  std::vector<void *> tensors_;
  std::vector<void (*)(void *)> releases_;
};

class LiteRt final : public Runtime {
 public:
  explicit LiteRt(const Request &r) {
    Library library(r.library);
    int (*environment)(int, const void *, void **), (*model)(void *, const void *, size_t, void **);
    int (*create_options)(void **), (*accelerators)(void *, int), (*add)(void *, void *);
    int (*opaque)(const char *, void *, void (*)(void *), void **), (*compile)(void *, void *, void *, void **);
    int (*wrap)(const Type *, void *, size_t, void (*)(void *), void **);
    library.get(environment, "LiteRtCreateEnvironment");
    library.get(model, "LiteRtCreateModelFromBuffer");
    library.get(create_options, "LiteRtCreateOptions");
    library.get(accelerators, "LiteRtSetOptionsHardwareAccelerators");
    library.get(opaque, "LiteRtCreateOpaqueOptions");
    library.get(add, "LiteRtAddOpaqueOptions");
    library.get(compile, "LiteRtCreateCompiledModel");
    library.get(wrap, "LiteRtCreateTensorBufferFromHostMemory");
    library.get(run_, "LiteRtRunCompiledModel");
    const char *kinds[] = {"Model", "Options", "CompiledModel", "TensorBuffer"};
    for (const char *kind : kinds) {
      releases_.emplace_back();
      library.get(releases_.back(), (std::string("LiteRtDestroy") + kind).c_str());
    }
    static void *shared = nullptr;
    if (!shared) check(environment(0, nullptr, &shared));
    check(model(shared, r.model, r.bytes, &objects_[0]));
    check(create_options(&objects_[1]));
    check(accelerators(objects_[1], 1 /* CPU */));
    void *cpu = nullptr;
    check(opaque("xnnpack", strdup(("num_threads = " + std::to_string(r.threads) + "\n").c_str()), std::free, &cpu));
    check(add(objects_[1], cpu));
    check(compile(shared, objects_[0], objects_[1], &objects_[2]));
    auto tensors = [&](std::vector<void *> &to, const Array *from, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        Type type{1 /* float */, static_cast<uint32_t>(from[i].rank), {}, {}};
        for (int64_t d = 0; d < from[i].rank; ++d) type.dims[d] = static_cast<int32_t>(from[i].dims[d]);
        to.push_back(nullptr);
        check(wrap(&type, from[i].data, from[i].bytes(), nullptr, &to.back()));
      }
    };
    tensors(in_, r.in, r.inputs);
    tensors(out_, r.out, r.outputs);
  }
  ~LiteRt() override {
    for (void *t : in_) releases_[3](t);
    for (void *t : out_) releases_[3](t);
    for (size_t i = 3; i-- > 0;) releases_[i](objects_[i]);
  }
  void run() override { check(run_(objects_[2], 0, in_.size(), in_.data(), out_.size(), out_.data())); }

 private:
  struct Type {
    int32_t element;
    uint32_t rank;  // the bit above its seven: there are strides
    int32_t dims[8];
    uint32_t strides[8];
  };
  void check(int status) const {
    if (status) throw std::runtime_error("LiteRtStatus " + std::to_string(status));
  }
  int (*run_)(void *, size_t, size_t, void **, size_t, void **) = nullptr;
  void *objects_[3] = {};  // model, options, compiled model
  std::vector<void *> in_, out_;
  std::vector<void (*)(void *)> releases_;
};

thread_local std::string error;

template <class F>
bool guarded(F f) {
  try {
    f();
    return true;
  } catch (const std::exception &e) {
    error = e.what();
    return false;
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char *peer_error() { return error.c_str(); }

// Null after an error. What the request points to must stay as long as the runtime.
__attribute__((visibility("default"))) void *peer_open(const char *which, const Request *r) {
  std::unique_ptr<Runtime> made;
  guarded([&] {
    const std::string name = which;
    if (name == "onnxruntime")
      made = std::make_unique<OnnxRuntime>(*r);
    else if (name == "openvino")
      made = std::make_unique<OpenVino>(*r);
    else if (name == "litert")
      made = std::make_unique<LiteRt>(*r);
    else
      error = "unknown runtime " + name;
  });
  return made.release();
}

__attribute__((visibility("default"))) int peer_run(void *runtime, int64_t calls) {
  return guarded([&] {
    for (int64_t i = 0; i < calls; ++i) static_cast<Runtime *>(runtime)->run();
  });
}

__attribute__((visibility("default"))) void peer_close(void *runtime) { delete static_cast<Runtime *>(runtime); }
}
