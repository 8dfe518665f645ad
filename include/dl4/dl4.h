/* dl4.h: deep-learning layers for any language. The whole interface of libdl4; there is nothing else to include.
 *
 * Copyright the libdl4 authors. SPDX-License-Identifier: Apache-2.0
 *
 * libdl4 builds, trains, runs and saves neural networks whose names, defaults and meaning are those of Keras 3
 * (channels last, float32, LSTM gates i f c o, epsilon 1e-7). A layer, loss, optimizer or metric is not a function but
 * a registered kind, named as in Keras ("Dense", "Conv2D", "Adam"), with Keras's configuration keys as attributes.
 * dl4_registry_json() describes every kind; this header never changes when one is added.
 *
 * ---- Simple use -----------------------------------------------------------------------------------------------
 *
 *   static int bad(dl4_error *e) {                        // every call that can fail returns an error, or NULL
 *     if (!e) return 0;
 *     fprintf(stderr, "%s\n", dl4_error_message(e));
 *     dl4_release(e);
 *     return 1;
 *   }
 *
 *   int64_t dims[2] = {-1, 4};                            // any batch size, 4 features
 *   dl4_graph_create(NULL, &g);                           // NULL: the default context; each call inside if (bad(...))
 *   dl4_graph_add_input(g, "x", DL4_FLOAT32, 2, dims, &x);
 *   dl4_attrs_create("{\"units\": 3, \"activation\": \"softmax\"}", &a);
 *   dl4_graph_add(g, "Dense", NULL, a, NULL, &x, 1, &y, 1);
 *   dl4_graph_build(g, &x, 1, &y, 1, &model);
 *
 *   dl4_trainer_create(model, "{\"optimizer\": \"Adam\", \"loss\": \"SparseCategoricalCrossentropy\"}", &trainer);
 *   dl4_dataset_from_tensors(NULL, &images, 1, &labels, 1, NULL, 0, NULL, &data);
 *   dl4_trainer_fit(trainer, data, NULL, NULL, NULL, NULL, NULL, NULL);
 *
 *   dl4_session_create(model, NULL, &session);            // immutable; run it from as many threads as you like
 *   dl4_session_run(session, &input, 1, &output, 1, NULL);
 *   dl4_model_save(model, "model.safetensors", NULL);
 *   dl4_release(session);                                 // and all the others, in any order
 *
 * ---- Letters of shapes ----------------------------------------------------------------------------------------
 *
 *   B batch (samples)      T time steps (Tq of a query, Tv of a value)      F features of a step or of a sample
 *   H W C height, width and channels of an image      U units of a layer      N any other count
 *
 *   Every dimension is an int64_t; -1 in a symbolic shape means free, decided by the data of each run. Tensors are
 *   row-major: a batch of images is [B, H, W, C], a batch of sequences [B, T, F].
 *
 * ---- Rules that hold everywhere -------------------------------------------------------------------------------
 *
 * Types      The interface uses int32_t (codes, flags, types of data), int64_t (sizes, counts), double, UTF-8 strings
 *            ended by NUL, pointers to data, opaque objects and callbacks. No macro is needed to make a call.
 * Errors     A function that can fail returns dl4_error *: NULL is success, anything else is an object that the
 *            caller reads and releases. Any of them can give DL4_INVALID_ARGUMENT (NULL, wrong or unusable
 *            handle, value out of range), DL4_OUT_OF_MEMORY or DL4_INTERNAL; other codes are listed after "Errors:".
 *            On failure every out pointer is NULL, every out id -1, every out count 0, and no object has changed.
 *            A message is one line: control characters in quoted names and texts are escaped (\n, \x1b).
 *            Functions that cannot report an error return 0 or NULL for a NULL or wrong handle.
 * Ownership  Out pointers are new references, freed with dl4_release(). Objects keep what they need alive: release in
 *            any order, also from a finalizer. Strings and dims that are returned live as long as their object.
 *            Arrays and strings passed in are read during the call only. What is kept longer is listed after "Keeps:",
 *            what the library takes ownership of after "Takes:".
 * NULL       Pointers must not be NULL unless listed after "May be NULL:". A dl4_context * may be NULL everywhere: it
 *            means the default context of the process, made at first use. An array may be NULL when its count is 0.
 * Options    The text of a JSON object, {"epochs": 5}; NULL means none. An unknown key, a wrong type or a value out of
 *            range is refused by the key. An int is accepted where a float is asked, never the other way. A kind is a
 *            string ("Adam") or an object {"class_name": ..., "config": {...}}, as in Keras.
 * JSON       RFC 8259, in UTF-8. A key twice in an object and a number past the range of double are refused.
 * Threads    Each section documents its object. Where an object is for "one thread at a time", a second caller gets
 *            DL4_BUSY instead of a race. Callbacks run only on the thread that made the call, with the floating-point
 *            state that a program starts with.
 * Callbacks  A callback may end its thread (pthread_exit, a cancellation, which acts in callbacks alone, an interpreter
 *            that exits): the call is unwound, its objects work on other threads, and what it had to release is
 *            released by the next call. A C++ exception out of one is DL4_CALLBACK_FAILED with its what(); out of a
 *            dl4_release_fn, dl4_free_fn or dl4_log_fn it is dropped. longjmp out of one is not allowed.
 * Stack      A dl4_session_run() of shapes that were run before takes at most 64 KiB of its thread's stack, any other
 *            call 128 KiB, callbacks not counted. (A program that is linked with the library gives 64 KiB more of
 *            each thread's stack to OpenBLAS, for thread-local data; one that loads it by dlopen() does not.)
 * Since      Everything is here since 1.0 unless it says otherwise.
 *
 * ---- Guarantees ------------------------------------------------------------------------------------------------
 *
 *  In full, with limits and exceptions: capi/guide/pages/guarantees.md.
 *
 *  S1  Models are data: a file from a stranger ends in a model or an error, and no code in it is run.
 *  S2  Sizes are limited, and memory is checked against the context's memory_limit before it is allocated.
 *  S3  No function aborts, exits, throws, raises a signal, leaves an out parameter unset, or prints unasked.
 *  S4  Each of the library's own allocations may fail: DL4_OUT_OF_MEMORY, nothing changed, nothing leaked.
 *  S5  Same build, type of CPU, threads option, seed and calls: same bits, under any load on the machine.
 *  S6  Training that is saved, loaded in a new process and resumed has the bits of training without a break.
 *  S7  A file being saved is at any instant the complete old or the complete new one.
 *  S8  One session may run on any number of threads. A forked child may use the library, with one thread.
 *  S9  A program linked against 1.0 runs unchanged with every 1.x.
 *  S10 The host's streams, locale, signal handlers, floating-point state, environment and directory stay as they are.
 */
#ifndef DL4_DL4_H
#define DL4_DL4_H

#include <stdint.h>

/* Programs that link the static library on Windows define DL4_STATIC. */
#if defined(_WIN32) && defined(DL4_BUILDING)
#define DL4_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(DL4_STATIC)
#define DL4_API __declspec(dllimport)
#elif defined(__GNUC__)
#define DL4_API __attribute__((visibility("default")))
#else
#define DL4_API
#endif
#if defined(__GNUC__)
#define DL4_CHECKED __attribute__((warn_unused_result))
#else
#define DL4_CHECKED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; dl4_version() is that of the library at run time. */
#define DL4_VERSION_MAJOR 1
#define DL4_VERSION_MINOR 0
#define DL4_VERSION_PATCH 0

/* ---- Constants ------------------------------------------------------------------------------------------------
 * Names for the numbers below, as a convenience of C: parameters are int32_t. Numbers are never changed or reused, new
 * ones are appended. */

/* Codes of errors. Treat a code you do not know as DL4_INTERNAL. */
enum {
  DL4_OK = 0,
  DL4_INTERNAL = 1,         /* a bug in the library: please report */
  DL4_OUT_OF_MEMORY = 2,    /* an allocation failed, or memory_limit would be passed */
  DL4_INVALID_ARGUMENT = 3, /* a handle, value, attribute or call that cannot be right */
  DL4_UNKNOWN_KIND = 4,     /* no layer, loss, ... of that name; the message says which is nearest */
  DL4_NOT_FOUND = 5,        /* no weight, file, key, ... of that name */
  DL4_CANCELLED = 6,        /* by dl4_cancel_trigger() */
  DL4_SHAPE_MISMATCH = 7,   /* shapes or types of data that do not fit; the message has both */
  DL4_UNSUPPORTED = 8,      /* valid, but not in this version or build */
  DL4_IO = 9,               /* the system refused to read or write */
  DL4_CORRUPT_FILE = 10,    /* not a model, truncated or damaged */
  DL4_VERSION = 11,         /* made by, or for, a newer library */
  DL4_BUSY = 12,            /* in use by another thread, or by the caller of this callback */
  DL4_CALLBACK_FAILED = 13, /* a callback reported failure; the detail has its return value as "answer" */
  DL4_NUMERIC = 14          /* NaN or infinity found by the nan_guard */
};

/* Types of data. Values in a graph are float32, int32, int64, uint8 or bool; float64 is for tensors only. */
enum {
  DL4_FLOAT32 = 1,
  DL4_FLOAT64 = 2,
  DL4_INT32 = 3,
  DL4_INT64 = 4,
  DL4_UINT8 = 5,
  DL4_BOOL = 6,    /* one byte, 0 or 1 */
  DL4_FLOAT16 = 7, /* reserved: refused with DL4_UNSUPPORTED */
  DL4_BFLOAT16 = 8 /* reserved: refused with DL4_UNSUPPORTED */
};

/* Levels of log messages. */
enum { DL4_LOG_TRACE = 0, DL4_LOG_DEBUG = 1, DL4_LOG_INFO = 2, DL4_LOG_WARNING = 3, DL4_LOG_ERROR = 4 };

