// Streams, one step or `--chunk` steps a call, against RTNeural's static models in the same rounds: dl4_streams
// PEER.so..., where a peer is peers/rtneural.cpp, built by streams.sh. Also the spread of a step's time (--spread),
// many streams of one session in one call against a call for each (--many), and nets of which only ours is timed
// (--whole).
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <random>
#include <stdexcept>

#include "model.hpp"

void bench::check(dl4_error *e) {
  if (!e) return;
  const std::string message = dl4_error_message(e);
  dl4_release(e);
  throw std::runtime_error(message);
}

namespace {

using bench::check, bench::Owned;
using Clock = std::chrono::steady_clock;

// The processor time of this thread: the machine may have other work.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Layer {
  const char *kind;
  std::string config;
};
struct Net {
  std::string name;
  std::string kind;  // of the peer's
  int32_t size, in, out;
  std::vector<Layer> layers;
};

std::vector<Net> nets() {
  std::vector<Net> all;
  for (const char *kind : {"Dense", "Conv1D", "GRU", "LSTM"})
    for (const int32_t n : {8, 16, 32, 64}) {
      const std::string width = std::to_string(n);
      const std::string config =
          std::string(kind) == "Dense" ? "{\"units\": " + width + "}"
          : std::string(kind) == "Conv1D"
              ? "{\"filters\": " + width + ", \"kernel_size\": " + std::to_string(n - 1) + ", \"padding\": \"causal\"}"
              : "{\"units\": " + width + ", \"return_sequences\": true}";
      all.push_back({kind + (" " + width), kind, n, n, n, {{kind, config}}});
    }
  all.push_back({"sample model",
                 "sample",
                 0,
                 1,
                 1,
                 {{"Dense", R"({"units": 8, "activation": "tanh"})"},
                  {"Conv1D", R"({"filters": 4, "kernel_size": 3, "dilation_rate": 2, "padding": "causal",
                                 "activation": "tanh"})"},
                  {"GRU", R"({"units": 8, "return_sequences": true})"},
                  {"Dense", R"({"units": 1})"}}});
  return all;
}

template <class T, class F, class... A>
Owned<T> make(F f, A... args) {
  T *out = nullptr;
  check(f(args..., &out));
  return Owned<T>(out);
}

Owned<dl4_tensor> floats(const std::vector<int64_t> &shape) {
  return make<dl4_tensor>(dl4_tensor_create, nullptr, DL4_FLOAT32, static_cast<int32_t>(shape.size()), shape.data());
}

float *data(const Owned<dl4_tensor> &t) { return static_cast<float *>(dl4_tensor_data(t.get())); }

size_t elements(const Owned<dl4_tensor> &t) {
  size_t n = 1;
  for (int32_t i = 0; i < dl4_tensor_rank(t.get()); ++i) n *= static_cast<size_t>(dl4_tensor_dims(t.get())[i]);
  return n;
}

struct Ours {
  Owned<dl4_context> context = make<dl4_context>(dl4_context_create, R"({"threads": 1})");
  Owned<dl4_model> model;
  Owned<dl4_session> session;
  std::vector<std::vector<float>> weights;

  explicit Ours(const Net &net) {
    auto graph = make<dl4_graph>(dl4_graph_create, context.get());
    const int64_t shape[] = {-1, -1, net.in};
    dl4_node x, y;
    check(dl4_graph_add_input(graph.get(), "x", DL4_FLOAT32, 3, shape, &x));
    y = x;
    for (const Layer &l : net.layers) {
      const dl4_node from = y;
      check(dl4_graph_add(graph.get(), l.kind, nullptr, l.config.c_str(), nullptr, nullptr, &from, 1, &y, 1));
    }
    model = make<dl4_model>(dl4_graph_build, graph.get(), &x, int64_t{1}, &y, int64_t{1});
    std::mt19937 random(7);
    for (int64_t i = 0; i < dl4_port_count(model.get(), DL4_WEIGHTS); ++i) {
      const char *name = dl4_port_name(model.get(), DL4_WEIGHTS, i);
      auto t = make<dl4_tensor>(dl4_model_get_weight, model.get(), name);
      const float scale = 1 / std::sqrt(static_cast<float>(dl4_tensor_dims(t.get())[0]));
      std::vector<float> &w = weights.emplace_back(elements(t));
      for (float &v : w) v = scale * std::uniform_real_distribution<float>(-1, 1)(random);
      std::ranges::copy(w, data(t));
      check(dl4_model_set_weight(model.get(), name, t.get()));
    }
    session = make<dl4_session>(dl4_session_create, model.get(), R"({"states": true})");
  }
};

