# Graphs, models, sessions, data and training: objects of the library with methods by `$`, as in other languages.

methods_ <- list() # functions by name, by type of object; their first argument is the object

`$.dl4_object` <- function(x, name) {
  method <- methods_[[sub("^dl4_", "", class(x)[[1]])]][[name]]
  if (is.null(method)) method <- methods_$object[[name]]
  if (is.null(method)) refuse(paste0("a ", sub("^dl4_", "", class(x)[[1]]), " has no ", name))
  function(...) method(x, ...)
}

.DollarNames.dl4_object <- function(x, pattern = "") {
  all <- c(names(methods_[[sub("^dl4_", "", class(x)[[1]])]]), names(methods_$object))
  grep(pattern, all, value = TRUE)
}

# Releases the object now, not when R collects it. Others may be closed in any order.
close.dl4_object <- function(con, ...) invisible(.Call(dl4_r_close, con))

print.dl4_object <- function(x, ...) {
  cat("<", class(x)[[1]], ">\n", sep = "")
  invisible(x)
}

methods_$object <- list(
  close = function(self) close(self),
  # As "json", "text" or, of graphs and models, "dot".
  describe = function(self, format = "text") {
    number <- library_$constants[[paste0("DL4_FORMAT_", toupper(format))]]
    if (is.null(number)) refuse(paste("expected the format json, text or dot, got", format))
    text_of(made("dl4_describe", self, number))
  }
)

# Kinds with their attributes, as lists; NULL means all.
registry <- function(category = NULL, name = NULL) {
  fromJSON(text_of(made("dl4_registry_json", category, name)), simplifyVector = FALSE)
}

context <- function(...) made("dl4_context_create", options_text(list(...)))
methods_$context <- list(
  set_seed = function(self, seed) invisible(call_("dl4_context_set_seed", self, seed)),
  trim = function(self) invisible(call_("dl4_context_trim", self))
)

cancel <- function() made("dl4_cancel_create")
methods_$cancel <- list(
  trigger = function(self) invisible(call_("dl4_cancel_trigger", self)),
  triggered = function(self) call_("dl4_cancel_triggered", self)$.value != 0
)

# ---- Tensors --------------------------------------------------------------------------------------------------------

number_of <- function(dtype) {
  if (!dtype %in% names(library_$dtypes)) refuse(paste("expected a type of data such as float32, got", dtype))
  library_$dtypes[[dtype]]
}

# A copy of an array; a vector has one axis. R's doubles become float32 if no other type is asked for.
tensor <- function(x, dtype = NULL, shape = NULL, context = NULL) {
  if (inherits(x, "dl4_tensor")) return(x)
  if (!is.numeric(x) && !is.logical(x) && !is.character(x)) {
    refuse(paste("expected an array of numbers, truths or texts, got", class(x)[[1]]))
  }
  if (is.null(dtype)) {
    dtype <- c(double = "float32", integer = "int32", logical = "bool", character = "string")[[typeof(x)]]
  }
  if (is.character(x) != identical(dtype, "string")) refuse(paste("expected values of type", dtype, "got", typeof(x)))
  dims <- if (!is.null(shape)) shape else if (is.null(dim(x))) length(x) else dim(x)
  t <- if (dtype != "string") made("dl4_tensor_create", context, number_of(dtype), length(dims), dims)
  # R's arrays are column-major; values with a shape are row-major already.
  values <- if (is.null(shape) && length(dim(x)) > 1) aperm(x) else x
  if (!isTRUE(length(values) == prod(dims))) {
    refuse(paste("expected", prod(dims), "elements, got", length(values)), "DL4_SHAPE_MISMATCH")
  }
  if (dtype == "string") {
    if (anyNA(values)) refuse(paste("expected texts, got NA at", which(is.na(values))[[1]], "in the order of rows"))
    return(made("dl4_tensor_from_strings", context, length(dims), dims, values, NULL)) # in R none has a NUL
  }
  .Call(dl4_r_write, t, dtype, as.double(values))
  t
}