/* Events of dl4_progress_fn. */
enum {
  DL4_TRAIN_BEGIN = 0, /* step: first epoch, counted from 0    total: epochs */
  DL4_EPOCH_BEGIN = 1, /* step: epoch, counted from 0          total: epochs */
  DL4_BATCH_END = 2,   /* step: batches done in this epoch     total: batches of an epoch, -1 if unknown */
  DL4_EPOCH_END = 3,   /* step: epochs done                    total: epochs */
  DL4_TRAIN_END = 4    /* step: epochs done                    total: epochs */
};

/* Return values of dl4_progress_fn and dl4_batch_fn. Any other number is a failure: the call ends with
 * DL4_CALLBACK_FAILED, and dl4_error_detail() has the number as "answer". */
enum {
  DL4_CONTINUE = 0, /* continue; here is a batch */
  DL4_STOP = 1      /* stop; there is no further batch */
};

/* Formats of dl4_describe(). */
enum { DL4_FORMAT_JSON = 0, DL4_FORMAT_TEXT = 1, DL4_FORMAT_DOT = 2 };

/* The ports of an object, for dl4_port_*(). */
enum { DL4_INPUTS = 0, DL4_OUTPUTS = 1, DL4_WEIGHTS = 2 };

/* ---- Types ---------------------------------------------------------------------------------------------------- */

/* Objects: opaque, reference counted, freed by dl4_release(). */
typedef struct dl4_error dl4_error;     /* an error: code, message, detail */
typedef struct dl4_blob dl4_blob;       /* bytes or text that a call returns */
typedef struct dl4_context dl4_context; /* threads, seed, memory, logger */
typedef struct dl4_attrs dl4_attrs;     /* named values: attributes */
typedef struct dl4_tensor dl4_tensor;   /* numbers with a shape */
typedef struct dl4_graph dl4_graph;     /* layers being called on symbolic values */
typedef struct dl4_model dl4_model;     /* a finished architecture and its weights */
typedef struct dl4_session dl4_session; /* a model made ready to run */
typedef struct dl4_dataset dl4_dataset; /* batches to train on */
typedef struct dl4_trainer dl4_trainer; /* a model being trained */
typedef struct dl4_cancel dl4_cancel;   /* a flag that stops long work */
typedef struct dl4_stream dl4_stream;   /* a model run step by step */

typedef int32_t dl4_node;  /* a symbolic value inside one graph: nothing to free */
typedef int32_t dl4_layer; /* a layer inside one graph: nothing to free */

/* A log message, UTF-8 and valid during the call. Messages of the library's own threads are queued and delivered on
 * the caller's thread before its call returns. */
typedef void (*dl4_log_fn)(void *user, int32_t level, const char *message);

/* Progress of dl4_trainer_fit(). At DL4_BATCH_END and DL4_EPOCH_END metrics [N] holds the means over the epoch so far,
 * in the order of the trainer's metric_names; at DL4_EPOCH_END those of validation follow, if there was one. Return
 * DL4_CONTINUE to continue; DL4_STOP to end the fit, which then succeeds: an epoch that is under way ends there, and
 * is validated and recorded in the history as any other; anything else to fail. Inside, only reading calls,
 * dl4_trainer_save(), dl4_cancel_trigger(), dl4_trainer_get_number()/dl4_trainer_set_number() of that trainer and
 * dl4_model_set_weight() of its model are allowed, also on another thread while the callback waits for it. */
typedef int32_t (*dl4_progress_fn)(void *user, int32_t event, int64_t step, int64_t total, const double *metrics,
                                   int64_t n_metrics);

/* Asks for batch `index`, counted from 0 in each epoch. Put new references into x [nx], y [ny] and w [nw], which
 * arrive as NULL and pass to the library; leave w NULL where there are no sample weights, for all targets or some.
 * Return DL4_CONTINUE: here is a batch, DL4_STOP: the epoch is over, anything else: failed. */
typedef int32_t (*dl4_batch_fn)(void *user, int64_t index, dl4_tensor **x, int64_t nx, dl4_tensor **y, int64_t ny,
                                dl4_tensor **w, int64_t nw);

/* Sums `values` [n] of a data type, DL4_FLOAT32 or DL4_INT32, in place over all workers of a trainer, to the same bits
 * on each; called by all of them in the same order with the same n. Returns DL4_CONTINUE; any other number is a
 * failure, as of dl4_progress_fn, after which it is not called again. The error has the number, and explains two of
 * errno's: -EPIPE, a worker died or left; -ETIMEDOUT, a worker did not arrive in time. */
typedef int32_t (*dl4_reduce_fn)(void *user, void *values, int64_t n, int32_t dtype);

/* Called once when the library no longer needs `user`, on the thread that dropped the last reference. */
typedef void (*dl4_release_fn)(void *user);

/* Allocates memory; align is a power of two. NULL means out of memory. Called on any thread of the program. */
typedef void *(*dl4_alloc_fn)(void *user, int64_t bytes, int64_t align);

/* Frees memory of a dl4_alloc_fn. Called on any thread of the program. */
typedef void (*dl4_free_fn)(void *user, void *p, int64_t bytes);

/* The three functions of a custom kind (dl4_registry_add). `config` is the attribute of that name of the layer or
 * loss, "" by default. They run on the thread that made the call, more than one at a time where several threads run
 * sessions. Inside, only calls on the tensors given are allowed; these are valid during the call, dense, and lie where
 * the library computes: sources are for reading. Return 0; any other number is a failure, as of dl4_progress_fn. */

/* Shapes of outputs and weights for sources of the shapes ranks [n_src] and dims, concatenated; -1 is free while
 * a graph is built. Set out_ranks [n_out] and out_dims [n_out, 8]: of each output, then of each weight. */
typedef int32_t (*dl4_shape_fn)(void *user, const char *config, const int32_t *ranks, const int64_t *dims,
                                int64_t n_src, int32_t *out_ranks, int64_t *out_dims, int64_t n_out);

/* Computes every element of dst [n_dst], float32, from src [n_src]: the inputs, then the weights; of a loss or metric
 * y_true and y_pred. A dst that is not needed is NULL. */
typedef int32_t (*dl4_forward_fn)(void *user, const char *config, dl4_tensor *const *src, int64_t n_src,
                                  dl4_tensor *const *dst, int64_t n_dst);

/* Computes every element of diff_src [n_src], the gradients with respect to src, from those with respect to dst,
 * diff_dst [n_dst]. A diff_src that is not needed, and that of a src that is not float32, is NULL. */
typedef int32_t (*dl4_backward_fn)(void *user, const char *config, dl4_tensor *const *src, int64_t n_src,
                                   dl4_tensor *const *dst, dl4_tensor *const *diff_dst, int64_t n_dst,
                                   dl4_tensor *const *diff_src);

/* Changes the logits [B, V] of the next ids in place, before dl4_stream_next() draws: an id of -infinity (of
 * probabilities: 0) is never drawn. Inside, only calls on this tensor are allowed; it is valid during the call. Return
 * 0; any other number is a failure, as of dl4_progress_fn. */
typedef int32_t (*dl4_logits_fn)(void *user, dl4_tensor *logits);

/* ---- Library ----------------------------------------------------------------------------------------------------
 * Threads: any, at once. */

/* The version of the library as one number: 1002003 is 1.2.3. */
DL4_API int32_t dl4_version(void);

/* How the library was built and what it found: JSON with version ("1.2.3"), compiler, backends ("full", with OpenBLAS
 * and oneDNN, whose variant and version are told too, or "own", with our own kernels alone), CPU features, threads
 * ("many", or "one", the caller's, where a process has no others: WebAssembly). */
DL4_API DL4_CHECKED dl4_error *dl4_build_info(dl4_blob **out);

/* This interface as JSON, for makers of bindings: functions, parameters, ownership, constants, callbacks; for each
 * call its options, what its errors depend on, whether it blocks and whether it may be made in a callback. */
DL4_API DL4_CHECKED dl4_error *dl4_api_description(dl4_blob **out);

/* Kinds as JSON: attributes with type, default, range and doc; inputs, outputs, weights; "positional" (of layers also
 * "call_positional"): the names of the arguments by position in Keras, with those that are not in this version;
 * "default_only": other values than the default are refused; "example": a value of an attribute without which the kind
 * can't be made or does little; "names": what the kind is called in "keras", "numpy" and "onnx"; "takes": the dtype that
 * an elementwise function converts its inputs to, or "any"; of a metric "log_name", its name in logs, and "direction",
 * "up" where a greater value is a better one, "down" where a smaller one is.
 * Categories are "layer", "activation", "initializer", "loss", "metric", "optimizer", ...; NULL means all of them,
 * and a NULL name all kinds of the category.
 * May be NULL: category, name.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name), DL4_UNSUPPORTED (name: only Keras has it). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_json(const char *category, const char *name, dl4_blob **out);

/* Adds a custom kind: a layer, a loss (with the metric that is its mean) or a metric, computed by your functions. It is
 * used by its name like any other, in every context, and saved by name: a program that loads the file adds the kind
 * first. Adding a name again replaces it for what is made from then on. The attributes of such a kind are "config", a
 * string that your functions are given, of a layer with weights also "initializer", of a loss also "reduction"; a loss
 * or metric gives a value for each item, with any leading axes of y_pred.
 * Options:
 *   doc            string  what the kind does, for readers of the registry
 *   outputs        int     outputs of a layer; default 1
 *   weights        strings names of a layer's weights
 *   direction      string  "up" or "down": whether a greater value of a loss's metric or of a metric is a better one, for
 *                          callbacks whose mode is "auto"; by default null: they refuse it
 * May be NULL: options, shape (every output has the shape of the last source), backward (it can't be trained through),
 * user.
 * Keeps: shape, forward, backward, user (until the process ends). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_add(const char *category, const char *name, const char *options,
                                                dl4_shape_fn shape, dl4_forward_fn forward, dl4_backward_fn backward,
                                                void *user);

/* ---- Every object -----------------------------------------------------------------------------------------------
 * Threads: any, at once. */

/* Adds a reference to an object of any type.
 * May be NULL: object. */
DL4_API void dl4_retain(void *object);

/* Drops a reference to an object of any type; the last one frees it. NULL is a no-op. Legal in a finalizer.
 * May be NULL: object.
 * Takes: object. */
