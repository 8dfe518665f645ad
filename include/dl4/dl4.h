/* dl4.h: deep-learning layers for any language. The whole interface of libdl4; there is nothing else to include.
 *
 * Copyright the libdl4 authors. SPDX-License-Identifier: Apache-2.0
 *
 * libdl4 builds, trains, runs and saves neural networks whose names, defaults and meaning are those of Keras 3
 * (channels last, float32, LSTM gates i f c o, epsilon 1e-7). A layer, loss, optimizer or metric is not a function but
 * a registered kind, named as in Keras ("Dense", "Conv2D", "Adam"), with Keras's configuration keys as attributes.
 * dl4_registry_json() describes every kind; this header never changes when one is added.
 *
 * A whole program is capi/examples/xor.c; the guide (share/doc/dl4/guide, sources in
 * capi/guide/pages) has more.
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
 * Callbacks  A C++ exception out of one is DL4_CALLBACK_FAILED with its what(); out of a dl4_release_fn, dl4_free_fn or
 *            dl4_log_fn it is dropped. One that ends its thread (pthread_exit, an interpreter that exits) unwinds the
 *            call; nothing is promised of the objects of that call. longjmp out of one is not allowed.
 * Stack      A dl4_session_run() of shapes that were run before takes at most 64 KiB of its thread's stack, any other
 *            call 128 KiB, callbacks not counted. (A program that is linked with the library gives 64 KiB more of
 *            each thread's stack to OpenBLAS, for thread-local data; one that loads it by dlopen() does not.)
 * Since      Everything is here since 1.0 unless it says otherwise.
 *
 * ---- Guarantees ------------------------------------------------------------------------------------------------
 *
 *  In full, with limits and exceptions: the guide's guarantees.md. Models are data; sizes are limited, and memory is
 *  checked against the context's memory_limit before it is allocated. No function aborts, exits, throws, raises a
 * signal,  prints unasked or changes the host's streams, locale, signal handlers, floating-point state, environment or
 * directory.  Same build, type of CPU, threads option, seed and calls: same bits, also of training that is saved and
 * resumed. A file  being saved is at any instant the complete old or the complete new one. A program linked against 1.0
 * runs unchanged  with every 1.x.
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
enum { DL4_INPUTS = 0, DL4_OUTPUTS = 1, DL4_WEIGHTS = 2, DL4_METRICS = 3 };

/* Limits. */
enum {
  DL4_MAX_RANK = 8 /* of a tensor */
};

/* ---- Types ---------------------------------------------------------------------------------------------------- */

/* Objects: opaque, reference counted, freed by dl4_release(). */
typedef struct dl4_error dl4_error;     /* an error: code, message, detail */
typedef struct dl4_blob dl4_blob;       /* bytes or text that a call returns */
typedef struct dl4_context dl4_context; /* threads, seed, memory, logger */
typedef struct dl4_refs dl4_refs;       /* models and nodes by key, which text can't hold */
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
 * in the order of the trainer's ports DL4_METRICS; at DL4_EPOCH_END those of validation follow, if there was one.
 * Return DL4_CONTINUE to continue; DL4_STOP to end the fit, which then succeeds: an epoch that is under way ends there,
 * and is validated and recorded in the history as any other; anything else to fail. Inside, only reading calls,
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

/* The three functions of a custom kind (dl4_registry_add). `config` is the kind's attribute of that name, "" by
 * default. They run on the thread that made the call, at the same time on several threads where these run sessions.
 * Inside, only calls on the tensors given are allowed. These tensors are dense, valid during the call, and views of
 * the library's working memory: do not write to sources. Return 0; any other number is a failure, as of
 * dl4_progress_fn. */

/* Shapes of outputs and weights for sources of the shapes ranks [n_src] and dims, concatenated; -1 is free while
 * a graph is built. Set out_ranks [n_out] and out_dims [n_out, DL4_MAX_RANK]: of each output, then of each weight. */
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

/* Gives the build's properties as JSON: version ("1.2.3"), compiler, backends ("full": with OpenBLAS and oneDNN, whose
 * variants and versions follow, with the reason where one is not used on this processor; "own": only the library's
 * kernels), CPU features, threads ("many"; "one" on a platform without threads, WebAssembly), and the names of all
 * "kernels" and "passes". */
DL4_API DL4_CHECKED dl4_error *dl4_build_info(dl4_blob **out);

/* Gives this interface as JSON, for generators of bindings: functions, parameters, ownership, constants, callbacks; for
 * each call its options, what its errors depend on, whether it blocks and whether it may be made in a callback. */
DL4_API DL4_CHECKED dl4_error *dl4_api_description(dl4_blob **out);

/* Describes kinds as JSON: {category: {name: {...}}}, with attributes (type, default, range and doc), inputs, outputs,
 * weights and the order of Keras's arguments; capi/bindings/README.md lists all members.
 * Categories are "layer", "activation", "initializer", "loss", "metric", "optimizer", ...; NULL means all of them,
 * and a NULL name all kinds of the category.
 * May be NULL: category, name.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name), DL4_UNSUPPORTED (name: only Keras has it). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_json(const char *category, const char *name, dl4_blob **out);

/* Checks the attributes of a kind, and makes nothing of it. config is their text; a layer has those of every layer too.
 * May be NULL: config.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name, config), DL4_UNSUPPORTED (name, config), DL4_VERSION
 * (config). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_check(const char *category, const char *name, const char *config);

/* Adds a custom kind: a layer, a loss (with the metric that is its mean) or a metric, computed by your functions. It
 * is used by name like any other kind, in every context, and saved by name: a program that loads the file must add the
 * kind first. The name has 1 to 256 bytes and is neither a built-in kind's nor "Input" or "Constant". Adding a name
 * again replaces the kind for objects that are created later. The attributes of such a kind are "config", a string that
 * is passed to your functions, for a layer with weights also "initializer", for a loss also "reduction". A loss or
 * metric gives a value for each item, with any leading axes of y_pred.
 * Options:
 *   doc            string  what the kind does, for readers of the registry
 *   outputs        int     outputs of a layer; default 1
 *   weights        strings names of a layer's weights
 *   direction      string  of a metric, or the metric of a loss: "up" if greater values are better, "down" if smaller
 *                          ones are. Callbacks whose mode is "auto" refuse a metric without it; default null
 * May be NULL: options, shape (every output has the shape of the last source), backward (it can't be trained through),
 * user, release.
 * Keeps: shape, forward, backward, user, release (until the kind is removed or replaced and everything that was made of
 * it is gone; then release(user) is called, if given; on failure it is not called). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_add(const char *category, const char *name, const char *options,
                                                dl4_shape_fn shape, dl4_forward_fn forward, dl4_backward_fn backward,
                                                void *user, dl4_release_fn release);

/* Removes a kind that dl4_registry_add() added, of a loss its metric too. Models that have it work on; what needs its
 * name (a graph, a file, a copy) finds it no more.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name: no such kind was added). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_remove(const char *category, const char *name);

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
 * per step when made with profile = true. Members of the JSON, for each object:
 *   dl4_error     code, message, detail
 *   dl4_blob      bytes
 *   dl4_context   threads, seed, seed_scheme, reproducible, math, emulate_bfloat16, memory_limit, step_limit,
 *                 passes_off, kernels_off, arena_fill_nan, log_level, log_to
 *   dl4_refs      models, nodes
 *   dl4_tensor    dtype, shape, strides, bytes
 *   dl4_graph     format, name, layers, inputs, outputs: an architecture
 *   dl4_model     format, name, layers, inputs, outputs: an architecture
 *   dl4_session   inputs, outputs, steps, cached_bytes, packed_bytes, plans, stream: if it can run step by step
 *   dl4_dataset   batches
 *   dl4_trainer   options, no_gradient, learning_rate, iterations, epoch, batch
 *   dl4_cancel    triggered
 * Threads: as for reading that object.
 * Errors: DL4_UNSUPPORTED (that format of that object), DL4_BUSY (a model: a trainer is at work on its weights). */
DL4_API DL4_CHECKED dl4_error *dl4_describe(const void *object, int32_t format, dl4_blob **out);

