// What R cannot do by itself: calling functions of dl4.h by the types in the library's description, objects that are
// released when R collects them, functions of R's that the library calls, and numbers of types that R does not have.
#include <R.h>
#include <Rinternals.h>
#include <dlfcn.h>
#include <ffi.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "callbacks.h"

enum { MAX_PARAMETERS = 16 };

static void *library;
static void (*retain_object)(void *);
static void (*release_object)(void *);
static SEXP package;

static void *found(const char *name) {
  void *f = dlsym(library, name);
  if (!f) Rf_error("dl4: the library has no %s", name);
  return f;
}

SEXP dl4_r_open(SEXP file, SEXP environment) {
  library = dlopen(CHAR(STRING_ELT(file, 0)), RTLD_NOW | RTLD_LOCAL);
  if (!library) Rf_error("dl4: %s", dlerror());
  retain_object = (void (*)(void *))found("dl4_retain");
  release_object = (void (*)(void *))found("dl4_release");
  package = environment;
  return R_NilValue;
}

// Ends in the condition that the package makes of a message; it does not return.
static void refuse(const char *message) {
  SEXP text = PROTECT(Rf_ScalarString(Rf_mkCharCE(message, CE_UTF8)));
  Rf_eval(PROTECT(Rf_lang2(Rf_install("refuse"), text)), package);
  Rf_error("%s", message);
}

static void refusef(const char *format, const char *a, const char *b) {
  char text[256];
  snprintf(text, sizeof text, format, a, b);
  refuse(text);
}

// ---- Objects --------------------------------------------------------------------------------------------------------

/* What tensors take lies where R's collector does not see it, so it runs when that has doubled. */
static int64_t held, least;

static void account(int64_t bytes) {
  const int64_t some = (int64_t)256 << 20;
  held += bytes;
  if (held < least) least = held;
  if (held - least <= (least > some ? least : some)) return;
  least = held;
  R_gc();
}

static int64_t bytes_of(SEXP object, void *address) {
  if (R_ExternalPtrTag(object) != Rf_install("tensor")) return 0;
  return ((int64_t(*)(const void *))found("dl4_tensor_bytes"))(address);
}

static void finalize(SEXP object) {
  void *address = R_ExternalPtrAddr(object);
  R_ClearExternalPtr(object);
  if (!address) return;
  account(-bytes_of(object, address));
  release_object(address);
}

SEXP dl4_r_close(SEXP object) {
  finalize(object);
  return R_NilValue;
}

static SEXP object_of(void *address, const char *type, bool owned) {
  SEXP object = PROTECT(R_MakeExternalPtr(address, Rf_install(type), R_NilValue));
  if (owned) {
    R_RegisterCFinalizer(object, finalize);
    account(bytes_of(object, address));
  }
  SEXP classes = PROTECT(Rf_allocVector(STRSXP, 2));
  char class[32];
  snprintf(class, sizeof class, "dl4_%s", type);
  SET_STRING_ELT(classes, 0, Rf_mkChar(class));
  SET_STRING_ELT(classes, 1, Rf_mkChar("dl4_object"));
  Rf_setAttrib(object, R_ClassSymbol, classes);
  UNPROTECT(2);
  return object;
}

SEXP dl4_r_lend(void *tensor) { return tensor ? object_of(tensor, "tensor", false) : R_NilValue; }

// A type of "*" is any.
static void *address_of(SEXP object, const char *type) {
  if (object == R_NilValue) return NULL;
  bool pointer = TYPEOF(object) == EXTPTRSXP && Rf_inherits(object, "dl4_object");
  const char *got = pointer ? CHAR(PRINTNAME(R_ExternalPtrTag(object))) : Rf_type2char(TYPEOF(object));
  if (!pointer || (*type != '*' && strcmp(type, got) != 0)) refusef("expected a %s, got a %s", type, got);
  if (!R_ExternalPtrAddr(object)) refusef("the %s is closed%s", got, "");
  return R_ExternalPtrAddr(object);
}

void *dl4_r_share(SEXP tensor) {
  void *address = address_of(tensor, "tensor");
  if (address) retain_object(address);
  return address;
}

// ---- Calls ----------------------------------------------------------------------------------------------------------

// One argument; an array is a copy, of which R gets another after the call.
typedef union {
  int32_t i32;
  int64_t i64;
  double f64;
  void *pointer;
} Argument;