DL4_API void dl4_release(void *object);

/* Describes an object: format 0 JSON, 1 text for people, 2 a DOT drawing (graph and model).
 * Text of a graph or model is a summary in Keras's style; of a session or trainer the Program and the Plan, with times
 * per step when made with profile = true. JSON of a model is its architecture, of a trainer it has "metric_names" and,
 * as "no_gradient", the trainable weights on which the loss of its last training Program does not depend; of a session
 * "inputs", "outputs" and "plans", for each set of input shapes that was run "inputs", "arena_bytes" and "steps": each
 * "layer" (who asked for it), "kernel", "slices" and, with profile = true, "runs" and "nanoseconds" of all of them.
 * Threads: as for reading that object.
 * Errors: DL4_UNSUPPORTED (that format of that object), DL4_BUSY (a model: a trainer is at work on its weights). */
DL4_API DL4_CHECKED dl4_error *dl4_describe(const void *object, int32_t format, dl4_blob **out);

/* ---- Ports ------------------------------------------------------------------------------------------------------
 * What goes into an object and comes out of it: the inputs and outputs of a model, a session or a stream, and the
 * weights of a model. `which` is DL4_INPUTS, DL4_OUTPUTS or DL4_WEIGHTS; `i` counts from 0. The outputs of a session
 * include gradients and states, a stream has the inputs and outputs of its model alone. Weights are in the order of
 * Keras's model.weights.
 * Threads: any, at once. */

/* The number of ports; 0 of an object that has none of them. */
DL4_API int64_t dl4_port_count(const void *object, int32_t which);

/* The name of a port: of a session "cotangent of y", "gradient of x" for those that come with gradients; NULL past the
 * end. Lives as long as the object. */
DL4_API const char *dl4_port_name(const void *object, int32_t which, int64_t i);

/* The type of data of a port, one of the constants above; 0 past the end. */
DL4_API int32_t dl4_port_dtype(const void *object, int32_t which, int64_t i);

/* The shape of a port: its rank, and its first dimensions up to `cap` into dims; -1 is free.
 * May be NULL: dims (when cap is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_port_shape(const void *object, int32_t which, int64_t i, int64_t *dims, int32_t cap,
                                              int32_t *rank);

/* ---- Errors and blobs -------------------------------------------------------------------------------------------
 * Immutable once they exist.
 * Threads: any, at once. */

/* The code of an error, one of the constants above; 0 for NULL.
 * May be NULL: e. */
DL4_API int32_t dl4_error_code(const dl4_error *e);

/* One line for people: who, what was expected, what came, and "did you mean" where it helps. "" for NULL.
 * May be NULL: e. */
DL4_API const char *dl4_error_message(const dl4_error *e);

/* The same for programs: a JSON object with function and, where the message has them, layer, attribute (a key) or
 * argument, expected, got, did_you_mean; values are strings. "{}" for NULL.
 * May be NULL: e. */
DL4_API const char *dl4_error_detail(const dl4_error *e);

/* The bytes of a blob. A NUL follows the last one, so text can be used as it is. */
DL4_API const char *dl4_blob_data(const dl4_blob *b);

/* The number of bytes in a blob, without the NUL. */
DL4_API int64_t dl4_blob_size(const dl4_blob *b);

/* ---- Context ----------------------------------------------------------------------------------------------------
 * Threads, seed, memory and logger of everything made in it. Most programs never make one: NULL is the default.
 * Threads: any, at once. */

/* Makes a context.
 * Options:
 *   threads        int     threads that work on one run, the caller's included; default: the cores of this process.
 *                          A step gets their help only where runs with it were measured to take less time
 *   seed           int     start of all random numbers; default 0
 *   seed_scheme    string  "dl4" (default): a weight's and a dropout's numbers follow from the seed and the layer's
 *                          name, whatever else is in the graph; "tensorflow": from the seed and the order of
 *                          creation, whatever the names, as after tf.random.set_seed(seed)
 *   reproducible   string  "threads" (default): same bits for the same `threads`; "strict": for any number of them;
 *                          "portable": on every processor too, and with every compiler and C library. It needs fused
 *                          multiply-add and a mode that takes denormal numbers for 0 (AVX2, NEON; else
 *                          DL4_UNSUPPORTED). The sign of a NaN is not covered
 *   memory_limit   int     bytes for one load, model, trainer or plan (S2); default: half of the machine's memory, and
 *                          for a load less, by the size of its file
 *   passes_off     strings passes of the planner to leave out, for experiments: "passes" of dl4_build_info()
 *   kernels_off    strings kernels never to choose, for experiments: "kernels" of dl4_build_info()
 *   arena_fill_nan bool    fill working memory with NaN before each run, for tests
 *   log_level      string  "trace", "debug", "info", "warning", "error" or "off": which messages go to `log_to`; default
 *                          "info" if `log_to` is given, else "off". warning: what was refused, and files of models
 *                          that compute in float16, bfloat16 or float64 where they were made (here in float32);
 *                          info: also loads, saves, epochs and the plan for each set of input shapes; debug: also
 *                          each step of a plan with its kernel and why that one was chosen
 *   log_to         string  "stderr" (default), or a file that messages are appended to; it is opened, in a folder made
 *                          if need be, or refused with DL4_IO. At 10 MiB a file is rotated: log.txt becomes
 *                          log.1.txt, and three such files are kept. Each process needs its own file
 * May be NULL: options. */
DL4_API DL4_CHECKED dl4_error *dl4_context_create(const char *options, dl4_context **out);

/* Sets the seed of a context: each graph made from now on draws from the start of that seed's numbers, as after Keras's
 * set_random_seed(). Existing graphs are not affected.
 * May be NULL: c. */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_seed(dl4_context *c, int64_t seed);

/* Sets the logger of a context: messages from `min_level` up go to `fn`; NULL, the default, means none do. The options
 * log_level and log_to of the context write messages without a logger; both may be used.
 * May be NULL: c, fn, user.
 * Keeps: fn, user (until another logger is set or the context is freed). */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_logger(dl4_context *c, int32_t min_level, dl4_log_fn fn, void *user);

/* Sets the allocator for dl4_tensor_create(), for outputs that the library makes and for the working memory of runs, in
 * this context; both NULL: the system's, the default. Weights and copies are always in the system's memory. Memory
 * allocated before is freed by the allocator that gave it.
 * May be NULL: c, alloc, release, user.
 * Keeps: alloc, release, user (until all objects of the context are freed). */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_allocator(dl4_context *c, dl4_alloc_fn alloc, dl4_free_fn release,
                                                         void *user);

/* Returns memory to the system that is kept only for speed: idle frames, plans not in use and the code that oneDNN
 * generated for them. (oneDNN's own cache of primitives, one for the whole process, keeps nothing of this library:
 * while a plan is made its capacity is 0, which empties it; afterwards the capacity is restored.)
 * May be NULL: c. */
DL4_API DL4_CHECKED dl4_error *dl4_context_trim(dl4_context *c);

/* ---- Attributes -------------------------------------------------------------------------------------------------
 * Named values: the attributes of a layer and the arguments of its call. What takes a bag copies it; an unknown key, a
 * wrong type or a value out of range is refused there, by the name of the layer and the key. An int is accepted where a
 * float is asked, never the other way.
 * Kinds inside attributes (initializer, activation, loss, optimizer, ...) are a string ("relu", "GlorotUniform") or an
 * object {"class_name": ..., "config": {...}}, as in Keras.
 * Threads: one at a time per bag. */

/* Makes a bag of the members of a JSON object; a Keras layer's config is valid text here.
 * May be NULL: json (an empty bag). */
DL4_API DL4_CHECKED dl4_error *dl4_attrs_create(const char *json, dl4_attrs **out);

/* Sets a model, as a layer: {"class_name": "Functional", "config": {"model": ...}}, with the weights that it has.
 * A layer Functional with the attribute "model" is that model, called like any other layer:
 *
 *   dl4_attrs_set_model(a, "model", encoder);
 *   dl4_graph_add(g, "Functional", "encoder", a, NULL, &x, 1, &h, 1);
 *
 * and a layer that takes a layer, TimeDistributed for example, takes a model as it. In the config of a GraphCell it is
 * the cell of an RNN: the key "cell/config/model" is "model" in the object "config" of the object "cell", which the bag
 * has. The weights are shared: what trains or sets them in one model does so in all, and they are frozen
 * in all. They are named "<layer>/<layer>/<weight>", as "encoder/dense/kernel". A file holds the model inside the other
 * one, and a copy has copies of both.
 * Keeps: v (a reference to its core: it may be released).
 * Errors: DL4_BUSY (v: a trainer is at work on its weights; also where the layer is made, while it has a trainer). */
DL4_API DL4_CHECKED dl4_error *dl4_attrs_set_model(dl4_attrs *a, const char *key, const dl4_model *v);

/* Sets n symbolic values, in place of what the key had: a call argument such as mask or initial_state. -1 in a list
 * stands for none. */
DL4_API DL4_CHECKED dl4_error *dl4_attrs_set_nodes(dl4_attrs *a, const char *key, const dl4_node *v, int64_t n);

/* ---- Tensors ----------------------------------------------------------------------------------------------------
 * Numbers with a type and a shape [dims]. Type and shape never change; you may write the elements.
 * Threads: any, at once. Synchronise writes to a tensor's memory yourself. */