// One stream, so many steps a call, as an audio thread calls it. Single steps are copied to tensors and back, chunks
// lie where the tensors are.
struct Steps {
  Owned<dl4_stream> stream;
  int64_t each;
  Owned<dl4_tensor> x, y;
  int32_t in, out;

  Steps(const Ours &ours, const Net &net, int64_t each = 1)
      : stream(make<dl4_stream>(dl4_stream_create, ours.session.get(), nullptr)),
        each(each),
        x(floats({1, each, net.in})),
        y(floats({1, each, net.out})),
        in(net.in),
        out(net.out) {}
  void run(const float *from, int64_t steps, float *to) {
    for (int64_t t = 0; t < steps; t += each) {
      if (each > 1) {
        x = wrapped(const_cast<float *>(from + t * in), in);
        y = wrapped(to + t * out, out);
      } else {
        std::memcpy(data(x), from + t * in, sizeof(float) * static_cast<size_t>(in));
      }
      dl4_tensor *const sources[] = {x.get()};
      dl4_tensor *slots[] = {y.get()};
      check(dl4_stream_run(stream.get(), sources, 1, slots, 1, nullptr));
      if (each == 1) std::memcpy(to + t * out, data(y), sizeof(float) * static_cast<size_t>(out));
    }
  }

 private:
  Owned<dl4_tensor> wrapped(float *at, int32_t features) const {
    const int64_t dims[] = {1, each, features};
    const int64_t bytes = each * features * static_cast<int64_t>(sizeof(float));
    return make<dl4_tensor>(dl4_tensor_wrap, nullptr, DL4_FLOAT32, 3, dims, nullptr, at, bytes, nullptr, nullptr);
  }
};

struct Peer {
  std::string name;
  void *(*make)(const char *, int32_t, const float *const *);
  void (*run)(void *, const float *, int64_t, float *);
  void (*free)(void *);
};

Peer peer(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  Peer p;
  p.name = path.substr(path.find_last_of('/') + 1);
  p.name = p.name.substr(0, p.name.find('.'));
  p.make = reinterpret_cast<decltype(p.make)>(dlsym(library, "rtneural_make"));
  p.run = reinterpret_cast<decltype(p.run)>(dlsym(library, "rtneural_run"));
  p.free = reinterpret_cast<decltype(p.free)>(dlsym(library, "rtneural_free"));
  if (!p.make || !p.run || !p.free) throw std::runtime_error(path + " is no build of peers/rtneural.cpp");
  return p;
}

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

using Side = std::function<void(const float *, int64_t, float *)>;

// Nanoseconds a step of each side, in interleaved rounds.
std::vector<std::vector<double>> time(const std::vector<Side> &sides, const std::vector<float> &x, int64_t steps,
                                      std::vector<float> &y, int rounds) {
  std::vector<std::vector<double>> times(sides.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sides.size(); ++i) {
      const double start = now();
      sides[i](x.data(), steps, y.data());
      times[i].push_back((now() - start) / static_cast<double>(steps));
    }
  return times;
}

std::vector<float> noise(size_t n) {
  std::mt19937 random(1);
  std::vector<float> all(n);
  for (float &v : all) v = std::uniform_real_distribution<float>(-1, 1)(random);
  return all;
}

