#include "models.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "system.hpp"

namespace dl4::tool {

const Context &Common::context() const {
  if (!made_) made_.emplace(context(strict ? "strict" : "threads"));
  return *made_;
}

Context Common::context(const char *reproducible) const {
  Attrs options{{"seed", seed}, {"reproducible", reproducible}};
  if (threads) options.set({"threads", threads});
  if (!log.empty()) options.set({"log_level", log});
  if (!tuning.empty()) options.set({"tuning", tuning});
  return Context(options);
}

std::vector<Slot> slots(const Model &m, int32_t direction) {
  std::vector<Slot> all;
  for (int64_t i = 0; i < dl4_port_count(m, direction); ++i) {
    std::array<int64_t, 8> dims{};
    int32_t rank = 0;
    dl4::check(dl4_port_shape(m, direction, i, dims.data(), 8, &rank));
    all.push_back(
        {dl4_port_name(m, direction, i), dl4_port_dtype(m, direction, i), Dims(dims.begin(), dims.begin() + rank)});
  }
  return all;
}

Json json_of(const std::vector<Slot> &slots) {
  Json list = Json::array();
  for (const Slot &s : slots)
    list.push_back({{"name", s.name}, {"dtype", name_of_dtype(s.dtype)}, {"shape", json_shape(s.dims)}});
  return list;
}

std::string slot_lines(const Model &m) {
  std::string text;
  for (const auto &[what, direction] : {std::pair{"Input ", DL4_INPUTS}, {"Output ", DL4_OUTPUTS}})
    for (const Slot &s : slots(m, direction))
      text += what + s.name + ": " + name_of_dtype(s.dtype) + ' ' + shape(s.dims) + '\n';
  return text;
}

const char *name_of_dtype(int32_t dtype) {
  constexpr const char *names[] = {"?", "float32", "float64", "int32", "int64", "uint8", "bool"};
  if (dtype == DL4_STRING) return "string";
  return names[dtype >= 1 && dtype <= 6 ? dtype : 0];
}

int64_t elements(const Dims &dims, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < dims.size(); ++i) n *= dims[i];
  return n;
}

Tensor zeros(int32_t dtype, const Dims &dims) {
  dl4_tensor *t = nullptr;
  dl4::check(dl4_tensor_create(nullptr, dtype, static_cast<int32_t>(dims.size()), dims.data(), &t));
  return Tensor(t);
}

bool ends_with(const std::string &path, const char *end) { return path.ends_with(end); }

std::string read_text(const std::string &path) {
  constexpr size_t most = 100'000'000;
  const std::unique_ptr<FILE, int (*)(FILE *)> file(os::open(path, false), std::fclose);
  const auto refuse = [&](const std::string &why) { throw Refusal(files, "cannot read \"" + path + "\": " + why); };
  if (!file) refuse(std::strerror(errno));
  std::string text;
  char part[65536];
  for (size_t n = 0; (n = std::fread(part, 1, sizeof part, file.get())) > 0;) {
    text.append(part, n);
    if (text.size() > most) refuse("it has more than 100 MB");
  }
  if (std::ferror(file.get())) refuse(std::strerror(errno));
  return text;
}

void write_text(const std::string &path, const std::string &text) {
  FILE *file = os::open(path, true);
  const bool whole = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if ((file && std::fclose(file) != 0) || !whole)
    throw Refusal(files, "cannot write \"" + path + "\": " + std::strerror(errno));
}

std::filesystem::path native(const std::string &path) { return std::u8string(path.begin(), path.end()); }

bool exists(const std::string &path) {
  std::error_code unknown;
  return std::filesystem::exists(native(path), unknown);
}

std::string folder_of(const std::string &path) {
  const std::u8string folder = native(path).parent_path().u8string();
  return folder.empty() ? "." : std::string(folder.begin(), folder.end());
}

std::string name_of(const std::string &path) {
  const std::u8string name = native(path).filename().u8string();
  return {name.begin(), name.end()};
}

void need_writable(const std::string &path) {
  std::error_code unknown;
  int error = 0;
  if (std::filesystem::is_directory(native(path), unknown))
    error = EISDIR;
  else if (!os::writable(folder_of(path)))
    error = errno;
  if (error) throw Refusal(files, "cannot write \"" + path + "\": " + std::strerror(error));
}

Model open_model(const Common &common, const std::string &path, bool weights) {
  if (ends_with(path, ".json")) {
    Graph graph(common.context());
    dl4::check(dl4_graph_add_json(graph, read_text(path).c_str()));
    return graph.build({}, {});
  }
  dl4_model *m = nullptr;
  const Attrs options = weights ? Attrs() : Attrs{{"weights", false}};
  dl4::check(dl4_model_load(common.context(), path.c_str(), options.c_str(), &m));
  return Model(m);
}

Json architecture(const Model &m) { return Json::parse(m.describe(DL4_FORMAT_JSON)); }

std::vector<Weight> weights(const Model &m, const Json &architecture) {
  std::set<std::string> layers;
  for (const Json &l : architecture.at("layers")) layers.insert(l.at("name").get<std::string>());
  std::vector<Weight> all;
  for (int64_t i = 0; i < dl4_port_count(m, DL4_WEIGHTS); ++i) {
    std::array<int64_t, DL4_MAX_RANK> dims{};
    int32_t rank = 0, trainable = 0;
    const char *name = dl4_port_name(m, DL4_WEIGHTS, i);
    dl4::check(dl4_port_shape(m, DL4_WEIGHTS, i, dims.data(), DL4_MAX_RANK, &rank));
    dl4::check(dl4_model_get_trainable(m, name, &trainable));
    Weight w{name, "", Dims(dims.begin(), dims.begin() + rank), trainable != 0};
    for (size_t end = w.name.rfind('/'); end != w.name.npos && end > 0 && w.layer.empty();
         end = w.name.rfind('/', end - 1))
      if (layers.count(w.name.substr(0, end))) w.layer = w.name.substr(0, end);
    all.push_back(std::move(w));
  }
  return all;
}

Dims filled(const Dims &dims, int64_t batch, int64_t other) {
  Dims known = dims;
  for (size_t i = 0; i < known.size(); ++i)
    if (known[i] < 0) known[i] = i == 0 ? batch : other;
  return known;
}

Tensors random_inputs(const Model &m, int64_t batch, int64_t other, int64_t seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  Tensors all;
  for (const Slot &s : slots(m, DL4_INPUTS)) {
    const Tensor &t = all.emplace_back(zeros(s.dtype, filled(s.dims, batch, other)));
    if (s.dtype == DL4_FLOAT32)
      for (float &v : t.data()) v = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  }
  return all;
}

}  // namespace dl4::tool