/* Makes a tensor filled with zeros.
 * May be NULL: c, dims (when rank is 0).
 * Errors: DL4_UNSUPPORTED (dtype). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_create(dl4_context *c, int32_t dtype, int32_t rank, const int64_t *dims,
                                                 dl4_tensor **out);

/* Makes a tensor over the caller's memory, without a copy. Nothing outside data [bytes] is accessed.
 * data is aligned for its type. strides [rank] counts elements, not bytes; NULL means dense row-major.
 * May be NULL: c, dims (when rank is 0), strides, data (when bytes is 0), release, user.
 * Keeps: data, release, user (until the last reference is gone; then release(user) is called, if given; on failure
 * it is not called).
 * Errors: DL4_SHAPE_MISMATCH (the shape does not fit into bytes), DL4_UNSUPPORTED (dtype). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_wrap(dl4_context *c, int32_t dtype, int32_t rank, const int64_t *dims,
                                               const int64_t *strides, void *data, int64_t bytes,
                                               dl4_release_fn release, void *user, dl4_tensor **out);

/* Makes a tensor of a DLPack tensor on the CPU, without a copy.
 * versioned: 0 if `managed` is a DLManagedTensor *, 1 if it is a DLManagedTensorVersioned *.
 * May be NULL: c.
 * Takes: managed (on success; its deleter is called with the last reference).
 * Errors: DL4_UNSUPPORTED (device, type of data or version). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_from_dlpack(dl4_context *c, int32_t versioned, void *managed,
                                                      dl4_tensor **out);

/* Makes a DLPack tensor that shares the memory of t; free it by its own deleter, on any thread.
 * versioned: 0 gives a DLManagedTensor *, 1 a DLManagedTensorVersioned *.
 * Errors: DL4_UNSUPPORTED (versioned = 0 cannot say of a tensor that it is read-only). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_to_dlpack(dl4_tensor *t, int32_t versioned, void **out);

/* Makes a dense copy with memory of its own. */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_clone(const dl4_tensor *t, dl4_tensor **out);

/* Copies dense row-major data into a tensor; bytes must be dl4_tensor_bytes().
 * May be NULL: src (when bytes is 0).
 * Errors: DL4_SHAPE_MISMATCH (bytes). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_copy_in(dl4_tensor *t, const void *src, int64_t bytes);

/* Copies a tensor out as dense row-major data; bytes must be dl4_tensor_bytes().
 * May be NULL: dst (when bytes is 0).
 * Errors: DL4_SHAPE_MISMATCH (bytes). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_copy_out(const dl4_tensor *t, void *dst, int64_t bytes);

/* Loads a tensor from a regular file of NumPy's: of .npz the one of that name, of .npy the only one, which has none.
 * Floats of 2 bytes become float32, integers of a size that tensors lack the next larger one, column-major arrays
 * row-major.
 * May be NULL: c, name (of .npy).
 * Errors: DL4_NOT_FOUND (path, name), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_UNSUPPORTED (path). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_load(dl4_context *c, const char *path, const char *name, dl4_tensor **out);

/* Saves a tensor as a .npy file, atomically, which numpy.load() reads. The path ends in .npy or has no suffix.
 * Errors: DL4_IO (path), DL4_UNSUPPORTED (path: another suffix). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_save(const dl4_tensor *t, const char *path);

/* The type of data, one of the constants above. */
DL4_API int32_t dl4_tensor_dtype(const dl4_tensor *t);

/* The number of dimensions. */
DL4_API int32_t dl4_tensor_rank(const dl4_tensor *t);

/* The dimensions [rank]. */
DL4_API const int64_t *dl4_tensor_dims(const dl4_tensor *t);

/* The strides [rank], in elements. */
DL4_API const int64_t *dl4_tensor_strides(const dl4_tensor *t);

/* The first element; NULL if there is none. For reading and writing, unless it came read-only by DLPack. */
DL4_API void *dl4_tensor_data(const dl4_tensor *t);

/* The number of bytes of all elements laid out densely. */
DL4_API int64_t dl4_tensor_bytes(const dl4_tensor *t);

/* ---- Graphs -----------------------------------------------------------------------------------------------------
 * The functional style of Keras: inputs, then layers called on symbolic values. Shapes are checked at the call, and the
 * error names the layer. A name may be NULL: Keras's automatic one ("input_layer", "dense", "dense_1", ...).
 * Nodes and layers are ids that are valid in their own graph only.
 * Losses and metrics are parts of a graph too: the layers Loss {"loss": "Huber"} and Metric {"metric": "accuracy"} are
 * called on y_true, y_pred and, if wanted, sample weights. A loss of reduction "none" gives a value for each item.
 * Threads: one at a time per graph. */

/* Makes an empty graph.
 * May be NULL: c. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_create(dl4_context *c, dl4_graph **out);

/* Adds an input. dims [rank] includes the batch axis; -1 is free: {-1, 28, 28} is a batch of 28 steps of 28 features.
 * May be NULL: name, dims (when rank is 0).
 * Errors: DL4_UNSUPPORTED (float64 and the reserved types). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_input(dl4_graph *g, const char *name, int32_t dtype, int32_t rank,
                                               const int64_t *dims, dl4_node *out);

/* Adds a value that never changes.
 * May be NULL: name.
 * Errors: DL4_UNSUPPORTED (v). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_constant(dl4_graph *g, const char *name, dl4_tensor *v, dl4_node *out);

/* Adds a layer without calling it, to call it more than once: its calls share its weights.
 * May be NULL: name, a.
 * Errors: DL4_UNKNOWN_KIND (kind, a), DL4_UNSUPPORTED (a), DL4_VERSION (a), DL4_BUSY (a: a model in training). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_layer(dl4_graph *g, const char *kind, const char *name, const dl4_attrs *a,
                                               dl4_layer *out);

/* Adds a layer of another graph: one layer in both, with one set of weights, whichever of their models trains or sets
 * them. It has been called in its own graph; the name is its own unless another is given.
 * May be NULL: name.
 * Errors: DL4_BUSY (from). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_shared(dl4_graph *g, dl4_graph *from, dl4_layer layer, const char *name,
                                               dl4_layer *out);

/* Calls a layer on in [n_in] and gives its first n_out outputs.
 * Ask for as many as needed: an LSTM with return_state gives sequence or last output, then h, then c.
 * call: the call arguments of Keras: symbolic values such as mask, initial_state (dl4_attrs_set_nodes), and flags such
 * as use_causal_mask, training: true, false or null.
 * May be NULL: call.
 * Errors: DL4_SHAPE_MISMATCH (in, call), DL4_UNSUPPORTED (in, call). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_call(dl4_graph *g, dl4_layer layer, const dl4_attrs *call,
                                              const dl4_node *in, int64_t n_in, dl4_node *out, int64_t n_out);

/* Adds a layer and calls it once: dl4_graph_add_layer() and dl4_graph_call() in one.
 * May be NULL: name, a, call.
 * Errors: DL4_UNKNOWN_KIND (kind, a), DL4_SHAPE_MISMATCH (in, call), DL4_UNSUPPORTED (a, in, call), DL4_VERSION (a),
 * DL4_BUSY (a: a model in training). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add(dl4_graph *g, const char *kind, const char *name, const dl4_attrs *a,
                                             const dl4_attrs *call, const dl4_node *in, int64_t n_in, dl4_node *out,
                                             int64_t n_out);

/* Adds everything of an architecture in JSON, the form that dl4_describe(graph or model, 0) gives, or of a model in
 * Keras's JSON, what its to_json() gives.
 * Its "inputs" and "outputs" become those of the graph: build it with n_in = 0 and n_out = 0.
 * Errors: DL4_UNKNOWN_KIND (json), DL4_SHAPE_MISMATCH (json), DL4_UNSUPPORTED (json), DL4_VERSION (json). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_json(dl4_graph *g, const char *json);

/* The shape of a node: its rank, and its first dimensions up to `cap` into dims; -1 is free.
 * May be NULL: dims (when cap is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_node_shape(const dl4_graph *g, dl4_node n, int64_t *dims, int32_t cap,
                                               int32_t *rank);

/* All outputs of the call that gave a node, itself included: how many there are, and the first `cap` of them into out.
 * May be NULL: out (when cap is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_node_outputs(const dl4_graph *g, dl4_node n, dl4_node *out, int64_t cap,
                                                 int64_t *count);

/* The type of data of a node, one of the constants above. */
DL4_API DL4_CHECKED dl4_error *dl4_node_dtype(const dl4_graph *g, dl4_node n, int32_t *out);

