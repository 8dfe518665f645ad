# Tests of tensors of strings, and of layers that learn from them; tests.R runs them.

test_strings <- function() {
  a <- matrix(c("a", "b", "", "\u65e5\u672c", "red \U1F600", "\n"), 2)
  t <- tensor(a)
  equal(dtype(t), "string")
  equal(dim(t), c(2, 3))
  equal(as.array(t), a)
  equal(as.array(t$copy()), a)
  equal(as.array(tensor(c("a", "b", "c", "d"), shape = c(2, 2))), rbind(c("a", "b"), c("c", "d")))
  equal(as.array(tensor("one", shape = numeric(0))), "one")
  equal(as.array(tensor(character(0))), array(character(0)))
  latin <- "\xe9"
  Encoding(latin) <- "latin1"
  equal(as.array(tensor(latin)), array("\u00e9"))
  wrong <- "\xff"
  Encoding(wrong) <- "bytes"
  back <- as.array(tensor(wrong))
  equal(charToRaw(back), as.raw(0xff))
  equal(Encoding(back), "bytes")
}

test_strings_in_and_out <- function() {
  x <- input(graph(), c(NA, 1), "string")
  ids <- layers$StringLookup(x, vocabulary = list("red", "green"))
  names <- layers$StringLookup(ids, vocabulary = list("red", "green"), invert = TRUE)
  out <- session(build(x, list(ids, names)))$run(matrix(c("green", "blue"), 2))
  equal(out, list(matrix(c(2, 0), 2), matrix(c("green", "[UNK]"), 2)))
}

test_strings_are_refused <- function() {
  e <- refused("DL4_INVALID_ARGUMENT", tensor(matrix(c("a", NA, "b", "c"), 2)))
  equal(conditionMessage(e), "dl4: expected texts, got NA at 3 in the order of rows")
  refused("DL4_INVALID_ARGUMENT", tensor(NA_character_))
  refused("DL4_INVALID_ARGUMENT", tensor("1", "float32"))
  refused("DL4_INVALID_ARGUMENT", tensor(1, "string"))
  refused("DL4_SHAPE_MISMATCH", tensor("a", shape = 2))
  ids <- input(graph(), c(NA, 1), "int64")
  text <- build(ids, layers$StringLookup(ids, vocabulary = list("red"), invert = TRUE))$describe("json")
  g <- graph()
  g$merge_json(sub("\"red\"", "\"r\\u0000d\"", text, fixed = TRUE))
  out <- session(build(g))$run_tensors(tensor(matrix(1, 1), "int64"))[[1]]
  e <- refused("DL4_INVALID_ARGUMENT", as.array(out))
  equal(conditionMessage(e), "dl4: string 1: R's texts hold no NUL")
}

test_adapt <- function() {
  texts <- matrix(c("good film", "bad film", "good"), 3)
  data <- dataset(texts, batch_size = 2)
  learned <- adapt("TextVectorization", data, output_sequence_length = 3)
  equal(sort(tail(unlist(learned$vocabulary), 3)), c("bad", "film", "good"))
  each <- batches(function(i) if (i < 3) list(x = texts[i + 1, , drop = FALSE]))
  equal(adapt("TextVectorization", each, output_sequence_length = 3), learned)

  x <- input(graph(), c(NA, 1), "string")
  ids <- do.call(layers$TextVectorization, c(list(x), learned))
  equal(dim(session(build(x, ids))$run(texts)), c(3L, 3L))
  refused("DL4_UNSUPPORTED", adapt("Dense", data, units = 1))
  stop_now <- cancel()
  stop_now$trigger()
  refused("DL4_CANCELLED", adapt("StringLookup", data, .cancel = stop_now))
  failing <- batches(function(i) stop("no more"))
  equal(conditionMessage(ended(adapt("StringLookup", failing))), "no more")
}