void against(const Net &net, const std::vector<Peer> &peers, int rounds, int64_t each) {
  std::unique_ptr<Ours> ours;
  std::unique_ptr<Steps> steps;
  try {
    ours = std::make_unique<Ours>(net);
    steps = std::make_unique<Steps>(*ours, net, each);
  } catch (const std::runtime_error &e) {
    std::printf("| %s | %s |\n", net.name.c_str(), e.what());
    return;
  }
  std::vector<const float *> w;
  for (const auto &one : ours->weights) w.push_back(one.data());
  std::vector<Side> sides{[&](const float *x, int64_t n, float *y) { steps->run(x, n, y); }};
  std::vector<std::shared_ptr<void>> made;
  for (const Peer &p : peers) {
    made.emplace_back(p.make(net.kind.c_str(), net.size, w.data()), p.free);
    sides.push_back([&p, m = made.back().get()](const float *x, int64_t n, float *y) { p.run(m, x, n, y); });
  }
  const auto whole = [each](int64_t n) { return (n + each - 1) / each * each; };
  const int64_t first = whole(200), most = whole(20000);
  const auto x = noise(static_cast<size_t>(most * net.in));
  std::vector<float> y(static_cast<size_t>(most * net.out)), expected(static_cast<size_t>(first * net.out));
  sides[0](x.data(), first, expected.data());
  for (size_t i = 1; i < sides.size(); ++i) {
    sides[i](x.data(), first, y.data());
    for (size_t k = 0; k < expected.size(); ++k)
      if (!(std::abs(y[k] - expected[k]) <= 1e-4f))
        throw std::runtime_error(net.name + ": " + peers[i - 1].name + " gives " + std::to_string(y[k]) + ", libdl4 " +
                                 std::to_string(expected[k]) + " at " + std::to_string(k));
  }
  const double guess = time({sides[0]}, x, whole(2000), y, 3)[0][1];
  const auto n = whole(std::clamp<int64_t>(static_cast<int64_t>(4e6 / guess), 100, 20000));
  const auto times = time(sides, x, n, y, rounds);
  std::printf("| %s | %.0f |", net.name.c_str(), median(times[0]));
  double best = 0;
  for (size_t i = 1; i < times.size(); ++i) {
    std::vector<double> ratios;
    for (size_t r = 0; r < times[i].size(); ++r) ratios.push_back(times[0][r] / times[i][r]);
    best = std::max(best, median(ratios));
    std::printf(" %.0f | %.2f |", median(times[i]), median(ratios));
  }
  std::printf(" %.2f |\n", best);
  std::fflush(stdout);
}