/* The mask that a node carries, as a node of bool with the first axes of n; -1 when it carries none. In the
 * graph it is a layer GetMask; a layer SetMask, called on a value and a mask, gives the value with that mask. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_mask(dl4_graph *g, dl4_node n, dl4_node *out);

/* Adds the value of a weight, "<layer>/<weight>", of a layer that has been called. The value is the one that the weight
 * has at this place in the order of calls, after the assignments added before. A layer Weight gives such a node too.
 * Errors: DL4_NOT_FOUND (weight). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_weight(dl4_graph *g, const char *weight, dl4_node *out);

/* Adds the gradients of targets [n_targets], float32, with respect to the nodes by [n_by], any values or weights. out
 * gets the first n_out of them, in the order and the shapes of `by`. The gradients of several targets are summed. A
 * gradient is a value like any other and may be differentiated again. The gradient with respect to a weight is summed
 * over all values that the weight has had so far in the graph, as for a variable on a gradient tape.
 * a: attributes of the layer Gradients that this call adds: "sum" (true: a target of several numbers counts as their
 * sum; false: it is refused) and "unconnected" ("zeros" where no target depends on a node, or "refused"). call:
 * "output_gradients", the gradient with respect to each target, in its shape; -1 stands for ones.
 * May be NULL: a, call.
 * Errors: DL4_SHAPE_MISMATCH (targets, call), DL4_UNSUPPORTED (an op on the way has no gradient, or none of second
 * order; the message names it). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_gradients(dl4_graph *g, const dl4_attrs *a, const dl4_attrs *call,
                                                       const dl4_node *targets, int64_t n_targets, const dl4_node *by,
                                                       int64_t n_by, dl4_node *out, int64_t n_out);

/* Adds an assignment of a value to `weight`, a node of dl4_graph_add_weight() or of a layer Weight. Both have the same
 * type and shape. Calls run in the order in which they were added: those added later read the new value. After the run
 * every model that has the weight has the new value, as after a trainer's step. No gradient passes. `out` is the new
 * value. A model makes only the assignments that its outputs need: see dl4_graph_add_after(). For its session see
 * dl4_session_create().
 * a: attributes of the layer Assign that this call adds: "operation" ("assign", "assign_add" or "assign_sub").
 * May be NULL: a.
 * Errors: DL4_SHAPE_MISMATCH (value). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_assign(dl4_graph *g, const dl4_attrs *a, dl4_node weight, dl4_node value,
                                                    dl4_node *out);

/* Adds one update of an optimizer: it assigns new values to weights [n_weights], nodes as above, by as many gradients
 * [n_gradients], and applies the constraints of the weights. The optimizer's state is weights of this layer:
 * "<name>/iterations" (int64), "<name>/learning_rate", which may be set between runs, and "<name>/<slot>/<weight>".
 * `out` is the number of updates so far, int64.
 * a: attributes of the layer ApplyGradients that this call adds: "optimizer" and "exclude_from_weight_decay", as for a
 * trainer. call: "learning_rate", a node, in place of the optimizer's own.
 * May be NULL: name, call.
 * Errors: DL4_UNKNOWN_KIND (a), DL4_SHAPE_MISMATCH (gradients, call), DL4_UNSUPPORTED (a: schedules, averages of weights
 * and the accumulation of gradients, which a graph computes itself). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_update(dl4_graph *g, const char *name, const dl4_attrs *a,
                                                    const dl4_attrs *call, const dl4_node *weights, int64_t n_weights,
                                                    const dl4_node *gradients, int64_t n_gradients, dl4_node *out);

/* Adds the value of a node in a model that computes the nodes others [n_others] too: the assignments among them are
 * made, though no output reads what they give.
 * May be NULL: others (when n_others is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_after(dl4_graph *g, dl4_node node, const dl4_node *others,
                                                   int64_t n_others, dl4_node *out);

/* Makes a model of what lies between in [n_in] and out [n_out], and gives its weights their first values.
 * The graph may be extended, built again or released afterwards; models built from one graph share the weights of the
 * layers they share. n_in = n_out = 0: the inputs and outputs of dl4_graph_add_json().
 * May be NULL: in (when n_in is 0), out (when n_out is 0).
 * Errors: DL4_SHAPE_MISMATCH. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_build(dl4_graph *g, const dl4_node *in, int64_t n_in, const dl4_node *out,
                                               int64_t n_out, dl4_model **model);

/* ---- Models -----------------------------------------------------------------------------------------------------
 * An architecture and its weights. A file is one safetensors file: any safetensors reader can open it, and it cannot
 * carry code; or it is of Keras or ONNX. A weight is named "<layer>/<weight>": dense/kernel, lstm/recurrent_kernel,
 * embedding/embeddings.
 * Threads: readers at once; a writer (dl4_model_set_weight, a trainer) alone. The models of one graph count as one, with
 * those that are layers in it. */

/* Loads a model from a regular file, recognised by its content: native, ONNX, or of Keras: .keras, or .h5 of a whole
 * model, of Keras 1, 2 or 3. Of Keras's models functional and sequential ones are read, nested, with layers called more
 * than once, operations of keras.ops and, of tf.keras, functions of TensorFlow between layers. What is not supported is
 * refused by the names of layer and class, as is code: a Lambda, or a custom class, unless a kind of its name is
 * registered. Layers and inputs of float16, bfloat16, float64 and of the mixed policies compute in float32. A trainer
 * made with NULL for its options has those that the model was compiled with; dl4_trainer_load() of the same file brings
 * its optimizer's state. ONNX files of opsets 1 to 28 are read as far as the library's layers compute their ops, in
 * float32 (halves and doubles too; QuantizeLinear rounds and clips as ONNX says, and what stands between
 * DequantizeLinear and the next QuantizeLinear is computed in float32). Nodes may stand in any order. Inputs and
 * outputs keep their names, free axes stay free, constants of Gemm, Conv, LSTM and their kin are weights. What is not
 * supported is refused by node and op, If and Loop among it.
 * Options: verify (bool, default true): compare the CRC-32 that every file has of its header and of each tensor: a
 * flipped bit is found wherever it is. A file that another program rewrote has other ones. (.h5 and ONNX files have
 * none.) external_data (bool, default true): read tensors of an ONNX model that lie in other files. These must be in
 * the model's folder, and no link may lead out of it; a model that is loaded from memory has none. weights (bool,
 * default true): false: no more of the file is read than the architecture, all weights are zeros, and their checksums
 * are not compared (of ONNX all is read). quantize (default null): what Keras's quantize() makes of the weights: "int8",
 * "int4/128" (a scale and a zero point for so many rows; "int4/-1": a scale for each column), or an object with "mode",
 * "layers" (names; null: all of Dense, EinsumDense, Embedding, ReversibleEmbedding, MultiHeadAttention and
 * GroupQueryAttention, in models inside too), "value_range" and "epsilon" of the weights. "mode" may be an object as
 * the attribute "quantization" of a layer has it, which says what becomes of inputs.
 * May be NULL: c, options.
 * Errors: DL4_NOT_FOUND (path), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_VERSION (path), DL4_UNKNOWN_KIND (path),
 * DL4_UNSUPPORTED (path). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load(dl4_context *c, const char *path, const char *options,
                                              dl4_model **out);

/* Loads a model from the bytes of such a file, a tensor of uint8 [bytes]; options as for dl4_model_load(). The weights
 * of a native file stay where they are, uncopied, if `file` is dense and aligned for floats: processes that map one
 * file share its memory, and with verify false only what runs is read. The bytes must not change while the model or
 * anything made from it exists; the release function of dl4_tensor_wrap() tells when they are free. A mapped file that
 * is truncated meanwhile ends the process by SIGBUS: write a new file in its place, as dl4_model_save() does. Weights
 * that are written (set_weight, training) are copied first.
 * May be NULL: c, options.
 * Keeps: file (by the model, and what is made of it).
 * Errors: DL4_CORRUPT_FILE (file), DL4_VERSION (file), DL4_UNKNOWN_KIND (file), DL4_UNSUPPORTED (file). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load_bytes(dl4_context *c, const dl4_tensor *file, const char *options,
                                                     dl4_model **out);

/* Sets the weights of a model to the values in a regular file, recognised by its content: a native model; Keras's
 * .weights.h5, .keras or .h5 of the same layers; or tensors by name, any safetensors file or .npz, where a weight is
 * the tensor of its name. Floats of every size are read, and integers. All weights are set or, refused, none; sessions
 * and trainers see it as after dl4_model_set_weight(). Without "names" and "partial" every weight must be there, and
 * nothing else.
 * Options:
 *   verify    bool     as for dl4_model_load()
 *   partial   bool     of tensors by name: weights that are not in the file stay as they are; default false
 *   names     object   of tensors by name: by weight another name, or how it is made; unused tensors are
 *                      then ignored. {"dense/bias": "fc.bias", "dense/kernel": {"tensors": ["fc.weight"],
 *                      "transpose": [1, 0]}}. Of the object, in the order in which they are done:
 *                        tensors     strings   names in the file; one, or several to be joined
 *                        rows        [begin, end)   of the first axis of each
 *                        join        string    "add" (PyTorch's two biases of an LSTM), "stack" along a new first axis
 *                                              (those of a GRU), "concatenate" along the first axis
 *                        transpose   ints      axis i is axis transpose[i] of what comes
 *                        gates       ints      of equal parts of the last axis, which stands where: [1, 0, 2] makes
 *                                              PyTorch's r, z, n of a GRU z, r, h
 *                        reshape     ints      of as many elements
 * May be NULL: options.
 * Errors: DL4_NOT_FOUND (path; a name in "names"), DL4_IO (path), DL4_CORRUPT_FILE (path; it has not the model's
 * weights), DL4_VERSION (path), DL4_UNSUPPORTED (path; "names" or "partial" for a file of Keras), DL4_BUSY (a trainer
 * is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load_weights(dl4_model *m, const char *path, const char *options);

/* Saves a model to a file, atomically.
 * Options:
 *   format   string   "auto" (default): what the suffix of the path says; "native" for a name without a suffix and
 *                     in memory. What begins with a digit is no suffix ("epoch-0.35"). An explicit format
 *                     takes any path.
 *                     "native": .safetensors or .dl4; "keras": .keras, which Keras 3 loads; "weights.h5": .weights.h5,
 *                     Keras's file of weights alone; "npz": .npz, the weights by name, which numpy.load() reads;
 *                     "onnx": .onnx, of opset 20: what the model gives outside of training, its free axes free; a
 *                     stateful layer begins with zeros, whatever state it has by now
 * May be NULL: options.
 * Errors: DL4_IO (path), DL4_UNSUPPORTED (a layer that Keras or ONNX lacks, in its format; path: another suffix). */
DL4_API DL4_CHECKED dl4_error *dl4_model_save(const dl4_model *m, const char *path, const char *options);

/* Saves a model to memory: the bytes that dl4_model_save() would write; options as for it.
 * May be NULL: options. */
DL4_API DL4_CHECKED dl4_error *dl4_model_save_memory(const dl4_model *m, const char *options, dl4_blob **out);

/* Makes a copy with weights of its own. */
DL4_API DL4_CHECKED dl4_error *dl4_model_clone(const dl4_model *m, dl4_model **out);

/* 1 if gradients change a weight in training, else 0: of a frozen one, and of one that training only writes, such as a
 * moving mean; 0 past the end. */
DL4_API int32_t dl4_model_weight_trainable(const dl4_model *m, int64_t i);

