// dl4 run.
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "arrays.hpp"
#include "stream.hpp"

namespace dl4::tool {
namespace {

struct RunOptions {
  std::string file;
  std::vector<std::string> inputs, outputs;
  std::string weights = "float32";
  double scale = 1;
  int64_t batch = 32;
  bool stream = false;
  std::string table, columns;
};

// In batches, where there are more samples than one holds; strings are given by one run.
Tensors outputs_of(const Session &session, const Tensors &inputs, const std::vector<Slot> &slots, int64_t batch) {
  const bool strings = std::any_of(slots.begin(), slots.end(), [](const Slot &s) { return s.dtype == DL4_STRING; });
  const bool one = strings ||
                   std::any_of(inputs.begin(), inputs.end(), [&](const Tensor &t) { return t.dims().empty(); }) ||
                   inputs.empty() || inputs[0].dims()[0] <= batch;
  if (one) return session.run(inputs);
  const Dataset data(inputs, {}, {}, Attrs{{"batch_size", batch}, {"shuffle", false}});
  std::vector<dl4_tensor *> out(static_cast<size_t>(dl4_port_count(session, DL4_OUTPUTS)));
  dl4::check(dl4_session_predict(session, data, nullptr, out.data(), static_cast<int64_t>(out.size())));
  Tensors all;
  for (dl4_tensor *t : out) all.emplace_back(t);
  return all;
}

std::vector<Place> outputs_to(const std::vector<Slot> &slots, const RunOptions &o) {
  std::vector<Place> all;
  for (size_t i = 0; i < o.outputs.size(); ++i) {
    const auto &[at, file] = all.emplace_back(place_of(slots, o.outputs[i], i, "output"));
    if (at >= slots.size())
      throw Refusal(usage, "the model has " + std::to_string(slots.size()) + " outputs, got " +
                               std::to_string(o.outputs.size()) + " files");
    if (!ends_with(file, ".npy") && !ends_with(file, ".csv") && !ends_with(file, ".json"))
      throw Refusal(usage, '"' + file + "\": an output is a .npy, .csv or .json file");
    need_writable(file);
  }
  return all;
}

Tensors columns_for(const std::vector<Slot> &in, const RunOptions &o) {
  const Columns table = read_columns(o.table, o.columns);
  Tensors all;
  for (const Slot &slot : in) all.push_back(column_of(table, slot.name, slot, o.scale));
  return all;
}

}  // namespace

Command run_command(const Common &common) {
  auto o = std::make_shared<RunOptions>();
  return {"run",
          "the outputs of a model for inputs in files",
          {{"FILE", "FILE", "a model", &o->file, true},
           {"-i,--input", "[NAME=]FILE", "an input: .npy, .csv or .png; several files of one input are one batch",
            &o->inputs},
           {"-o,--output", "[NAME=]FILE", "where an output goes: .npy, .csv or .json; without it they are printed",
            &o->outputs},
           {"--csv", "FILE", "a table: each input is the column of its name in the first line; answers come as a table",
            &o->table},
           {"--columns", "NAMES", columns_help, &o->columns},
           {"--stream", "", "steps from standard input, float32 or WAV, and the output to standard output", &o->stream},
           {"--scale", "S", "what the inputs' numbers are multiplied by; default 1", &o->scale},
           {"--batch-size", "N", "samples that are computed together; default 32", &o->batch},
           {"--weights", "TYPE", weights_help, &o->weights}},
          [=, &common] {
            if (o->stream && (!o->inputs.empty() || !o->outputs.empty() || common.json))
              throw Refusal(usage, "--stream reads standard input and writes bytes: no --input, --output or --json");
            if (!o->table.empty() && (o->stream || !o->inputs.empty()))
              throw Refusal(usage, "--csv has all inputs: no --input or --stream");
            if (o->table.empty() && !o->columns.empty())
              throw Refusal(usage, "--columns names the columns of a table: --csv is required");
            if (!o->stream && o->inputs.empty() && o->table.empty()) throw Refusal(usage, "--input is required");
            const Model m = open_model(common, o->file);
            if (o->stream) {
              run_stream(m, o->scale);
              return done;
            }
            const std::vector<Slot> in = slots(m, DL4_INPUTS), out = slots(m, DL4_OUTPUTS);
            const std::vector<Place> to = outputs_to(out, *o);
            const Session session(m, Attrs{{"weights", o->weights}});
            const Tensors outputs = outputs_of(
                session, o->table.empty() ? read_inputs(in, o->inputs, o->scale) : columns_for(in, *o), out, o->batch);
            for (const auto &[slot, file] : to) write_array(file, outputs[slot]);
            Json all = Json::object();
            std::string text;
            for (size_t i = 0; i < outputs.size(); ++i) {
              const char *type = name_of_dtype(dl4_tensor_dtype(outputs[i]));
              const Dims dims = outputs[i].dims();
              Json one{{"dtype", type}, {"shape", dims}};
              if (common.json && o->outputs.empty()) one["values"] = json_of(outputs[i]);
              all[out[i].name] = std::move(one);
              text += out[i].name + ": " + type + ' ' + shape(dims) + '\n' + preview(outputs[i]);
            }
            if (!o->table.empty() && o->outputs.empty() && !common.json)
              print(table_of(out, outputs));
            else if (common.json)
              print(Json{{"file", o->file}, {"outputs", std::move(all)}});
            else if (o->outputs.empty())
              print(text);
            return done;
          }};
}

}  // namespace dl4::tool
