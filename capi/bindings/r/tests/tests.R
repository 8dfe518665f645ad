# What a binding must hold beside conformance.json: every function test_* is a test.
library(dl4)

equal <- function(got, want) {
  if (!isTRUE(all.equal(got, want, tolerance = 0))) stop("got ", deparse(got)[[1]], ", want ", deparse(want)[[1]])
}
ended <- function(expr) tryCatch({ force(expr); NULL }, condition = identity)
refused <- function(code, expr) {
  e <- tryCatch({ force(expr); NULL }, dl4_error = identity)
  if (!identical(e$code, code)) stop("want ", code, ", got ", e$code, ": ", conditionMessage(e))
  e
}

small <- function() {
  x <- input(graph(), c(NA, 4), name = "x")
  h <- layers$Dense(x, units = 5, activation = "tanh", name = "hidden")
  build(x, layers$Dense(h, units = 3, name = "y"))
}
line <- function(...) {
  n <- prod(...)
  array((seq_len(n) - 1) / n - 0.5, c(...))
}
data <- function() dataset(line(20, 4), line(20, 3), batch_size = 5)
training <- function() trainer(small(), optimizer = "sgd", loss = "mse")

test_arrays <- function() {
  a <- array(as.numeric(1:24), c(2, 3, 4))
  t <- tensor(a)
  equal(dim(t), c(2, 3, 4))
  equal(as.array(t), a)
  equal(dtype(t), "float32")
  row_major <- tensor(1:6, "float64", c(2, 3))
  equal(as.array(row_major), rbind(c(1, 2, 3), c(4, 5, 6)))
  equal(as.array(tensor(c(TRUE, FALSE))), array(c(TRUE, FALSE)))
  equal(as.array(tensor(c(2^40, -2^53), "int64")), array(c(2^40, -2^53)))
  equal(as.array(tensor(2.5, shape = numeric(0))), 2.5)
  equal(dim(as.array(tensor(array(0, c(0, 3))))), c(0L, 3L))
  equal(as.array(tensor(c(1, NA)))[[2]], NaN)
  equal(as.array(t$copy()), a)
}

test_arrays_are_refused <- function() {
  refused("DL4_INVALID_ARGUMENT", tensor(factor("a")))
  refused("DL4_INVALID_ARGUMENT", tensor(1, "float13"))
  refused("DL4_SHAPE_MISMATCH", tensor(1:3, shape = c(2, 2)))
  refused("DL4_INVALID_ARGUMENT", tensor(1:3, shape = NA))
  for (v in list(c(1.5, "int32"), c(NA, "int64"), c(256, "uint8"), c(2, "bool"), c(2^31, "int32"), c(2^63, "int64"))) {
    e <- refused("DL4_INVALID_ARGUMENT", tensor(as.numeric(v[[1]]), v[[2]]))
    equal(grepl(v[[2]], conditionMessage(e)), TRUE)
  }
}

test_errors_have_facts <- function() {
  x <- input(graph(), c(NA, 4))
  e <- refused("DL4_INVALID_ARGUMENT", layers$Dense(x, units = 0, name = "mine"))
  equal(c(e$layer, e$attribute, e$got), c("mine", "units", "0"))
  equal(refused("DL4_UNKNOWN_KIND", layer(x$graph, "Densee"))$did_you_mean, "Dense")
  refused("DL4_INVALID_ARGUMENT", layers$Dense(x, units = Inf))
  refused("DL4_INVALID_ARGUMENT", layers$Dense(x, units = sum))
  refused("DL4_INVALID_ARGUMENT", layers$Dense(4, units = 1))
  refused("DL4_INVALID_ARGUMENT", layer(x$graph, "Dense", 3))
  refused("DL4_INVALID_ARGUMENT", layer(x$graph, c("Dense", "LSTM")))
  equal(refused("DL4_INVALID_ARGUMENT", context(threads = 0))$attribute, "threads")
  refused("DL4_NOT_FOUND", load_model(tempfile()))
  refused("DL4_CORRUPT_FILE", load_model(raw(0)))
  refused("DL4_INVALID_ARGUMENT", small()$describe("pdf"))
  refused("DL4_INVALID_ARGUMENT", small()$speed())
  refused("DL4_INVALID_ARGUMENT", session(graph()))
}

