// Package dl4 builds, trains, runs and saves neural networks with libdl4: layers with the names, options, defaults and
// numbers of Keras 3, in one shared library.
//
// A layer, loss, optimizer or metric is a kind: it is used by its name, with Keras's configuration keys as [Attrs].
// [Registry] describes every kind, so this package does not change when the library gets a new one.
//
// # Memory
//
// Every object is released by its Close method, or by the garbage collector if it was not closed; objects keep what
// they need alive, so the order does not matter. A closed object is refused with an error. The numbers of a [Tensor]
// lie in memory of the library, which the collector neither moves nor counts: close tensors that are large or many.
//
// # Goroutines
//
// A [Session] runs on any number of goroutines at once. A [Graph] is for one at a time; of a [Trainer], [Dataset] or
// [Stream] a second caller at the same time gets [ErrBusy]. Callbacks run on the goroutine that made the call. An error that they return, and a panic,
// comes back from that call as itself. In a callback neither [runtime.Goexit] nor the FailNow of a test may be called:
// that ends the process, as it would leave the library in the middle of its work.
//
// # Errors
//
// What the library refuses is an [*Error]; errors.Is(err, dl4.ErrNotFound) asks for its code, and errors.As gives the
// facts.
package dl4

// #cgo pkg-config: dl4
// #include "shim.h"
import "C"

import (
	"encoding/json"
	"fmt"
	"sync"
	"unsafe"
)

// DType is a type of data.
type DType int32

// The types of data. Values in a graph are all of these but Float64, which is for tensors only.
const (
	Float32 DType = C.DL4_FLOAT32
	Float64 DType = C.DL4_FLOAT64
	Int32   DType = C.DL4_INT32
	Int64   DType = C.DL4_INT64
	Uint8   DType = C.DL4_UINT8
	Bool    DType = C.DL4_BOOL
	String  DType = C.DL4_STRING // see FromStrings and Tensor.Strings
)

// String gives the name that the library uses, such as "float32".
func (t DType) String() string {
	switch t {
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	case Int32:
		return "int32"
	case Int64:
		return "int64"
	case Uint8:
		return "uint8"
	case Bool:
		return "bool"
	case String:
		return "string"
	}
	return fmt.Sprintf("DType(%d)", int32(t))
}

// Attrs are attributes of a kind, options or call arguments, as Keras names them. Values are what encoding/json takes;
// a [Node], a list of them (Node{} stands for none) and a *[Model] may stand at the top.
type Attrs map[string]any

var (
	first        sync.Once
	wrongVersion error
)

// ready refuses a library of another major version, once and for all.
func ready() error {
	first.Do(func() {
		if found := int32(C.dl4_version()); found/1000000 != C.DL4_VERSION_MAJOR {
			wrongVersion = &Error{
				Code: ErrVersion, Function: "dl4_version", Expected: fmt.Sprintf("%d.x", C.DL4_VERSION_MAJOR), Got: Version(),
				Message: fmt.Sprintf("dl4: this package is made for version %d of the library, found %s",
					C.DL4_VERSION_MAJOR, Version()),
			}
		}
	})
	return wrongVersion
}

// Version is that of the library, such as "1.2.3".
func Version() string {
	n := int32(C.dl4_version())
	return fmt.Sprintf("%d.%d.%d", n/1000000, n/1000%1000, n%1000)
}

// BuildInfo tells as JSON how the library was built and what it found on this machine.
func BuildInfo() (json.RawMessage, error) {
	var c call
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_build_info(out) })
}

// Registry describes kinds as JSON: attributes with type, default, range and doc, inputs, outputs, weights. An empty
// category means all of them, an empty name all kinds of the category.
func Registry(category, name string) (json.RawMessage, error) {
	var c call
	category_, name_ := c.optional(category), c.optional(name)
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_registry_json(category_, name_, out) })
}

// Kinds are the names of all kinds in a category, those of [Register] included; of all categories if it is empty.
func Kinds(category string) ([]string, error) {
	description, err := Registry(category, "")
	if err != nil {
		return nil, err
	}
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(description, &all); err != nil {
		return nil, err
	}
	if category == "" {
		delete(all, "every_layer")
		return sortedKeys(all), nil
	}
	return sortedKeys(all[category]), nil
}

// Context has the threads, seed and memory limit of what is made in it. Where one is asked for, nil stands for the
// default one of the process; most programs never make one.
type Context struct {
	*object
}

// NewContext makes a context. Options are those of dl4_context_create: "threads", "seed", "memory_limit", ...
func NewContext(options Attrs) (*Context, error) {
	var c call
	attrs := c.options(options)
	var out *C.dl4_context
	err := c.run(func() *C.dl4_error { return C.dl4_context_create(attrs, &out) })
	if err != nil {
		return nil, err
	}
	return &Context{newObject("Context", unsafe.Pointer(out))}, nil
}

func (c *call) context(x *Context) *C.dl4_context {
	if x == nil {
		return nil
	}
	return (*C.dl4_context)(c.object(x.object))
}

// SetSeed gives each graph that is made from now on the start of that seed's random numbers.
func (x *Context) SetSeed(seed int64) error {
	var c call
	p := c.context(x)
	return c.run(func() *C.dl4_error { return C.dl4_context_set_seed(p, C.int64_t(seed)) })
}

// Trim gives memory back that is only kept for speed.
func (x *Context) Trim() error {
	var c call
	p := c.context(x)
	return c.run(func() *C.dl4_error { return C.dl4_context_trim(p) })
}

// Measure computes a loss or metric of two tensors, without a model. category is "loss" or "metric"; w, sample
// weights, may be nil.
func Measure(x *Context, category, kind string, attrs Attrs, yTrue, yPred, w *Tensor) (*Tensor, error) {
	var c call
	context, category_, kind_, attrs_ := c.context(x), c.text(category), c.text(kind), c.options(attrs)
	t, p, weights := c.tensor(yTrue), c.tensor(yPred), c.tensor(w)
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error { return C.dl4_measure(context, category_, kind_, attrs_, t, p, weights, &out) })
	return newTensor(out, err)
}
