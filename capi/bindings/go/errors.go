package dl4

// #include "shim.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// Code says what kind of error it is. A code is an error itself, as the target of [errors.Is].
type Code int32

// The codes of errors. Treat one that is not here as ErrInternal.
const (
	ErrInternal        Code = C.DL4_INTERNAL         // a bug in the library: please report
	ErrOutOfMemory     Code = C.DL4_OUT_OF_MEMORY    // an allocation failed, or memory_limit would be passed
	ErrInvalidArgument Code = C.DL4_INVALID_ARGUMENT // a value, attribute or call that cannot be right
	ErrUnknownKind     Code = C.DL4_UNKNOWN_KIND     // no layer, loss, ... of that name
	ErrNotFound        Code = C.DL4_NOT_FOUND        // no weight, file, key, ... of that name
	ErrCancelled       Code = C.DL4_CANCELLED        // by its context
	ErrShapeMismatch   Code = C.DL4_SHAPE_MISMATCH   // shapes or types of data that do not fit
	ErrUnsupported     Code = C.DL4_UNSUPPORTED      // valid, but not in this version or build
	ErrIO              Code = C.DL4_IO               // the system refused to read or write
	ErrCorruptFile     Code = C.DL4_CORRUPT_FILE     // not a model, truncated or damaged
	ErrVersion         Code = C.DL4_VERSION          // made by, or for, a newer library
	ErrBusy            Code = C.DL4_BUSY             // in use by another goroutine, or by the caller of this callback
	ErrCallbackFailed  Code = C.DL4_CALLBACK_FAILED  // a callback that is not Go's reported failure
	ErrNumeric         Code = C.DL4_NUMERIC          // NaN or infinity met by the nan_guard
)

var codes = map[Code]string{
	ErrInternal: "internal", ErrOutOfMemory: "out of memory", ErrInvalidArgument: "invalid argument",
	ErrUnknownKind: "unknown kind", ErrNotFound: "not found", ErrCancelled: "cancelled",
	ErrShapeMismatch: "shape mismatch", ErrUnsupported: "unsupported", ErrIO: "input or output failed",
	ErrCorruptFile: "corrupt file", ErrVersion: "wrong version", ErrBusy: "busy",
	ErrCallbackFailed: "callback failed", ErrNumeric: "NaN or infinity",
}

func (c Code) Error() string {
	if s, ok := codes[c]; ok {
		return "dl4: " + s
	}
	return fmt.Sprintf("dl4: code %d", int32(c))
}

// Error is what the library refused. Fields are empty where the message does not have them.
type Error struct {
	Code       Code   `json:"-"`
	Message    string `json:"-"` // one line: who, what was expected, what came
	Function   string `json:"function"`
	Layer      string `json:"layer"`
	Attribute  string `json:"attribute"` // a key of Attrs
	Argument   string `json:"argument"`  // a parameter of the C function
	Expected   string `json:"expected"`
	Got        string `json:"got"`
	DidYouMean string `json:"did_you_mean"`
	Answer     string `json:"answer"`

	cause error
}

func (e *Error) Error() string {
	return e.Message
}

// Is says whether target is the error's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap gives the error of the context that cancelled the call, if one did.
func (e *Error) Unwrap() error {
	return e.cause
}

func invalid(format string, args ...any) *Error {
	return &Error{Code: ErrInvalidArgument, Message: "dl4: " + fmt.Sprintf(format, args...)}
}

// taken makes a Go error of one of the library's, which it releases.
func taken(e *C.dl4_error) *Error {
	defer C.dl4_release(unsafe.Pointer(e))
	err := &Error{Code: Code(C.dl4_error_code(e)), Message: C.GoString(C.dl4_error_message(e))}
	if broken := json.Unmarshal([]byte(C.GoString(C.dl4_error_detail(e))), err); broken != nil {
		err.cause = broken
	}
	return err
}