/* ---- Ports ------------------------------------------------------------------------------------------------------
 * The inputs and outputs of a model, a session or a stream, the weights of a model, and the metrics of a trainer, the
 * loss first. `which` is DL4_INPUTS, DL4_OUTPUTS, DL4_WEIGHTS or DL4_METRICS; `i` counts from 0. The outputs of a
 * session include gradients and states; a stream has only the inputs and outputs of its model. Weights are in the order
 * of Keras's model.weights. A metric is a float64 of rank 0.
 * Threads: any, at once. */

/* The number of ports; 0 of an object that has none of them. */
DL4_API int64_t dl4_port_count(const void *object, int32_t which);

/* The name of a port; NULL past the end. Ports that a session adds for gradients are named "cotangent of y" and
 * "gradient of x". Lives as long as the object. */
DL4_API const char *dl4_port_name(const void *object, int32_t which, int64_t i);

/* The type of data of a port, one of the constants above; 0 past the end. */
DL4_API int32_t dl4_port_dtype(const void *object, int32_t which, int64_t i);

/* The shape of a port: its rank, and its first dimensions up to `cap` into dims; -1 is free.
 * May be NULL: dims (when cap is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_port_shape(const void *object, int32_t which, int64_t i, int64_t *dims, int64_t cap,
                                              int32_t *rank);

/* ---- Errors and blobs -------------------------------------------------------------------------------------------
 * Immutable once they exist.
 * Threads: any, at once. */

/* The code of an error, one of the constants above; 0 for NULL.
 * May be NULL: error. */
DL4_API int32_t dl4_error_code(const dl4_error *error);

/* One line for people: who, what was expected, what came, and "did you mean" where it helps. "" for NULL.
 * May be NULL: error. */
DL4_API const char *dl4_error_message(const dl4_error *error);

/* The same for programs: a JSON object with function and, where the message has them, layer, attribute (a key) or
 * argument, expected, got, did_you_mean; values are strings. "{}" for NULL.
 * May be NULL: error. */
DL4_API const char *dl4_error_detail(const dl4_error *error);

/* The bytes of a blob. A NUL follows the last one, so text can be used as it is. */
DL4_API const char *dl4_blob_data(const dl4_blob *blob);

/* The number of bytes in a blob, without the NUL. */
DL4_API int64_t dl4_blob_size(const dl4_blob *blob);

/* ---- Context ----------------------------------------------------------------------------------------------------
 * Threads, seed, memory and logger of everything made in it. Most programs never make one: NULL is the default context.
 * Threads: any, at once. */

/* Makes a context.
 * Options:
 *   threads        int     threads that work on one run, the caller's included; default: the cores of this process.
 *                          They share a step only where that was measured to take less time
 *   seed           int     start of all random numbers; default 0
 *   seed_scheme    string  "dl4" (default): a weight's and a dropout's numbers follow from the seed and the layer's
 *                          name, whatever else is in the graph; "tensorflow": from the seed and the order of
 *                          creation, whatever the names, as after tf.random.set_seed(seed)
 *   reproducible   string  "threads" (default): same bits for the same `threads`; "strict": for any number of them;
 *                          "portable": on every processor too, and with every compiler and C library. It needs fused
 *                          multiply-add and a mode that takes denormal numbers for 0 (AVX2, NEON; else
 *                          DL4_UNSUPPORTED). The sign of a NaN is not covered
 *   math           string  "float32" (default), or "float32x3": large products (2^24 multiplications, see Sessions:
 *                          of matrices, convolutions, recurrent inputs, attention) are sums of three products of
 *                          bfloat16, with a relative error of about 5e-6; streams are not affected. It needs AMX
 *                          (else DL4_UNSUPPORTED) and is refused with "portable"
 *   emulate_bfloat16 bool  train layers of dtype "mixed_bfloat16" without AVX512_BF16 too: the same products by other
 *                          instructions, more slowly than in float32; default false: DL4_UNSUPPORTED
 *   memory_limit   int     bytes for one load, model, trainer or plan (S2); default: half of the machine's memory, and
 *                          for a load less, by the size of its file
 *   step_limit     int     steps that all loops of one run may take together: those of WhileLoop, Scan and recurrent
 *                          layers other than LSTM, and of Loop and Scan of an ONNX file. A run that takes more is
 *                          DL4_UNSUPPORTED; default 100,000,000
 *   passes_off     strings optimization passes to skip, for experiments: names in "passes" of dl4_build_info()
 *   kernels_off    strings kernels never to choose, for experiments: names in "kernels" of dl4_build_info()
 *   arena_fill_nan bool    fill working memory with NaN before each run, for tests
 *   log_level      string  "trace", "debug", "info", "warning", "error" or "off": which messages go to `log_to`;
 *                          default "info" if `log_to` is given, else "off". The guide's logging.md lists them
 *   log_to         string  "stderr" (default), or a file that messages are appended to; failure is DL4_IO. At 10 MiB it
 *                          is rotated, and three such files are kept. Each process needs its own file
 * May be NULL: options. */
DL4_API DL4_CHECKED dl4_error *dl4_context_create(const char *options, dl4_context **out);

/* Sets the seed of a context: each graph made from now on draws from the start of that seed's numbers, as after Keras's
 * set_random_seed(). Existing graphs are not affected.
 * May be NULL: context. */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_seed(dl4_context *context, int64_t seed);

/* Sets the logger of a context: messages from `min_level` up go to `fn`; NULL, the default, means none do. The options
 * log_level and log_to of the context write messages without a logger; both may be used.
 * May be NULL: context, fn, user.
 * Keeps: fn, user (until another logger is set or the context is freed). */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_logger(dl4_context *context, int32_t min_level, dl4_log_fn fn,
                                                      void *user);

/* Sets the allocator for dl4_tensor_create(), for outputs that the library makes and for the working memory of runs, in
 * this context; both NULL: the system's, the default. Weights and copies are always in the system's memory. Memory
 * allocated before is freed by the allocator that gave it.
 * May be NULL: context, alloc, release, user.
 * Keeps: alloc, release, user (until all objects of the context are freed). */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_allocator(dl4_context *context, dl4_alloc_fn alloc, dl4_free_fn release,
                                                         void *user);

/* Returns memory to the system that is kept only for speed: the memory of idle runs, of large tensors that were
 * released (at most 64 MiB in the process), plans not in use and the code that oneDNN generated for them. (oneDNN's
 * process-wide cache of primitives holds nothing of this library: while a plan is made its capacity is set to 0, which
 * empties it, and restored afterwards.)
 * May be NULL: context. */
DL4_API DL4_CHECKED dl4_error *dl4_context_trim(dl4_context *context);

/* ---- Attributes -------------------------------------------------------------------------------------------------
 * A config, the attributes of a kind, is the text of a JSON object; a Keras layer's config is valid. An unknown key, a
 * wrong type or a value out of range is refused, naming the layer and the key. Kinds in a config (initializer,
 * activation, loss, optimizer, ...) are a string ("relu", "GlorotUniform") or an object {"class_name": ..., "config":
 * {...}}, as in Keras. The arguments of a layer's call are such a text too.
 * A dl4_refs holds by key what text can't: models for a config, nodes for a call. Functions that take one copy it.
 * Threads: one at a time per object. */

/* Makes an empty dl4_refs. */
DL4_API DL4_CHECKED dl4_error *dl4_refs_create(dl4_refs **out);

/* Sets a model as the value of a config's key, which the config's text leaves out. The model is a layer in that place:
 * {"class_name": "Functional", "config": {"model": ...}}, with the model's weights. A layer Functional with the
 * attribute "model" calls that model like any other layer:
 *
 *   dl4_refs_set_model(refs, "model", encoder);
 *   dl4_graph_add(graph, "Functional", "encoder", NULL, NULL, refs, &x, 1, &h, 1);
 *
 * A layer that takes a layer, such as TimeDistributed, takes a model in its place. In the config of a GraphCell the
 * model is the cell of an RNN: the key "cell/config/model" sets "model" in the object "config" of the attribute
 * "cell", which the text has. The weights are shared: training, setting or freezing them in one model does so in all.
 * Their names are "<layer>/<layer>/<weight>": "encoder/dense/kernel". A file holds the inner model within the outer
 * one, and a copy copies both. Setting a key again replaces its model.
 * Keeps: model (a reference to its core: it may be released). */