// The spread of a step's time, call by call.
void spread(const Net &net) {
  Ours ours(net);
  Steps steps(ours, net);
  const auto x = noise(static_cast<size_t>(net.in));
  std::vector<float> y(static_cast<size_t>(net.out));
  std::vector<double> all;
  all.reserve(1'000'000);
  for (int i = 0; i < 1000; ++i) steps.run(x.data(), 1, y.data());
  for (int i = 0; i < 1'000'000; ++i) {
    const auto start = Clock::now();
    steps.run(x.data(), 1, y.data());
    all.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
  }
  std::ranges::sort(all);
  std::printf("| %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n", net.name.c_str(), all[500'000], all[990'000], all[999'900],
              all.back(), all[999'900] / all[500'000]);
}

// A step of each of so many streams: in one call, and in a call for each.
void many(const Net &net, int rounds) {
  constexpr size_t count = 10000;
  Ours ours(net);
  std::vector<Owned<dl4_stream>> streams;
  std::vector<dl4_stream *> list;
  for (size_t i = 0; i < count; ++i) {
    streams.push_back(make<dl4_stream>(dl4_stream_create, ours.session.get(), nullptr));
    list.push_back(streams.back().get());
  }
  auto x = floats({count, 1, net.in}), y = floats({count, 1, net.out});
  std::ranges::copy(noise(count * static_cast<size_t>(net.in)), data(x));
  dl4_tensor *const in[] = {x.get()};
  dl4_tensor *out[] = {y.get()};
  Steps one(ours, net);
  std::vector<float> to(count * static_cast<size_t>(net.out));
  std::vector<double> together, each, ratios;
  for (int round = 0; round < rounds; ++round) {
    double start = now();
    check(dl4_stream_run_many(list.data(), count, nullptr, in, 1, out, 1, nullptr));
    together.push_back((now() - start) / count);
    start = now();
    one.run(data(x), count, to.data());
    each.push_back((now() - start) / count);
    ratios.push_back(each.back() / together.back());
  }
  std::printf("| %s | %.0f | %.0f | %.2f |\n", net.name.c_str(), median(each), median(together), median(ratios));
}

// A graph that is put together layer by layer.
struct Building {
  Owned<dl4_context> context = make<dl4_context>(dl4_context_create, R"({"threads": 1})");
  Owned<dl4_graph> graph = make<dl4_graph>(dl4_graph_create, context.get());

  dl4_node input(int32_t dtype, std::vector<int64_t> shape) {
    dl4_node x = -1;
    check(dl4_graph_add_input(graph.get(), "x", dtype, static_cast<int32_t>(shape.size()), shape.data(), &x));
    return x;
  }
  dl4_node add(const char *kind, const char *config, std::vector<dl4_node> in, const char *call = "{}") {
    dl4_node y = -1;
    check(dl4_graph_add(graph.get(), kind, nullptr, config, call, nullptr, in.data(), static_cast<int64_t>(in.size()),
                        &y, 1));
    return y;
  }
  Owned<dl4_session> session(dl4_node x, dl4_node y, const std::string &options) {
    const auto model = make<dl4_model>(dl4_graph_build, graph.get(), &x, int64_t{1}, &y, int64_t{1});
    return make<dl4_session>(dl4_session_create, model.get(), options.c_str());
  }
};

// The nets of DTLN without their transforms: a mask for 257 magnitudes, and one for 256 features of 512 samples.
Owned<dl4_session> dtln(bool first, const std::string &options) {
  Building b;
  const dl4_node x = b.input(DL4_FLOAT32, {-1, -1, first ? 257 : 512});
  const dl4_node whole = first ? x : b.add("Dense", R"({"units": 256, "use_bias": false})", {x});
  dl4_node h = first ? whole : b.add("LayerNormalization", "{}", {whole});
  for (int i = 0; i < 2; ++i) h = b.add("LSTM", R"({"units": 128, "return_sequences": true})", {h});
  h = b.add("Dense",
            first ? R"({"units": 257, "activation": "sigmoid"})" : R"({"units": 256, "activation": "sigmoid"})", {h});
  const dl4_node y = b.add("Multiply", "{}", {h, whole});
  return b.session(x, first ? y : b.add("Dense", R"({"units": 512, "use_bias": false})", {y}), options);
}

// The WaveNet of NeuralAmpModeler's A2: 8 channels (standard) or 3 (nano).
Owned<dl4_session> wavenet(int channels, const std::string &options) {
  Building b;
  const std::string width = std::to_string(channels);
  const dl4_node x = b.input(DL4_FLOAT32, {-1, -1, 1});
  const auto product = [&](dl4_node of, const char *bias) {
    return b.add("Dense", ("{\"units\": " + width + ", \"use_bias\": " + bias + "}").c_str(), {of});
  };
  const auto conv = [&](dl4_node of, const std::string &filters, int kernel, int dilation) {
    const std::string config = "{\"filters\": " + filters + ", \"kernel_size\": " + std::to_string(kernel) +
                               ", \"dilation_rate\": " + std::to_string(dilation) + ", \"padding\": \"causal\"}";
    return b.add("Conv1D", config.c_str(), {of});
  };
  dl4_node h = product(x, "false");
  std::vector<dl4_node> heads;
  for (const int dilation : {1, 3, 7, 17, 41, 101, 239, 1, 3, 7, 17, 41, 101, 239, 1, 13, 1, 3, 7, 17, 41, 101, 239}) {
    const bool wide = heads.size() == 14 || heads.size() == 15;
    const dl4_node sum = b.add("Add", "{}", {conv(h, width, wide ? 15 : 6, dilation), product(x, "false")});
    heads.push_back(b.add("LeakyReLU", R"({"negative_slope": 0.01})", {sum}));
    if (heads.size() < 23) h = b.add("Add", "{}", {h, product(heads.back(), "true")});
  }
  return b.session(x, conv(b.add("Add", "{}", heads), "1", 16, 1), options);
}

// Causal, two layers of 256 features, 2.1 million weights.
Owned<dl4_session> transformer(const std::string &options) {
  Building b;
  const dl4_node x = b.input(DL4_INT32, {-1, -1});
  dl4_node h = b.add("Embedding", R"({"input_dim": 1024, "output_dim": 256})", {x});
  for (int i = 0; i < 2; ++i) {
    const dl4_node n = b.add("LayerNormalization", "{}", {h});
    const dl4_node seen =
        b.add("MultiHeadAttention", R"({"num_heads": 4, "key_dim": 64})", {n, n}, R"({"use_causal_mask": true})");
    h = b.add("Add", "{}", {h, seen});
    const dl4_node wide =
        b.add("Dense", R"({"units": 1024, "activation": "gelu"})", {b.add("LayerNormalization", "{}", {h})});
    h = b.add("Add", "{}", {h, b.add("Dense", R"({"units": 256})", {wide})});
  }
  return b.session(x, b.add("Dense", R"({"units": 1024})", {h}), options);
}

void whole(int rounds) {
  const auto timed = [rounds](double runs, const auto &run) {
    std::vector<double> all;
    for (int round = 0; round < rounds; ++round) {
      const double start = now();
      run();
      all.push_back((now() - start) / runs / 1e3);
    }
    return median(all);
  };
  std::puts("| us | float32 | bfloat16 | int8 |\n|---|--:|--:|--:|");
  std::string rows[] = {"| DTLN, a block |", "| transformer, batch 4, 32 ids drawn |",
                        "| WaveNet A2, 8 channels, 64 samples |", "| WaveNet A2, 3 channels, 64 samples |"};
  for (const std::string weights : {"float32", "bfloat16", "int8"}) {
    const std::string options = R"({"streamable": true, "cache": 128, "weights": ")" + weights + "\"}";
    const auto run = [&](const Owned<dl4_session> &session, std::vector<int64_t> shape) {
      const auto stream = make<dl4_stream>(dl4_stream_create, session.get(), nullptr);
      const auto x = floats(shape), y = floats(shape);
      std::ranges::copy(noise(elements(x)), data(x));
      dl4_tensor *const in[] = {x.get()};
      dl4_tensor *out[] = {y.get()};
      return timed(100, [&] {
        for (int i = 0; i < 100; ++i) check(dl4_stream_run(stream.get(), in, 1, out, 1, nullptr));
      });
    };
    const double block = run(dtln(true, options), {1, 1, 257}) + run(dtln(false, options), {1, 1, 512});
    const auto session = transformer(options);
    const auto stream = make<dl4_stream>(dl4_stream_create, session.get(), R"({"batch": 4})");
    const int64_t shape[] = {4, 1};
    const auto last = make<dl4_tensor>(dl4_tensor_create, nullptr, DL4_INT32, 2, shape);
    dl4_tensor *const in[] = {last.get()};
    int64_t ids[4] = {1, 2, 3, 4};
    const double drawn = timed(1, [&] {
      check(dl4_stream_reset(stream.get()));
      for (int i = 0; i < 32; ++i) {
        std::ranges::copy(ids, static_cast<int32_t *>(dl4_tensor_data(last.get())));
        check(dl4_stream_next(stream.get(), in, 1, nullptr, nullptr, nullptr, ids, 4, nullptr));
      }
    });
    const double times[] = {block, drawn, run(wavenet(8, options), {1, 64, 1}), run(wavenet(3, options), {1, 64, 1})};
    for (size_t i = 0; i < std::size(rows); ++i) {
      char text[64];
      std::snprintf(text, sizeof text, " %.1f |", times[i]);
      rows[i] += text;
    }
  }
  for (const std::string &row : rows) std::puts(row.c_str());
}

}  // namespace