dtype <- function(x) names(which(library_$dtypes == call_("dl4_tensor_dtype", x)$.value))
dim.dl4_tensor <- function(x) .Call(dl4_r_dims, x)
as.array.dl4_tensor <- function(x, ...) {
  dims <- dim(x)
  type <- dtype(x)
  values <- if (type == "string") .Call(dl4_r_strings, x, prod(dims)) else .Call(dl4_r_read, x, type, prod(dims))
  bad <- if (type == "string") which(!validUTF8(values))
  if (length(bad)) Encoding(values[bad]) <- "bytes"
  if (type == "bool") values <- values != 0
  if (!length(dims)) return(values)
  a <- array(values, rev(dims))
  if (length(dims) > 1) aperm(a) else a
}
methods_$tensor <- list(
  copy = function(self) made("dl4_tensor_clone", self)
)

tensors <- function(x) { # one or a list, arrays among them
  if (is.null(x)) return(NULL)
  if (!is.list(x)) x <- list(x)
  lapply(x, function(t) if (is.null(t)) NULL else tensor(t))
}

one_or_all <- function(list) if (length(list) == 1) list[[1]] else list

# Arrays into the tensors that the library lends; what is not needed has none.
fill <- function(what, tensors, values) {
  if (!is.list(values)) values <- list(values)
  if (length(values) != length(tensors)) {
    refuse(sprintf("%s: expected %d arrays, got %d", what, length(tensors), length(values)))
  }
  for (i in which(!vapply(tensors, is.null, NA))) {
    v <- values[[i]]
    wanted <- dim(tensors[[i]])
    if (!is.numeric(v) || length(v) != prod(wanted)) {
      message <- sprintf("%s: array %d: expected %g numbers, got %d", what, i, prod(wanted), length(v))
      refuse(message, "DL4_SHAPE_MISMATCH")
    }
    .Call(dl4_r_write, tensors[[i]], dtype(tensors[[i]]), as.double(if (length(dim(v)) > 1) aperm(v) else v))
  }
}

# A loss or metric of whole arrays. R matches a name given to one that it begins: where the attributes of a kind are
# arguments, here and at layers, all others have a dot in front, as no attribute has.
measure <- function(.category, .kind, .y_true, .y_pred, .weights = NULL, ...) {
  w <- if (!is.null(.weights)) tensor(.weights)
  made("dl4_measure", NULL, .category, .kind, options_text(list(...)), tensor(.y_true), tensor(.y_pred), w)
}

# ---- Graphs ---------------------------------------------------------------------------------------------------------

graph <- function(context = NULL) made("dl4_graph_create", context)
methods_$graph <- list(
  merge_json = function(self, text) invisible(call_("dl4_graph_add_json", self, text)),
  # The value of a weight, "<layer>/<weight>": what it holds where this stands among the assignments.
  weight = function(self, name) node(self, call_("dl4_graph_add_weight", self, name, 0L)$out),
  # Of targets by each of some nodes, a list; attributes by name. .output_gradients: one for each target, NULL for ones.
  gradients = function(self, .targets, .by, ..., .output_gradients = NULL) {
    y <- as_nodes(.targets)
    x <- as_nodes(.by)
    n <- length(x)
    dy <- if (!is.null(.output_gradients)) ids(.output_gradients, self)
    if (!is.null(dy) && length(dy) != length(y)) {
      refuse(paste("expected", length(y), "output gradients, got", length(dy)))
    }
    found <- call_("dl4_graph_add_gradients", self, options_text(list(...)), ids(y, self), length(y), dy, ids(x, self),
                   n, integer(n), n)$out
    lapply(found, function(id) node(self, id))
  },
  # Sets a weight, a node of $weight or of a layer Weight, in each run; the new value. operation = "assign_add", ...
  assign = function(self, .weight, .value, ...) {
    both <- ids(list(.weight, .value), self)
    node(self, call_("dl4_graph_add_assign", self, options_text(list(...)), both[[1]], both[[2]], 0L)$out)
  },
  # One update in each run of the attribute optimizer, of weights by as many gradients; the number of updates so far.
  # .learning_rate: a node in place of the optimizer's own.
  update = function(self, .weights, .gradients, ..., .learning_rate = NULL) {
    w <- as_nodes(.weights)
    g <- as_nodes(.gradients)
    rate <- ids(list(.learning_rate), self)
    node(self, call_("dl4_graph_add_update", self, NULL, options_text(list(...)), rate, ids(w, self), length(w),
                     ids(g, self), length(g), 0L)$out)
  },
  # The value of a node, in a model that makes the assignments `others` too.
  after = function(self, x, others) {
    others <- as_nodes(others)
    node(self, call_("dl4_graph_add_after", self, ids(x, self), ids(others, self), length(others), 0L)$out)
  }
)