static ffi_type *type_of(char code) {
  switch (code) {
    case 'v':
      return &ffi_type_void;
    case 'i':
      return &ffi_type_sint32;
    case 'l':
      return &ffi_type_sint64;
    case 'd':
      return &ffi_type_double;
    default:
      return &ffi_type_pointer;
  }
}

static void *memory_of(SEXP value) {
  if (value == R_NilValue) return NULL;
  if (TYPEOF(value) == RAWSXP) return RAW(value);
  return value;  // a function, for a callback
}

static int64_t whole(double v) {
  if (!(v >= -0x1p63 && v < 0x1p63 && v == (double)(int64_t)v)) {
    char got[32];
    snprintf(got, sizeof got, "%.17g", v);
    refusef("expected a whole number, got %s%s", got, "");
  }
  return (int64_t)v;
}

static void *text_address(SEXP value) {
  if (value == R_NilValue) return NULL;
  if (TYPEOF(value) != STRSXP || XLENGTH(value) != 1)
    refusef("expected one text, got a %s%s", Rf_type2char(TYPEOF(value)), "");
  return (void *)Rf_translateCharUTF8(STRING_ELT(value, 0));
}

static void *texts_of(SEXP value) {
  if (TYPEOF(value) != STRSXP) refusef("expected texts, got a %s%s", Rf_type2char(TYPEOF(value)), "");
  R_xlen_t n = XLENGTH(value);
  const char **all = (const char **)R_alloc(n + 1, sizeof *all);
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP text = STRING_ELT(value, i);
    all[i] = Rf_getCharCE(text) == CE_BYTES ? CHAR(text) : Rf_translateCharUTF8(text);
  }
  return all;
}

static void *array_of(char code, const char *type, SEXP value) {
  if (value == R_NilValue) return NULL;
  R_xlen_t n = XLENGTH(value);
  if (code == 'H') {
    void **all = (void **)R_alloc(n + 1, sizeof *all);
    for (R_xlen_t i = 0; i < n; i++) all[i] = address_of(VECTOR_ELT(value, i), type);
    return all;
  }
  value = PROTECT(Rf_coerceVector(value, REALSXP));
  int64_t *all = (int64_t *)R_alloc(n + 1, sizeof *all);
  for (R_xlen_t i = 0; i < n; i++) {
    double v = REAL(value)[i];
    if (code == 'I') ((int32_t *)all)[i] = (int32_t)whole(v);
    if (code == 'L') all[i] = whole(v);
    if (code == 'D') ((double *)all)[i] = v;
  }
  UNPROTECT(1);
  return all;
}

// A type is a letter, of objects with the name of theirs behind it.
static Argument argument_of(const char *type, SEXP value) {
  Argument a = {.pointer = NULL};
  switch (*type) {
    case 'i':
      a.i32 = (int32_t)whole(Rf_asReal(value));
      break;
    case 'l':
      a.i64 = whole(Rf_asReal(value));
      break;
    case 'd':
      a.f64 = Rf_asReal(value);
      break;
    case 's':
      a.pointer = text_address(value);
      break;
    case 'o':
      a.pointer = address_of(value, type + 1);
      break;
    case 'f':
      a.pointer = value == R_NilValue ? NULL : dl4_r_callback(CHAR(Rf_asChar(value)));
      break;
    case 'p':
      a.pointer = memory_of(value);
      break;
    case 'S':
      a.pointer = texts_of(value);
      break;
    default:
      a.pointer = array_of(*type, type + 1, value);
  }
  return a;
}

// Objects stay while a call uses them, also if a callback closes them.
static void hold(const char *type, Argument a, SEXP value, void (*change)(void *)) {
  if (*type == 'o' && a.pointer) change(a.pointer);
  if (*type != 'H' || !a.pointer) return;
  for (R_xlen_t i = 0; i < XLENGTH(value); i++) {
    if (VECTOR_ELT(value, i) != R_NilValue) change(((void **)a.pointer)[i]);
  }
}

static SEXP text_of(const char *text) { return text ? Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8)) : R_NilValue; }

static SEXP returned(const char *type, Argument a) {
  switch (*type) {
    case 'i':
      return Rf_ScalarInteger(a.i32);
    case 'l':
      return Rf_ScalarReal((double)a.i64);
    case 's':
      return text_of(a.pointer);
    case 'o':
      return a.pointer ? object_of(a.pointer, type + 1, true) : R_NilValue;
    default:
      return R_NilValue;
  }
}

