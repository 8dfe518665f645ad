# Calls of dl4.h as the library describes them, errors, JSON and attributes.

MAJOR <- 1
library_ <- new.env() # functions: types and parameters by name; constants: numbers by name
failures <- new.env() # conditions of callbacks, by the number that they answered

refuse <- function(message, code = "DL4_INVALID_ARGUMENT", facts = list()) {
  message <- paste0(if (!startsWith(message, "dl4: ")) "dl4: ", message)
  all <- c(list(message = message, call = NULL, code = code), facts)
  stop(structure(class = c("dl4_error", "error", "condition"), all))
}

# The letter by which the shim passes a type of C's.
type_letter <- function(type) {
  plain <- c(
    void = "v", int32_t = "i", dl4_node = "i", dl4_layer = "i", int64_t = "l", double = "d", "const char *" = "s"
  )
  if (type %in% names(plain)) return(plain[[type]])
  if (grepl("_fn$", type)) return("f")
  base <- sub("^const ", "", sub("( const)?[ *]+(const \\*)?$", "", type))
  if (type == "const char *const *") return("S")
  if (base == "void") return("p")
  arrays <- c(int32_t = "I", dl4_node = "I", dl4_layer = "I", int64_t = "L", double = "D")
  if (base %in% names(arrays)) return(arrays[[base]])
  paste0(if (lengths(regmatches(type, gregexpr("*", type, fixed = TRUE))) == 2) "H" else "o", sub("^dl4_", "", base))
}

dl4_version <- function() {
  n <- call_("dl4_version")$.value
  paste(n %/% 1000000, n %/% 1000 %% 1000, n %% 1000, sep = ".")
}

# Functions, types of data, ... from dl4_api_description().
describe_library <- function() {
  declare <- function(name, returns, parameters = list()) {
    types <- c(returns, unlist(parameters, use.names = FALSE))
    library_$functions[[name]] <- list(types = types, names = names(parameters))
  }
  declare("dl4_version", "i")
  if (call_("dl4_version")$.value %/% 1000000 != MAJOR) {
    refuse(paste0("this package is made for version ", MAJOR, " of the library, found ", dl4_version()), "DL4_VERSION")
  }
  declare("dl4_api_description", "oerror", list(out = "Hblob"))
  api <- fromJSON(text_of(call_("dl4_api_description", list(NULL))$out[[1]]), simplifyVector = FALSE)
  for (f in api$functions) {
    parameters <- lapply(f$parameters, function(p) type_letter(p$type))
    names(parameters) <- vapply(f$parameters, `[[`, "", "name")
    # An object of any type; that is not said of memory.
    if (f$name %in% c("dl4_describe", "dl4_retain", "dl4_release") || startsWith(f$name, "dl4_port_")) parameters$object <- "o*"
    declare(f$name, type_letter(f$returns), parameters)
  }
  for (c in api$constants) library_$constants[[c$name]] <- c$value
  groups <- vapply(api$constants, `[[`, "", "group")
  named <- function(group) {
    of <- api$constants[groups == group]
    setNames(vapply(of, function(c) c$value, 0), vapply(of, `[[`, "", "name"))
  }
  library_$codes <- named("Codes of errors.")
  types <- named("Types of data.")
  library_$dtypes <- setNames(types, tolower(sub("^DL4_", "", names(types))))
}

# Calls a function. An array is given as it is before the call; the list that comes back has what it is after it, by the
# parameter's name, and what the function returns as `.value`. What is made where a list has NULL is an object of ours.
call_ <- function(name, ...) {
  f <- library_$functions[[name]]
  all <- .Call(dl4_r_call, name, f$types, list(...))
  if (f$types[[1]] == "oerror" && !is.null(all[[1]])) raise(all[[1]])
  setNames(all, c(".value", f$names))
}

made <- function(name, ...) { # the last parameter is the object that the call makes
  all <- call_(name, ..., list(NULL))
  all[[length(all)]][[1]]
}

text_of <- function(blob) {
  text <- rawToChar(.Call(dl4_r_bytes, blob))
  Encoding(text) <- "UTF-8"
  text
}