test_closed_objects <- function() {
  m <- small()
  s <- session(m)
  close(m)
  close(m)
  equal(conditionMessage(refused("DL4_INVALID_ARGUMENT", m$weights())), "dl4: the model is closed")
  x <- tensor(line(2, 4))
  s$run(x) # it has what it needs
  x$close()
  refused("DL4_INVALID_ARGUMENT", s$run(x))
  refused("DL4_INVALID_ARGUMENT", dim(x))
}

test_layers <- function() {
  equal(names(formals(layers$Dense))[1:3], c(".inputs", "units", "activation"))
  g <- graph()
  words <- input(g, c(NA, NA), "int32")
  e <- layers$Embedding(words, input_dim = 5, output_dim = 3, mask_zero = TRUE)
  lstm <- layer(g, "LSTM", units = 4, return_state = TRUE)
  all <- outputs(lstm(e))
  equal(length(all), 3L)
  second <- lstm(e, initial_state = all[2:3], mask = node_mask(e))
  equal(node_shape(second), c(NA, 4))
  equal(node_mask(words), NULL)
  m <- build(words, layers$Add(list(second, constant(g, c(1, 2, 3, 4)))))
  equal(length(m$weights()), 4L)
  again <- graph()
  again$merge_json(m$describe("json"))
  equal(build(again)$weights(), m$weights())
  x <- input(graph(), c(NA, 4))
  both <- build(x, layers$Functional(x, model = small(), name = "inner"))
  equal(both$weights()[[1]], "inner/hidden/kernel")
}

test_nodes_of_another_graph_are_refused <- function() {
  g <- graph()
  x <- input(g, c(NA, 2))
  d <- layer(g, "Dense", units = 1, name = "d")
  y <- d(x)
  w <- g$weight("d/kernel")
  for (wrong in list(input(graph(), c(NA, 2)), 3)) {
    refused("DL4_INVALID_ARGUMENT", build(x, wrong))
    refused("DL4_INVALID_ARGUMENT", d(wrong))
    refused("DL4_INVALID_ARGUMENT", layers$Add(list(x, wrong)))
    refused("DL4_INVALID_ARGUMENT", g$gradients(wrong, w))
    refused("DL4_INVALID_ARGUMENT", g$gradients(y, wrong, sum = TRUE))
    refused("DL4_INVALID_ARGUMENT", g$gradients(y, w, sum = TRUE, .output_gradients = list(y, y)))
    refused("DL4_INVALID_ARGUMENT", g$assign(w, wrong))
    refused("DL4_INVALID_ARGUMENT", g$update(w, wrong, optimizer = "SGD"))
    refused("DL4_INVALID_ARGUMENT", g$after(y, wrong))
  }
}

test_models <- function() {
  m <- small()
  want <- session(m)$run(line(2, 4))
  path <- file.path(tempdir(), "\u043c\u043e\u0434\u0435\u043b\u044c.safetensors")
  m$save(path)
  for (again in list(load_model(path), load_model(m$bytes()), m$copy())) equal(session(again)$run(line(2, 4)), want)
  unlink(path)
  m$set_weight("y/bias", c(1, 2, 3))
  equal(as.array(m$weight("y/bias")), array(c(1, 2, 3)))
  s <- session(m, gradients = I("x"))
  equal(vapply(s$run(line(2, 4)), dim, c(0L, 0L)), cbind(c(2L, 3L), c(2L, 4L)))
  into <- tensor(line(2, 3))
  out <- s$run_tensors(line(2, 4), list(into, NULL))
  equal(as.array(into), s$run(line(2, 4))[[1]])
  equal(dim(out[[2]]), c(2, 4))
  equal(dim(session(m)$predict(dataset(line(5, 4)))[[1]]), c(5, 3))
  equal(as.array(measure("loss", "mse", line(4, 1), line(4, 1))), 0)
}

# A function that takes a kind's attributes has no name of its own that an attribute's is or begins.
test_attribute_names <- function() {
  scores <- rbind(c(0.1, 0.2, 0.7), c(0.1, 0.2, 0.7))
  truths <- rbind(c(0, 1, 0), c(1, 0, 0))
  equal(as.array(measure("metric", "TopKCategoricalAccuracy", truths, scores, k = 2)), 0.5)
  g <- graph()
  top <- layer(g, "TopK", k = 2)
  equal(node_shape(top(input(g, c(NA, 5)))), c(NA, 2))
  for (f in list(layer, top, measure)) equal(names(formals(f)), grep("^[.]", names(formals(f)), value = TRUE))
}

