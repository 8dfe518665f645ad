/* Reductions by MPI_Allreduce. */
#include <dl4/mpi.h>

#include <stdlib.h>

static int32_t reduce(void *user, void *values, int64_t n, int32_t dtype) {
  const MPI_Datatype type = dtype == DL4_FLOAT32 ? MPI_FLOAT : MPI_INT32_T;
  char *at = values;
  int error = MPI_SUCCESS;
  while (n > 0 && error == MPI_SUCCESS) {
    const int some = n < 1 << 24 ? (int)n : 1 << 24;
    error = MPI_Allreduce(MPI_IN_PLACE, at, some, type, MPI_SUM, *(MPI_Comm *)user);
    at += (int64_t)some * 4;
    n -= some;
  }
  return error;
}

static void leave(void *user) {
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Comm_free(user);
  free(user);
}

/* For what fails before there is a communicator: the trainer's own refusal. */
static int32_t fails(void *user, void *values, int64_t n, int32_t dtype) {
  (void)values, (void)n, (void)dtype;
  return *(int *)user;
}

dl4_error *dl4_mpi_attach(dl4_trainer *t, MPI_Comm comm) {
  MPI_Comm *own = malloc(sizeof *own);
  int rank = 0, size = 1;
  int error = own ? MPI_Comm_dup(comm, own) : MPI_ERR_NO_MEM;
  if (error == MPI_SUCCESS) {
    MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN);
    MPI_Comm_rank(*own, &rank);
    MPI_Comm_size(*own, &size);
    dl4_error *e = dl4_trainer_set_workers(t, rank, size, reduce, own, leave);
    if (e) leave(own);
    return e;
  }
  free(own);
  return dl4_trainer_set_workers(t, 0, 2, fails, &error, NULL);
}