int main(int argc, char **argv) {
  try {
    std::vector<Peer> peers;
    std::string rows;
    bool spreads = false, crowds = false, wholes = false;
    int rounds = 21;
    int64_t each = 1;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--spread")
        spreads = true;
      else if (word == "--many")
        crowds = true;
      else if (word == "--whole")
        wholes = true;
      else if (word == "--rows" && i + 1 < argc)
        rows = argv[++i];
      else if (word == "--chunk" && i + 1 < argc)
        each = std::clamp<int64_t>(std::atoll(argv[++i]), 1, 20000);
      else if (word == "--rounds" && i + 1 < argc)
        rounds = std::max(1, std::atoi(argv[++i]));
      else
        peers.push_back(peer(word));
    }
    if (wholes) return whole(rounds), 0;
    if (spreads) {
      std::puts("| one step, ns | p50 | p99 | p99.99 | max | p99.99 / p50 |\n|---|--:|--:|--:|--:|--:|");
    } else if (crowds) {
      std::puts("| a stream's step, ns | a call for each | 10,000 in one call | throughput |\n|---|--:|--:|--:|");
    } else {
      std::printf("| one step, ns, of %lld a call | libdl4 |", static_cast<long long>(each));
      for (const Peer &p : peers) std::printf(" %s | ratio |", p.name.c_str());
      std::printf(" to the best |\n|---|--:|");
      for (size_t i = 0; i < peers.size(); ++i) std::printf("--:|--:|");
      std::puts("--:|");
    }
    for (const Net &net : nets()) {
      if (net.name.find(rows) == std::string::npos) continue;
      if (spreads)
        spread(net);
      else if (crowds)
        many(net, rounds);
      else
        against(net, peers, rounds, each);
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "dl4_streams: %s\n", e.what());
    return 1;
  }
}