DL4_API DL4_CHECKED dl4_error *dl4_refs_set_model(dl4_refs *refs, const char *key, const dl4_model *model);

/* Sets n nodes as an argument of a call, such as mask or initial_state, which the call's text leaves out. -1 in a list
 * means none. Setting a key again replaces its nodes.
 * May be NULL: nodes (when n is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_refs_set_nodes(dl4_refs *refs, const char *key, const dl4_node *nodes, int64_t n);

/* ---- Tensors ----------------------------------------------------------------------------------------------------
 * Numbers with a type and a shape [dims]. Type and shape never change; the elements may be written.
 * Threads: any, at once. Synchronise writes to a tensor's memory yourself. */

/* Makes a tensor filled with zeros.
 * May be NULL: context, dims (when rank is 0).
 * Errors: DL4_UNSUPPORTED (dtype). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_create(dl4_context *context, int32_t dtype, int32_t rank, const int64_t *dims,
                                                 dl4_tensor **out);

/* Makes a tensor over the caller's memory, without a copy. Nothing outside data [bytes] is accessed.
 * data is aligned for its type. strides [rank] counts elements, not bytes; NULL means dense row-major.
 * May be NULL: context, dims (when rank is 0), strides, data (when bytes is 0), release, user.
 * Keeps: data, release, user (until the last reference is gone; then release(user) is called, if given; on failure
 * it is not called).
 * Errors: DL4_SHAPE_MISMATCH (the shape does not fit into bytes), DL4_UNSUPPORTED (dtype). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_wrap(dl4_context *context, int32_t dtype, int32_t rank, const int64_t *dims,
                                               const int64_t *strides, void *data, int64_t bytes,
                                               dl4_release_fn release, void *user, dl4_tensor **out);

/* Makes a tensor of a DLPack tensor on the CPU, without a copy.
 * versioned: 0 if `managed` is a DLManagedTensor *, 1 if it is a DLManagedTensorVersioned *.
 * May be NULL: context.
 * Takes: managed (on success; its deleter is called with the last reference).
 * Errors: DL4_UNSUPPORTED (device, type of data or version). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_from_dlpack(dl4_context *context, int32_t versioned, void *managed,
                                                      dl4_tensor **out);

/* Makes a DLPack tensor that shares the memory of a tensor; free it by its own deleter, on any thread.
 * versioned: 0 gives a DLManagedTensor *, 1 a DLManagedTensorVersioned *.
 * Errors: DL4_UNSUPPORTED (a read-only tensor with versioned = 0, which has no flag for it). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_to_dlpack(dl4_tensor *tensor, int32_t versioned, void **out);

/* Makes a dense copy with memory of its own. */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_clone(const dl4_tensor *tensor, dl4_tensor **out);

/* Copies dense row-major data into a tensor; bytes must be dl4_tensor_bytes().
 * May be NULL: src (when bytes is 0).
 * Errors: DL4_SHAPE_MISMATCH (bytes). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_copy_in(dl4_tensor *tensor, const void *src, int64_t bytes);

/* Copies a tensor out as dense row-major data; bytes must be dl4_tensor_bytes().
 * May be NULL: dst (when bytes is 0).
 * Errors: DL4_SHAPE_MISMATCH (bytes). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_copy_out(const dl4_tensor *tensor, void *dst, int64_t bytes);

/* Loads a tensor from a regular file of NumPy: from .npz the array of that name, from .npy the only one.
 * float16 becomes float32, integers of a size that tensors lack become the next larger type, column-major arrays become
 * row-major.
 * May be NULL: context, name (of .npy).
 * Errors: DL4_NOT_FOUND (path, name), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_UNSUPPORTED (path). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_load(dl4_context *context, const char *path, const char *name,
                                               dl4_tensor **out);

/* Saves a tensor as a .npy file, atomically, which numpy.load() reads. The path ends in .npy or has no suffix.
 * Errors: DL4_IO (path), DL4_UNSUPPORTED (path: another suffix). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_save(const dl4_tensor *tensor, const char *path);

/* The type of data, one of the constants above. */
DL4_API int32_t dl4_tensor_dtype(const dl4_tensor *tensor);

/* The number of dimensions. */
DL4_API int32_t dl4_tensor_rank(const dl4_tensor *tensor);

/* The dimensions [rank]. */
DL4_API const int64_t *dl4_tensor_dims(const dl4_tensor *tensor);

/* The strides [rank], in elements. */
DL4_API const int64_t *dl4_tensor_strides(const dl4_tensor *tensor);

/* The first element; NULL if there is none. For reading and writing, unless it came read-only by DLPack. */
DL4_API void *dl4_tensor_data(const dl4_tensor *tensor);

/* The number of bytes of all elements laid out densely. */
DL4_API int64_t dl4_tensor_bytes(const dl4_tensor *tensor);

/* ---- Graphs -----------------------------------------------------------------------------------------------------
 * The functional style of Keras: inputs, then layers called on symbolic values. Shapes are checked at the call, and the
 * error names the layer. A name may be NULL: Keras's automatic name ("input_layer", "dense", "dense_1", ...).
 * Nodes and layers are ids that are valid only in their graph.
 * Losses and metrics are parts of a graph too: the layers Loss {"loss": "Huber"} and Metric {"metric": "accuracy"} are
 * called on y_true, y_pred and, if wanted, sample weights. A loss of reduction "none" gives a value for each item.
 * Threads: one at a time per graph. */

/* Makes an empty graph.
 * May be NULL: context. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_create(dl4_context *context, dl4_graph **out);

/* Adds an input. dims [rank] includes the batch axis; -1 is free: {-1, 28, 28} is a batch of 28 steps of 28 features.
 * May be NULL: name, dims (when rank is 0).
 * Errors: DL4_UNSUPPORTED (float64 and the reserved types). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_input(dl4_graph *graph, const char *name, int32_t dtype, int32_t rank,
                                                   const int64_t *dims, dl4_node *out);

/* Adds a value that never changes.
 * May be NULL: name.
 * Errors: DL4_UNSUPPORTED (value). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_constant(dl4_graph *graph, const char *name, dl4_tensor *value,
                                                      dl4_node *out);

/* Adds a layer without calling it, to call it more than once: its calls share its weights. refs has models for config.
 * May be NULL: name, config, refs.
 * Errors: DL4_UNKNOWN_KIND (kind, config), DL4_UNSUPPORTED (config), DL4_VERSION (config), DL4_BUSY (refs: a trainer is
 * at work on a model's weights). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_layer(dl4_graph *graph, const char *kind, const char *name,
                                                   const char *config, const dl4_refs *refs, dl4_layer *out);

/* Adds a layer of another graph: both graphs share the layer and its weights. The layer must have been called in its
 * own graph. It keeps its name unless another is given.
 * May be NULL: name.
 * Errors: DL4_BUSY (from). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_shared(dl4_graph *graph, dl4_graph *from, dl4_layer layer,
                                                    const char *name, dl4_layer *out);

/* Calls a layer on in [n_in] and gives its first n_out outputs.
 * An LSTM with return_state, for example, has three: the sequence or last output, h, c.
 * call and refs are the call arguments of Keras: flags such as use_causal_mask, training (true, false or null) in the
 * text `call`, and nodes such as mask, initial_state in refs.
 * May be NULL: call, refs.
 * Errors: DL4_SHAPE_MISMATCH (in, call, refs), DL4_UNSUPPORTED (in, call, refs). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_call(dl4_graph *graph, dl4_layer layer, const char *call, const dl4_refs *refs,
                                              const dl4_node *in, int64_t n_in, dl4_node *out, int64_t n_out);

/* Adds a layer and calls it once: dl4_graph_add_layer() and dl4_graph_call() in one. refs has models for config and
 * nodes for the call.
 * May be NULL: name, config, call, refs.
 * Errors: DL4_UNKNOWN_KIND (kind, config), DL4_SHAPE_MISMATCH (in, call, refs), DL4_UNSUPPORTED (config, in, call,
 * refs), DL4_VERSION (config), DL4_BUSY (refs: a trainer is at work on a model's weights). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add(dl4_graph *graph, const char *kind, const char *name, const char *config,
                                             const char *call, const dl4_refs *refs, const dl4_node *in, int64_t n_in,
                                             dl4_node *out, int64_t n_out);

/* Adds all layers and calls of an architecture in JSON: the form of dl4_describe(graph or model, 0), or that of Keras's
 * model.to_json().
 * Its "inputs" and "outputs" become those of the graph: build it with n_in = 0 and n_out = 0.
 * Errors: DL4_UNKNOWN_KIND (json), DL4_SHAPE_MISMATCH (json), DL4_UNSUPPORTED (json), DL4_VERSION (json). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_json(dl4_graph *graph, const char *json);

/* The shape of a node: its rank, and its first dimensions up to `cap` into dims; -1 is free.
 * May be NULL: dims (when cap is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_node_shape(const dl4_graph *graph, dl4_node node, int64_t *dims, int64_t cap,
                                              int32_t *rank);

/* All outputs of the call that gave a node, itself included: how many there are, and the first `cap` of them into out.
 * May be NULL: out (when cap is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_node_outputs(const dl4_graph *graph, dl4_node node, dl4_node *out, int64_t cap,
                                                int64_t *count);

/* The type of data of a node, one of the constants above. */
DL4_API DL4_CHECKED dl4_error *dl4_node_dtype(const dl4_graph *graph, dl4_node node, int32_t *out);

