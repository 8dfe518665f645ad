# Runs conformance.json, whose steps are described beside it: a slot is an object, "do" the name of a function here.
library(dl4)
library(jsonlite)

need <- function(yes, ...) if (!isTRUE(yes)) stop(paste0(...))
slots <- new.env()
folder <- NULL
s <- NULL # the step, an environment as $ of a list takes beginnings of names too

of <- function(key) if (!is.null(s[[key]])) slots[[s[[key]]]]
put <- function(o) if (!is.null(s$to)) assign(s$to, o, slots)
put_all <- function(list) for (i in seq_along(s$to)) assign(s$to[[i]], list[[i]], slots)
named <- function(names) lapply(names, function(n) slots[[n]])
objects <- function(key) named(s[[key]])
numbers <- function(list) vapply(list, function(v) if (is.null(v)) NaN else as.numeric(v), 0)
path <- function() file.path(folder, s$path)
values_of <- function(t) {
  a <- as.array(t)
  values <- as.vector(if (length(dim(a)) > 1) aperm(a) else a)
  if (is.character(values)) values else as.numeric(values)
}

near <- function(what, got, want, otherwise = 1e-5) {
  tolerance <- if (is.null(s$tolerance)) otherwise else s$tolerance
  need(length(got) == length(want), what, ": wanted ", length(want), " values, got ", length(got))
  far <- which(!(abs(got - want) <= tolerance * pmax(1, abs(want))))
  need(!length(far), what, ": element ", far[1] - 1, ": wanted ", want[far[1]], ", got ", got[far[1]])
}

attributes_of <- function() {
  a <- if (is.null(s$config)) as.list(s$attrs) else of("config")
  if (!is.null(s$name)) a$name <- s$name
  for (key in names(s$models)) a[[key]] <- slots[[s$models[[key]]]]
  a
}
made_layer <- function() do.call(layer, c(list(of("graph"), s$kind), attributes_of()))
arguments <- function() c(as.list(s$call), lapply(s$nodes, named))
called <- function(l) do.call(l, c(list(objects("in")), arguments()))
metrics <- function(got) {
  force(got)
  for (name in names(s$metrics)) near(name, got[[name]], s$metrics[[name]])
}
with_options <- function(f, ...) do.call(f, c(list(...), as.list(s$options)))

listen <- function(event, step, total, metrics) {
  events <- c("train_begin", "epoch_begin", "batch_end", "epoch_end", "train_end")
  if (is.null(s$at) || event != events[[s$at$event + 1]] || step != s$at$step) return(CONTINUE)
  if (!is.null(s$at$trigger)) slots[[s$at$trigger]]$trigger()
  if (isTRUE(s$at$stop)) STOP else CONTINUE
}