node <- function(graph, id) structure(list(graph = graph, id = as.integer(id)), class = "dl4_node")

print.dl4_node <- function(x, ...) {
  cat("<dl4_node ", x$id, ": ", paste(node_shape(x), collapse = " x "), ">\n", sep = "")
  invisible(x)
}

# An input; the shape has the batch axis, and NA where an axis is free.
input <- function(graph, shape, dtype = "float32", name = NULL) {
  shape[is.na(shape)] <- -1
  node(graph, call_("dl4_graph_add_input", graph, name, number_of(dtype), length(shape), shape, 0L)$out)
}

constant <- function(graph, value, name = NULL) {
  node(graph, call_("dl4_graph_add_constant", graph, name, tensor(value), 0L)$out)
}

node_shape <- function(node) {
  all <- call_("dl4_node_shape", node$graph, node$id, numeric(library_$constants$DL4_MAX_RANK), library_$constants$DL4_MAX_RANK, 0L)
  shape <- all$dims[seq_len(all$rank)]
  replace(shape, shape < 0, NA)
}

node_mask <- function(node) {
  id <- call_("dl4_graph_add_mask", node$graph, node$id, 0L)$out
  if (id >= 0) node(node$graph, id)
}

# All outputs of the call that gave a node, such as a sequence and states.
outputs <- function(node) {
  n <- call_("dl4_node_outputs", node$graph, node$id, NULL, 0, 0)$count
  lapply(call_("dl4_node_outputs", node$graph, node$id, integer(n), n, 0)$out, function(id) node(node$graph, id))
}

# A layer is a function of nodes and, by name, of its kind's arguments of calls; each call shares its weights.
layer <- function(.graph, .kind, ...) {
  config <- with_refs(list(...))
  id <- call_("dl4_graph_add_layer", .graph, .kind, NULL, config[[1]], config[[2]], 0L)$out
  structure(class = "dl4_layer", function(.inputs, ...) {
    inputs <- as_nodes(.inputs)
    call <- with_refs(list(...))
    n <- length(inputs)
    node(.graph, call_("dl4_graph_call", .graph, id, call[[1]], call[[2]], ids(inputs, .graph), n, 0L, 1)$out)
  })
}

print.dl4_layer <- function(x, ...) {
  cat("<dl4_layer>\n")
  invisible(x)
}

# layers$Dense(x, units = 8): a function for each kind of layer, filled from the registry when the package is loaded.
layers <- structure(new.env(), class = "dl4_layers")

`$.dl4_layers` <- function(x, name) {
  if (!exists(name, x, inherits = FALSE)) layer(graph(), name)  # refused by the library, which knows what was meant
  get(name, x, inherits = FALSE)
}
`[[.dl4_layers` <- `$.dl4_layers`

layer_function <- function(kind, attributes) {
  f <- function() {
    given <- lapply(as.list(match.call())[-1], eval, parent.frame())
    inputs <- as_nodes(given[[".inputs"]])
    if (!length(inputs) || !all(vapply(inputs, is_node, NA))) {
      refuse(paste0(kind, ": expected a node or a list of nodes"))
    }
    add(inputs, kind, given[names(given) != ".inputs"])
  }
  formals(f) <- setNames(rep(list(quote(expr = )), length(attributes) + 1), c(".inputs", attributes))
  environment(f) <- list2env(list(kind = kind), parent = environment(layer))
  f
}

# Functions for kinds of the registry, which have the attributes of every layer too.
add_layers <- function(kinds) {
  every <- library_$every_layer$attributes
  for (kind in names(kinds)) {
    own <- vapply(c(kinds[[kind]]$attributes, every), `[[`, "", "name")
    assign(kind, layer_function(kind, unique(own)), layers)
  }
}

