// Damaged models and checkpoints: what is loaded is a model that works, what is not is refused in words, and neither
// takes long, much memory, or anything with it.
#include <sys/resource.h>
#include <limits>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "capi/signed.hpp"
#include "capi/training.hpp"
#include "capi/use.hpp"
#include "harness/folder.hpp"

namespace dl4_test::DL4_FILE {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// ---- Damage -------------------------------------------------------------------------------------------------------

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  std::string operator()(std::string file) {
    switch (below(8)) {
      case 0:
        flip(file);
        break;
      case 1:
        file.resize(below(file.size()));
        break;
      case 2:
        swap(file);
        break;
      case 3:
        length(file);
        break;
      case 4:
        scribble(file);
        break;
      case 5:
        return in_header(file, [&](json &h) { damage(h); });
      case 6:
        return in_header(file, [&](json &h) { nested(h); });
      default:
        return in_header(
            file, [](json &) {}, true);
    }
    return file;
  }

 private:
  size_t below(size_t n) { return n ? static_cast<size_t>(random_() % n) : 0; }

  void flip(std::string &file) {
    for (size_t n = 1 + below(4); n; --n) {
      // Half of them in the header, where there is something to misunderstand.
      size_t at = below(below(2) ? file.size() : file.size() / 2);
      file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
    }
  }
  void swap(std::string &file) {
    size_t n = 1 + below(64), a = below(file.size() - 2 * n), b = a + n + below(file.size() - a - 2 * n);
    std::swap_ranges(file.begin() + static_cast<int64_t>(a), file.begin() + static_cast<int64_t>(a + n),
                     file.begin() + static_cast<int64_t>(b));
  }
  void length(std::string &file) {
    uint64_t n = 0;
    std::memcpy(&n, file.data(), 8);
    const uint64_t values[] = {0,
                               n - 1,
                               n + 1,
                               n / 2,
                               n * 2,
                               file.size(),
                               file.size() - 8,
                               UINT64_MAX,
                               UINT64_MAX - 7,
                               100'000'000,
                               uint64_t{1} << 63,
                               random_()};
    n = values[below(std::size(values))];
    std::memcpy(file.data(), &n, 8);
  }
  void scribble(std::string &file) {
    for (size_t n = 1 + below(4); n && !file.empty(); --n) {
      size_t at = below(file.size());
      if (below(2))
        file.erase(at, 1 + below(8));
      else
        file.insert(at, 1 + below(3), "0123456789{}[]\",:e-"[below(19)]);
    }
  }

  // Any node of a JSON text becomes something else, goes, or comes twice.
  void damage(json &root) {
    for (size_t n = 1 + below(2); n; --n) {
      std::vector<json *> nodes;
      collect(root, nodes);
      json &node = *nodes[below(nodes.size())];
      if ((node.is_object() || node.is_array()) && !node.empty() && below(2)) {
        size_t at = below(node.size());
        if (node.is_array()) {
          if (below(2))
            node.erase(at);
          else
            node.push_back(json(node[at]));
        } else {
          auto it = node.begin();
          std::advance(it, static_cast<int64_t>(at));
          if (below(2))
            node.erase(it);
          else
            node["unheard of"] = json(*it);
        }
        continue;
      }
      json deep = 1;
      for (size_t i = below(100); i; --i) deep = below(2) ? json{{"a", deep}} : json::array({deep});
      const json values[] = {nullptr,
                             true,
                             false,
                             0,
                             1,
                             -1,
                             2147483648,
                             INT64_MAX,
                             INT64_MIN,
                             UINT64_MAX,
                             1e308,
                             -1e-300,
                             0.5,
                             "",
                             "Dense",
                             "linear",
                             std::string(2000, 'a'),
                             "\xc3\xa9\xe2\x82\xac",
                             json::array(),
                             json::object(),
                             deep,
                             json(*nodes[below(nodes.size())]),
                             json::array({1, 2, 3}),
                             json::array({-1, 4}),
                             1 << 20};
      json value = values[below(std::size(values))];
      node = value;
    }
  }
  static void collect(json &node, std::vector<json *> &nodes) {
    nodes.push_back(&node);
    if (node.is_structured())
      for (json &child : node) collect(child, nodes);
  }
  // The JSON texts inside the metadata.
  void nested(json &header) {
    for (const char *key : {"architecture", "position"}) {
      if (!header["__metadata__"].contains(key)) continue;
      json inner = json::parse(header["__metadata__"][key].get<std::string>());
      damage(inner);
      header["__metadata__"][key] = inner.dump();
    }
  }

