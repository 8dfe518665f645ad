// Trains with others: `worker <rank> <size> <name> <checkpoint> <at the end>`, or with MPI `worker <checkpoint> <end>`.
// Rank 0 saves a checkpoint every few batches and goes on from the one it finds. Ends in 5 when the others are lost.
#include <unistd.h>

#include <cstdio>

#include "../processes.hpp"
#ifdef DL4_WORKER_MPI
#include <dl4/mpi.h>
#else
#include <dl4/local.h>
#endif

namespace {

using namespace dl4_test;

struct Saving {
  dl4_trainer *trainer;
  const char *checkpoint;  // null: another one saves

  static int32_t progress(void *user, int32_t event, int64_t step, int64_t, const double *, int64_t) {
    const auto &self = *static_cast<Saving *>(user);
    const bool now = (event == DL4_BATCH_END && step % 3 == 0) || event == DL4_EPOCH_END;
    if (now && self.checkpoint) ok(dl4_trainer_save(self.trainer, self.checkpoint));
    return testing::Test::HasFailure();
  }
};

int train(int64_t rank, const char *checkpoint, const char *end, dl4_error *(*join)(dl4_trainer *)) {
  Own<dl4_context> c;
  ok(dl4_context_create(R"({"threads": 1, "seed": 5, "reproducible": "strict"})", c.out()));
  Own<dl4_graph> g;
  ok(dl4_graph_create(c, g.out()));
  dl4_node x = input(g, "x", {-1, 6, 4});
  dl4_node y = add(g, "GRU", nullptr, R"({"units": 8, "return_sequences": true})", x);
  y = add(g, "BatchNormalization", nullptr, "{}", y);
  y = add(g, "Dropout", nullptr, R"({"rate": 0.4})", y);
  y = add(g, "Flatten", nullptr, "{}", y);
  y = add(g, "Dense", nullptr, R"({"units": 3})", y);
  Own<dl4_model> m;
  ok(dl4_graph_build(g, &x, 1, &y, 1, m.out()));
  Own<dl4_trainer> t = trainer(m, R"({"optimizer": {"class_name": "Adam", "config": {"global_clipnorm": 0.5}},
                                      "loss": "MeanSquaredError", "metrics": ["mae", "R2Score"], "shards": 8})");
  auto in = tensor({44, 6, 4}, numbers(44 * 24)), target = tensor({44, 3}, numbers(132));
  Own<dl4_dataset> d = dataset(in, target, R"({"batch_size": 8, "seed": 3})");
  if (rank == 0 && access(checkpoint, F_OK) == 0) ok(dl4_trainer_load(t, checkpoint));
  dl4_error *e = join(t);
  Saving saving{t, rank == 0 ? checkpoint : nullptr};
  if (!e)
    e = dl4_trainer_fit(t, d, nullptr, R"({"epochs": 40, "validation_split": 0.2})", Saving::progress, &saving, nullptr,
                        nullptr);
  if (e) {
    std::printf("worker %d: %s\n", static_cast<int>(rank), dl4_error_message(e));
    const int32_t code = dl4_error_code(e);
    dl4_release(e);
    return code == DL4_CALLBACK_FAILED ? 5 : 6;
  }
  if (rank == 0) ok(dl4_trainer_save(t, end));
  return testing::Test::HasFailure() ? 1 : 0;
}

#ifndef DL4_WORKER_MPI
struct {
  int64_t rank, size;
  const char *name;
} place;

dl4_error *join(dl4_trainer *t) { return dl4_local_attach(t, place.name, place.rank, place.size, sanitized ? 60 : 10); }
#endif

}  // namespace

int main(int argc, char **argv) {
#ifdef DL4_WORKER_MPI
  if (argc != 3 || MPI_Init(&argc, &argv) != MPI_SUCCESS) return 2;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int code = train(rank, argv[1], argv[2], [](dl4_trainer *t) { return dl4_mpi_attach(t, MPI_COMM_WORLD); });
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return code;
#else
  if (argc != 6) return 2;
  place = {std::atoll(argv[1]), std::atoll(argv[2]), argv[3]};
  return train(place.rank, argv[4], argv[5], join);
#endif
}