add <- function(inputs, kind, attributes) {
  g <- inputs[[1]]$graph
  config <- with_refs(attributes)
  n <- length(inputs)
  node(g, call_("dl4_graph_add", g, kind, NULL, config[[1]], NULL, config[[2]], ids(inputs, g), n, 0L, 1)$out)
}

# path.expand() alone would translate names to the locale's encoding.
file_name <- function(path) if (startsWith(path, "~")) path.expand(path) else path

# ---- Models and sessions --------------------------------------------------------------------------------------------

# A model of what lies between nodes of one graph; of a graph alone what its architecture says.
build <- function(inputs, outputs) {
  if (inherits(inputs, "dl4_graph")) return(made("dl4_graph_build", inputs, NULL, 0, NULL, 0))
  inputs <- as_nodes(inputs)
  outputs <- as_nodes(outputs)
  g <- inputs[[1]]$graph
  made("dl4_graph_build", g, ids(inputs, g), length(inputs), ids(outputs, g), length(outputs))
}

# From a path or from bytes.
load_model <- function(from, ..., context = NULL) {
  options <- options_text(list(...))
  if (is.raw(from)) {
    file <- made("dl4_tensor_create", NULL, number_of("uint8"), 1L, length(from))
    call_("dl4_tensor_copy_in", file, from, length(from))
    return(made("dl4_model_load_bytes", context, file, options))
  }
  made("dl4_model_load", context, file_name(from), options)
}

summary.dl4_model <- function(object, ...) {
  cat(object$describe("text"))
  invisible(object)
}

port_names <- function(self, which) {
  which <- library_$constants[[which]]
  n <- call_("dl4_port_count", self, which)$.value
  vapply(seq_len(n), function(i) call_("dl4_port_name", self, which, i - 1)$.value, "")
}

methods_$model <- list(
  save = function(self, path, ...) invisible(call_("dl4_model_save", self, file_name(path), options_text(list(...)))),
  bytes = function(self, ...) .Call(dl4_r_bytes, made("dl4_model_save_bytes", self, options_text(list(...)))),
  copy = function(self) made("dl4_model_clone", self),
  weights = function(self) port_names(self, "DL4_WEIGHTS"),
  weight = function(self, name) made("dl4_model_get_weight", self, name),
  set_weight = function(self, name, value) invisible(call_("dl4_model_set_weight", self, name, tensor(value))),
  set_trainable = function(self, name, value) invisible(call_("dl4_model_set_trainable", self, name, value))
)

session <- function(model, ...) made("dl4_session_create", model, options_text(list(...)))
outputs_of <- function(self) call_("dl4_port_count", self, 1L)$.value

run_ <- function(self, name, inputs, into, cancel) {
  x <- tensors(inputs)
  out <- if (is.null(into)) vector("list", outputs_of(self)) else tensors(into)
  call_(name, self, x, length(x), out, length(out), cancel)$out
}

methods_$session <- list(
  # Gives new tensors, or writes those of `into`; NULL among them gets a new one.
  run_tensors = function(self, inputs, into = NULL, cancel = NULL) {
    run_(self, "dl4_session_run", inputs, into, cancel)
  },
  # Gives an array, or of several outputs a list.
  run = function(self, inputs) one_or_all(lapply(self$run_tensors(inputs), as.array)),
  predict = function(self, data, cancel = NULL) {
    n <- outputs_of(self)
    call_("dl4_session_predict", self, data, cancel, vector("list", n), n)$out
  }
)