/* Makes a copy of a weight; "*" gives one flat block [N] of all trainable weights, in their order, as
 * dl4_trainer_get_gradient() gives their gradients.
 * Errors: DL4_NOT_FOUND (name), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_get_weight(const dl4_model *m, const char *name, dl4_tensor **out);

/* Sets a weight to a copy of v; "*" sets all trainable weights, from one flat block [N]. Sessions that exist keep the
 * weights they were made with; a trainer goes on from the new ones and keeps its optimizer's slots.
 * Errors: DL4_NOT_FOUND (name), DL4_SHAPE_MISMATCH (v), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_set_weight(dl4_model *m, const char *name, const dl4_tensor *v);

/* Freezes (0) or unfreezes a layer's weights, one weight, or all weights ("*"). A trainer follows at its next step:
 * weights that stay trainable keep the optimizer's slots and accumulated gradients, a frozen one loses them and starts
 * anew when it is unfrozen (Keras requires compile() again). A frozen weight that training only writes (a moving mean)
 * stays as it is; a BatchNormalization whose weights are all frozen runs in inference mode. Files keep the setting. For
 * a layer without weights nothing happens.
 * Errors: DL4_NOT_FOUND, DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_set_trainable(dl4_model *m, const char *name, int32_t trainable);

/* Compares the gradients of a model's outputs, at in [n_in] and times random cotangents, with differences of the
 * outputs: a check of custom layers. Gives JSON: for each float32 input and each weight, by name, "elements", "checked"
 * (how many were moved), "largest_gradient", "error" (the largest distance of a gradient from its difference) and
 * "worst", where that is: "element", "gradient", "difference". Outputs are float32: an error below a thousandth of the
 * largest gradient is rounding. Where a layer has a kink (ReLU, max pooling) within the step, differences prove
 * nothing.
 * Options:
 *   samples        int     elements of each input and weight that are moved; default 20
 *   step           float   how far an element is moved, times its size where that is over 1; default 0.005
 *   training       bool    run as a training step does; what is dropped is the same each time; default false
 *   seed           int     of the cotangents and of the elements that are moved; default 0
 * Blocks: for its runs, four for each element that is moved.
 * May be NULL: in (when n_in is 0), options.
 * Errors: DL4_SHAPE_MISMATCH (in), DL4_UNSUPPORTED (m: a layer that has no gradient). */
DL4_API DL4_CHECKED dl4_error *dl4_model_check_gradients(const dl4_model *m, dl4_tensor *const *in, int64_t n_in,
                                                         const char *options, dl4_blob **out);

/* ---- Sessions ---------------------------------------------------------------------------------------------------
 * A model made ready to run, with the weights it had at that moment. Immutable. The first run with new shapes plans
 * it, the others only compute. NaN and infinity propagate as in the arithmetic; Winograd's convolution takes them
 * to all of a tile of 2 x 2 pixels, and adds and subtracts larger numbers on its way: from 81 * channels * largest
 * |input| * largest |weight| = 3.4e38 on, an |input| of 8e37 or a |weight| of 1e38, it may give NaN or infinity where a
 * direct one gives a number or infinity (kernels_off = ["winograd_conv", "winograd_conv_data"] avoids this).
 * Threads: any, at once; the threads of the context are shared out between them. */

/* Makes a session.
 * With gradients its outputs are those of the model, then the gradient of their sum (of the float32 ones) with respect
 * to each input or weight named, in its shape; of zeros where no output depends on it. The sum has no penalties in it.
 * With cotangents it is the sum of the outputs times these: its inputs are those of the model, then one cotangent for
 * each float32 output, in the output's shape. One session gives saliency maps, another the gradients of a policy.
 * With states its inputs are those of the model, then, of each recurrent layer that is given no initial_state, what it
 * begins with ("lstm/rnn_state", "lstm/rnn_state_1"); its outputs are those of the model, then what these become. Zeros
 * begin a sequence. Without it, a layer that is stateful begins in each run with what it kept when the session was made.
 * The session of a model that assigns weights (dl4_graph_add_assign()) works like a trainer's step: each run reads the
 * current weights, makes the assignments and stores the new values. One thread at a time may run it, and only while no
 * other call uses these weights: else DL4_BUSY. A run that fails or is cancelled may have made some of the assignments.
 * Such a session has neither gradients nor states, and dl4_session_predict() refuses it.
 * A model may compute how many places a value has: layers Range and NonMaxSuppression, and what NonZero, Compress or
 * Unique of an ONNX file become. Its session runs in parts, and the sizes are known between them. Such a run allocates
 * and makes a plan for each size that is new; out slots are NULL, or tensors of exactly the sizes that come out. It
 * takes neither states nor cotangents, draws and assigns nothing, and has no streams; dl4_session_predict() and trainers
 * refuse such a model.
 * The option weights is for products with weights that never change: Dense, EinsumDense, the projections of attention,
 * the products of LSTM, GRU and SimpleRNN, and convolutions. The model and its files stay as they are. The plan keeps
 * float32 where another type was measured to be slower: small layers, and with bfloat16 many rows and convolutions.
 * Convolutions are kept in int8 for int4 too. Embedding reads the model's own table, of which a session makes no copy.
 * bfloat16 rounds each weight to the nearest, ties to even, and sums in float32. With int8 a weight w becomes round(w
 * * (127 / max |w|)) of its output channel; with int4 round(w * (7 / max |w|)) of its channel and of the 128 inputs
 * that it is among. Each run rounds the other side by row, a convolution's by image: round(x * (127 / max |x|)), ties
 * to even. The product is max |x| / 127 times the sum, over the groups of inputs, of max |w| / 127 (or 7) times an
 * exact sum of integers: the same bits on every processor and for any number of threads. A scale below the smallest
 * normal number counts as 0; a row with NaN or infinity gives NaN. These weights stand beside the model's own, in
 * place of the copies in float32 that a session makes for its kernels; dl4_describe() says how many bytes they are
 * ("packed_bytes") and which kernels were taken.
 * Options:
 *   training    bool     run as a training step does: dropout draws, by the number of the run; default false
 *   gradients   strings  inputs and weights by name, an input before a weight of the same name; default none
 *   cotangents  bool     take cotangents of the outputs; default false
 *   states      bool     what recurrent layers carry is inputs and outputs behind those of the model; default false
 *   streamable  bool     streams can be made, and runs compute as they do; default false
 *   cache       int      steps of keys and values that causal attention keeps of a stream; default 0: none, and a
 *                        model with such attention has no streams
 *   cache_full  string   what happens to a stream of more steps: "refuse" fails the run, "slide" forgets the oldest;
 *                        default "refuse"
 *   profile     bool     keep times per step for dl4_describe(); default false
 *   weights     string   what products keep constant weights in where that is faster: "float32" (default), "bfloat16",
 *                        "int8" or "int4"
 * With streamable a run takes its sequences, [B, T, ...], as a stream that begins would, and gives the same bits. It has
 * the outputs of a stream, takes as long as one, and keeps no states. Up to 32 steps are computed at once where that has
 * the bits of step by step. Such a session has neither gradients, training, nor states, and dl4_session_predict()
 * refuses it.
 * May be NULL: options.
 * Errors: DL4_NOT_FOUND (options), DL4_UNSUPPORTED (something on the way has no gradient; weights with training or
 * gradients, or of a model that assigns weights; streamable: the message names the layer). */
DL4_API DL4_CHECKED dl4_error *dl4_session_create(const dl4_model *m, const char *options, dl4_session **out);

/* The shape of output `i` for inputs of given shapes; nothing is run or planned.
 * ranks [n_in] of all inputs, and in_dims [the sum of ranks], the dimensions of the first input, then of the next ones.
 * May be NULL: ranks (when n_in is 0), in_dims (when all ranks are 0), dims (when cap is 0).
 * Errors: DL4_SHAPE_MISMATCH (ranks, in_dims), DL4_UNSUPPORTED (the shape depends on numbers that a run computes). */
DL4_API DL4_CHECKED dl4_error *dl4_session_output_shape(const dl4_session *s, const int32_t *ranks,
                                                        const int64_t *in_dims, int64_t n_in, int64_t i, int64_t *dims,
                                                        int32_t cap, int32_t *rank);

/* Runs a model: in [n_in] and out [n_out] in the order of the session's inputs and outputs, all of them.
 * An out slot that is NULL gets a new tensor of the caller's; otherwise the tensor in it is written in place. It must
 * have the right shape and type, be dense, and overlap no dense input and no other output in memory. On failure slots
 * that were NULL are NULL, and tensors of yours may be half written.
 * May be NULL: cancel (looked at between the steps, of the first run with such shapes while it is planned too).
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (an output that is not dense), DL4_CANCELLED (cancel),
 * DL4_INVALID_ARGUMENT (s: of weights in int8 or int4 one has no scale: it is NaN, infinity, or beyond 1e30). */
DL4_API DL4_CHECKED dl4_error *dl4_session_run(dl4_session *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out,
                                               int64_t n_out, dl4_cancel *cancel);

/* Runs a model over a whole dataset, in order, and joins the outputs [B, ...] along their first axis.
 * Labels and sample weights of the dataset are not looked at. out [n_out] as in dl4_session_run().
 * May be NULL: cancel.
 * Errors: DL4_SHAPE_MISMATCH (d, out), DL4_UNSUPPORTED (d), DL4_CANCELLED (cancel), DL4_CALLBACK_FAILED (d),
 * DL4_BUSY (d). */
DL4_API DL4_CHECKED dl4_error *dl4_session_predict(dl4_session *s, dl4_dataset *d, dl4_cancel *cancel,
                                                   dl4_tensor **out, int64_t n_out);

/* ---- Streams ----------------------------------------------------------------------------------------------------
 * Runs a session on sequences that arrive one or several steps at a time, and keeps what later steps need of earlier
 * ones: the states of recurrent layers, the last steps that a convolution or a pooling reads, keys and values of causal
 * attention, sums so far, the position. Any division into calls gives the same bits, also that into one call. Many
 * streams may run one session at once.
 * A stream gives a step of its output as soon as no later step can change it. It is late where the model looks ahead:
 * behind a convolution of padding "valid" with a window of 5 steps the first output comes with the fifth step, and n
 * steps give n - 4. Branches that are late by different numbers of steps are delayed until they meet. In total come the
 * outputs of a session that runs the whole sequence, but for those at its end that depend on where it ends: behind
 * zeros at the end (ZeroPadding1D), and the last ones of a transposed convolution.
 * Where strides, UpSampling1D or a hop change the number of steps, a stream takes so many steps at a time that each
 * layer has whole ones; steps that are left over wait for the next call. dl4_describe() of the session says, under
 * "stream", how many it takes at a time and by how many steps each output is late.
 * Threads: one at a time per stream. */