/* Adds the mask of a node: a bool node with the first axes of the node, or -1 if it has no mask. The layer GetMask does
 * the same; the layer SetMask, called on a value and a mask, gives the value with that mask. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_mask(dl4_graph *graph, dl4_node node, dl4_node *out);

/* Adds the value of a weight, "<layer>/<weight>", of a layer that has been called: the value after the assignments that
 * were added before. A layer Weight gives such a node too.
 * Errors: DL4_NOT_FOUND (weight). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_weight(dl4_graph *graph, const char *weight, dl4_node *out);

/* Adds the gradients of targets [n_targets], float32, with respect to the nodes by [n_by], any values or weights. out
 * gets the first n_out of them, in the order and the shapes of `by`. The gradients of several targets are summed. A
 * gradient is a value like any other and may be differentiated again. The gradient with respect to a weight is summed
 * over all values that the weight has had so far in the graph, as for a variable on a gradient tape.
 * config: attributes of the layer Gradients that this call adds: "sum" (true: a target of several numbers counts as
 * their sum; false: it is refused) and "unconnected" ("zeros" where no target depends on a node, or "refused").
 * output_gradients [n_targets]: the gradient with respect to each target, in its shape; -1 means ones.
 * May be NULL: config, output_gradients (ones for all).
 * Errors: DL4_SHAPE_MISMATCH (targets, output_gradients), DL4_UNSUPPORTED (an op between them has no gradient, or no
 * second-order one; the message names it). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_gradients(dl4_graph *graph, const char *config, const dl4_node *targets,
                                                       int64_t n_targets, const dl4_node *output_gradients,
                                                       const dl4_node *by, int64_t n_by, dl4_node *out, int64_t n_out);

/* Adds an assignment of a value to `weight`, a node of dl4_graph_add_weight() or of a layer Weight. Both have the same
 * type and shape. Calls run in the order in which they were added: those added later read the new value. After the run
 * every model that has the weight has the new value, as after a trainer's step. No gradient passes. `out` is the new
 * value. A model makes only the assignments that its outputs need: see dl4_graph_add_after(). For its session see
 * dl4_session_create().
 * config: attributes of the layer Assign that this call adds: "operation" ("assign", "assign_add" or "assign_sub").
 * May be NULL: config.
 * Errors: DL4_SHAPE_MISMATCH (value). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_assign(dl4_graph *graph, const char *config, dl4_node weight,
                                                    dl4_node value, dl4_node *out);

/* Adds one update of an optimizer: it assigns new values to weights [n_weights], nodes as above, by as many gradients
 * [n_gradients], and applies the constraints of the weights. The optimizer's state is weights of this layer:
 * "<name>/iterations" (int64), "<name>/learning_rate", which may be set between runs, and "<name>/<slot>/<weight>".
 * `out` is the number of updates so far, int64.
 * config: attributes of the layer ApplyGradients that this call adds: "optimizer" and "exclude_from_weight_decay", as
 * for a trainer. learning_rate: a node in place of the optimizer's own; -1 means none.
 * May be NULL: name, config.
 * Errors: DL4_UNKNOWN_KIND (config), DL4_SHAPE_MISMATCH (gradients, learning_rate), DL4_UNSUPPORTED (config: schedules,
 * averages of weights and the accumulation of gradients, which a graph computes itself). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_update(dl4_graph *graph, const char *name, const char *config,
                                                    dl4_node learning_rate, const dl4_node *weights, int64_t n_weights,
                                                    const dl4_node *gradients, int64_t n_gradients, dl4_node *out);

/* Adds the value of a node that is computed after the nodes others [n_others]: assignments among them are made even if
 * no output of the model reads their values.
 * May be NULL: others (when n_others is 0). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_after(dl4_graph *graph, dl4_node node, const dl4_node *others,
                                                   int64_t n_others, dl4_node *out);

/* Makes a model of the calls between in [n_in] and out [n_out], and initialises its weights.
 * The graph may be extended, built again or released afterwards; models built from one graph share the weights of the
 * layers they share. n_in = n_out = 0: the inputs and outputs of dl4_graph_add_json().
 * May be NULL: in (when n_in is 0), out (when n_out is 0).
 * Errors: DL4_SHAPE_MISMATCH. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_build(dl4_graph *graph, const dl4_node *in, int64_t n_in, const dl4_node *out,
                                               int64_t n_out, dl4_model **model);

/* ---- Models -----------------------------------------------------------------------------------------------------
 * An architecture and its weights. The native file format is safetensors: any safetensors reader can open it, and it
 * cannot carry code. Files of Keras and ONNX are read and written too. A weight is named "<layer>/<weight>":
 * dense/kernel, lstm/recurrent_kernel, embedding/embeddings.
 * Threads: readers at once; a writer (dl4_model_set_weight, a trainer) alone. The models of one graph count as one,
 * with those that are layers in it. */

