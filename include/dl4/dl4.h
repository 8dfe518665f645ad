/* dl4.h: deep-learning layers for any language. The whole interface of libdl4; there is nothing else to include.
 *
 * Copyright the libdl4 authors. SPDX-License-Identifier: Apache-2.0
 *
 * libdl4 builds, trains, runs and saves neural networks with the names, defaults and meaning of Keras 3 (channels last,
 * float32). A layer, loss, optimizer or metric is a registered kind, named as in Keras ("Dense", "Adam"), with Keras's
 * configuration keys as attributes; dl4_registry_json() describes every kind. A whole program is capi/examples/xor.c;
 * the guide (share/doc/dl4/guide, sources in capi/guide/pages) explains and has more.
 *
 * ---- Letters of shapes ----------------------------------------------------------------------------------------
 *
 *   B batch (samples)      T time steps (Tq of a query, Tv of a value)      F features of a step or of a sample
 *   H W C height, width and channels of an image      U units of a layer      V ids      N any other count
 *   Dimensions are int64_t; -1 in a symbolic shape is free, decided by the data of each run. Tensors are row-major.
 *
 * ---- Rules that hold everywhere -------------------------------------------------------------------------------
 *
 * Errors     A function that can fail returns dl4_error *: NULL is success, anything else is an object that the caller
 *            releases. Any of them can give DL4_INVALID_ARGUMENT (NULL, unusable handle, value out of range),
 *            DL4_OUT_OF_MEMORY or DL4_INTERNAL; other codes are listed after "Errors:". On failure every out pointer
 *            is NULL, every out id -1, every out count 0, no object is changed. Others give 0 or NULL for a bad handle.
 * Ownership  Out pointers are new references, freed with dl4_release() in any order. Strings and dims that are returned
 *            live as long as their object. Arrays and strings passed in are read during the call only. "Keeps:" lists
 *            what is kept longer, "Takes:" what the library takes ownership of. Once `user` is no longer kept,
 *            release(user) is called, if given; after a failed call it is not.
 * NULL       Only what is listed after "May be NULL:" and, everywhere: a dl4_context * (the default context of the
 *            process, made at first use); options, config, call, refs (none); cancel; user; release; count; an error;
 *            the object of dl4_retain() and dl4_release(); the name of a graph's layer; an array whose count is 0.
 * Options    The text of a JSON object (RFC 8259, UTF-8). An unknown or repeated key, a wrong type or a value out of
 *            range is refused by the key. A float may be an int, never the other way. A kind is a string ("Adam") or an
 *            object {"class_name": ..., "config": {...}}, as in Keras.
 * Threads    Any, at once, unless "Threads:" says otherwise; at "one at a time" a second caller gets DL4_BUSY.
 * Callbacks  They run on the thread that made the call. A C++ exception out of one is DL4_CALLBACK_FAILED with its
 *            what(); out of a dl4_release_fn, dl4_free_fn or dl4_log_fn it is dropped. One that ends its thread unwinds
 *            the call; nothing is promised of the objects of that call. longjmp out of one is not allowed.
 * Since      Everything is here since 1.0 unless it says otherwise.
 * Guarantees The guide's guarantees.md: limits, memory, the host's state, the same bits, atomic files, the stack. No
 *            function aborts, exits, throws, raises a signal or prints unasked. 1.x runs programs linked to 1.0. */
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
 * Parameters are int32_t. Numbers are never changed or reused; new ones are appended. */

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

/* Types of data. Values in a graph are float32, int32, int64, uint8, bool or string; float64 is for tensors only.
 * Strings are taken by StringLookup, TextVectorization, Hashing, HashedCrossing, StringConcat, StringCase, StringSplit,
 * Cast, Equal and NotEqual, and by layers that move elements, as Take and Concatenate. */