// An array as the call left it; what it has put where there was no object is R's.
static SEXP changed(const char *type, Argument a, SEXP value) {
  if (!strchr("ILDH", *type) || !a.pointer) return R_NilValue;
  R_xlen_t n = XLENGTH(value);
  SEXP all = PROTECT(Rf_allocVector(*type == 'H' ? VECSXP : REALSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    if (*type == 'I') REAL(all)[i] = ((int32_t *)a.pointer)[i];
    if (*type == 'L') REAL(all)[i] = (double)((int64_t *)a.pointer)[i];
    if (*type == 'D') REAL(all)[i] = ((double *)a.pointer)[i];
    if (*type != 'H') continue;
    void *made = VECTOR_ELT(value, i) == R_NilValue ? ((void **)a.pointer)[i] : NULL;
    SET_VECTOR_ELT(all, i, made ? object_of(made, type + 1, true) : VECTOR_ELT(value, i));
  }
  UNPROTECT(1);
  return all;
}

// What a function returns, and its arguments as it left them. types: of what it returns, then of its parameters.
SEXP dl4_r_call(SEXP name, SEXP types, SEXP values) {
  int n = Rf_length(values);
  if (n > MAX_PARAMETERS || n != Rf_length(types) - 1)
    refusef("%s: expected other arguments%s", CHAR(STRING_ELT(name, 0)), "");
  const char *type[MAX_PARAMETERS];
  Argument argument[MAX_PARAMETERS], result = {.pointer = NULL};
  ffi_type *parameter[MAX_PARAMETERS];
  void *address[MAX_PARAMETERS];
  for (int i = 0; i < n; i++) {
    type[i] = CHAR(STRING_ELT(types, i + 1));
    parameter[i] = type_of(*type[i]);
    argument[i] = argument_of(type[i], VECTOR_ELT(values, i));
    address[i] = &argument[i];
  }
  const char *returns = CHAR(STRING_ELT(types, 0));
  void (*function)(void) = (void (*)(void))found(CHAR(STRING_ELT(name, 0)));
  ffi_cif interface;
  if (ffi_prep_cif(&interface, FFI_DEFAULT_ABI, n, type_of(*returns), parameter) != FFI_OK)
    refuse("libffi refused a call");
  ffi_arg wide = 0;  // libffi widens integers that are returned
  for (int i = 0; i < n; i++) hold(type[i], argument[i], VECTOR_ELT(values, i), retain_object);
  ffi_call(&interface, function, &wide, address);
  for (int i = 0; i < n; i++) hold(type[i], argument[i], VECTOR_ELT(values, i), release_object);
  memcpy(&result, &wide, sizeof result);
  if (*returns == 'i') result.i32 = (int32_t)wide;
  SEXP all = PROTECT(Rf_allocVector(VECSXP, n + 1));
  SET_VECTOR_ELT(all, 0, returned(returns, result));
  for (int i = 0; i < n; i++) SET_VECTOR_ELT(all, i + 1, changed(type[i], argument[i], VECTOR_ELT(values, i)));
  UNPROTECT(1);
  return all;
}

// ---- Numbers --------------------------------------------------------------------------------------------------------

SEXP dl4_r_bytes(SEXP blob) {
  void *b = address_of(blob, "blob");
  int64_t n = ((int64_t(*)(const void *))found("dl4_blob_size"))(b);
  SEXP all = Rf_allocVector(RAWSXP, n);
  if (n) memcpy(RAW(all), ((const void *(*)(const void *))found("dl4_blob_data"))(b), n);
  return all;
}

SEXP dl4_r_dims(SEXP tensor) {
  void *t = address_of(tensor, "tensor");
  int32_t rank = ((int32_t(*)(const void *))found("dl4_tensor_rank"))(t);
  const int64_t *dims = ((const int64_t *(*)(const void *))found("dl4_tensor_dims"))(t);
  SEXP all = Rf_allocVector(REALSXP, rank);
  for (int32_t i = 0; i < rank; i++) REAL(all)[i] = (double)dims[i];
  return all;
}

// R's numbers are doubles: a type of the library's with its elements as one, and the least and the most of a type of
// whole numbers.
#define TYPE(name, type)                                                               \
  static void put_##name(char *to, double v) { *(type *)to = (type)v; }                \
  static double get_##name(const char *from) { return (double)*(const type *)from; }
TYPE(float32, float)
TYPE(float64, double)
TYPE(int32, int32_t)
TYPE(int64, int64_t)
TYPE(uint8, uint8_t)
#undef TYPE

typedef struct {
  const char *name;
  void (*put)(char *, double);
  double (*get)(const char *);
  bool whole;
  double least, most;
} Type;

static const Type types_of_data[] = {
    {"float32", put_float32, get_float32, false, 0, 0},
    {"float64", put_float64, get_float64, false, 0, 0},
    {"int32", put_int32, get_int32, true, INT32_MIN, INT32_MAX},
    {"int64", put_int64, get_int64, true, -0x1p63, 0x1p63 - 1024},
    {"uint8", put_uint8, get_uint8, true, 0, UINT8_MAX},
    {"bool", put_uint8, get_uint8, true, 0, 1},
};

static const Type *type_of_data(SEXP dtype) {
  const char *name = CHAR(Rf_asChar(dtype));
  for (size_t i = 0; i < sizeof types_of_data / sizeof *types_of_data; i++) {
    if (!strcmp(types_of_data[i].name, name)) return &types_of_data[i];
  }
  refusef("R has no numbers for %s%s", name, "");
  return NULL;
}

static char *elements(SEXP tensor, R_xlen_t n, int64_t *size) {
  void *t = address_of(tensor, "tensor");
  *size = n ? ((int64_t(*)(const void *))found("dl4_tensor_bytes"))(t) / n : 0;
  return ((char *(*)(void *))found("dl4_tensor_data"))(t);
}

// All elements of a dense tensor from doubles, row-major; an integer type takes whole numbers of its range only.
SEXP dl4_r_write(SEXP tensor, SEXP dtype, SEXP values) {
  const Type *type = type_of_data(dtype);
  R_xlen_t n = XLENGTH(values);
  int64_t size;
  char *data = elements(tensor, n, &size);
  for (R_xlen_t i = 0; i < n; i++) {
    double v = REAL(values)[i];
    if (type->whole && !(v >= type->least && v <= type->most && v == (double)(int64_t)v)) {
      char got[32];
      snprintf(got, sizeof got, "%.17g", v);
      refusef("expected values of type %s, got %s", type->name, got);
    }
    type->put(data + i * size, v);
  }
  return R_NilValue;
}

SEXP dl4_r_read(SEXP tensor, SEXP dtype, SEXP count) {
  const Type *type = type_of_data(dtype);
  R_xlen_t n = (R_xlen_t)Rf_asReal(count);
  int64_t size;
  const char *data = elements(tensor, n, &size);
  SEXP all = Rf_allocVector(REALSXP, n);
  for (R_xlen_t i = 0; i < n; i++) REAL(all)[i] = type->get(data + i * size);
  return all;
}

// The strings of a tensor, row-major. R's hold no NUL.
SEXP dl4_r_strings(SEXP tensor, SEXP count) {
  typedef const char *String(const void *, int64_t, int64_t *);
  void *t = address_of(tensor, "tensor");
  String *string = (String *)found("dl4_tensor_string");
  R_xlen_t n = (R_xlen_t)Rf_asReal(count);
  SEXP all = PROTECT(Rf_allocVector(STRSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    int64_t bytes = 0;
    const char *text = string(t, i, &bytes);
    if (bytes > INT_MAX || (bytes && memchr(text, 0, bytes))) {
      char place[32];
      snprintf(place, sizeof place, "%.0f", (double)i + 1);
      refusef("string %s: R's texts hold no NUL%s", place, bytes > INT_MAX ? " and at most 2^31 - 1 bytes" : "");
    }
    SET_STRING_ELT(all, i, Rf_mkCharLenCE(bytes ? text : "", (int)bytes, CE_UTF8));
  }
  UNPROTECT(1);
  return all;
}

// ---- Functions of R's -----------------------------------------------------------------------------------------------

// A function that the library keeps is kept from R's collector until the library lets it go.
SEXP dl4_r_keep(SEXP function, SEXP yes) {
  if (Rf_asLogical(yes))
    R_PreserveObject(function);
  else
    R_ReleaseObject(function);
  return R_NilValue;
}