  // By someone who makes the checksums fit.
  template <class F>
  std::string in_header(const std::string &file, const F &change, bool data = false) {
    uint64_t old = 0;
    std::memcpy(&old, file.data(), 8);
    json header = json::parse(file.substr(8, old));
    change(header);
    std::string rest = file.substr(8 + old);
    const float values[] = {
        std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f, -1.0f, 0.0f, 1e-40f};
    for (size_t n = data ? 1 + below(20) : 0; n && rest.size() >= 4; --n) {
      if (below(2))
        std::memcpy(&rest[below(rest.size() / 4) * 4], &values[below(std::size(values))], 4);
      else
        rest[below(rest.size())] = static_cast<char>(random_());
    }
    return with_sums(header, rest);
  }

  std::mt19937_64 random_;
};

// ---- What may follow ----------------------------------------------------------------------------------------------

bool expected(int32_t code) {
  static const std::set<int32_t> codes = {
      0, DL4_CORRUPT_FILE, DL4_VERSION, DL4_UNKNOWN_KIND, DL4_OUT_OF_MEMORY, DL4_UNSUPPORTED};
  return codes.count(code) > 0;
}

// Kilobytes of address space at the most so far.
int64_t peak() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == "VmPeak:" && in >> word) return std::stoll(word);
  return 0;
}