enum {
  DL4_FLOAT32 = 1,
  DL4_FLOAT64 = 2,
  DL4_INT32 = 3,
  DL4_INT64 = 4,
  DL4_UINT8 = 5,
  DL4_BOOL = 6,     /* one byte, 0 or 1 */
  DL4_FLOAT16 = 7,  /* reserved: refused with DL4_UNSUPPORTED */
  DL4_BFLOAT16 = 8, /* reserved: refused with DL4_UNSUPPORTED */
  DL4_STRING = 9    /* bytes, UTF-8 by convention; may contain NUL */
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

/* A log message, UTF-8 and valid during the call, delivered on the caller's thread before its call returns. */
typedef void (*dl4_log_fn)(void *user, int32_t level, const char *message);

/* Progress of dl4_trainer_fit(). At DL4_BATCH_END and DL4_EPOCH_END metrics [N] holds the means over the epoch so far,
 * in the order of the trainer's ports DL4_METRICS; at DL4_EPOCH_END those of validation follow. Return DL4_CONTINUE;
 * DL4_STOP to end the fit successfully after this epoch's validation; anything else to fail. Inside, only reading
 * calls, dl4_trainer_save(), dl4_cancel_trigger(), dl4_trainer_get_number()/dl4_trainer_set_number() of that trainer
 * and dl4_model_set_weight() of its model are allowed, also on another thread while the callback waits for it. */
typedef int32_t (*dl4_progress_fn)(void *user, int32_t event, int64_t step, int64_t total, const double *metrics,
                                   int64_t n_metrics);

/* Asks for batch `index`, from 0 in each epoch. Put new references, for the library, into x [nx], y [ny] and w [nw], or
 * leave w NULL. Return DL4_CONTINUE: here is a batch, DL4_STOP: the epoch is over, anything else: failed. */
typedef int32_t (*dl4_batch_fn)(void *user, int64_t index, dl4_tensor **x, int64_t nx, dl4_tensor **y, int64_t ny,
                                dl4_tensor **w, int64_t nw);

/* Sums `values` [n], DL4_FLOAT32 or DL4_INT32, in place over all workers, to the same bits on each; all call it in the
 * same order with the same n. Returns DL4_CONTINUE; any other number is a failure, after which it is not called again.
 * The error explains two of errno's: -EPIPE, a worker left; -ETIMEDOUT, a worker did not arrive in time. */
typedef int32_t (*dl4_reduce_fn)(void *user, void *values, int64_t n, int32_t dtype);

/* Called once when the library no longer needs `user`, on the thread that dropped the last reference. */
typedef void (*dl4_release_fn)(void *user);

/* Allocates memory; align is a power of two. NULL means out of memory. Called on any thread of the program. */
typedef void *(*dl4_alloc_fn)(void *user, int64_t bytes, int64_t align);

/* Frees memory of a dl4_alloc_fn. Called on any thread of the program. */
typedef void (*dl4_free_fn)(void *user, void *p, int64_t bytes);

/* The three functions of a custom kind (dl4_registry_add). `config` is the kind's attribute of that name, "" by
 * default. They run on the thread that made the call, at once on several threads where these run sessions. Inside, only
 * calls on the tensors given are allowed, which are dense and valid during the call; sources must not be written to.
 * Return 0; any other number is a failure, as of dl4_progress_fn. */

/* Shapes of outputs and weights for sources of the shapes ranks [n_src] and dims, concatenated; -1 is free. Set
 * out_ranks [n_out] and out_dims [n_out, DL4_MAX_RANK]: of each output, then of each weight. */
typedef int32_t (*dl4_shape_fn)(void *user, const char *config, const int32_t *ranks, const int64_t *dims,
                                int64_t n_src, int32_t *out_ranks, int64_t *out_dims, int64_t n_out);

/* Computes dst [n_dst], float32, NULL if not needed, from src [n_src]: inputs and weights, or y_true and y_pred. */
typedef int32_t (*dl4_forward_fn)(void *user, const char *config, dl4_tensor *const *src, int64_t n_src,
                                  dl4_tensor *const *dst, int64_t n_dst);

/* Computes every element of diff_src [n_src], the gradients with respect to src, from those with respect to dst,
 * diff_dst [n_dst]. A diff_src that is not needed, or whose src is not float32, is NULL. */
typedef int32_t (*dl4_backward_fn)(void *user, const char *config, dl4_tensor *const *src, int64_t n_src,
                                   dl4_tensor *const *dst, dl4_tensor *const *diff_dst, int64_t n_dst,
                                   dl4_tensor *const *diff_src);

/* Changes the logits [B, V] of the next ids in place, before dl4_stream_next() draws: an id of -infinity (of
 * probabilities: 0) is never drawn. Inside, only calls on this tensor are allowed. Return 0; any other number fails. */
typedef int32_t (*dl4_logits_fn)(void *user, dl4_tensor *logits);

/* ---- Library ---------------------------------------------------------------------------------------------------- */

/* The version of the library as one number: 1002003 is 1.2.3. */
DL4_API int32_t dl4_version(void);

/* Gives the build's properties as JSON: version, compiler, backends ("full": with OpenBLAS and oneDNN, their versions
 * and why one is not used; "own"), CPU features, threads ("many", "one"), names of all "kernels" and "passes", and the
 * "tuning" that holds for contexts without one. */
DL4_API DL4_CHECKED dl4_error *dl4_build_info(dl4_blob **out);

/* Gives this interface as JSON, for generators of bindings: functions, parameters, constants, callbacks, options. */
DL4_API DL4_CHECKED dl4_error *dl4_api_description(dl4_blob **out);

/* Describes kinds as JSON: {category: {name: {...}}}, with attributes, inputs, outputs, weights and the order of
 * Keras's arguments; capi/bindings/README.md lists all members. Categories are "layer", "activation", "initializer",
 * "loss", "metric", "optimizer", ...; NULL means all of them, and a NULL name all kinds of the category.
 * May be NULL: category, name.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name), DL4_UNSUPPORTED (name: only Keras has it). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_json(const char *category, const char *name, dl4_blob **out);

/* Checks the attributes of a kind, whose text is config, and makes nothing. A layer has those of every layer too.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name, config), DL4_UNSUPPORTED (name, config), DL4_VERSION. */
DL4_API DL4_CHECKED dl4_error *dl4_registry_check(const char *category, const char *name, const char *config);

/* Adds a custom kind, computed by your functions: a layer, a loss (with the metric that is its mean) or a metric, used
 * in every context and saved by name. The name has 1 to 256 bytes and is no built-in kind's, "Input" or "Constant"; an
 * added kind of that name is replaced for objects created later. Its attributes are "config", a string for your
 * functions, of a layer with weights "initializer", of a loss "reduction". A loss or metric gives one value per item.
 * Options:
 *   doc       string  what the kind does, for readers of the registry
 *   outputs   int     outputs of a layer; default 1
 *   weights   strings names of a layer's weights
 *   direction string  of a metric: "up" if greater values are better, "down"; default null: unknown to callbacks
 * May be NULL: shape (every output has the shape of the last source), backward (it can't be trained through).
 * Keeps: shape, forward, backward, user, release (until the kind is removed or replaced and all made of it is gone). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_add(const char *category, const char *name, const char *options,
                                                dl4_shape_fn shape, dl4_forward_fn forward, dl4_backward_fn backward,
                                                void *user, dl4_release_fn release);

/* Removes a kind of dl4_registry_add(), a loss with its metric. Models go on with it; graphs, copies and files do not.
 * Errors: DL4_NOT_FOUND (category), DL4_UNKNOWN_KIND (name: no such kind was added). */
DL4_API DL4_CHECKED dl4_error *dl4_registry_remove(const char *category, const char *name);

/* ---- Every object ----------------------------------------------------------------------------------------------- */

/* Adds a reference to an object of any type. */
DL4_API void dl4_retain(void *object);

/* Drops a reference to an object of any type; the last one frees it. Legal in a finalizer.
 * Takes: object. */
DL4_API void dl4_release(void *object);

/* Describes an object: format 0 JSON, with the members in "describe" of dl4_api_description(), 1 text for people
 * (graph, model: Keras's summary; session, trainer: Program, Plan, times), 2 a DOT drawing (graph, model).
 * Threads: as for reading that object.
 * Errors: DL4_UNSUPPORTED (that format of that object), DL4_BUSY (a model: a trainer is at work on its weights). */
DL4_API DL4_CHECKED dl4_error *dl4_describe(const void *object, int32_t format, dl4_blob **out);

/* ---- Ports ------------------------------------------------------------------------------------------------------
 * The inputs and outputs of a model, a session or a stream, the weights of a model (in Keras's order), and the metrics
 * of a trainer, float64 of rank 0, the loss first. `which` is DL4_INPUTS, DL4_OUTPUTS, DL4_WEIGHTS or DL4_METRICS; `i`
 * counts from 0. A session's ports include gradients and states; a stream's are those of its model. */

/* The number of ports; 0 of an object that has none of them. */
DL4_API int64_t dl4_port_count(const void *object, int32_t which);

/* The name of a port; NULL past the end. Those of gradients are "cotangent of y" and "gradient of x". */
DL4_API const char *dl4_port_name(const void *object, int32_t which, int64_t i);

/* The type of data of a port, one of the constants above; 0 past the end. */
DL4_API int32_t dl4_port_dtype(const void *object, int32_t which, int64_t i);

/* The shape of a port: its rank, and its first dimensions up to `cap` into dims; -1 is free. */
DL4_API DL4_CHECKED dl4_error *dl4_port_shape(const void *object, int32_t which, int64_t i, int64_t *dims, int64_t cap,
                                              int32_t *rank);

/* ---- Errors and blobs ------------------------------------------------------------------------------------------- */

/* The code of an error, one of the constants above; 0 for NULL. */
DL4_API int32_t dl4_error_code(const dl4_error *error);

/* One line for people, control characters escaped: who, what was expected, what came, "did you mean". "" for NULL. */
DL4_API const char *dl4_error_message(const dl4_error *error);

/* The same as JSON: strings function and, where known, layer, attribute, argument, expected, got, did_you_mean. */
DL4_API const char *dl4_error_detail(const dl4_error *error);

/* The bytes of a blob. A NUL follows the last one, so text can be used as it is. */
DL4_API const char *dl4_blob_data(const dl4_blob *blob);

/* The number of bytes in a blob, without the NUL. */
DL4_API int64_t dl4_blob_size(const dl4_blob *blob);

/* ---- Context ----------------------------------------------------------------------------------------------------
 * Threads, seed, memory and logger of everything made in it. */

/* Makes a context.
 * Options:
 *   threads          int     threads that work on one run, the caller's included; default: the cores of this process
 *   seed             int     start of all random numbers; default 0
 *   seed_scheme      string  "dl4" (default): random numbers follow from the seed and the layer's name; "tensorflow":
 *                            from the seed and the order of creation, as after tf.random.set_seed(seed)
 *   reproducible     string  "threads" (default): same bits for the same `threads`; "strict": for any number;
 *                            "portable": on every processor with AVX2 or NEON (else DL4_UNSUPPORTED) too
 *   math             string  "float32" (default), or "float32x3": large products are sums of three bfloat16 products,
 *                            except in streams; needs AMX (else DL4_UNSUPPORTED), refused with "portable"
 *   emulate_bfloat16 bool    train "mixed_bfloat16" without AVX512_BF16 too; default false: DL4_UNSUPPORTED
 *   memory_limit     int     bytes for one load, model, trainer or plan; default: half the memory, for a load less
 *   step_limit       int     steps of all loops of one run, else DL4_UNSUPPORTED; default 100,000,000
 *   passes_off       strings optimization passes to skip, for experiments: "passes" of dl4_build_info()
 *   kernels_off      strings kernels never to choose, for experiments: "kernels" of dl4_build_info()
 *   tuning           string  a file that `dl4 tune` wrote on this machine, or its text: kernels are chosen by it; bits
 *                            may change as by `threads`. DL4_UNSUPPORTED: of another processor or version, "portable"
 *   arena_fill_nan   bool    fill working memory with NaN before each run, for tests
 *   log_level        string  "trace", "debug", "info", "warning", "error", "off"; default "off", "info" with `log_to`
 *   log_to           string  "stderr" (default), or a file to append to, one for each process; failure is DL4_IO */
DL4_API DL4_CHECKED dl4_error *dl4_context_create(const char *options, dl4_context **out);

/* Sets the seed of a context, for graphs made from now on, as Keras's set_random_seed() does. */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_seed(dl4_context *context, int64_t seed);

/* Sets the logger of a context, beside log_to: `fn`, or NULL for none, gets messages from `min_level` up.
 * May be NULL: fn.
 * Keeps: fn, user (until another logger is set or the context is freed). */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_logger(dl4_context *context, int32_t min_level, dl4_log_fn fn,
                                                      void *user);

/* Sets the allocator for this context's dl4_tensor_create(), outputs that the library makes and the working memory of
 * runs; both NULL: the system's, the default. Memory allocated before is freed by the allocator that gave it.
 * May be NULL: alloc.
 * Keeps: alloc, release, user (until all objects of the context are freed). */
DL4_API DL4_CHECKED dl4_error *dl4_context_set_allocator(dl4_context *context, dl4_alloc_fn alloc, dl4_free_fn release,
                                                         void *user);

/* Returns memory to the system that is kept only for speed: of idle runs, of large released tensors (at most 64 MiB in
 * the process), plans not in use and the code that oneDNN generated for them. */
DL4_API DL4_CHECKED dl4_error *dl4_context_trim(dl4_context *context);

/* ---- Attributes -------------------------------------------------------------------------------------------------
 * A config, the attributes of a kind, is the text of a JSON object, as are the arguments of a layer's call; a Keras
 * layer's config is valid. A dl4_refs, which is copied, has models and nodes by key.
 * Threads: one at a time per object. */

/* Makes an empty dl4_refs. */
DL4_API DL4_CHECKED dl4_error *dl4_refs_create(dl4_refs **out);

/* Sets a model as the value of a config's key, which the config's text leaves out: "model" of a layer Functional, or a
 * path to it, "cell/config/model". The weights, "<layer>/<layer>/<weight>", are shared by both models; files and copies
 * of the outer model contain the inner one. Setting a key again replaces its model. See the guide's layers/nested.md.
 * Keeps: model (a reference to its core: it may be released). */
DL4_API DL4_CHECKED dl4_error *dl4_refs_set_model(dl4_refs *refs, const char *key, const dl4_model *model);

/* Sets n nodes as an argument of a call, such as mask or initial_state, in place of earlier ones; -1: none. */
DL4_API DL4_CHECKED dl4_error *dl4_refs_set_nodes(dl4_refs *refs, const char *key, const dl4_node *nodes, int64_t n);

/* ---- Tensors ----------------------------------------------------------------------------------------------------
 * Numbers with a type and a shape [dims], which never change. Synchronise writes to the elements yourself. */

/* Makes a tensor filled with zeros.
 * Errors: DL4_UNSUPPORTED (dtype). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_create(dl4_context *context, int32_t dtype, int32_t rank, const int64_t *dims,
                                                 dl4_tensor **out);

/* Makes a tensor over the caller's memory, without a copy. data [bytes] is aligned for its type; nothing outside is
 * accessed. strides [rank] counts elements; NULL means dense row-major.
 * May be NULL: strides, data (when bytes is 0).
 * Keeps: data, release, user (until the last reference is gone).
 * Errors: DL4_SHAPE_MISMATCH (the shape does not fit into bytes), DL4_UNSUPPORTED (dtype). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_wrap(dl4_context *context, int32_t dtype, int32_t rank, const int64_t *dims,
                                               const int64_t *strides, void *data, int64_t bytes,
                                               dl4_release_fn release, void *user, dl4_tensor **out);

/* Makes a tensor of a DLPack tensor on the CPU, without a copy. versioned: 1 of a DLManagedTensorVersioned *, else 0.
 * Takes: managed (on success; its deleter is called with the last reference).
 * Errors: DL4_UNSUPPORTED (device, type of data or version). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_from_dlpack(dl4_context *context, int32_t versioned, void *managed,
                                                      dl4_tensor **out);

/* Makes a DLPack tensor that shares a tensor's memory; free it by its deleter, on any thread. versioned: as above.
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

/* Loads a tensor from a regular file of NumPy: from .npz the array of that name, from .npy the only one. float16
 * becomes float32, other integers the next larger type, column-major arrays row-major.
 * May be NULL: name (of .npy).
 * Errors: DL4_NOT_FOUND (path, name), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_UNSUPPORTED (path). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_load(dl4_context *context, const char *path, const char *name,
                                               dl4_tensor **out);

/* Saves a tensor as a .npy file, atomically, which numpy.load() reads. The path ends in .npy or has no suffix.
 * Errors: DL4_IO (path), DL4_UNSUPPORTED (path: another suffix). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_save(const dl4_tensor *tensor, const char *path);

/* Makes a tensor with a copy of strings. lengths [elements]: bytes; NULL: they end with NUL. Empty ones may be NULL.
 * Tensors of strings are dense and read-only. Their elements are not contiguous: dl4_tensor_data() is NULL, and
 * dl4_tensor_copy_in(), dl4_tensor_copy_out() and DLPack are refused. A run returns strings in new tensors.
 * May be NULL: context, dims (when rank is 0), strings (when there are no elements), lengths.
 * Errors: DL4_OUT_OF_MEMORY (memory_limit). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_from_strings(dl4_context *context, int32_t rank, const int64_t *dims,
                                                       const char *const *strings, const int64_t *lengths,
                                                       dl4_tensor **out);

/* Makes a tensor of strings over the caller's memory, without a copy, in Arrow's layout: element i is the bytes of data
 * [bytes] from offsets[i] to offsets[i + 1]. offset_dtype: DL4_INT32 or DL4_INT64, of offsets [elements + 1], not kept.
 * May be NULL: context, dims (when rank is 0), data (when bytes is 0), release, user.
 * Keeps: data, release, user (until the last reference is gone; then release(user) is called, but not on failure).
 * Errors: DL4_SHAPE_MISMATCH (offsets that decrease, or leave the bytes), DL4_OUT_OF_MEMORY (memory_limit). */
DL4_API DL4_CHECKED dl4_error *dl4_tensor_wrap_strings(dl4_context *context, int32_t rank, const int64_t *dims,
                                                       int32_t offset_dtype, const void *offsets, const void *data,
                                                       int64_t bytes, dl4_release_fn release, void *user,
                                                       dl4_tensor **out);

/* String i of a tensor in row-major order, and the number of its bytes. Valid as long as the tensor; not terminated by
 * NUL. NULL if i is out of range or the tensor holds numbers. */
DL4_API const char *dl4_tensor_string(const dl4_tensor *tensor, int64_t i, int64_t *bytes);

/* The type of data, one of the constants above. */
DL4_API int32_t dl4_tensor_dtype(const dl4_tensor *tensor);

/* The number of dimensions. */
DL4_API int32_t dl4_tensor_rank(const dl4_tensor *tensor);

/* The dimensions [rank]. */
DL4_API const int64_t *dl4_tensor_dims(const dl4_tensor *tensor);

/* The strides [rank], in elements. */
DL4_API const int64_t *dl4_tensor_strides(const dl4_tensor *tensor);

/* The first element; NULL if there is none, or for strings. Not to be written if it came read-only by DLPack. */
DL4_API void *dl4_tensor_data(const dl4_tensor *tensor);

/* The number of bytes of all elements laid out densely; for strings, the sum of their bytes. */
DL4_API int64_t dl4_tensor_bytes(const dl4_tensor *tensor);

/* ---- Graphs -----------------------------------------------------------------------------------------------------
 * The functional style of Keras: inputs, then layers called on symbolic values. Shapes are checked at the call. A NULL
 * name means Keras's automatic name ("dense_1"). Nodes and layers are ids in their graph. The layers Loss {"loss":
 * "Huber"} and Metric {"metric": "accuracy"} are called on y_true, y_pred and, if wanted, sample weights.
 * Threads: one at a time per graph. */

/* Makes an empty graph. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_create(dl4_context *context, dl4_graph **out);

/* Adds an input. dims [rank] includes the batch axis; -1 is free.
 * Errors: DL4_UNSUPPORTED (float64 and the reserved types). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_input(dl4_graph *graph, const char *name, int32_t dtype, int32_t rank,
                                                   const int64_t *dims, dl4_node *out);

/* Adds a value that never changes.
 * Errors: DL4_UNSUPPORTED (value). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_constant(dl4_graph *graph, const char *name, dl4_tensor *value,
                                                      dl4_node *out);

/* Adds a layer without calling it; its calls share its weights. refs has models for config.
 * Errors: DL4_UNKNOWN_KIND (kind, config), DL4_UNSUPPORTED (config), DL4_VERSION (config), DL4_BUSY (refs). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_layer(dl4_graph *graph, const char *kind, const char *name,
                                                   const char *config, const dl4_refs *refs, dl4_layer *out);

/* Adds a layer of another graph, where it has been called, with its weights. A NULL name: its name there.
 * Errors: DL4_BUSY (from). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_shared(dl4_graph *graph, dl4_graph *from, dl4_layer layer,
                                                    const char *name, dl4_layer *out);

/* Calls a layer on in [n_in] and gives its first n_out outputs. call and refs are the call arguments of Keras: flags
 * such as use_causal_mask or training (true, false, null) in the text `call`, nodes such as mask in refs.
 * Errors: DL4_SHAPE_MISMATCH (in, call, refs), DL4_UNSUPPORTED (in, call, refs). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_call(dl4_graph *graph, dl4_layer layer, const char *call, const dl4_refs *refs,
                                              const dl4_node *in, int64_t n_in, dl4_node *out, int64_t n_out);

/* Adds a layer and calls it once: dl4_graph_add_layer() and dl4_graph_call(). refs has models and nodes.
 * Errors: DL4_UNKNOWN_KIND (kind, config), DL4_SHAPE_MISMATCH (in, call, refs), DL4_UNSUPPORTED (config, in, call,
 * refs), DL4_VERSION (config), DL4_BUSY (refs: a trainer is at work on a model's weights). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add(dl4_graph *graph, const char *kind, const char *name, const char *config,
                                             const char *call, const dl4_refs *refs, const dl4_node *in, int64_t n_in,
                                             dl4_node *out, int64_t n_out);

/* Adds all layers and calls of an architecture in JSON, of dl4_describe(graph or model, 0) or of Keras's
 * model.to_json(). Its "inputs" and "outputs" become those of the graph: build it with n_in = 0 and n_out = 0.
 * Errors: DL4_UNKNOWN_KIND (json), DL4_SHAPE_MISMATCH (json), DL4_UNSUPPORTED (json), DL4_VERSION (json). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_json(dl4_graph *graph, const char *json);

/* The shape of a node: its rank, and its first dimensions up to `cap` into dims; -1 is free. */
DL4_API DL4_CHECKED dl4_error *dl4_node_shape(const dl4_graph *graph, dl4_node node, int64_t *dims, int64_t cap,
                                              int32_t *rank);

/* All outputs of the call that gave a node: how many there are, and the first `cap` of them into out. */
DL4_API DL4_CHECKED dl4_error *dl4_node_outputs(const dl4_graph *graph, dl4_node node, dl4_node *out, int64_t cap,
                                                int64_t *count);

/* The type of data of a node, one of the constants above. */
DL4_API DL4_CHECKED dl4_error *dl4_node_dtype(const dl4_graph *graph, dl4_node node, int32_t *out);

/* Adds the mask of a node: bool, with the first axes of the node; -1 if it has none. As the layer GetMask. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_mask(dl4_graph *graph, dl4_node node, dl4_node *out);

/* Adds the value of a weight, "<layer>/<weight>", after the assignments added so far. As the layer Weight.
 * Errors: DL4_NOT_FOUND (weight). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_weight(dl4_graph *graph, const char *weight, dl4_node *out);

/* Adds the gradients of targets [n_targets], float32, summed over the targets, with respect to the nodes by [n_by],
 * values or weights; the first n_out of them into out, in the order and shapes of `by`. Of a weight it is summed over
 * all values that it has had so far. config: of the layer Gradients: "sum" (false: refuses targets of several numbers)
 * and "unconnected" ("zeros" or "refused"). output_gradients [n_targets]: in the targets' shapes; -1 means ones.
 * May be NULL: output_gradients (ones for all).
 * Errors: DL4_SHAPE_MISMATCH (targets, output_gradients), DL4_UNSUPPORTED (an op without gradient). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_gradients(dl4_graph *graph, const char *config, const dl4_node *targets,
                                                       int64_t n_targets, const dl4_node *output_gradients,
                                                       const dl4_node *by, int64_t n_by, dl4_node *out, int64_t n_out);

/* Adds an assignment of a value to `weight`, a node of dl4_graph_add_weight() or of a layer Weight, of the same type
 * and shape; no gradient passes. Calls added later read the new value, `out`; after the run every model with the weight
 * has it. A model makes only the assignments that its outputs need (dl4_graph_add_after()). config: of the layer
 * Assign: "operation" ("assign", "assign_add" or "assign_sub").
 * Errors: DL4_SHAPE_MISMATCH (value). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_assign(dl4_graph *graph, const char *config, dl4_node weight,
                                                    dl4_node value, dl4_node *out);

/* Adds one update of an optimizer: assigns new values to weights [n_weights], nodes as above, by as many gradients
 * [n_gradients], and applies their constraints. `out` is the number of updates so far, int64. The state is weights of
 * this layer: "<name>/iterations", "<name>/learning_rate", "<name>/<slot>/<weight>". config: of the layer
 * ApplyGradients: "optimizer" and "exclude_from_weight_decay", as for a trainer. learning_rate: a node, or -1.
 * Errors: DL4_UNKNOWN_KIND (config), DL4_SHAPE_MISMATCH (gradients, learning_rate), DL4_UNSUPPORTED (config). */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_update(dl4_graph *graph, const char *name, const char *config,
                                                    dl4_node learning_rate, const dl4_node *weights, int64_t n_weights,
                                                    const dl4_node *gradients, int64_t n_gradients, dl4_node *out);

/* Adds the value of a node computed after the nodes others [n_others], such as assignments that no output reads. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_add_after(dl4_graph *graph, dl4_node node, const dl4_node *others,
                                                   int64_t n_others, dl4_node *out);

/* Makes a model of the calls between in [n_in] and out [n_out], and initialises its weights. n_in = n_out = 0: the
 * inputs and outputs of dl4_graph_add_json(). Models of one graph share weights; the graph may be extended afterwards.
 * Errors: DL4_SHAPE_MISMATCH. */
DL4_API DL4_CHECKED dl4_error *dl4_graph_build(dl4_graph *graph, const dl4_node *in, int64_t n_in, const dl4_node *out,
                                               int64_t n_out, dl4_model **model);

/* ---- Models -----------------------------------------------------------------------------------------------------
 * An architecture and its weights, "<layer>/<weight>": dense/kernel, lstm/recurrent_kernel.
 * Threads: readers at once; a writer (dl4_model_set_weight, a trainer) alone. Models of one graph count as one. */

/* Loads a model from a regular file, recognised by its content: native (safetensors with this library's header),
 * .keras, .h5 of a whole model of Keras 1 to 3, or ONNX of opsets 1 to 28. An unsupported layer, node or op is refused
 * by name. Everything computes in float32; a file of Keras keeps what it was compiled with. See the guide's files.
 * Options:
 *   verify        bool compare the CRC-32 of a native file's or a .keras's header and tensors; default true
 *   external_data bool read tensors of an ONNX model from other files in its folder; default true
 *   weights       bool false: read only the architecture, with weights of zeros; default true
 *   quantize      kind as Keras's quantize(): "int8", "int4", "int4/128", "int4/-1", or an object with "mode",
 *                      "layers", "value_range", "epsilon"; default null
 *   merge_lora    bool make LoRA products part of the kernels, which are trained again; default false
 * Errors: DL4_NOT_FOUND (path), DL4_IO (path), DL4_CORRUPT_FILE (path), DL4_VERSION (path), DL4_UNKNOWN_KIND (path),
 * DL4_UNSUPPORTED (path). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load(dl4_context *context, const char *path, const char *options,
                                              dl4_model **out);

/* Loads a model from the bytes of such a file, a tensor of uint8 [bytes]; options as for dl4_model_load(). The weights
 * of a native file are used in place if `file` is dense and aligned for floats, and copied before they are written. The
 * bytes must not change, nor a mapped file be truncated, while anything uses the model.
 * Keeps: file (by the model, and what is made of it).
 * Errors: DL4_CORRUPT_FILE (file), DL4_VERSION (file), DL4_UNKNOWN_KIND (file), DL4_UNSUPPORTED (file). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load_bytes(dl4_context *context, const dl4_tensor *file, const char *options,
                                                    dl4_model **out);

/* Sets the weights of a model, all or none, from a regular file, recognised by its content: a native model; Keras's
 * .weights.h5, .keras or .h5 of the same layers; or a safetensors file or .npz with tensors by the weights' names, of
 * any type. Sessions and trainers behave as after dl4_model_set_weight().
 * Options:
 *   verify  bool   as for dl4_model_load()
 *   partial bool   of tensors by name: others stay as they are; default false: the file has all, and nothing else
 *   names   object for each weight its name in the file, or how it is made (the guide's files/weights.md)
 * Errors: DL4_NOT_FOUND (path; a weight or name is missing), DL4_SHAPE_MISMATCH (a weight's shape), DL4_IO (path),
 * DL4_CORRUPT_FILE (path), DL4_VERSION (path), DL4_UNSUPPORTED (path; options), DL4_BUSY (a trainer is at work). */
DL4_API DL4_CHECKED dl4_error *dl4_model_load_weights(dl4_model *model, const char *path, const char *options);

/* Saves a model to a file, atomically.
 * Options:
 *   format string "auto" (default): by the suffix of the path, "native" without one and in memory. "native":
 *                 .safetensors or .dl4; "keras": .keras; "weights.h5": .weights.h5; "npz": .npz, the weights by name;
 *                 "onnx": .onnx of opset 20. An explicit format takes any path
 * Errors: DL4_IO (path), DL4_UNSUPPORTED (a layer that Keras or ONNX lacks, in its format; path: another suffix). */
DL4_API DL4_CHECKED dl4_error *dl4_model_save(const dl4_model *model, const char *path, const char *options);

/* Saves a model to memory: the bytes that dl4_model_save() would write; options as for it. */
DL4_API DL4_CHECKED dl4_error *dl4_model_save_bytes(const dl4_model *model, const char *options, dl4_blob **out);

/* Makes a copy with weights of its own. */
DL4_API DL4_CHECKED dl4_error *dl4_model_clone(const dl4_model *model, dl4_model **out);

/* Whether gradients change a weight in training, 1 or 0: 0 if frozen or only written, as a moving mean is.
 * Errors: DL4_NOT_FOUND (name). */
DL4_API DL4_CHECKED dl4_error *dl4_model_get_trainable(const dl4_model *model, const char *name, int32_t *out);

/* Makes a copy of a weight; "*" gives one flat block [N] of all trainable weights, in their order.
 * Errors: DL4_NOT_FOUND (name), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_get_weight(const dl4_model *model, const char *name, dl4_tensor **out);

/* Sets a weight to a copy of a tensor; "*" sets all trainable weights, from one flat block [N]. Existing sessions keep
 * their weights; a trainer continues from the new ones with its optimizer's slots.
 * Errors: DL4_NOT_FOUND (name), DL4_SHAPE_MISMATCH (value), DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_set_weight(dl4_model *model, const char *name, const dl4_tensor *value);

/* Freezes (0) or unfreezes a layer's weights, one weight, or all ("*"). A trainer follows at its next step: a weight
 * that was frozen loses its slots and accumulated gradients. A frozen moving mean stays as it is; a BatchNormalization
 * whose weights are all frozen runs in inference mode. Files keep the setting.
 * Errors: DL4_NOT_FOUND, DL4_BUSY (a trainer is at work on them). */
DL4_API DL4_CHECKED dl4_error *dl4_model_set_trainable(dl4_model *model, const char *name, int32_t trainable);

/* Compares gradients of a model's outputs, at in [n_in], for random cotangents, with finite differences. Gives JSON: by
 * float32 input and weight "elements", "checked", "largest_gradient", "error" and its element "worst".
 * Options:
 *   samples  int   elements of each input and weight that are varied; default 20
 *   step     float by how much, relative to the element's magnitude if that is over 1; default 0.005
 *   training bool  run in training mode, with the same dropout each time; default false
 *   seed     int   of the cotangents and of the choice of elements; default 0
 * Blocks: for its runs, four for each element that is varied.
 * Errors: DL4_SHAPE_MISMATCH (in), DL4_UNSUPPORTED (model: a layer that has no gradient). */
DL4_API DL4_CHECKED dl4_error *dl4_model_check_gradients(const dl4_model *model, dl4_tensor *const *in, int64_t n_in,
                                                         const char *options, dl4_blob **out);

/* ---- Sessions ---------------------------------------------------------------------------------------------------
 * A model made ready to run, with the weights it had at that moment. Immutable. The first run with new shapes makes a
 * plan. NaN and infinity propagate as in the arithmetic, but for Winograd's convolution (the guide's precision.md). */

/* Makes a session. Inputs and outputs are those of the model, then those that options add, in this order:
 * - states: of each recurrent layer that is called without initial_state, the initial states ("lstm/rnn_state", and
 *   with a mask the last output, "rnn_output") are inputs and the final ones outputs.
 * - cotangents: one input for each float32 output, in its shape, which weights it in the sum below.
 * - gradients: of the sum of the float32 outputs with respect to each input or weight named, in its shape, as outputs.
 * A run of a model that assigns weights (dl4_graph_add_assign()) reads and writes the current ones, on one thread at a
 * time, while no other call uses them (else DL4_BUSY). Options by how a session runs:
 *                               training  gradients  cotangents  states  streamable  weights
 *   as a whole                  yes       yes        yes         yes     yes         yes
 *   a model that assigns        yes       no         no          no      no          no
 *   a model that computes sizes yes       yes        no          no      no          yes
 *   "streamable"                no        no         no          no      yes         yes
 * Options:
 *   training   bool    run in training mode: dropout draws new numbers in each run; default false
 *   gradients  strings names of inputs and weights; of equal names the input is meant; default none
 *   cotangents bool    take cotangents of the outputs; default false
 *   states     bool    add the states of recurrent layers to the inputs and outputs; default false
 *   streamable bool    allow streams, and take sequences [B, T, ...] as a new stream would, to the bit; default false
 *   cache      int     steps of keys and values that causal attention keeps for a stream; default 0: none
 *   cache_full string  beyond that: "refuse" (default) fails the run, "slide" drops the oldest step
 *   profile    bool    keep times per step for dl4_describe(); default false
 *   weights    string  of constant weights, where not slower: "float32" (default), "bfloat16", "int8" or "int4"
 * Errors: DL4_NOT_FOUND (options), DL4_UNSUPPORTED (an op without gradient; an option; a layer can't stream). */
DL4_API DL4_CHECKED dl4_error *dl4_session_create(const dl4_model *model, const char *options, dl4_session **out);

/* Gives the shape of output `i` for inputs of the shapes ranks [n_in] and in_dims, concatenated, without a run.
 * May be NULL: ranks (when n_in is 0), in_dims (when all ranks are 0).
 * Errors: DL4_SHAPE_MISMATCH (ranks, in_dims), DL4_UNSUPPORTED (the shape depends on numbers that a run computes). */
DL4_API DL4_CHECKED dl4_error *dl4_session_output_shape(const dl4_session *session, const int32_t *ranks,
                                                        const int64_t *in_dims, int64_t n_in, int64_t i, int64_t *dims,
                                                        int64_t cap, int32_t *rank);

/* Runs a model: in [n_in] and out [n_out] are all of the session's inputs and outputs. A slot of out that is NULL gets
 * a new tensor; a tensor in a slot is written in place. It must have the right shape and type, be dense, and overlap no
 * dense input and no other output. On failure NULL slots stay so, and your tensors may be partly written.
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (an output that is not dense), DL4_CANCELLED (cancel),
 * DL4_INVALID_ARGUMENT (session: a weight in int8 or int4 is NaN, infinite, or beyond 1e30). */
DL4_API DL4_CHECKED dl4_error *dl4_session_run(dl4_session *session, dl4_tensor *const *in, int64_t n_in,
                                               dl4_tensor **out, int64_t n_out, dl4_cancel *cancel);

/* Runs a model over a whole dataset, in order, without targets and weights, and joins the outputs [B, ...] along their
 * first axis. out [n_out] as in dl4_session_run(). Only for a session that runs "as a whole" and gives no strings.
 * Errors: DL4_SHAPE_MISMATCH (dataset, out), DL4_UNSUPPORTED, DL4_CANCELLED, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_session_predict(dl4_session *session, dl4_dataset *dataset, dl4_cancel *cancel,
                                                   dl4_tensor **out, int64_t n_out);

/* ---- Streams ----------------------------------------------------------------------------------------------------
 * Run a session on sequences that arrive one or several steps at a time, and keep what later steps depend on. Any
 * division into calls gives the same bits. An output step comes as soon as no later input can change it; a stream may
 * take several steps at a time, and remaining steps wait for the next call (dl4_describe() of the session, "stream").
 * Threads: one at a time per stream. */

/* Makes a stream at the beginning of a sequence, with states of zeros, of a session with "states" or "streamable".
 * Inputs with a free second axis, [B, T, ...], are sequences; others are the same for all steps. Layers that need later
 * steps are refused by name (the guide's running/streams.md); causal attention needs a "cache" or a window.
 * Options:
 *   batch int B, sequences that run in parallel; default 1
 *   seed  int of the generator that dl4_stream_next() draws from; default 0
 * Errors: DL4_UNSUPPORTED (session: the message names the layer), DL4_SHAPE_MISMATCH (options). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_create(dl4_session *session, const char *options, dl4_stream **out);

/* Runs the next T steps: in [n_in] and out [n_out] are the model's inputs and outputs, as in dl4_session_run(). Every
 * sequence has T steps, at least 1; the outputs have the steps that these complete, possibly none. Outputs without a
 * time axis are those of the last step so far, NaN (integers: 0) before the first. At a masked step the previous output
 * is repeated, also across runs. On failure the stream is unchanged.
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (out; more steps than "cache"), DL4_CANCELLED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_stream_run(dl4_stream *stream, dl4_tensor *const *in, int64_t n_in, dl4_tensor **out,
                                              int64_t n_out, dl4_cancel *cancel);

/* Runs the next steps of n streams of one session, each of batch 1. in [n_in] and out [n_out] are those of a stream of
 * batch n, [n, T, ...]: row i is that of streams[i], which takes the first steps[i] of the T steps, 0 to T; the rest of
 * its outputs is 0. A stream's bits do not depend on others, but differ from dl4_stream_run()'s. Failures change none.
 * May be NULL: steps (all take T).
 * Errors: DL4_SHAPE_MISMATCH (in, out), DL4_UNSUPPORTED (streams: of another batch; an output that is not dense; more
 * steps than the session's "cache"), DL4_CANCELLED (cancel), DL4_BUSY (streams). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_run_many(dl4_stream *const *streams, int64_t n, const int64_t *steps,
                                                   dl4_tensor *const *in, int64_t n_in, dl4_tensor **out, int64_t n_out,
                                                   dl4_cancel *cancel);

/* Runs the next steps, as dl4_stream_run() does, and draws the next id of each of the B sequences: ids [n], n is B. The
 * model has one output, float32 [B, V] or [B, T, V]: the logits of V ids, of which the last step is used. They are
 * passed to `logits`, then an id is drawn in proportion to exp(logit / temperature). A sequence that has drawn an id of
 * "stop" gets that id until it is reset. On failure the stream and its generator are unchanged.
 * Options:
 *   temperature float below 1 likely ids become likelier; 0 takes the likeliest, of equals the lowest id; default 1
 *   top_k       int   draw among the k likeliest ids only; default 0: all
 *   top_p       float and among the fewest likeliest ids whose probabilities sum to p; default 1
 *   stop        ints  ids that end a sequence; default none
 *   from_logits bool  false: the output holds probabilities; default true
 * May be NULL: logits.
 * Errors: DL4_SHAPE_MISMATCH (in), DL4_UNSUPPORTED (stream: its outputs are not logits), DL4_NUMERIC (a logit is NaN or
 * infinity), DL4_CALLBACK_FAILED (logits), DL4_CANCELLED (cancel), DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_next(dl4_stream *stream, dl4_tensor *const *in, int64_t n_in,
                                               const char *options, dl4_logits_fn logits, void *user, int64_t *ids,
                                               int64_t n, dl4_cancel *cancel);

/* Makes a second stream that continues from here, with the same states and a copy of the generator. The memory of the
 * states is shared until one of them runs, is reset or is loaded.
 * Options:
 *   seed int new seed of the copy's generator; default: the copy draws what the original draws
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_fork(const dl4_stream *stream, const char *options, dl4_stream **out);

/* Restarts a stream: states and generator are those of a new one.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_reset(dl4_stream *stream);

/* Restarts one of its sequences, 0 <= row < B; the others continue.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_reset_row(dl4_stream *stream, int64_t row);

/* Saves the states of a stream to memory: by name, as a safetensors file, the same bytes for the same state.
 * Errors: DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_save_bytes(const dl4_stream *stream, dl4_blob **out);

/* Sets the states of a stream to those saved from one of the same model and batch: what follows has the same bits.
 * Errors: DL4_NOT_FOUND, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_BUSY (stream). */
DL4_API DL4_CHECKED dl4_error *dl4_stream_load_bytes(dl4_stream *stream, const void *data, int64_t bytes);

/* ---- Losses and metrics ------------------------------------------------------------------------------------------ */

/* Computes a loss or metric of two tensors, as a trainer reports it. category is "loss" or "metric", kind its name,
 * config its attributes. y_true and y_pred are [B, ...]; w, sample weights, has their first axes. out is one float32, a
 * value for each item for a loss of reduction "none", or all numbers of a metric.
 * May be NULL: w.
 * Blocks: for the computation.
 * Errors: DL4_UNKNOWN_KIND (kind, config), DL4_SHAPE_MISMATCH (y_true, y_pred, w), DL4_UNSUPPORTED (float64). */
DL4_API DL4_CHECKED dl4_error *dl4_measure(dl4_context *context, const char *category, const char *kind,
                                           const char *config, dl4_tensor *y_true, dl4_tensor *y_pred, dl4_tensor *w,
                                           dl4_tensor **out);

/* ---- Datasets ---------------------------------------------------------------------------------------------------
 * Batches of inputs x, targets y and sample weights w, one tensor for each input of the model or output with a target.
 * Threads: one at a time. */

/* Makes a dataset of whole tensors, each [B, ...] with the same B. w has [B] or [B, T], or NULL, for each target.
 * Options:
 *   batch_size     int  default 32; the last batch may be shorter. null: each step gets one row, without the batch axis
 *   shuffle        bool a new order in each epoch of dl4_trainer_fit(); default true
 *   seed           int  of the shuffling; default 0
 *   drop_remainder bool skip a shorter last batch; default false
 * Keeps: x, y, w (references to the tensors; of one that is not dense row-major a copy, made here).
 * Errors: DL4_SHAPE_MISMATCH (x, y, w). */
DL4_API DL4_CHECKED dl4_error *dl4_dataset_from_tensors(dl4_context *context, dl4_tensor *const *x, int64_t nx,
                                                        dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w,
                                                        int64_t nw, const char *options, dl4_dataset **out);

/* Makes a dataset of batches that a callback returns one by one.
 * Options:
 *   steps   int  batches of an epoch, if known; else the callback ends the epoch
 *   samples bool each call gives one sample of any numbers of rows, without the batch axis; default false
 * Keeps: fn, user, release (until the last reference is gone). */
DL4_API DL4_CHECKED dl4_error *dl4_dataset_from_callback(dl4_context *context, dl4_batch_fn fn, void *user,
                                                         dl4_release_fn release, const char *options,
                                                         dl4_dataset **out);

/* ---- Adapting ---------------------------------------------------------------------------------------------------
 * Layers for texts and tables learn from data before a model is trained, like Keras's adapt(): a vocabulary, limits of
 * bins, or mean and variance.
 * Threads: one at a time per dataset. */

/* Reads the inputs of a dataset once, in order, and gives the config of a layer that has learned from them, as JSON for
 * dl4_graph_add(). Each batch has one input. kind is "StringLookup", "IntegerLookup", "TextVectorization",
 * "Discretization" or "Normalization"; config has the attributes that are not learned. Batches are not kept: memory
 * grows with the distinct tokens only.
 * May be NULL: context, config, cancel.
 * Blocks: until the last batch.
 * Errors: DL4_UNKNOWN_KIND (kind), DL4_UNSUPPORTED (a kind that learns nothing), DL4_SHAPE_MISMATCH (data),
 * DL4_OUT_OF_MEMORY (memory_limit), DL4_CALLBACK_FAILED, DL4_CANCELLED, DL4_BUSY (data). */
DL4_API DL4_CHECKED dl4_error *dl4_adapt(dl4_context *context, const char *kind, const char *config, dl4_dataset *data,
                                         dl4_cancel *cancel, dl4_blob **out);

/* ---- Training ---------------------------------------------------------------------------------------------------
 * A step is all or nothing: forward, loss, gradients, update. The loss is the first metric; ports DL4_METRICS name all,
 * at most 4096. Products of layers with "dtype": "mixed_bfloat16" round their operands to bfloat16 (the guide's
 * training/fit.md), which needs AVX512_BF16 or the context's "emulate_bfloat16" (else DL4_UNSUPPORTED).
 * Threads: one at a time per trainer. */

/* Makes a trainer of a model, which it changes.
 * Options:
 *   optimizer        kind         required: "SGD", "Adam", ... or an object with settings; "learning_rate" may be a
 *                                 schedule
 *   loss             kind or list one for each output; null: no loss on that output; "output": its mean is the loss,
 *                                 without a target
 *   loss_weights     floats       one for each output; default 1, null too
 *   metrics          list         of kinds, or one list of kinds for each output, null for none: ["accuracy"]
 *   weighted_metrics list         the same, with sample weights
 *   output_names     strings      of all outputs, in options, metrics and history; default the names of their layers
 *   nan_guard        string       "loss" (default), "gradients", "off": a step that finds NaN or infinity fails with
 *                                 DL4_NUMERIC
 *   exclude_from_weight_decay strings weights, by name ("dense/bias") or a part of its end ("bias"); each must mean one
 *   profile          bool         keep times per step for dl4_describe(); default false
 *   shards           int          a power of two: parts of a batch, whose gradients are summed as a tree, for the same
 *                                 bits on any number of workers that divides it; default 8 for "strict" workers, else 1
 * Options with a value for each output may be an object by output names: {"loss": {"a": "mse", "b": null}}.
 * May be NULL: options (for a model loaded from a file of Keras: what it was compiled with).
 * Keeps: model (a reference).
 * Errors: DL4_UNKNOWN_KIND, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_VERSION, DL4_BUSY (the model has a trainer). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_create(dl4_model *model, const char *options, dl4_trainer **out);

/* Trains on one batch: x [nx] inputs, y [ny] targets, w [nw] sample weights (nw = 0: none; an element may be NULL). A
 * target without axes applies to every prediction. Its metrics go into metrics [cap]; count is their number.
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_step(dl4_trainer *trainer, dl4_tensor *const *x, int64_t nx,
                                                dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w, int64_t nw,
                                                double *metrics, int64_t cap, int64_t *count);

/* Adds the gradients of one batch to the accumulated ones, and changes no weight; parameters as in dl4_trainer_step().
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_accumulate(dl4_trainer *trainer, dl4_tensor *const *x, int64_t nx,
                                                      dl4_tensor *const *y, int64_t ny, dl4_tensor *const *w,
                                                      int64_t nw, double *metrics, int64_t cap, int64_t *count);

/* Updates the weights by the mean of the gradients accumulated since the last update, then clears them.
 * Errors: DL4_INVALID_ARGUMENT (nothing accumulated), DL4_NUMERIC, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_apply(dl4_trainer *trainer);

/* Makes a copy of the accumulated mean gradient, before clipping: of one weight, or with "*" one flat block [N] of all.
 * Errors: DL4_NOT_FOUND, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_get_gradient(const dl4_trainer *trainer, const char *weight,
                                                        dl4_tensor **out);

/* Sets the mean gradient of one weight, or with "*" of all from one flat block [N]. Where nothing was accumulated, the
 * rest is zero and counts as one batch, as does a whole block.
 * Errors: DL4_NOT_FOUND, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_gradient(dl4_trainer *trainer, const char *weight,
                                                        const dl4_tensor *value);

/* Adds to the mean gradient of one weight, or with "*" of all from one flat block [N], as above.
 * Errors: DL4_NOT_FOUND, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_add_gradient(dl4_trainer *trainer, const char *weight,
                                                        const dl4_tensor *value);

/* Clears the gradients accumulated since the last update.
 * Errors: DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_zero_gradients(dl4_trainer *trainer);

/* Trains for some epochs, and validates after each on `valid`. history is JSON, a list per name: {"epoch": [0, 1],
 * "loss": [...], "val_loss": [...], ...}. A fit starts at initial_epoch, or resumes one in mid-epoch, with its history
 * and callbacks, on the same data. After DL4_CANCELLED or a failure of `callbacks` it can be resumed.
 * Options:
 *   epochs           int    the last epoch, counted from 1, at most 2^53 - 1; default 1
 *   initial_epoch    int    epochs already done, at most 2^53 - 1; default 0
 *   resume           bool   continue the last fit; default: whether a checkpoint taken in mid-fit was loaded, or the
 *                           place set
 *   validation_split float  the fraction of `train`, from its end and before shuffling, to validate on; default 0
 *   validation_freq  int    validate after epochs n, 2n, ..., counted from 1; default 1
 *   average          bool   at the end averages of an optimizer with use_ema replace the weights; default true
 *   class_weight     floats weights by class, 1 past the end. One target: [B], [B, 1] or one-hot [B, C], unweighted
 *   callbacks        list   of kinds, called in this order and before `fn`: "EarlyStopping", "ModelCheckpoint", ...
 * May be NULL: valid, fn, history.
 * Errors: DL4_CANCELLED, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_NUMERIC, DL4_IO, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_fit(dl4_trainer *trainer, dl4_dataset *train, dl4_dataset *valid,
                                               const char *options, dl4_progress_fn fn, void *user, dl4_cancel *cancel,
                                               dl4_blob **history);

/* Computes loss and metrics over a whole dataset, as in inference: metrics [cap], count as in dl4_trainer_step().
 * Errors: DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_CANCELLED, DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_evaluate(dl4_trainer *trainer, dl4_dataset *dataset, dl4_cancel *cancel,
                                                    double *metrics, int64_t cap, int64_t *count);

/* Reads a number of the trainer: "learning_rate", "iterations" (updates), "epoch" (of the fit), "batch" (of the epoch).
 * Errors: DL4_NOT_FOUND. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_get_number(const dl4_trainer *trainer, const char *key, double *out);

/* Sets "learning_rate", unless it has a schedule, or where the next fit resumes: "epoch" (and "batch" 0), "batch".
 * Errors: DL4_NOT_FOUND, DL4_BUSY ("epoch" and "batch": a fit is under way). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_number(dl4_trainer *trainer, const char *key, double value);

/* Trains together with other processes from now on: `size` of them, of which this one is `rank`. Each worker makes this
 * call, then the same calls at the same time; all start with the state of rank 0. x, y and w of a call are this
 * worker's part of the global batch; a dataset of tensors has all rows on each. A call that fails, stops or is
 * cancelled on one worker does so on all. fn NULL: trains alone again. See the guide's training/workers.md.
 * May be NULL: fn (when size is 1).
 * Keeps: fn, user, release (until this call is made again or the trainer is freed).
 * Blocks: until all workers have made it.
 * Errors: DL4_UNSUPPORTED (stateful layers; at the first step what joins samples), DL4_CALLBACK_FAILED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_set_workers(dl4_trainer *trainer, int64_t rank, int64_t size,
                                                       dl4_reduce_fn fn, void *user, dl4_release_fn release);

/* Saves a checkpoint, atomically: model, optimizer, counters, random state, place in the epoch. A path that ends in
 * .keras gets what Keras saves of a compiled model; others end in .safetensors, .dl4 or .checkpoint or have no suffix.
 * Errors: DL4_IO, DL4_BUSY, DL4_UNSUPPORTED (path: another suffix; what .keras cannot express). */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_save(const dl4_trainer *trainer, const char *path);

/* Saves a checkpoint to memory: the bytes that dl4_trainer_save() would write.
 * Errors: DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_save_bytes(const dl4_trainer *trainer, dl4_blob **out);

/* Loads a checkpoint from a regular file into a trainer of the same model, options and trainable weights; training
 * continues bit for bit. Of .keras or .h5 of Keras 3, the weights and the optimizer's state are loaded.
 * Errors: DL4_NOT_FOUND, DL4_IO, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_UNSUPPORTED, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_load(dl4_trainer *trainer, const char *path);

/* Loads a checkpoint from the bytes of such a file.
 * Errors: DL4_NOT_FOUND, DL4_CORRUPT_FILE, DL4_VERSION, DL4_SHAPE_MISMATCH, DL4_BUSY. */
DL4_API DL4_CHECKED dl4_error *dl4_trainer_load_bytes(dl4_trainer *trainer, const void *data, int64_t bytes);

/* ---- Cancel ----------------------------------------------------------------------------------------------------- */

/* Makes a cancel flag, for any number of calls. Once triggered it stays so. */
DL4_API DL4_CHECKED dl4_error *dl4_cancel_create(dl4_cancel **out);

/* Asks all calls with this flag to stop. They look at it at least every 100 ms, except within one product, convolution,
 * sort or callback; a training step that has begun to change weights is completed. Legal in a signal handler. */
DL4_API void dl4_cancel_trigger(dl4_cancel *cancel);

/* 1 if the flag was triggered, else 0. */
DL4_API int32_t dl4_cancel_triggered(const dl4_cancel *cancel);

#ifdef __cplusplus
}
#endif

#endif /* DL4_DL4_H */