# A sequence that goes on, of a session with `states = TRUE`.
# Options: batch, seed.
stream <- function(session, ...) made("dl4_stream_create", session, options_text(list(...)))
# The next steps of many streams of one session in one call: row i is that of streams[[i]], which takes steps[i] of them.
run_many <- function(streams, inputs, steps = NULL) {
  if (!length(streams)) refuse("run_many: expected at least 1 stream, got 0")
  if (!is.null(steps) && length(steps) != length(streams)) {
    refuse(paste0("run_many: expected ", length(streams), " numbers of steps, got ", length(steps)))
  }
  x <- tensors(inputs)
  out <- vector("list", outputs_of(streams[[1]]))
  call <- call_("dl4_stream_run_many", streams, length(streams), steps, x, length(x), out, length(out), NULL)
  one_or_all(lapply(call$out, as.array))
}
methods_$stream <- list(
  run = function(self, inputs) {
    one_or_all(lapply(run_(self, "dl4_stream_run", inputs, NULL, NULL), as.array))
  },
  # Runs the next steps and draws the id that follows in each of n sequences, counted from 0. Options: temperature,
  # top_k, top_p, stop, from_logits. mask(logits) gives the array changed: what is -Inf is not drawn.
  next_id = function(self, inputs, ..., mask = NULL, n = 1) {
    x <- tensors(inputs)
    own <- guarded(function(lent) {
      fill("mask", list(lent), mask(as.array(lent)))
      0L
    })
    fn <- if (!is.null(mask)) "logits"
    call_("dl4_stream_next", self, x, length(x), options_text(list(...)), fn, own, numeric(n), n, NULL)$ids
  },
  fork = function(self, ...) made("dl4_stream_fork", self, options_text(list(...))),
  reset = function(self, row = NULL) {
    invisible(if (is.null(row)) call_("dl4_stream_reset", self) else call_("dl4_stream_reset_row", self, row - 1))
  },
  bytes = function(self) .Call(dl4_r_bytes, made("dl4_stream_save_bytes", self)),
  load = function(self, bytes) invisible(call_("dl4_stream_load_bytes", self, bytes, length(bytes)))
)

# ---- Data and training ----------------------------------------------------------------------------------------------

# Of whole arrays or tensors, or lists of them, with as many rows.
dataset <- function(x, y = NULL, w = NULL, ..., context = NULL) {
  x <- tensors(x)
  y <- tensors(y)
  w <- tensors(w)
  made("dl4_dataset_from_tensors", context, x, length(x), y, length(y), w, length(w), options_text(list(...)))
}

# Of batches that f(index) gives, index from 0 in each epoch: list(x = , y = , w = ), or NULL where the epoch ends.
batches <- function(f, ...) {
  answer <- guarded(function(index, counts) {
    batch <- f(index)
    if (is.null(batch)) return(1L)
    others <- setdiff(names(batch), c("x", "y", "w"))
    if (length(others)) refuse(sprintf("batch %g: expected x, y and w, got \"%s\"", index, others[[1]]))
    batch <- list(tensors(batch[["x"]]), tensors(batch[["y"]]), tensors(batch[["w"]]))
    got <- lengths(batch)
    if (any(got != counts & c(TRUE, TRUE, got[[3]] > 0))) {
      refuse(sprintf("batch %g: expected %g inputs, %g targets and 0 or %g sample weights, got %d, %d, %d",
                     index, counts[[1]], counts[[2]], counts[[3]], got[[1]], got[[2]], got[[3]]))
    }
    lapply(batch, as.list)
  })
  keeping(answer, made("dl4_dataset_from_callback", NULL, "batch", answer, "release", options_text(list(...))))
}

# The config of a layer that has learned from the inputs of a dataset, which is read once: a list, of a vocabulary, limits
# of bins, mean and variance. Attributes by name are those that are not learned.
adapt <- function(.kind, .data, ..., .context = NULL, .cancel = NULL) {
  fromJSON(text_of(made("dl4_adapt", .context, .kind, options_text(list(...)), .data, .cancel)), simplifyVector = FALSE)
}

trainer <- function(model, ...) made("dl4_trainer_create", model, options_text(list(...)))

names_of <- function(trainer) port_names(trainer, "DL4_METRICS")

on_batch <- function(self, name, x, y, w) {
  x <- tensors(x)
  y <- tensors(y)
  w <- tensors(w)
  names <- names_of(self)
  all <- call_(name, self, x, length(x), y, length(y), w, length(w), numeric(length(names)), length(names), 0)
  setNames(all$metrics, names)
}

# What a progress function answers.
CONTINUE <- 0L
STOP <- 1L

EVENTS <- c("train_begin", "epoch_begin", "batch_end", "epoch_end", "train_end")