/* Loads a model from a regular file, whose format is recognised by its content.
 * - native: safetensors with this library's header.
 * - Keras: .keras, or .h5 of a whole model of Keras 1, 2 or 3. A Lambda is refused, and so is a custom class unless a
 *   kind of its name is registered. A trainer made with NULL for its options has those that the model was compiled
 * with;
 *   dl4_trainer_load() of the same file loads its optimizer's state.
 * - ONNX of opsets 1 to 28, as listed in capi/ONNX.md.
 * An unsupported layer, node or op is refused by name. Everything computes in float32; layers of mixed_bfloat16 keep
 * that policy for training. the guide's files has more.
 * Options:
 *   verify         bool    compare the CRC-32 that a native file or a .keras has of its header and of each tensor. It
 *                          detects any flipped bit; a file that another program rewrote has other ones; default true
 *   external_data  bool    read tensors of an ONNX model from other files. These must be in the model's folder, and no
 *                          link may lead out of it; a model that is loaded from memory has none; default true
 *   weights        bool    false: read only the architecture; all weights are zeros, and checksums are not compared (an
 *                          ONNX file is read whole); default true
 *   quantize       kind    quantize the weights as Keras's quantize() does: "int8", "int4/128", "int4" (a scale and a
 *                          zero point for each 128 rows), "int4/-1" (a scale for each column), or an object with
 *                          "mode", "layers" (names; null: all that can be), "value_range", "epsilon"; default null
 *   merge_lora     bool    layers with lora_rank lose it: the product of their two matrices becomes part of the kernel,
 *                          which is trained again. Keras's formats hold such a merged kernel beside a lora_rank: it is
 *                          read as the kernel, and the two matrices are zeros, as in Keras; default false
 * May be NULL: context, options.
 * Errors: DL4_NOT_FOUND (path), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_VERSION (path), DL4_UNKNOWN_KIND (path),
 * DL4_UNSUPPORTED (path). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load(dl4_context *context, const char *path, const char *options,
                                              dl4_model **out);

/* Loads a model from the bytes of such a file, a tensor of uint8 [bytes]; options as for dl4_model_load(). The weights
 * of a native file are used in place, without a copy, if `file` is dense and aligned for floats: processes that map
 * one file share its memory, and with verify false only the pages in use are read. The bytes must not change while the
 * model or anything made from it exists; the release function of dl4_tensor_wrap() is called when they are no longer
 * used. A mapped file that is truncated meanwhile ends the process by SIGBUS: write a new file in its place, as
 * dl4_model_save() does. Weights that are written (set_weight, training) are copied first.
 * May be NULL: context, options.
 * Keeps: file (by the model, and what is made of it).
 * Errors: DL4_CORRUPT_FILE (file), DL4_VERSION (file), DL4_UNKNOWN_KIND (file), DL4_UNSUPPORTED (file). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load_bytes(dl4_context *context, const dl4_tensor *file, const char *options,
                                                    dl4_model **out);

/* Sets the weights of a model to the values in a regular file, recognised by its content: a native model; Keras's
 * .weights.h5, .keras or .h5 of the same layers; or tensors by name, any safetensors file or .npz, where a weight is
 * the tensor of its name. Floats of every size are read, and integers. Either all weights are set or, on
 * an error, none; sessions and trainers behave as after dl4_model_set_weight(). Without "names" and "partial" the file
 * must have every weight and nothing else.
 * Options:
 *   verify    bool     as for dl4_model_load()
 *   partial   bool     of tensors by name: weights that are not in the file stay as they are; default false
 *   names     object   of tensors by name: for each weight its name in the file, or an object that says how it is made:
 *                      with "tensors", "rows", "join", "transpose", "gates" and "reshape" (the guide's weights.md);
 *                      unused tensors are then ignored
 * May be NULL: options.
 * Errors: DL4_NOT_FOUND (path; a name in "names"; a weight that the file or the model lacks), DL4_SHAPE_MISMATCH (a
 * weight has another shape in the file), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_VERSION (path), DL4_UNSUPPORTED
 * (path; "names" or "partial" for a file of Keras), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load_weights(dl4_model *model, const char *path, const char *options);

/* Saves a model to a file, atomically.
 * Options:
 *   format   string   "auto" (default): by the suffix of the path; "native" for a name without a suffix and in memory.
 *                     A suffix that begins with a digit does not count ("epoch-0.35"). An explicit format takes any
 *                     path. "native": .safetensors or .dl4; "keras": .keras, which Keras 3 loads; "weights.h5":
 *                     .weights.h5, Keras's file of weights; "npz": .npz, the weights by name, which numpy.load() reads;
 *                     "onnx": .onnx of opset 20: inference, free axes stay free, stateful layers start from zeros
 * May be NULL: options.
 * Errors: DL4_IO (path), DL4_UNSUPPORTED (a layer that Keras or ONNX lacks, in its format; path: another suffix). */
DL4_API DL4_CHECKED dl4_error *dl4_model_save(const dl4_model *model, const char *path, const char *options);

/* Saves a model to memory: the bytes that dl4_model_save() would write; options as for it.
 * May be NULL: options. */
DL4_API DL4_CHECKED dl4_error *dl4_model_save_bytes(const dl4_model *model, const char *options, dl4_blob **out);

/* Makes a copy with weights of its own. */
DL4_API DL4_CHECKED dl4_error *dl4_model_clone(const dl4_model *model, dl4_model **out);

/* Whether gradients change a weight in training, 1 or 0: 0 of a frozen one, and of one that training only writes, such
 * as a moving mean.
 * Errors: DL4_NOT_FOUND (name). */
DL4_API DL4_CHECKED dl4_error *dl4_model_get_trainable(const dl4_model *model, const char *name, int32_t *out);

/* Makes a copy of a weight; "*" gives one flat block [N] of all trainable weights, in their order, as
 * dl4_trainer_get_gradient() gives their gradients.
 * Errors: DL4_NOT_FOUND (name), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_get_weight(const dl4_model *model, const char *name, dl4_tensor **out);

/* Sets a weight to a copy of a tensor; "*" sets all trainable weights, from one flat block [N]. Sessions that exist
 * keep the weights they were made with; a trainer continues from the new ones and keeps its optimizer's slots.
 * Errors: DL4_NOT_FOUND (name), DL4_SHAPE_MISMATCH (value), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_set_weight(dl4_model *model, const char *name, const dl4_tensor *value);

/* Freezes (0) or unfreezes a layer's weights, one weight, or all weights ("*"). A trainer follows at its next step:
 * weights that stay trainable keep the optimizer's slots and accumulated gradients; a frozen one loses them, and gets
 * new ones when it is unfrozen (Keras requires compile() again). A frozen weight that training only writes (a moving
 * mean) stays as it is; a BatchNormalization whose weights are all frozen runs in inference mode. Unfreezing does not
 * make a weight trained that its kind never trains (a moving mean, whole numbers), as in Keras. Files keep the setting.
 * A layer without weights is accepted and ignored.
 * Errors: DL4_NOT_FOUND, DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_set_trainable(dl4_model *model, const char *name, int32_t trainable);

/* Compares the gradients of a model's outputs, at in [n_in] and for random cotangents, with finite differences of the
 * outputs: a check of custom layers. Gives JSON: for each float32 input and each weight, by name, "elements", "checked"
 * (how many elements were varied), "largest_gradient", "error" (the largest distance of a gradient from its difference)
 * and "worst", the element with that error: "element", "gradient", "difference".
 * Options:
 *   samples        int     elements of each input and weight that are varied; default 20
 *   step           float   by how much, relative to the element's magnitude if that is over 1; default 0.005
 *   training       bool    run in training mode, with the same dropout each time; default false
 *   seed           int     of the cotangents and of the choice of elements; default 0
 * Blocks: for its runs, four for each element that is varied.
 * May be NULL: in (when n_in is 0), options.
 * Errors: DL4_SHAPE_MISMATCH (in), DL4_UNSUPPORTED (model: a layer that has no gradient). */
DL4_API DL4_CHECKED dl4_error *dl4_model_check_gradients(const dl4_model *model, dl4_tensor *const *in, int64_t n_in,
                                                         const char *options, dl4_blob **out);

/* ---- Sessions ---------------------------------------------------------------------------------------------------
 * A model made ready to run, with the weights it had at that moment. Immutable. The first run with new shapes makes a
 * plan for them, later runs only compute. NaN and infinity propagate as in the arithmetic, but for Winograd's
 * convolution; products on AMX and the rounding of weights are described in the guide's precision.md.
 * Threads: any, at once; the threads of the context are shared out between them. */

