# Describes a network, trains it on exclusive or, runs and saves it.
library(dl4)

cases <- rbind(c(0, 0), c(0, 1), c(1, 0), c(1, 1))
answers <- cbind(c(0, 1, 1, 0))

x <- input(graph(), c(NA, 2)) # describe: layers are functions of nodes
y <- x |>
  layers$Dense(units = 8, activation = "tanh") |>
  layers$Dense(units = 1, activation = "sigmoid")
model <- build(x, y)

adam <- list(class_name = "Adam", config = list(learning_rate = 0.05)) # train
training <- trainer(model, optimizer = adam, loss = "BinaryCrossentropy")
history <- training$fit(dataset(cases, answers), epochs = 300)
summary(model)

p <- session(model)$run(cases) # run and save
cat(sprintf("%d xor %d = %.3f\n", cases[, 1], cases[, 2], p), sep = "")
path <- tempfile(fileext = ".safetensors")
model$save(path)
stopifnot(
  identical(session(load_model(path))$run(cases), p),
  (p > 0.5) == (answers > 0.5),
  tail(history$loss, 1) < history$loss[[1]]
)