# Raises an error of the library's, or the condition that a callback ended in, as it was.
raise <- function(e) {
  code <- names(which(library_$codes == call_("dl4_error_code", e)$.value))
  facts <- fromJSON(call_("dl4_error_detail", e)$.value, simplifyVector = FALSE)
  message <- call_("dl4_error_message", e)$.value
  close(e)
  own <- if (identical(code, "DL4_CALLBACK_FAILED")) as.character(facts$answer)
  if (length(own) && exists(own, failures, inherits = FALSE)) {
    condition <- get(own, failures)
    rm(list = own, envir = failures)
    stop(condition)
  }
  refuse(message, if (length(code)) code else "DL4_INTERNAL", facts[setdiff(names(facts), c("message", "code"))])
}

# A function for the library: what it ends in waits under a negative number, which is its answer, until the call ends.
guarded <- function(f) {
  failed <- function(condition) {
    number <- -2L
    while (exists(as.character(number), failures, inherits = FALSE)) number <- number - 1L
    assign(as.character(number), condition, failures)
    number
  }
  function(...) tryCatch(f(...), error = failed, interrupt = failed)
}

# Makes a call that gives the library a function to keep; it keeps none if it fails.
keeping <- function(f, call) {
  .Call(dl4_r_keep, f, TRUE)
  tryCatch(call, error = function(e) {
    .Call(dl4_r_keep, f, FALSE)
    stop(e)
  })
}

# ---- JSON -----------------------------------------------------------------------------------------------------------

# One number, text or truth is a scalar, more are a list, as is what I() or list() is; NA and NULL are null.
to_json <- function(v) {
  if (is.null(v)) return("null")
  if (is.environment(v) || is.function(v) || typeof(v) == "externalptr") {
    refuse(paste("expected numbers, text, truths and lists, got", class(v)[[1]]))
  }
  if (is.list(v) && !is.null(names(v))) {
    members <- sprintf("%s:%s", vapply(names(v), to_json, ""), vapply(v, to_json, ""))
    return(paste0("{", paste(members, collapse = ","), "}"))
  }
  if (is.list(v) || length(v) != 1 || inherits(v, "AsIs")) {
    return(paste0("[", paste(vapply(unclass(v), to_json, "", USE.NAMES = FALSE), collapse = ","), "]"))
  }
  if (is.na(v) && !is.nan(v)) return("null")
  if (is.logical(v)) return(if (v) "true" else "false")
  if (is.character(v)) return(as.character(toJSON(enc2utf8(v), auto_unbox = TRUE)))
  if (!is.numeric(v) || !is.finite(v)) refuse(paste("expected a number for JSON, got", format(v)))
  short <- sprintf("%.15g", v)
  if (as.numeric(short) == v) short else sprintf("%.17g", v)
}

is_node <- function(v) inherits(v, "dl4_node")

is_nodes <- function(v) is_node(v) || (is.list(v) && any(vapply(v, is_node, NA)))

as_nodes <- function(x) if (is_node(x)) list(x) else x
# Their numbers; of one graph, if it is given.
ids <- function(nodes, graph = NULL) {
  vapply(as_nodes(nodes), function(n) {
    if (is.null(n)) return(-1L)
    if (!is_node(n)) refuse(paste("expected a node, got", class(n)[[1]]))
    if (!is.null(graph) && !identical(n$graph, graph)) refuse("expected a node of this graph, got one of another")
    n$id
  }, 0L)
}

named <- function(values) {
  if (is.null(names(values)) || any(names(values) == "")) refuse("expected attributes and options by name")
  values
}

# Options as text; NULL if there are none.
options_text <- function(values) if (length(values)) to_json(named(values))

# A config or arguments of a call: text, and a dl4_refs of the models and nodes among them; NULL where there are none.
with_refs <- function(values) {
  if (!length(values)) return(list(NULL, NULL))
  named(values)
  nodes <- vapply(values, is_nodes, NA)
  models <- vapply(values, inherits, NA, "dl4_model")
  refs <- if (any(nodes | models)) made("dl4_refs_create")
  for (key in names(values)[nodes]) {
    v <- if (is_node(values[[key]])) values[key] else values[[key]]
    call_("dl4_refs_set_nodes", refs, key, ids(v), length(v))
  }
  for (key in names(values)[models]) call_("dl4_refs_set_model", refs, key, values[[key]])
  list(options_text(values[!nodes & !models]), refs)
}