/* Makes a session. Inputs and outputs are those of the model, then those that options add, in this order:
 * - states: the initial states of each recurrent layer that is called without initial_state ("lstm/rnn_state",
 *   "lstm/rnn_state_1") are inputs, zeros at the start of a sequence; the final states are outputs. Without this option
 *   a stateful layer begins each run with the state that it had when the session was made. A layer with a mask has its
 *   last output among them ("rnn_output"), which a masked step repeats: runs of parts of a sequence give the outputs of
 *   the whole. Zeros in its place give those of Keras, where the output of each call starts at 0.
 * - cotangents: one input for each float32 output, in its shape, which weights it in the sum below.
 * - gradients: the gradient of the sum of the float32 outputs with respect to each input or weight named, in its shape,
 *   is an output; zeros where no output depends on it. Regularization penalties are not included.
 * A run of a model that assigns weights (dl4_graph_add_assign()) reads the current weights and stores the new ones. One
 * thread at a time may run such a session, while no other call uses these weights: else DL4_BUSY. A run that fails may
 * have made some of the assignments. A session of a model that computes sizes (Range, NonMaxSuppression, ...) runs in
 * parts and plans each size that is new.
 * Which options are taken, by how a session runs (only the first way takes dl4_session_predict()):
 *                               training  gradients  cotangents  states  streamable  weights
 *   as a whole                  yes       yes        yes         yes     yes         yes
 *   a model that assigns        yes       no         no          no      no          no
 *   a model that computes sizes yes       yes        no          no      no          yes
 *   "streamable"                no        no         no          no      yes         yes
 * Options:
 *   training    bool     run in training mode: dropout draws new numbers in each run; default false
 *   gradients   strings  names of inputs and weights; of equal names the input is meant; default none
 *   cotangents  bool     take cotangents of the outputs; default false
 *   states      bool     add the states of recurrent layers to the inputs and outputs; default false
 *   streamable  bool     allow streams, and take sequences [B, T, ...] as a new stream would, with the same bits; not
 *                        together with gradients, training or states; default false
 *   cache       int      steps of keys and values that causal attention keeps for a stream; default 0: none, and a
 *                        model with such attention has no streams
 *   cache_full  string   what a stream does after that many steps: "refuse" fails the run, "slide" drops the oldest;
 *                        default "refuse"
 *   profile     bool     keep times per step for dl4_describe(); default false
 *   weights     string   type in which constant weights of products are kept, where it was not measured to be slower:
 *                        "float32" (default), "bfloat16", "int8" or "int4"
 * May be NULL: options.
 * Errors: DL4_NOT_FOUND (options), DL4_UNSUPPORTED (an op has no gradient; weights with training or gradients, or of
 * a model that assigns weights; streamable: the message names the layer). */
DL4_API DL4_CHECKED dl4_error *dl4_session_create(const dl4_model *model, const char *options, dl4_session **out);

/* Gives the shape of output `i` for inputs of given shapes, without a run or a plan.
 * ranks [n_in] of all inputs; in_dims [the sum of ranks]: the dimensions of the first input, then of the next ones.
 * May be NULL: ranks (when n_in is 0), in_dims (when all ranks are 0), dims (when cap is 0).
 * Errors: DL4_SHAPE_MISMATCH (ranks, in_dims), DL4_UNSUPPORTED (the shape depends on numbers that a run computes). */
DL4_API DL4_CHECKED dl4_error *dl4_session_output_shape(const dl4_session *session, const int32_t *ranks,
                                                        const int64_t *in_dims, int64_t n_in, int64_t i, int64_t *dims,
                                                        int64_t cap, int32_t *rank);

/* Runs a model: in [n_in] and out [n_out] in the order of the session's inputs and outputs, all of them.
 * A slot of out that is NULL gets a new tensor, which the caller owns; a tensor in a slot is written in place. It must
 * have the right shape and type, be dense, and overlap no dense input and no other output in memory. On failure, slots
 * that were NULL are NULL, and tensors that you passed may be partly written.
 * May be NULL: cancel.
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (an output that is not dense), DL4_CANCELLED (cancel),
 * DL4_INVALID_ARGUMENT (session: a weight in int8 or int4 is NaN, infinite, or beyond 1e30). */
DL4_API DL4_CHECKED dl4_error *dl4_session_run(dl4_session *session, dl4_tensor *const *in, int64_t n_in,
                                               dl4_tensor **out, int64_t n_out, dl4_cancel *cancel);

/* Runs a model over a whole dataset, in order, and joins the outputs [B, ...] along their first axis.
 * Targets and sample weights of the dataset are ignored. out [n_out] as in dl4_session_run().
 * May be NULL: cancel.
 * Errors: DL4_SHAPE_MISMATCH (dataset, out), DL4_UNSUPPORTED (dataset), DL4_CANCELLED (cancel), DL4_CALLBACK_FAILED
 * (dataset), DL4_BUSY (dataset). */
DL4_API DL4_CHECKED dl4_error *dl4_session_predict(dl4_session *session, dl4_dataset *dataset, dl4_cancel *cancel,
                                                   dl4_tensor **out, int64_t n_out);

/* ---- Streams ----------------------------------------------------------------------------------------------------
 * Runs a session on sequences that arrive one or several steps at a time, and keeps what later steps depend on. Any
 * division into calls gives the same bits. Many streams may run one session at once.
 * A stream gives a step of its output as soon as no later input can change it: a window of 5 steps gives its first
 * output with the fifth. Where strides, UpSampling1D or a hop change the number of steps, it takes several at a time,
 * and remaining steps wait for the next call. dl4_describe() of the session has both under "stream".
 * Threads: one at a time per stream. */

/* Makes a stream at the beginning of a sequence, with states of zeros. The session must have been made with "states":
 * true or "streamable": true. Layers that need later steps are refused by name, before anything is allocated:
 * the guide's running/streams.md lists them. Causal attention needs the session's "cache", unless its window limits
 * the keys of a step. Inputs with a free second axis, [B, T, ...], are sequences. Any other input is the same for all
 * steps; an initial_state is read at the first step of its layer.
 * Options:
 *   batch    int   B, sequences that run in parallel; default 1
 *   seed     int   of the generator that dl4_stream_next() draws from; default 0
 * May be NULL: options.
 * Errors: DL4_UNSUPPORTED (session: the message names the layer), DL4_SHAPE_MISMATCH (options). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_create(dl4_session *session, const char *options, dl4_stream **out);

/* Runs the next T steps: in [n_in] and out [n_out] are the model's inputs and outputs, as in dl4_session_run(). Every
 * sequence has T steps, at least 1; the outputs have the steps that these complete, possibly none. Outputs without a
 * time axis are those of the last step, for global pooling of all steps so far; before the first complete step they
 * are NaN (integers: 0). All runs form one sequence: at a masked step the output of the previous step is repeated,
 * also across runs and for stateful layers (in Keras each call starts with an output of 0). On failure the stream is
 * unchanged.
 * May be NULL: cancel.
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (an output that is not dense; more steps than the session's
 * "cache"), DL4_CANCELLED (cancel), DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_run(dl4_stream *stream, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out,
                                              int64_t n_out, dl4_cancel *cancel);

/* Runs the next steps of n streams of one session, each of batch 1, in one call. in [n_in] and out [n_out] are those of
 * a stream of batch n, [n, T, ...]: row i belongs to streams[i], which takes the first steps[i] of the T steps, 0 to T;
 * the rest of the row is not read, and is 0 in the outputs. The bits of a stream do not depend on the others in the
 * call; they differ from those of dl4_stream_run() by rounding. On failure all streams are unchanged. Where streams
 * give different numbers of steps, the outputs have the largest.
 * May be NULL: steps (all take T), cancel.
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (streams: of another batch; an output that is not dense; more
 * steps than the session's "cache"), DL4_CANCELLED (cancel), DL4_BUSY (streams). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_run_many(dl4_stream *const *streams, int64_t n, const int64_t *steps,
                                                   dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                                                   dl4_cancel *cancel);

/* Runs the next steps, as dl4_stream_run() does, and draws the next id of each of the B sequences: ids [n], n is B.
 * The model must have one output, float32 [B, V] or [B, T, V]: the logits of V ids, of which the last step is used.
 * They are passed to `logits` and divided by the temperature; then an id is drawn in proportion to exp(logit) among
 * those that top_k and then top_p leave. Equal logits rank by id, the lower first. The same logits, options and seed
 * give the same ids on every machine. A sequence that has drawn an id of "stop" has ended: it gets that id again until
 * it is reset. On failure the stream and its generator are unchanged.
 * Options:
 *   temperature  float  below 1 likely ids become likelier; 0 takes the likeliest; default 1
 *   top_k        int    draw among the k likeliest ids only; default 0: all
 *   top_p        float  and among the fewest likeliest ids whose probabilities sum to p; default 1
 *   stop         ints   ids that end a sequence; default none
 *   from_logits  bool   false: the output holds probabilities; default true
 * May be NULL: options, logits, user, cancel.
 * Errors: DL4_SHAPE_MISMATCH (in), DL4_UNSUPPORTED (stream: its outputs are not logits), DL4_NUMERIC (a logit is NaN or
 * infinity), DL4_CALLBACK_FAILED (logits), DL4_CANCELLED (cancel), DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_next(dl4_stream *stream, dl4_tensor *const *in, int64_t n_in,
                                               const char *options, dl4_logits_fn logits, void *user, int64_t *ids,
                                               int64_t n, dl4_cancel *cancel);

/* Makes a second stream that continues from the position of this one, with the same states and a copy of its generator.
 * Both share the memory of the states until one of them runs, is reset or is loaded: that one first copies them.
 * Options:
 *   seed     int   new seed of the copy's generator; default: the copy draws what the original draws
 * May be NULL: options.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_fork(const dl4_stream *stream, const char *options, dl4_stream **out);

/* Restarts a stream: states and generator are those of a new one.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_reset(dl4_stream *stream);

/* Restarts one of its sequences, 0 <= row < B; the others continue.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_reset_row(dl4_stream *stream, int64_t row);

/* Saves the states of a stream to memory: by name, as a safetensors file. Streams of a session in the same state give
 * the same bytes, whatever calls led to it.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_save_bytes(const dl4_stream *stream, dl4_blob **out);

/* Sets the states of a stream to those saved from one of the same model and batch: what follows has the same bits.
 * Errors: DL4_NOT_FOUND, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_load_bytes(dl4_stream *stream, const void *data, int64_t bytes);

/* ---- Losses and metrics ------------------------------------------------------------------------------------------
 * Threads: any, at once. */