test_streams <- function() {
  x <- input(graph(), c(NA, NA, 3))
  m <- build(x, layers$LSTM(x, units = 2, return_sequences = TRUE))
  a <- line(1, 4, 3)
  stream <- stream(session(m, states = TRUE))
  all <- stream$run(a)
  stream$reset()
  stream$run(a[, 1:2, , drop = FALSE])
  place <- stream$bytes()
  equal(stream$run(a[, 3:4, , drop = FALSE]), all[, 3:4, , drop = FALSE])
  stream$load(place)
  equal(stream$run(a[, 3:4, , drop = FALSE]), all[, 3:4, , drop = FALSE])
}

test_streams_fork_run_together_and_draw <- function() {
  ids <- input(graph(), c(NA, NA), dtype = "int32")
  x <- layers$GRU(layers$Embedding(ids, input_dim = 7, output_dim = 4), units = 5, return_sequences = TRUE)
  s <- session(build(ids, layers$Dense(x, units = 7)), states = TRUE)
  prompt <- matrix(1:2, 1)
  one <- stream(s, seed = 3)
  same <- stream(s, seed = 3)
  drawn <- one$next_id(prompt, temperature = 2, top_k = 5, top_p = 0.9)
  equal(same$next_id(prompt, temperature = 2, top_k = 5, top_p = 0.9), drawn)
  fork <- one$fork()
  equal(fork$next_id(prompt), one$next_id(prompt))
  only_six <- function(logits) {
    logits[, 1:6] <- -Inf
    logits
  }
  equal(one$next_id(prompt, mask = only_six), 6)
  refused("DL4_INVALID_ARGUMENT", one$next_id(prompt, top_p = 2))
  equal(tryCatch(one$next_id(prompt, mask = function(l) stop("no grammar")), error = conditionMessage), "no grammar")
  both <- matrix(1:4, 2, byrow = TRUE)
  y <- run_many(list(stream(s), stream(s)), both, c(2, 1))
  equal(dim(y), c(2L, 2L, 7L))
  equal(all(y[2, 2, ] == 0), TRUE)
  refused("DL4_INVALID_ARGUMENT", run_many(list(one), both, c(1, 2)))
  rows <- stream(s, batch = 2)
  equal(length(rows$next_id(both, temperature = 0, n = 2)), 2L)
  rows$reset(2)
  refused("DL4_INVALID_ARGUMENT", rows$reset(3))
}

test_training <- function() {
  t <- trainer(small(), optimizer = "adam", loss = "mse", metrics = I("mae"))
  equal(t$metric_names(), c("loss", "mae"))
  before <- t$step(line(6, 4), line(6, 3))
  saved <- t$bytes()
  after <- t$step(line(6, 4), line(6, 3))
  equal(after[["loss"]] < before[["loss"]], TRUE)
  t$load(saved)
  equal(t$step(line(6, 4), line(6, 3)), after)
  t$accumulate(line(6, 4), line(6, 3))
  t$add_gradient("*", t$gradient("*"))
  t$apply()
  equal(t$get("iterations"), 3)
  t$set("learning_rate", 0.5)
  equal(t$get("learning_rate"), 0.5)
  refused("DL4_NOT_FOUND", t$get("speed"))
}

EVENTS <- c("train_begin", "epoch_begin", "batch_end", "epoch_end", "train_end")

test_kinds_are_checked_and_removed <- function() {
  check_kind("optimizer", "Adam", beta_1 = 0.5)
  refused("DL4_INVALID_ARGUMENT", check_kind("optimizer", "Adam", beta_1 = 2))
  register("loss", "RGone", function(config, src) src[[1]])
  check_kind("metric", "RGone")
  unregister("loss", "RGone")
  refused("DL4_UNKNOWN_KIND", check_kind("metric", "RGone"))
  refused("DL4_UNKNOWN_KIND", unregister("loss", "RGone"))
}

