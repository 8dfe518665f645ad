/* local.h: workers of a trainer that are processes on one machine, through shared memory.
 *
 *   error = dl4_local_attach(trainer, "/mine", rank, size, 30);      // the same name in all of them
 *
 * Copyright the libdl4 authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DL4_LOCAL_H
#define DL4_LOCAL_H

#include <stdint.h>

#include <dl4/dl4.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dl4_trainer_set_workers() with the processes that join under a name, as dl4_local_join() does, which are left when the
 * trainer is freed or has other workers. Errors: those of dl4_trainer_set_workers(); DL4_CALLBACK_FAILED with the number
 * of dl4_local_join(), negative. */
DL4_API DL4_CHECKED dl4_error *dl4_local_attach(dl4_trainer *t, const char *name, int64_t rank, int64_t size,
                                                double seconds);

/* The parts of it, for sums without a trainer. */

/* Joins `size` processes under a name that begins with '/', and waits at most `seconds` for all of them; as long waits
 * every reduction for a worker that lives. Gives 0 or a number of errno: ETIMEDOUT, EBUSY (the rank is taken), EINVAL
 * (another size, a wrong argument), and what the system says. A name that a run left that was killed may be used. */
int32_t dl4_local_join(const char *name, int64_t rank, int64_t size, double seconds, void **place);

/* A dl4_reduce_fn: adds up in the order of ranks. Gives 0, -ETIMEDOUT where a worker did not come in time, -EPIPE within
 * 0.1 s where one died, left or failed so: then all others get it, and all later calls fail; -EINVAL for another data
 * type. Threads: one at a time. */
int32_t dl4_local_reduce(void *place, void *values, int64_t n, int32_t dtype);

/* A dl4_release_fn: leaves; reductions of the others fail from now on. */
void dl4_local_leave(void *place);

#ifdef __cplusplus
}
#endif

#endif /* DL4_LOCAL_H */