/* Computes a loss or metric of two tensors, without a model: what a trainer would report for them. category is "loss"
 * or "metric", kind its name, config its attributes. "accuracy" and "acc" are resolved as in
 * a trainer's metrics; "Accuracy" is the kind. y_true and y_pred are [B, ...]; w, sample weights, has their first
 * axes. out is one float32; for a loss of reduction "none" a value for each item; for a metric with several numbers
 * all of them. Each call makes a plan: for many batches, make a session of a graph with a layer Loss or Metric.
 * May be NULL: context, config, w.
 * Blocks: for the computation.
 * Errors: DL4_UNKNOWN_KIND (kind, config), DL4_SHAPE_MISMATCH (y_true, y_pred, w), DL4_UNSUPPORTED (float64). */
DL4_API DL4_CHECKED dl4_error *dl4_measure(dl4_context *context, const char *category, const char *kind,
                                           const char *config, dl4_tensor *y_true, dl4_tensor *y_pred, dl4_tensor *w,
                                           dl4_tensor **out);

/* ---- Datasets ---------------------------------------------------------------------------------------------------
 * Batches of inputs x, targets y and sample weights w, one tensor for each input of the model or output with a target.
 * Threads: one at a time. */

/* Makes a dataset of whole tensors, each [B, ...] with the same B.
 * w has one tensor [B] or [B, T] for each target, NULL for those that have none, or none at all (nw = 0).
 * Options:
 *   batch_size      int   default 32; the last batch may be shorter. null: each step gets one row without the batch
 *                         axis, for a model whose inputs have none: nodes [N, F] of x [B, N, F]
 *   shuffle         bool  a new order in each epoch of dl4_trainer_fit(); default true
 *   seed            int   of the shuffling; default 0
 *   drop_remainder  bool  skip a shorter last batch; default false
 * May be NULL: context, y (when ny is 0), w (when nw is 0), options.
 * Keeps: x, y, w (references to the tensors, not the arrays; of one that is not dense row-major a copy, made here).
 * Errors: DL4_SHAPE_MISMATCH (x, y, w). */
DL4_API DL4_CHECKED dl4_error *dl4_dataset_from_tensors(dl4_context *context, dl4_tensor *const *x, int64_t nx,
                                                        dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w,
                                                        int64_t nw, const char *options, dl4_dataset **out);

/* Makes a dataset of batches that a callback returns one by one.
 * Options:
 *   steps    int   batches of an epoch, if known; else the callback ends the epoch
 *   samples  bool  each call gives one sample without the batch axis. Its tensors may have different numbers of rows,
 *                  also from sample to sample: nodes [N, F] and edges [E, 2] of a graph; default false
 * May be NULL: context, user, release, options.
 * Keeps: fn, user, release (until the last reference is gone; then release(user) is called, if given; on failure it is
 * not called). */
DL4_API DL4_CHECKED dl4_error *dl4_dataset_from_callback(dl4_context *context, dl4_batch_fn fn, void *user,
                                                         dl4_release_fn release, const char *options,
                                                         dl4_dataset **out);

/* ---- Training ---------------------------------------------------------------------------------------------------
 * A step is all or nothing: forward, loss, gradients, update. The loss is the first metric everywhere; its ports
 * DL4_METRICS name all of them, at most 4096.
 * Of a layer with "dtype": "mixed_bfloat16" the operands of products are rounded to bfloat16, forwards and in gradients
 * (of an LSTM and of fused attention the inputs and weights alone). Weights, sums and optimizer states are float32, and
 * so is all that is not training. It needs AVX512_BF16, or the context's "emulate_bfloat16" (else DL4_UNSUPPORTED).
 * Threads: one at a time per trainer. */