test_progress <- function() {
  t <- training()
  seen <- NULL
  history <- t$fit(data(), data(), epochs = 9, progress = function(event, step, total, metrics) {
    if (event == "epoch_end") seen <<- c(seen, metrics)
    if (event == "epoch_end" && step == 2) STOP else CONTINUE
  })
  equal(seen, c(rbind(history$loss, history$val_loss)))
  equal(history$epoch, c(0, 1))
  refused("DL4_INVALID_ARGUMENT", t$fit(data(), progress = function(...) FALSE))
  interrupt <- structure(class = c("interrupt", "condition"), list(message = "", call = NULL))
  for (mine in list(simpleError("mine"), interrupt)) {
    for (at in EVENTS) {
      got <- ended(t$fit(data(), progress = function(event, ...) if (event == at) stop(mine) else NULL))
      equal(identical(got, mine), TRUE)
      t$fit(data())
    }
  }
  equal(length(ls(dl4:::failures)), 0L)
}

test_a_jump_out_of_a_callback_ends_there <- function() {
  t <- training()
  d <- data()
  e <- ended(callCC(function(k) t$fit(d, progress = function(...) k("out"))))
  equal(inherits(e, "error"), TRUE)
  e <- ended(withRestarts(t$fit(d, progress = function(...) invokeRestart("mine")), mine = function() "out"))
  equal(inherits(e, "error"), TRUE)
  refused("DL4_CALLBACK_FAILED", t$fit(d, progress = function(...) invokeRestart("abort")))
  t$fit(d)
}

test_batches <- function() {
  t <- training()
  give <- function(i) if (i < 3) list(x = line(5, 4), y = line(5, 3))
  equal(length(t$fit(batches(give), epochs = 2)$loss), 2L)
  mine <- simpleError("mine")
  got <- ended(t$fit(batches(function(i) if (i < 2) give(i) else stop(mine))))
  equal(identical(got, mine), TRUE)
  two <- function(i) list(x = list(line(5, 4), line(5, 4)), y = line(5, 3))
  e <- refused("DL4_INVALID_ARGUMENT", t$fit(batches(two)))
  want <- "dl4: batch 0: expected 1 inputs, 1 targets and 0 or 1 sample weights, got 2, 1, 0"
  equal(conditionMessage(e), want)
  weighted <- function(i) list(x = line(5, 4), y = line(5, 3), weights = line(5))
  e <- refused("DL4_INVALID_ARGUMENT", t$fit(batches(weighted)))
  equal(conditionMessage(e), "dl4: batch 0: expected x, y and w, got \"weights\"")
  refused("DL4_INVALID_ARGUMENT", batches(give, steps = -2))
}

square <- function(name, forward = function(config, src) src[[2]][[1]] * src[[1]]^2, backward = NULL, ...) {
  register("layer", name, forward, backward, weights = I("scale"), ...)
  x <- input(graph(), c(NA, 4))
  build(x, layers[[name]](x, name = "own", config = "text"))
}
with_scale <- function(config, src) list(src[[1]], 1)
slopes <- function(config, src, dst, diff_dst) {
  list(2 * src[[2]][[1]] * src[[1]] * diff_dst[[1]], sum(src[[1]]^2 * diff_dst[[1]]))
}

test_own_layers <- function() {
  m <- square("RSquare", backward = slopes, shape = with_scale, doc = "scale * x^2")
  equal(m$weights(), "own/scale")
  m$set_weight("own/scale", 2)
  equal(session(m)$run(line(2, 4)), 2 * line(2, 4)^2)
  s <- session(m, gradients = list("input_layer", "own/scale"))
  out <- s$run(line(2, 4))
  equal(out[[2]], 4 * line(2, 4))
  equal(out[[3]], array(sum(line(2, 4)^2)))
  t <- trainer(m, optimizer = "sgd", loss = "mse")
  first <- t$step(line(3, 4), line(3, 4))
  for (i in 1:20) last <- t$step(line(3, 4), line(3, 4))
  equal(last < first, c(loss = TRUE))
  distance <- function(config, src) rowSums(abs(src[[1]] - src[[2]]))
  register("loss", "RDistance", distance, shape = function(config, src) src[[2]][1])
  equal(as.array(measure("loss", "RDistance", cbind(c(1, 2), 0), cbind(c(0, 0), 0))), 1.5)
  refused("DL4_INVALID_ARGUMENT", register("layer", "RNothing", NULL))
  refused("DL4_INVALID_ARGUMENT", register("optimizer", "ROptimizer", function(config, src) src))
}