methods_$trainer <- list(
  metric_names = names_of,
  # Trains for some epochs and gives the history, a vector for each name. progress(event, step, total, metrics) hears
  # how far it is and answers CONTINUE or STOP, which ends the fit. An interrupt does, too, within some batches.
  fit = function(self, train, valid = NULL, ..., progress = NULL, cancel = NULL) {
    heard <- guarded(function(event, step, total, metrics) {
      if (is.null(progress)) return(CONTINUE)
      answer <- progress(EVENTS[[event + 1]], step, total, metrics)
      if (is.null(answer)) return(CONTINUE)
      if (!identical(answer, STOP) && !identical(answer, CONTINUE)) {
        refuse(paste("progress: expected CONTINUE, STOP or NULL, got", format(answer)[[1]]))
      }
      answer
    })
    blob <- made("dl4_trainer_fit", self, train, valid, options_text(list(...)), "progress", heard, cancel)
    history <- fromJSON(text_of(blob), simplifyVector = FALSE)
    lapply(history, function(values) vapply(values, function(v) if (is.null(v)) NaN else as.numeric(v), 0))
  },
  evaluate = function(self, data, cancel = NULL) {
    names <- names_of(self)
    setNames(call_("dl4_trainer_evaluate", self, data, cancel, numeric(length(names)), length(names), 0)$metrics, names)
  },
  step = function(self, x, y, w = NULL) on_batch(self, "dl4_trainer_step", x, y, w),
  accumulate = function(self, x, y, w = NULL) on_batch(self, "dl4_trainer_accumulate", x, y, w),
  apply = function(self) invisible(call_("dl4_trainer_apply", self)),
  # Trains with size - 1 other workers from now on: each makes this call, with its rank, then the same calls at the
  # same time. reduce(values, dtype) gives the sums over all workers, the same on each, as doubles: int32 goes round
  # after that. NULL, with size 1, trains alone again.
  set_workers = function(self, rank, size, reduce = NULL) {
    if (is.null(reduce)) return(invisible(call_("dl4_trainer_set_workers", self, rank, size, NULL, NULL, NULL)))
    answer <- guarded(function(values, number) {
      dtype <- names(which(library_$dtypes == number))
      sums <- reduce(values, dtype)
      whole <- function(v) all(is.finite(v) & v == trunc(v) & abs(v) < 2^53)
      right <- is.numeric(sums) && length(sums) == length(values) && (dtype == "float32" || whole(sums))
      if (!right) refuse(sprintf("reduce: expected %d sums of type %s, got %d", length(values), dtype, length(sums)))
      list(as.double(sums))
    })
    keeping(answer, call_("dl4_trainer_set_workers", self, rank, size, "reduce", answer, "release"))
    invisible(self)
  },
  gradient = function(self, weight) made("dl4_trainer_get_gradient", self, weight),
  set_gradient = function(self, weight, value) {
    invisible(call_("dl4_trainer_set_gradient", self, weight, tensor(value)))
  },
  add_gradient = function(self, weight, value) {
    invisible(call_("dl4_trainer_add_gradient", self, weight, tensor(value)))
  },
  zero_gradients = function(self) invisible(call_("dl4_trainer_zero_gradients", self)),
  get = function(self, key) call_("dl4_trainer_get_number", self, key, 0)$out,
  set = function(self, key, value) invisible(call_("dl4_trainer_set_number", self, key, value)),
  save = function(self, path) invisible(call_("dl4_trainer_save", self, file_name(path))),
  bytes = function(self) .Call(dl4_r_bytes, made("dl4_trainer_save_bytes", self)),
  load = function(self, from) {
    if (is.raw(from)) call_("dl4_trainer_load_bytes", self, from, length(from))
    else call_("dl4_trainer_load", self, file_name(from))
    invisible(self)
  }
)

.onLoad <- function(libname, pkgname) {
  .Call(dl4_r_open, Sys.getenv("DL4_LIBRARY", "libdl4.so.1"), environment(.onLoad))
  describe_library()
  all <- registry("layer")
  library_$every_layer <- all$every_layer
  add_layers(all$layer)
}