class Limits {
 public:
  ~Limits() {
    // Far more than any of these files has bytes times sixteen; a sanitizer keeps what was freed.
    if (!sanitized) {
      EXPECT_LT(peak() - peak_, 512 << 10) << "KiB";
    }
    EXPECT_LT(longest_, sanitized ? 20 : 2) << "seconds";
  }
  void start() { start_ = std::chrono::steady_clock::now(); }
  void stop() {
    longest_ = std::max(longest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
  }

 private:
  int64_t peak_ = peak();
  std::chrono::steady_clock::time_point start_;
  double longest_ = 0;
};

// A model that was loaded can be described, saved, loaded again, and run or refused.
void use(dl4_context *c, dl4_model *m) {
  Own<dl4_blob> text;
  ok(dl4_describe(m, DL4_FORMAT_TEXT, text.out()));
  const std::string bytes = saved(m);
  Refusal r;
  auto again = load(c, bytes, r);
  ASSERT_EQ(r.code, 0) << r.message;
  ASSERT_TRUE(saved(again) == bytes);
  Own<dl4_session> s;
  r = refusal(dl4_session_create(m, nullptr, s.out()));
  ASSERT_NE(r.code, DL4_INTERNAL) << r.message;
  if (r.code) return;
  const auto in = inputs_of(s, 2);
  if (!in) return;
  std::vector<dl4_tensor *> from(in->begin(), in->end()),
      to(static_cast<size_t>(dl4_port_count(m, DL4_OUTPUTS)), nullptr);
  r = refusal(dl4_session_run(s, from.data(), static_cast<int64_t>(from.size()), to.data(),
                              static_cast<int64_t>(to.size()), nullptr));
  EXPECT_NE(r.code, DL4_INTERNAL) << r.message;
  for (dl4_tensor *t : to) dl4_release(t);
}

Own<dl4_model> rich_net() {
  Own<dl4_graph> g;
  Own<dl4_model> m;
  ok(dl4_graph_create(nullptr, g.out()));
  dl4_node tokens = input(g, "tokens", {-1, 6}, DL4_INT32), image = input(g, "image", {-1, 6, 6, 2}),
           in[2] = {tokens, image};
  dl4_node e = add(g, "Embedding", "words", R"({"input_dim": 9, "output_dim": 4, "mask_zero": true})", tokens);
  dl4_node l = add(g, "LSTM", "loop",
                   R"({"units": 5, "return_sequences": true, "go_backwards": true, "kernel_regularizer": "l2"})", e),
           both[2] = {l, l}, a = -1;
  ok(dl4_graph_add(g, "Attention", "look", R"({"use_scale": true})", nullptr, nullptr, both, 2, &a, 1));
  dl4_node p = add(g, "GlobalAveragePooling1D", "pool", "{}", a);
  dl4_node c =
      add(g, "Conv2D", "conv",
          R"({"filters": 3, "kernel_size": [3, 2], "padding": "same", "strides": 2, "activation": "gelu"})", image);
  c = add(g, "MaxPooling2D", "most", "{}", add(g, "PReLU", "leak", "{}", c));
  c = add(g, "Flatten", "flat", "{}", add(g, "Dropout", "some", R"({"rate": 0.25})", c));
  dl4_node joined[2] = {p, c}, y = -1;
  ok(dl4_graph_add(g, "Concatenate", "all", nullptr, nullptr, nullptr, joined, 2, &y, 1));
  y = add(
      g, "Dense", "answer",
      R"({"units": 3, "activation": "softmax", "kernel_constraint": {"class_name": "MaxNorm", "config": {"max_value": 2}}})",
      y);
  dl4_node out[2] = {y, l};
  ok(dl4_graph_build(g, in, 2, out, 2, m.out()));
  return m;
}

using Mutations = Folder;

TEST_F(Mutations, OfAModelEndInAModelThatWorksOrInARefusal) {
  auto c = bounded();
  const std::string files[] = {saved(small_net()), saved(rich_net())};
  for (const std::string &file : files) {
    Refusal r;
    auto whole = load(c, file, r);
    ASSERT_EQ(r.code, 0) << r.message;
    use(c, whole);
  }
  Damage damage(20240607);
  Limits limits;
  int loaded = 0;
  const int most = times(1500, 250000);
  for (int i = 0; i < most; ++i) {
    const std::string bad = damage(files[i % 2]);
    SCOPED_TRACE("mutation " + std::to_string(i));
    limits.start();
    Refusal r;
    Own<dl4_model> m;
    if (i % 16 == 0)
      r = refusal(dl4_model_load(c, put("bad", bad).c_str(), nullptr, m.out()));
    else
      m = load(c, bad, r);
    ASSERT_TRUE(expected(r.code)) << r.code << ' ' << r.message;
    ASSERT_EQ(r.code == 0, r.message.empty());
    if (m) {
      ++loaded;
      use(c, m);
    }
    limits.stop();
    if (HasFailure()) break;
  }
  std::printf("%d mutations, %d of them models\n", most, loaded);
  EXPECT_GT(loaded, most / 50);
  EXPECT_LT(loaded, most / 2);
}

// A flipped bit is found, wherever it is: one of every `step` bytes, another each time; in the full tests each.
template <class F>
void flip_each(const std::string &file, size_t step, const F &is_refused) {
  for (size_t i = 0; i < file.size(); i += times(0, 1) ? 1 : step) {
    for (int bit = 0; bit < 8; ++bit) {
      if (times(0, 1) == 0 && bit != static_cast<int>(i * 5 % 8)) continue;
      std::string bad = file;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      ASSERT_TRUE(is_refused(bad)) << "bit " << bit << " of byte " << i;
    }
  }
}

TEST_F(Mutations, OfOneBitOfAModelAreFound) {
  auto c = bounded();
  flip_each(saved(small_net()), 1, [&](const std::string &bad) {
    Refusal r;
    auto m = load(c, bad, r);
    return r.code == DL4_CORRUPT_FILE || r.code == DL4_VERSION;
  });
}

TEST_F(Mutations, OfOneBitOfACheckpointAreFound) {
  auto m = small_net();
  auto t = trainer(m, R"({"optimizer": "Adam", "loss": "MeanSquaredError"})");
  ok(dl4_trainer_save(t, path("good").c_str()));
  const std::string before = saved(m);
  flip_each(get("good"), 7, [&](const std::string &bad) {
    const int32_t code = refusal(dl4_trainer_load(t, put("bad", bad).c_str())).code;
    return code == DL4_CORRUPT_FILE || code == DL4_VERSION;
  });
  EXPECT_TRUE(saved(m) == before);
}

TEST_F(Mutations, OfACheckpointEndInTrainingOrInARefusalThatChangesNothing) {
  Training t(5);
  t.stop_at = 9;
  ASSERT_EQ(t.fit().code, DL4_CANCELLED);
  const std::string good = path("good");
  ok(dl4_trainer_save(t.t, good.c_str()));
  const std::string file = bytes_of(good), before = saved(t.m);
  Damage damage(7);
  Limits limits;
  int loaded = 0;
  const int most = times(1000, 250000);
  for (int i = 0; i < most; ++i) {
    const std::string path = put("bad", damage(file));
    SCOPED_TRACE("mutation " + std::to_string(i));
    limits.start();
    Refusal r = refusal(dl4_trainer_load(t.t, path.c_str()));
    ASSERT_TRUE(expected(r.code) || r.code == DL4_SHAPE_MISMATCH || r.code == DL4_NOT_FOUND)
        << r.code << ' ' << r.message;
    ASSERT_EQ(r.code == 0, r.message.empty());
    if (r.code) {
      ASSERT_TRUE(saved(t.m) == before) << r.message;
    } else {
      ++loaded;
      t.stop_at = -1;
      r = t.fit();
      ASSERT_NE(r.code, DL4_INTERNAL) << r.message;
      ok(dl4_trainer_save(t.t, path.c_str()));
      ok(dl4_trainer_load(t.t, path.c_str()));
      ok(dl4_trainer_load(t.t, good.c_str()));
      ASSERT_TRUE(saved(t.m) == before);
    }
    limits.stop();
    if (HasFailure()) break;
  }
  std::printf("%d mutations, %d of them checkpoints\n", most, loaded);
  EXPECT_GT(loaded, most / 50);
  EXPECT_LT(loaded, most / 2);
}

}  // namespace
}  // namespace dl4_test::DL4_FILE