test_own_layers_fail <- function() {
  mine <- simpleError("mine")
  kept <- NULL
  m <- square("RFails", function(config, src) {
    equal(config, "text")
    kept <<- get("lent", parent.frame())[[1]][[1]]
    stop(mine)
  }, function(...) stop(mine), shape = with_scale)
  equal(identical(ended(session(m)$run(line(2, 4))), mine), TRUE)
  refused("DL4_INVALID_ARGUMENT", as.array(kept)) # lent for the call only
  few <- session(square("RFew", function(config, src) 1, shape = with_scale))
  e <- refused("DL4_SHAPE_MISMATCH", few$run(line(2, 4)))
  equal(conditionMessage(e), "dl4: forward: array 1: expected 8 numbers, got 1")
  many <- session(square("RMany", function(config, src) src, shape = with_scale))
  refused("DL4_INVALID_ARGUMENT", many$run(line(2, 4)))
  untrained <- square("RUntrained", backward = function(...) stop(mine), shape = with_scale)
  training <- trainer(untrained, optimizer = "sgd", loss = "mse")
  equal(identical(ended(training$step(line(2, 4), line(2, 4))), mine), TRUE)
  for (wrong in list(list(1), list(1:9, 1), list("a", 1), list(1.5, 1))) {
    refused("DL4_INVALID_ARGUMENT", square("RShapeless", shape = function(config, src) wrong))
  }
  equal(identical(ended(square("RStopped", shape = function(...) stop(mine))), mine), TRUE)
  equal(length(ls(dl4:::failures)), 0L)
}

test_objects_closed_in_a_callback <- function() {
  t <- training()
  d <- data()
  t$fit(d, epochs = 3, progress = function(event, ...) {
    close(t)
    close(d)
    gc()
    CONTINUE
  })
  refused("DL4_INVALID_ARGUMENT", t$fit(d))
  a <- array(1, c(1e6, 4)) # large, so that memory given back would be missed
  values <- tensor(a)
  register("layer", "RCloses", function(config, src) {
    close(values)
    close(s)
    src[[1]]
  })
  x <- input(graph(), c(NA, 4))
  s <- session(build(x, layers$Add(list(layers$RCloses(x), x))))
  equal(s$run(values), a + a)
}

test_a_cancelled_fit <- function() {
  flag <- cancel()
  equal(flag$triggered(), FALSE)
  refused("DL4_CANCELLED", training()$fit(data(), epochs = 1e12, cancel = flag, progress = function(event, ...) {
    if (event == "batch_end") flag$trigger()
    CONTINUE
  }))
  equal(flag$triggered(), TRUE)
}

# Sums over two processes by files.
exchange <- function(folder, rank) {
  round <- 0
  function(values, dtype) {
    round <<- round + 1
    name <- function(rank) file.path(folder, paste0(round, "-", rank))
    saveRDS(values, paste0(name(rank), ".part"))
    file.rename(paste0(name(rank), ".part"), name(rank))
    end <- Sys.time() + 60
    while (!file.exists(name(1 - rank))) {
      if (Sys.time() > end) stop("the other worker is gone")
      Sys.sleep(0.001)
    }
    readRDS(name(0)) + readRDS(name(1))
  }
}

test_workers <- function() {
  start <- small()$bytes()
  trained <- function(rank, size, reduce) {
    model <- load_model(start)
    t <- trainer(model, optimizer = "adam", loss = "mse")
    if (size > 1) t$set_workers(rank, size, reduce)
    history <- t$fit(data(), epochs = 2)
    c(history$loss, unlist(lapply(model$weights(), function(name) as.array(model$weight(name)))))
  }
  folder <- tempfile()
  dir.create(folder)
  jobs <- lapply(0:1, function(rank) parallel::mcparallel(trained(rank, 2, exchange(folder, rank))))
  both <- parallel::mccollect(jobs)
  unlink(folder, recursive = TRUE)
  equal(both[[1]], both[[2]])
  equal(is.numeric(both[[1]]) && all(abs(both[[1]] - trained(0, 1)) < 1e-5), TRUE)
}