/* Makes a stream at the beginning of a sequence, its states zeros. The session has "states": true or "streamable":
 * true. Layers that need later steps are refused by name, before anything is allocated: Bidirectional, go_backwards,
 * padding "same" over time, attention without a causal mask, softmax or normalization over time, ...; so is an
 * initial_state that depends on the steps. Causal attention needs the session's "cache", unless a window of its own
 * (sliding_window, LocalAttention) says how many keys a step sees. A window without a causal mask is late by the steps
 * that it looks ahead.
 * Inputs with a free second axis, [B, T, ...], are the sequences, any other input is the same at all steps. One that is
 * an initial_state is read at the first step of the layer that is given it.
 * Options:
 *   batch    int   B, sequences side by side; default 1
 *   seed     int   of the generator that dl4_stream_next() draws from; default 0
 * May be NULL: options.
 * Errors: DL4_UNSUPPORTED (s: the message names the layer), DL4_SHAPE_MISMATCH (options). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_create(dl4_session *s, const char *options, dl4_stream **out);

/* Runs the next T steps: in [n_in] and out [n_out] are the model's inputs and outputs, as in dl4_session_run(). Every
 * sequence has T steps, at least 1; outputs have the steps that these complete, perhaps none. Outputs without a time
 * axis are those of the last step, of all steps so far (global pooling); as long as there is none, NaN, of whole
 * numbers 0. All runs are one sequence:
 * where a step is masked the output of the step before repeats, also that of the run before, and also of a stateful
 * layer (Keras takes each for a call, which begins with an output of 0). On failure the stream is where it was.
 * May be NULL: cancel (looked at between the steps).
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (an output that is not dense; more steps than the session's
 * "cache"), DL4_CANCELLED (cancel), DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_run(dl4_stream *s, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out,
                                              int64_t n_out, dl4_cancel *cancel);

/* Runs the next steps of n streams of one session, each of batch 1, in one call: faster than a call for each, as their
 * states are the rows of a batch while it runs. in [n_in] and out [n_out] are as of a stream of batch n, [n, T, ...]:
 * row i is that of streams[i], which takes as many of the T steps as steps [n] says, 0 to T; what follows in the row is
 * not read, and is 0 in the outputs. What a stream gives has the same bits whichever others run beside it, and differs from
 * dl4_stream_run() by rounding, as other batches do. On failure all streams are where they were.
 * Where outputs are late or a stream takes several steps at a time, streams may give different numbers of steps: the
 * outputs have the most that one gives. Streams of a model with a cache or with positions run together that have taken
 * equally many steps, others after one another.
 * May be NULL: steps (all take T), cancel (looked at between the steps).
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (streams: of another batch; an output that is not dense; more
 * steps than the session's "cache"), DL4_CANCELLED (cancel), DL4_BUSY (streams). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_run_many(dl4_stream *const *streams, int64_t n, const int64_t *steps,
                                                   dl4_tensor *const *in, int64_t n_in, dl4_tensor **out,
                                                   int64_t n_out, dl4_cancel *cancel);

/* Runs the next steps, as dl4_stream_run() does, and draws the id that follows in each of the B sequences: ids [n], n
 * is B. The model has one output, float32 [B, V] or [B, T, V]: of the last step, the logits of V ids. They go through
 * `logits`, are divided by the temperature, and an id is drawn in proportion to exp(logit) among those that top_k and
 * then top_p leave; the lower id comes first where two are alike. Same logits, options and seed: the same ids on every
 * machine. A sequence that has drawn an id of "stop" has ended: it is given that id again until it is reset. On failure
 * the stream is where it was, its generator too.
 * Options:
 *   temperature  float  below 1 the likely ids become likelier, 0 takes the likeliest; default 1
 *   top_k        int    only the k likeliest ids; default 0: all
 *   top_p        float  of these the fewest whose probabilities sum to p, the likeliest first; default 1
 *   stop         ints   ids that end a sequence; default none
 *   from_logits  bool   false: the output holds probabilities; default true
 * May be NULL: options, logits, user, cancel (looked at between the steps).
 * Errors: DL4_SHAPE_MISMATCH (in), DL4_UNSUPPORTED (s: its outputs are no logits), DL4_NUMERIC (a logit is NaN or
 * infinity), DL4_CALLBACK_FAILED (logits), DL4_CANCELLED (cancel), DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_next(dl4_stream *s, dl4_tensor *const *in, int64_t n_in, const char *options,
                                               dl4_logits_fn logits, void *user, int64_t *ids, int64_t n,
                                               dl4_cancel *cancel);

/* Makes a second stream that goes on from where this one is, with a copy of its states and of its generator.
 * Options:
 *   seed     int   begins the copy's generator with it; default: it draws what the first one draws
 * May be NULL: options.
 * Errors: DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_fork(const dl4_stream *s, const char *options, dl4_stream **out);

/* Restarts a stream: all states are as at the beginning, and its generator begins again.
 * Errors: DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_reset(dl4_stream *s);

/* Restarts one of its sequences, 0 <= row < B; the others go on.
 * Errors: DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_reset_row(dl4_stream *s, int64_t row);

/* Saves the states of a stream to memory: by name, as a safetensors file.
 * Errors: DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_save_memory(const dl4_stream *s, dl4_blob **out);

/* Sets the states of a stream to those saved from one of the same model and batch: what follows has the same bits.
 * Errors: DL4_NOT_FOUND, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_BUSY (s). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_load_memory(dl4_stream *s, const void *data, int64_t bytes);

/* ---- Losses and metrics ------------------------------------------------------------------------------------------
 * Threads: any, at once. */

/* Computes a loss or metric of two tensors, without a model: what a trainer would report for them. category is "loss"
 * or "metric", kind its name, attrs its attributes, the text of a JSON object. The words "accuracy" and "acc" mean what
 * they mean in a trainer's metrics; "Accuracy" is the kind. y_true and y_pred are [B, ...]; w, sample weights, has
 * their first axes. out is one float32, or a value for each item of a loss of reduction "none", or the numbers of a
 * metric that has several. Each call plans anew: for many batches, make a session of a graph with a layer Loss or
 * Metric.
 * May be NULL: c, attrs, w.
 * Blocks: for the computation.
 * Errors: DL4_UNKNOWN_KIND (kind, attrs), DL4_SHAPE_MISMATCH (y_true, y_pred, w), DL4_UNSUPPORTED (float64). */
DL4_API DL4_CHECKED dl4_error *dl4_measure(dl4_context *c, const char *category, const char *kind, const char *attrs,
                                           dl4_tensor *y_true, dl4_tensor *y_pred, dl4_tensor *w, dl4_tensor **out);

/* ---- Datasets ---------------------------------------------------------------------------------------------------
 * Batches of inputs x, targets y and sample weights w, one tensor for each input of the model or output with a target.
 * Threads: one at a time. */

/* Makes a dataset of whole tensors, each [B, ...] with the same B.
 * w has one tensor [B] or [B, T] for each target, NULL for those that have none, or none at all (nw = 0).
 * Options:
 *   batch_size      int   default 32; the last batch may be shorter, and the only one. null: each step gets one row, a
 *                         sample without an axis of the batch, as a model whose inputs have none takes it: nodes [N, F]
 *                         of x [B, N, F]
 *   shuffle         bool  a new order in each epoch of dl4_trainer_fit(); default true
 *   seed            int   of the orders; default 0
 *   drop_remainder  bool  leave a short last batch out; default false
 * May be NULL: c, y (when ny is 0), w (when nw is 0), options.
 * Keeps: x, y, w (references to the tensors, not the arrays; of one that is not dense row-major a copy, made here).
 * Errors: DL4_SHAPE_MISMATCH (x, y, w). */
DL4_API DL4_CHECKED dl4_error *dl4_dataset_from_tensors(dl4_context *c, dl4_tensor *const *x, int64_t nx,
                                                        dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w,
                                                        int64_t nw, const char *options, dl4_dataset **out);

/* Makes a dataset of batches that a callback gives, one after the other.
 * Options:
 *   steps    int   batches of an epoch, if you know; else the callback tells the end
 *   samples  bool  each call gives one sample without an axis of the batch, whose tensors need not have as many rows as
 *                  each other or as those before: a graph's nodes [N, F] and edges [E, 2], for a model of these; default
 *                  false
 * May be NULL: c, user, release, options.
 * Keeps: fn, user, release (until the last reference is gone; then release(user) is called, if given; on failure it is
 * not called). */
DL4_API DL4_CHECKED dl4_error *dl4_dataset_from_callback(dl4_context *c, dl4_batch_fn fn, void *user,
                                                         dl4_release_fn release, const char *options,
                                                         dl4_dataset **out);

/* ---- Training ---------------------------------------------------------------------------------------------------
 * A step is all or nothing: forward, loss, gradients, update. The loss is the first metric everywhere; the names of all
 * are the "metric_names" of dl4_describe(trainer, 0), at most 4096.
 * Threads: one at a time per trainer. */

