# Layers, losses and metrics of R's.

arrays <- function(tensors) lapply(tensors, function(t) if (is.null(t)) NULL else as.array(t))

checked_shapes <- function(shapes, n) {
  if (!is.list(shapes)) shapes <- list(shapes)
  if (length(shapes) != n) refuse(sprintf("shape: expected %g shapes, got %d", n, length(shapes)))
  lapply(shapes, function(shape) {
    shape[is.na(shape)] <- -1
    whole <- is.numeric(shape) && all(shape == trunc(shape) & shape >= -1 & shape < 2^53)
    if (!whole) refuse(paste("shape: expected whole numbers, got", paste(shape, collapse = " ")))
    most <- library_$constants$DL4_MAX_RANK
    if (length(shape) > most) refuse(paste("shape: expected at most", most, "dimensions, got", length(shape)))
    as.double(shape)
  })
}

# Adds a kind of "layer", "loss" or "metric", until unregister(). forward(config, src) gives the outputs for the inputs
# and weights, of a loss or metric for y_true and y_pred; backward(config, src, dst, diff_dst) the gradients with
# respect to src: arrays, one or a list. shape(config, src) gives the shapes of outputs and weights, NA being free;
# without it every output has the shape of the last source. What has no backward can't be trained through.
register <- function(category, name, forward, backward = NULL, shape = NULL, ...) {
  if (!is.function(forward)) refuse(paste0("kind ", name, ": expected the function forward"))
  own <- guarded(function(what, config, lent) {
    if (what == "shape") {
      free <- lapply(lent[[1]], function(s) replace(s, s < 0, NA))
      return(checked_shapes(shape(config, free), lent[[2]]))
    }
    src <- arrays(lent[[1]])
    if (what == "forward") fill(what, lent[[2]], forward(config, src))
    else fill(what, lent[[4]], backward(config, src, arrays(lent[[2]]), arrays(lent[[3]])))
    0L
  })
  shape_fn <- if (!is.null(shape)) "shape"
  backward_fn <- if (!is.null(backward)) "backward"
  keeping(own, call_("dl4_registry_add", category, name, options_text(list(...)), shape_fn, "forward", backward_fn, own,
                     "release"))
  if (category == "layer") add_layers(registry(category, name)$layer)
  invisible()
}

# Removes a kind that register() added. Models that have it work on.
unregister <- function(category, name) invisible(call_("dl4_registry_remove", category, name))

# Refuses the attributes of a kind that the library would refuse, and makes nothing of it.
check_kind <- function(category, name, ...) {
  invisible(call_("dl4_registry_check", category, name, options_text(list(...))))
}