steps <- list(
  tensor = function() {
    values <- if (s$dtype == "string") as.character(unlist(s$values)) else numbers(s$values)
    put(tensor(values, s$dtype, numbers(s$shape)))
  },
  expect = function() {
    t <- of("tensor")
    need(dtype(t) == s$dtype, "got ", dtype(t))
    need(identical(dim(t), numbers(s$shape)), "got ", toJSON(dim(t)))
    if (s$dtype == "string") need(identical(values_of(t), as.character(unlist(s$values))), "got ", toJSON(values_of(t)))
    else near("values", values_of(t), numbers(s$values))
  },
  same = function() {
    two <- objects("tensors")
    need(dtype(two[[1]]) == dtype(two[[2]]), "types differ")
    need(identical(dim(two[[1]]), dim(two[[2]])), "shapes differ")
    need(identical(values_of(two[[1]]), values_of(two[[2]])), "values differ")
  },
  context = function() put(with_options(context)),
  graph = function() put(graph(of("context"))),
  input = function() put(input(of("graph"), numbers(s$shape), s$dtype, s$name)),
  constant = function() put(constant(of("graph"), of("tensor"), s$name)),
  layer = function() put(made_layer()),
  call = function() put_all(outputs(called(of("layer")))),
  add = function() put_all(outputs(called(made_layer()))),
  weight = function() put(of("graph")$weight(s$name)),
  gradients = function() {
    given <- if (!is.null(s$output_gradients)) objects("output_gradients")
    put_all(do.call(of("graph")$gradients, c(list(objects("of"), objects("by"), .output_gradients = given), attributes_of())))
  },
  assign = function() put(do.call(of("graph")$assign, c(list(of("node"), of("from")), attributes_of()))),
  update = function() {
    rate <- if (!is.null(s$learning_rate)) of("learning_rate")
    put(do.call(of("graph")$update, c(list(objects("of"), objects("by"), .learning_rate = rate), attributes_of())))
  },
  after = function() put(of("graph")$after(of("node"), objects("in"))),
  merge_json = function() of("graph")$merge_json(of("text")),
  shape = function() {
    got <- node_shape(of("node"))
    need(identical(replace(got, is.na(got), -1), numbers(s$shape)), "got ", toJSON(got))
  },
  mask = function() put(node_mask(of("node"))),
  build = function() put(if (length(s[["in"]])) build(objects("in"), objects("out")) else build(of("graph"))),
  weights = function() need(identical(of("model")$weights(), as.character(unlist(s$names))), "got ", toJSON(of("model")$weights())),
  get_weight = function() put(of("model")$weight(s$name)),
  set_weight = function() of("model")$set_weight(s$name, of("tensor")),
  set_trainable = function() of("model")$set_trainable(s$name, s$value),
  clone = function() put(of("model")$copy()),
  save = function() {
    from <- if (is.null(s$trainer)) of("model") else of("trainer")
    if (!is.null(s$path)) with_options(from$save, path()) else put(with_options(from$bytes))
  },
  load = function() {
    from <- if (is.null(s$path)) of("bytes") else path()
    if (is.null(s$trainer)) put(with_options(load_model, from)) else of("trainer")$load(from)
  },
  text = function() put(s$text),
  write = function() writeLines(of("text"), path(), sep = "", useBytes = TRUE),
  cut = function() put(of("bytes")[seq_len(s$size)]),
  describe = function() {
    text <- of("object")$describe(s$format)
    for (part in s$contains) need(grepl(part, text, fixed = TRUE), part, " is not in ", text)
    put(text)
  },
  session = function() put(with_options(session, of("model"))),
  run = function() {
    out <- of("session")$run_tensors(objects("in"), if (!is.null(s$into)) objects("into"), of("cancel"))
    if (is.null(s$into)) put_all(out)
  },
  predict = function() put_all(of("session")$predict(of("dataset"), of("cancel"))),
  stream = function() put(with_options(stream, of("session"))),
  stream_run = function() put_all(dl4:::run_(of("stream"), "dl4_stream_run", objects("in"), NULL, NULL)),
  stream_run_many = function() {
    out <- run_many(objects("streams"), objects("in"), if (!is.null(s$counts)) numbers(s$counts))
    assign(s$to[[1]], tensor(as.numeric(aperm(out)), "float32", dim(out)), slots)
  },
  stream_fork = function() put(with_options(of("stream")$fork)),
  stream_reset = function() of("stream")$reset(if (!is.null(s$row)) s$row + 1),
  stream_next = function() {
    ids <- with_options(of("stream")$next_id, objects("in"), n = length(s$ids))
    need(identical(as.numeric(ids), numbers(s$ids)), "got ", toJSON(ids))
  },
  measure = function() {
    put(do.call(measure, c(list(s$category, s$kind, of("true"), of("pred"), of("weights")), as.list(s$attrs))))
  },
  dataset = function() put(with_options(dataset, objects("x"), objects("y"), objects("w"))),
  batches = function() {
    all <- lapply(s$batches, lapply, named)
    put(with_options(batches, function(i) if (i < length(all)) all[[i + 1]]))
  },
  adapt = function() {
    put(do.call(adapt, c(list(s$kind, of("dataset"), .cancel = of("cancel")), as.list(s$attrs))))
  },
  trainer = function() put(with_options(trainer, of("model"))),
  step = function() metrics(of("trainer")$step(objects("x"), objects("y"), objects("w"))),
  accumulate = function() metrics(of("trainer")$accumulate(objects("x"), objects("y"), objects("w"))),
  apply = function() of("trainer")$apply(),
  gradient = function() put(of("trainer")$gradient(s$weight)),
  fit = function() {
    history <- with_options(of("trainer")$fit, of("train"), of("valid"), progress = listen, cancel = of("cancel"))
    for (name in names(s$history)) near(name, history[[name]], numbers(s$history[[name]]))
  },
  evaluate = function() metrics(of("trainer")$evaluate(of("dataset"), of("cancel"))),
  get = function() near("value", of("trainer")$get(s$key), s$value, 1e-7),
  set = function() of("trainer")$set(s$key, s$value),
  cancel = function() put(cancel()),
  trigger = function() of("cancel")$trigger(),
  release = function() {
    slots[[s$slot]]$close()
    rm(list = s$slot, envir = slots)
  },
  registry = function() {
    known <- vapply(registry(s$category, s$name)[[s$category]][[s$name]]$attributes, `[[`, "", "name")
    need(all(unlist(s$attributes) %in% known), "got ", toJSON(known))
  },
  null_attributes = function() {
    all <- registry("layer")
    for (kind in names(all$layer)) {
      given <- as.list(s$attrs[[kind]])
      own <- all$layer[[kind]]$attributes
      missing <- setdiff(unlist(lapply(own, function(a) if (isTRUE(a$required)) a$name)), names(given))
      for (a in c(own, all$every_layer$attributes)) {
        with_null <- replace(given, a$name, list(NULL))
        tryCatch(do.call(layer, c(list(graph(), kind), with_null)), dl4_error = function(e) {
          need(isTRUE(e$attribute %in% c(missing, a$name)), kind, ".", a$name, ": ", conditionMessage(e))
        })
      }
    }
  }
)

run_step <- function() {
  refused <- tryCatch({
    steps[[s$do]]()
    NULL
  }, dl4_error = identity)
  if (is.null(s$error) && !is.null(refused)) stop(refused)
  need(is.null(s$error) || !is.null(refused), "wanted ", toJSON(s$error))
  for (fact in names(s$error)) {
    need(identical(refused[[fact]], s$error[[fact]]), fact, ": got ", refused[[fact]], ": ", conditionMessage(refused))
  }
}

cases <- fromJSON(commandArgs(TRUE)[[1]], simplifyVector = FALSE)$cases
failed <- 0
for (case in cases) {
  rm(list = ls(slots, all.names = TRUE), envir = slots)
  folder <- tempfile("dl4")
  dir.create(folder)
  i <- 0
  tryCatch(for (step in case$steps) {
    s <- list2env(step)
    run_step()
    i <- i + 1
  }, error = function(e) {
    failed <<- failed + 1
    cat("failed: ", case$name, ", step ", i, ", ", s$do, ": ", conditionMessage(e), "\n", sep = "")
  })
  unlink(folder, recursive = TRUE)
}
cat("r: ", length(cases) - failed, " of ", length(cases), " cases pass\n", sep = "")
quit(status = failed > 0)