/* Makes a trainer of a model, which it changes.
 * Options:
 *   optimizer         kind          required: "SGD", "Adam", ... or an object with its settings, whose "learning_rate"
 *                                   may be a schedule: {"class_name": "ExponentialDecay", "config": {...}}
 *   loss              kind or list  one for each output; null: no loss on that output; "output": the output is float32
 *                                   and is minimised itself, as the mean of its values, and has no target: a loss that
 *                                   is made of layers
 *   loss_weights      floats        one for each output; default 1, null too
 *   metrics           list          of kinds, or one list of kinds for each output, null for none: ["accuracy"]. A name
 *                                   that is in use gets a number, as in Keras: "mae", "mae_1"; a metric of several
 *                                   numbers has a name for each: "f1_score[0]". They see no sample weights
 *   weighted_metrics  list          the same, with the sample weights; a name that is in use becomes "weighted_mae"
 *   output_names      strings       of all outputs, in these options by name, in metric_names and in history; default
 *                                   the names of the layers that give them
 *   nan_guard         string        "loss" (default), "gradients", "off": a step that finds NaN or infinity fails with
 *                                   DL4_NUMERIC and leaves the weights of the last good step
 *   exclude_from_weight_decay strings  weights that the optimizer's weight_decay leaves alone, by name ("dense/bias")
 *                                   or by some of the last part of it ("bias"); each must mean one
 *   profile           bool          keep times per step for dl4_describe(); default false
 *   shards            int           a power of two: a batch is cut into so many parts, whose gradients are computed alone
 *                                   and added up as a tree: any number of workers that divides it gives the same bits;
 *                                   default 8 for workers where reproducible is "strict", else 1
 * What is for each output may be an object by the outputs' names too: {"loss": {"a": "mse", "b": null}}. Losses and
 * means leave out what the output's mask masks; as in Keras, metrics with another state (AUC, MeanIoU) do not.
 * May be NULL: options (of a model loaded from a file of Keras: what it was compiled with there).
 * Keeps: m (a reference).
 * Errors: DL4_UNKNOWN_KIND, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_VERSION, DL4_BUSY (the model has a trainer). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_create(dl4_model *m, const char *options, dl4_trainer **out);

/* Trains on one batch: x [nx] inputs, y [ny] targets, w [nw] sample weights (nw = 0: none; an element may be NULL).
 * A target without axes is that of every prediction. The metrics of this batch go into metrics [cap], as many as fit; n
 * is how many there are.
 * May be NULL: y (when ny is 0), w (when nw is 0), metrics (when cap is 0), n.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_step(dl4_trainer *t, dl4_tensor *const *x, int64_t nx,
                                                dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w, int64_t nw,
                                                double *metrics, int64_t cap, int64_t *n);

/* Adds the gradients of one batch to the accumulated ones, and changes no weight; parameters as in dl4_trainer_step().
 * May be NULL: y (when ny is 0), w (when nw is 0), metrics (when cap is 0), n.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_accumulate(dl4_trainer *t, dl4_tensor *const *x, int64_t nx,
                                                      dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w,
                                                      int64_t nw, double *metrics, int64_t cap, int64_t *n);

/* Updates the weights by the mean of the gradients accumulated since the last update, then clears them.
 * Errors: DL4_INVALID_ARGUMENT (nothing accumulated), DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_apply(dl4_trainer *t);

/* Makes a copy of the mean gradient since the last update, before any clipping: of one weight, or of all with "*".
 * "*" gives one flat block [N] of all trainable weights, in their order: one buffer for programs that train on
 * several machines or have their own optimizer. Something must have been accumulated.
 * Errors: DL4_NOT_FOUND, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_get_gradient(const dl4_trainer *t, const char *weight, dl4_tensor **out);

/* Sets the mean gradient of one weight, or with "*" of all from one flat block [N], to v. A program on
 * several machines takes the mean of dl4_trainer_get_gradient() over them, sets it and applies. Where nothing was
 * accumulated, the rest is zero and counts as one batch, as does a whole block that replaces what was there.
 * Errors: DL4_NOT_FOUND, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_gradient(dl4_trainer *t, const char *weight, const dl4_tensor *v);

/* Adds v to the mean gradient of one weight, or with "*" of all from one flat block [N]. Where nothing was accumulated,
 * the rest is zero and counts as one batch.
 * Errors: DL4_NOT_FOUND, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_add_gradient(dl4_trainer *t, const char *weight, const dl4_tensor *v);

/* Clears the gradients accumulated since the last update.
 * Errors: DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_zero_gradients(dl4_trainer *t);

/* Trains for some epochs, and validates after each if there is something to validate on. history is JSON, a list per
 * name: {"epoch": [0, 1], "loss": [...], "accuracy": [...], "val_loss": [...], ...}. A fit starts at initial_epoch with
 * a new history, unless it resumes one: then it continues at that place, in mid-epoch too, with that history, and must
 * be given data of the same rows, batches, order and seed, as far as they are known. DL4_CANCELLED keeps the place for
 * that, and so does the failure of one of the `callbacks`. Any other failure leaves the place as it was before the
 * call, and the weights as the last complete step left them. The state of callbacks is in checkpoints: in a resumed fit
 * the callback at the same position in the list has it again.
 * Options:
 *   epochs            int    the last epoch, counted from 1, at most 2^53 - 1; default 1
 *   initial_epoch     int    epochs already done, at most 2^53 - 1; default 0
 *   resume            bool   continue where the last fit was cancelled; default: true for the first after
 *                            a checkpoint taken in mid-fit was loaded, or "epoch" or "batch" was set; else false
 *   validation_split  float  the last part of `train`, in its given order, is for validation; default 0
 *   validation_freq   int    validate after epochs n, 2n, ..., counted from 1; default 1
 *   average           bool   as the fit ends, the averages that an optimizer with use_ema keeps become the weights:
 *                            false for a fit that another one continues; default true
 *   class_weight      floats weights of the training samples by the number of their class, past the list 1: of a model
 *                            with one target, class numbers [B] or [B, 1] or one-hot [B, C], without sample weights
 *   callbacks         list   of kinds, called in this order and before `fn`: "EarlyStopping", "ReduceLROnPlateau",
 *                            "ModelCheckpoint", "BackupAndRestore", "CSVLogger", "TerminateOnNaN",
 *                            "LearningRateScheduler", "SwapEMAWeights" or objects with their settings
 * May be NULL: valid, options, fn, user, cancel, history.
 * Errors: DL4_CANCELLED (by `cancel`; all complete steps are kept), DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC,
 * DL4_IO, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_fit(dl4_trainer *t, dl4_dataset *train, dl4_dataset *valid,
                                               const char *options, dl4_progress_fn fn, void *user,
                                               dl4_cancel *cancel, dl4_blob **history);

/* Computes loss and metrics over a whole dataset, as in inference: metrics [cap], n as in dl4_trainer_step().
 * May be NULL: cancel, metrics (when cap is 0), n.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_CANCELLED, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_evaluate(dl4_trainer *t, dl4_dataset *d, dl4_cancel *cancel,
                                                    double *metrics, int64_t cap, int64_t *n);

/* Reads a number of the trainer: "learning_rate", "iterations" (updates), "epoch" (of the fit), "batch" (of the epoch).
 * Errors: DL4_NOT_FOUND. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_get_number(const dl4_trainer *t, const char *key, double *out);

/* Sets a number of the trainer: "learning_rate", unless a schedule determines it, in a progress callback too; "epoch"
 * or "batch": the next fit resumes there. Setting "epoch" sets "batch" to 0.
 * Errors: DL4_NOT_FOUND, DL4_BUSY ("epoch" and "batch": a fit is under way). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_number(dl4_trainer *t, const char *key, double v);

/* Trains together with other processes from now on: `size` of them, of which this one is `rank`.
 *
 * - Each worker makes this call, then the same calls at the same time. All start with the state of rank 0.
 * - x, y and w of a call are this worker's part of the global batch, in the order of ranks; it may have no rows. A
 *   dataset of tensors has all rows on each worker, which takes its part of each batch; a callback gives this worker's
 *   part.
 * - Losses, metrics, clipping, draws and updates are those of one process with the global batch. BatchNormalization
 *   takes statistics of each part, whose means are kept; with `synchronized` those of the global batch, by calls of fn
 *   in the middle of a step. Callbacks of a fit write files on rank 0 alone.
 * - A step, accumulation, evaluation or fit, and this call, that fails, stops or is cancelled on one worker does so on
 *   all of them, also where they differ in version, processor, options, model, place or number of batches. Excepted:
 *   where a handle, rank or size is refused or the trainer is busy, the others keep waiting.
 * - A reduction that fails leaves the weights of the last complete step.
 * - fn NULL: trains alone again.
 *
 * May be NULL: fn (when size is 1), user, release.
 * Keeps: fn, user, release (until this call is made again or the trainer is freed; then release(user) is called, if
 * given; on failure it is not called).
 * Blocks: until all workers have made it.
 * Errors: DL4_UNSUPPORTED (stateful layers; at the first step losses and metrics that join the samples of a batch, and
 * synchronized BatchNormalization with shards), DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_workers(dl4_trainer *t, int64_t rank, int64_t size, dl4_reduce_fn fn,
                                                       void *user, dl4_release_fn release);

/* Saves a checkpoint, atomically: model, optimizer, counters, random state, place in the epoch. To a path that ends in
 * .keras it saves what Keras saves of a compiled model, and no more: Keras resumes from it. Other paths end in
 * .safetensors, .dl4 or .checkpoint or have no suffix, as documented for dl4_model_save().
 * Errors: DL4_IO, DL4_BUSY, DL4_UNSUPPORTED (path: another suffix; what .keras cannot express). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_save(const dl4_trainer *t, const char *path);

/* Saves a checkpoint to memory: the bytes that dl4_trainer_save() would write.
 * Errors: DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_save_memory(const dl4_trainer *t, dl4_blob **out);

/* Loads a checkpoint from a regular file into a trainer of the same model and options, with the same weights trainable;
 * what follows is bit for bit what would have followed the save. Checksums are compared as by dl4_model_load(). Of a
 * file of Keras 3, .keras or .h5, the weights and the state of the optimizer are loaded, which continue as in Keras.
 * Errors: DL4_NOT_FOUND, DL4_IO, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED (path),
 * DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_load(dl4_trainer *t, const char *path);

/* Loads a checkpoint from the bytes of such a file.
 * Errors: DL4_NOT_FOUND, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_load_memory(dl4_trainer *t, const void *data, int64_t bytes);

/* ---- Cancel -----------------------------------------------------------------------------------------------------
 * Threads: any, at once. */

/* Makes a cancel flag, for any number of calls. Once triggered it stays so. */
DL4_API DL4_CHECKED dl4_error *dl4_cancel_create(dl4_cancel **out);

/* Asks all calls with this flag to stop soon. Legal in a signal handler. */
DL4_API void dl4_cancel_trigger(dl4_cancel *c);

/* 1 if the flag was triggered, else 0. */
DL4_API int32_t dl4_cancel_triggered(const dl4_cancel *c);

#ifdef __cplusplus
}
#endif

#endif /* DL4_DL4_H */
