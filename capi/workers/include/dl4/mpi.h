/* mpi.h: the processes of an MPI communicator as workers of a trainer.
 *
 * Copyright the libdl4 authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DL4_MPI_H
#define DL4_MPI_H

#include <mpi.h>

#include <dl4/dl4.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dl4_trainer_set_workers() with the processes of `comm`, of which a duplicate is kept until the trainer is freed or
 * has other workers. Collective; MPI must be initialised, and finalised after the trainer is freed. How long a worker
 * that hangs is waited for, and what happens where one dies, is the MPI library's: mpirun ends all as a rule. Errors:
 * those of dl4_trainer_set_workers(); DL4_CALLBACK_FAILED with the number MPI gave. */
DL4_API DL4_CHECKED dl4_error *dl4_mpi_attach(dl4_trainer *t, MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif /* DL4_MPI_H */