/* Makes a trainer of a model, which it changes.
 * Options:
 *   optimizer         kind          required: "SGD", "Adam", ... or an object with its settings, whose "learning_rate"
 *                                   may be a schedule: {"class_name": "ExponentialDecay", "config": {...}}
 *   loss              kind or list  one for each output; null: no loss on that output; "output": the mean of the
 *                                   output, float32, is the loss, without a target: for losses made of layers
 *   loss_weights      floats        one for each output; default 1, null too
 *   metrics           list          of kinds, or one list of kinds for each output, null for none: ["accuracy"]. A
 *                                   repeated name gets a number, as in Keras: "mae", "mae_1"; a metric with several
 *                                   numbers has a name for each: "f1_score[0]". Sample weights are not applied
 *   weighted_metrics  list          the same, with sample weights; a repeated name becomes "weighted_mae"
 *   output_names      strings       of all outputs, in these options by name, in metrics and in history; default
 *                                   the names of the layers that give them
 *   nan_guard         string        "loss" (default), "gradients", "off": a step that finds NaN or infinity fails with
 *                                   DL4_NUMERIC and leaves the weights of the last good step
 *   exclude_from_weight_decay strings  weights that the optimizer's weight_decay leaves alone, by name ("dense/bias")
 *                                   or by some of the last part of it ("bias"); each must mean one
 *   profile           bool          keep times per step for dl4_describe(); default false
 *   shards            int           a power of two: a batch is split into that many parts, whose gradients are summed
 *                                   as a tree, so any number of workers that divides it gives the same bits; default 8
 *                                   for workers if reproducible is "strict", else 1
 * Options with a value for each output may be an object by output names: {"loss": {"a": "mse", "b": null}}. Losses and
 * means leave masked items out; as in Keras, metrics with another state (AUC, MeanIoU) do not.
 * May be NULL: options (for a model loaded from a file of Keras: what it was compiled with).
 * Keeps: model (a reference).
 * Errors: DL4_UNKNOWN_KIND, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_VERSION, DL4_BUSY (the model has a trainer). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_create(dl4_model *model, const char *options, dl4_trainer **out);

/* Trains on one batch: x [nx] inputs, y [ny] targets, w [nw] sample weights (nw = 0: none; an element may be NULL).
 * A target without axes applies to every prediction. The metrics of this batch go into metrics [cap], as many as fit;
 * count is how many there are.
 * May be NULL: y (when ny is 0), w (when nw is 0), metrics (when cap is 0), count.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_step(dl4_trainer *trainer, dl4_tensor *const *x, int64_t nx,
                                                dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w, int64_t nw,
                                                double *metrics, int64_t cap, int64_t *count);

/* Adds the gradients of one batch to the accumulated ones, and changes no weight; parameters as in dl4_trainer_step().
 * May be NULL: y (when ny is 0), w (when nw is 0), metrics (when cap is 0), count.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_accumulate(dl4_trainer *trainer, dl4_tensor *const *x, int64_t nx,
                                                      dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w,
                                                      int64_t nw, double *metrics, int64_t cap, int64_t *count);

/* Updates the weights by the mean of the gradients accumulated since the last update, then clears them.
 * Errors: DL4_INVALID_ARGUMENT (nothing accumulated), DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_apply(dl4_trainer *trainer);

/* Makes a copy of the mean gradient since the last update, before any clipping: of one weight, or of all with "*".
 * "*" gives one flat block [N] of all trainable weights, in their order: one buffer for programs that train on
 * several machines or have their own optimizer. Something must have been accumulated.
 * Errors: DL4_NOT_FOUND, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_get_gradient(const dl4_trainer *trainer, const char *weight,
                                                        dl4_tensor **out);

/* Sets the mean gradient of one weight, or with "*" of all from one flat block [N], to value. A program on
 * several machines takes the mean of dl4_trainer_get_gradient() over them, sets it and applies. Where nothing was
 * accumulated, the rest is zero and counts as one batch, as does a whole block that replaces what was there.
 * Errors: DL4_NOT_FOUND, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_gradient(dl4_trainer *trainer, const char *weight,
                                                        const dl4_tensor *value);

/* Adds value to the mean gradient of one weight, or with "*" of all from one flat block [N]. Where nothing was
 * accumulated, the rest is zero and counts as one batch.
 * Errors: DL4_NOT_FOUND, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_add_gradient(dl4_trainer *trainer, const char *weight,
                                                        const dl4_tensor *value);

/* Clears the gradients accumulated since the last update.
 * Errors: DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_zero_gradients(dl4_trainer *trainer);

/* Trains for some epochs, and validates after each if there is something to validate on. history is JSON, a list per
 * name: {"epoch": [0, 1], "loss": [...], "accuracy": [...], "val_loss": [...], ...}. A fit starts at initial_epoch with
 * a new history, or it resumes one: it continues at that place, in mid-epoch too, with that history, and needs data of
 * the same rows, batches, order and seed, as far as they are known. After DL4_CANCELLED or the failure of one of the
 * `callbacks` the fit can be resumed there. After any other failure the place is that before the call, and the weights
 * are those of the last complete step. Checkpoints include the state of callbacks: in a resumed fit the callback at the
 * same position in the list gets it back.
 * Options:
 *   epochs            int    the last epoch, counted from 1, at most 2^53 - 1; default 1
 *   initial_epoch     int    epochs already done, at most 2^53 - 1; default 0
 *   resume            bool   continue where the last fit was cancelled; default: true for the first after
 *                            a checkpoint taken in mid-fit was loaded, or "epoch" or "batch" was set; else false
 *   validation_split  float  the fraction of `train`, from its end and before shuffling, to validate on; default 0
 *   validation_freq   int    validate after epochs n, 2n, ..., counted from 1; default 1
 *   average           bool   at the end of the fit the averages of an optimizer with use_ema replace the weights; false
 *                            for a fit that another one continues; default true
 *   class_weight      floats weights of training samples by class; classes past the end of the list have 1. For a model
 *                            with one target, class numbers [B] or [B, 1] or one-hot [B, C], without sample weights
 *   callbacks         list   of kinds, called in this order and before `fn`: "EarlyStopping", "ReduceLROnPlateau",
 *                            "ModelCheckpoint", "BackupAndRestore", "CSVLogger", "TerminateOnNaN",
 *                            "LearningRateScheduler", "SwapEMAWeights" or objects with their settings
 * May be NULL: valid, options, fn, user, cancel, history.
 * Errors: DL4_CANCELLED (by `cancel`; all complete steps are kept), DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC,
 * DL4_IO, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_fit(dl4_trainer *trainer, dl4_dataset *train, dl4_dataset *valid,
                                               const char *options, dl4_progress_fn fn, void *user, dl4_cancel *cancel,
                                               dl4_blob **history);

/* Computes loss and metrics over a whole dataset, as in inference: metrics [cap], count as in dl4_trainer_step().
 * May be NULL: cancel, metrics (when cap is 0), count.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_CANCELLED, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_evaluate(dl4_trainer *trainer, dl4_dataset *dataset, dl4_cancel *cancel,
                                                    double *metrics, int64_t cap, int64_t *count);

/* Reads a number of the trainer: "learning_rate", "iterations" (updates), "epoch" (of the fit), "batch" (of the epoch).
 * Errors: DL4_NOT_FOUND. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_get_number(const dl4_trainer *trainer, const char *key, double *out);

/* Sets a number of the trainer: "learning_rate", unless a schedule determines it, in a progress callback too; "epoch"
 * or "batch": the next fit resumes there. Setting "epoch" sets "batch" to 0.
 * Errors: DL4_NOT_FOUND, DL4_BUSY ("epoch" and "batch": a fit is under way). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_number(dl4_trainer *trainer, const char *key, double value);

/* Trains together with other processes from now on: `size` of them, of which this one is `rank`.
 *
 * Each worker makes this call, then the same calls at the same time. All start with the state of rank 0. x, y and w of
 * a call are this worker's part of the global batch, in the order of ranks; a dataset of tensors has all rows on each
 * worker, which takes its part. Losses, metrics, clipping, draws and updates are those of one process with the global
 * batch; BatchNormalization takes statistics of each part, or of the global batch with `synchronized`. A call that
 * fails, stops or is cancelled on one worker does so on all of them, except where a handle, rank or size is refused or
 * the trainer is busy. A reduction that fails leaves the weights of the last complete step. fn NULL: trains alone
 * again. the guide's training/workers.md has more.
 *
 * May be NULL: fn (when size is 1), user, release.
 * Keeps: fn, user, release (until this call is made again or the trainer is freed; then release(user) is called, if
 * given; on failure it is not called).
 * Blocks: until all workers have made it.
 * Errors: DL4_UNSUPPORTED (stateful layers; at the first step losses and metrics that join the samples of a batch, and
 * synchronized BatchNormalization with shards), DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_workers(dl4_trainer *trainer, int64_t rank, int64_t size,
                                                       dl4_reduce_fn fn, void *user, dl4_release_fn release);

/* Saves a checkpoint, atomically: model, optimizer, counters, random state, place in the epoch. A path that ends in
 * .keras gets what Keras saves of a compiled model, and no more: Keras resumes from it. Other paths end in
 * .safetensors, .dl4 or .checkpoint or have no suffix, as documented for dl4_model_save().
 * Errors: DL4_IO, DL4_BUSY, DL4_UNSUPPORTED (path: another suffix; what .keras cannot express). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_save(const dl4_trainer *trainer, const char *path);

/* Saves a checkpoint to memory: the bytes that dl4_trainer_save() would write.
 * Errors: DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_save_bytes(const dl4_trainer *trainer, dl4_blob **out);

/* Loads a checkpoint from a regular file into a trainer of the same model and options, with the same weights trainable;
 * training continues bit for bit as it would have after the save. Checksums are compared as by dl4_model_load(). Of a
 * file of Keras 3, .keras or .h5, the weights and the state of the optimizer are loaded, which continue as in Keras.
 * Errors: DL4_NOT_FOUND, DL4_IO, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED (path),
 * DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_load(dl4_trainer *trainer, const char *path);

/* Loads a checkpoint from the bytes of such a file.
 * Errors: DL4_NOT_FOUND, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_load_bytes(dl4_trainer *trainer, const void *data, int64_t bytes);

/* ---- Cancel -----------------------------------------------------------------------------------------------------
 * Threads: any, at once. */

/* Makes a cancel flag, for any number of calls. Once triggered it stays so. */
DL4_API DL4_CHECKED dl4_error *dl4_cancel_create(dl4_cancel **out);

/* Asks all calls with this flag to stop. A call looks at the flag at least every 100 ms: between the kernels of a run
 * and its slices, between the steps of loops, recurrent layers and streams, between batches, and while it makes a plan.
 * It first completes a single matrix product, convolution or sort, a callback, and a training step that has begun to
 * change weights. What has not been changed by then stays as it was. Legal in a signal handler. */
DL4_API void dl4_cancel_trigger(dl4_cancel *cancel);

/* 1 if the flag was triggered, else 0. */
DL4_API int32_t dl4_cancel_triggered(const dl4_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif /* DL4_DL4_H */