test_workers_fail <- function() {
  t <- training()
  mine <- simpleError("no network")
  fails <- function(values, dtype) stop(mine)
  equal(identical(ended(t$set_workers(0, 2, fails)), mine), TRUE)
  refused("DL4_INVALID_ARGUMENT", t$set_workers(2, 2, fails))
  refused("DL4_INVALID_ARGUMENT", t$set_workers(0, 2))
  e <- refused("DL4_INVALID_ARGUMENT", t$set_workers(0, 2, function(values, dtype) "many"))
  equal(grepl("^dl4: reduce: expected [0-9]+ sums of type (int32|float32), got 1$", conditionMessage(e)), TRUE)
  t$set_workers(0, 1, fails) # nothing to add up
  t$step(line(3, 4), line(3, 3))
  t$set_workers(0, 1)
  equal(length(ls(dl4:::failures)), 0L)
}

pages <- function() as.numeric(strsplit(readLines("/proc/self/statm"), " ")[[1]][[2]])
torture <- function(n) {
  for (i in seq_len(n)) {
    m <- small()
    t <- trainer(m, optimizer = "adam", loss = "mse")
    d <- batches(function(i) if (i < 3) list(x = line(5, 4), y = line(5, 3)))
    t$fit(data(), d)
    s <- session(m)
    all <- list(m, t, d, s, s$run_tensors(line(2, 4))[[1]], m$copy(), context(), cancel())
    for (o in sample(all, sample(length(all), 1))) close(o)
    if (i %% 20 == 0) gc()
  }
  gc()
}
test_many_objects_in_random_order <- function() {
  set.seed(1)
  torture(100)
  before <- pages()
  torture(300)
  grown <- pages() - before
  if (grown > 5000) stop(grown, " pages are left")
}

test_dropped_tensors_are_collected_for_what_they_take <- function() {
  pages <- function() as.numeric(strsplit(readLines("/proc/self/statm"), " ")[[1]][2])
  before <- pages()
  zeros <- numeric(2e6)
  for (i in 1:300) x <- tensor(zeros, "float64")
  grown <- (pages() - before) * 4096
  if (grown > 2^31) stop(grown, " bytes are left")
}

test_misspelt_layers <- function() {
  for (f in list(function() layers$Densee, function() layers[["Densee"]])) {
    e <- refused("DL4_UNKNOWN_KIND", f())
    stopifnot(grepl("did you mean \"Dense\"", conditionMessage(e), fixed = TRUE))
  }
  stopifnot(is.function(layers$Dense), "LSTM" %in% ls(layers))
}

test_json <- function() {
  json <- dl4:::to_json
  value <- list(
    a = 1, b = c(1, 2.5), c = I(3), d = NULL, e = list(), f = setNames(list(), character()), g = TRUE, h = NA,
    i = "\u00e9\"\n", j = 1 / 3, k = 1e15, l = list(1L, "x")
  )
  want <- paste0(
    '{"a":1,"b":[1,2.5],"c":[3],"d":null,"e":[],"f":{},"g":true,"h":null,"i":"\u00e9\\"\\n",',
    '"j":0.33333333333333331,"k":1e+15,"l":[1,"x"]}'
  )
  equal(json(value), want)
}

again <- function(library) {
  arguments <- c("-e", shQuote("tryCatch(library(dl4), error = function(e) cat(conditionMessage(e)))"))
  paste(system2(file.path(R.home("bin"), "Rscript"), arguments, stdout = TRUE, stderr = FALSE,
                env = paste0("DL4_LIBRARY=", library)), collapse = " ")
}
test_other_libraries_are_refused <- function() {
  equal(grepl("/nowhere/libdl4.so.1", again("/nowhere/libdl4.so.1")), TRUE)
  folder <- tempfile()
  dir.create(folder)
  source <- file.path(folder, "two.c")
  writeLines(c(
    "int dl4_version(void) { return 2000003; }",
    "void dl4_retain(void *o) { (void)o; }", "void dl4_release(void *o) { (void)o; }"
  ), source)
  so <- file.path(folder, "two.so")
  equal(system2("gcc", c("-shared", "-fPIC", "-o", so, source)), 0L)
  equal(grepl("this package is made for version 1 of the library, found 2.0.3", again(so)), TRUE)
  unlink(folder, recursive = TRUE)
}

source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "strings.R"))

all <- grep("^test_", ls(), value = TRUE)
failed <- 0
for (name in all) {
  tryCatch(get(name)(), error = function(e) {
    failed <<- failed + 1
    cat("failed: ", name, ": ", conditionMessage(e), "\n", sep = "")
  })
}
cat("r: ", length(all) - failed, " of ", length(all), " tests pass\n", sep = "")
quit(status = failed > 0)
