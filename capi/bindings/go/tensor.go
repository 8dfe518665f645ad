package dl4

// #include "shim.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Element is a type of Go whose values a tensor can hold.
type Element interface {
	float32 | float64 | int32 | int64 | uint8 | bool
}

func dtypeOf[T Element]() DType {
	var zero T
	switch any(zero).(type) {
	case float32:
		return Float32
	case float64:
		return Float64
	case int32:
		return Int32
	case int64:
		return Int64
	case uint8:
		return Uint8
	}
	return Bool
}

// Tensor is numbers with a shape, row-major. They lie in memory of the library: nothing of Go's has to be pinned, and
// a call passes them on without a copy. Goroutines may use a tensor at once as long as none writes it.
type Tensor struct {
	*object
	facts *C.dl4go_facts
}

func newTensor(p *C.dl4_tensor, err error) (*Tensor, error) {
	if err != nil {
		return nil, err
	}
	t := &Tensor{newObject("Tensor", unsafe.Pointer(p)), new(C.dl4go_facts)}
	C.dl4go_tensor_facts(p, t.facts)
	t.bytes = int64(C.dl4_tensor_bytes(p))
	hold(t.bytes)
	return t, nil
}

// borrowed is a tensor of the library's own, during a callback.
func borrowed(p *C.dl4_tensor) *Tensor {
	if p == nil {
		return nil
	}
	t := &Tensor{&object{what: "Tensor", p: unsafe.Pointer(p), borrowed: true}, new(C.dl4go_facts)}
	C.dl4go_tensor_facts(p, t.facts)
	return t
}

func (c *call) tensor(t *Tensor) *C.dl4_tensor {
	if t == nil {
		return nil
	}
	return (*C.dl4_tensor)(c.object(t.object))
}

func (c *call) tensors(list []*Tensor) (**C.dl4_tensor, C.int64_t) {
	if len(list) == 0 {
		return nil, 0
	}
	out := make([]*C.dl4_tensor, len(list))
	for i, t := range list {
		out[i] = c.tensor(t)
	}
	return &out[0], C.int64_t(len(out))
}

func dims(shape []int) (*C.int64_t, C.int32_t) {
	if len(shape) == 0 {
		return nil, 0
	}
	out := make([]C.int64_t, len(shape))
	for i, d := range shape {
		out[i] = C.int64_t(d)
	}
	return &out[0], C.int32_t(len(out))
}

// NewTensor makes a tensor of zeros. x, which may be nil, says whose memory limit counts.
func NewTensor(x *Context, dtype DType, shape ...int) (*Tensor, error) {
	var c call
	context := c.context(x)
	sizes, rank := dims(shape)
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error { return C.dl4_tensor_create(context, C.int32_t(dtype), rank, sizes, &out) })
	return newTensor(out, err)
}

// FromSlice makes a tensor of a copy of data, row-major. Without a shape it is a scalar.
func FromSlice[T Element](data []T, shape ...int) (*Tensor, error) {
	t, err := NewTensor(nil, dtypeOf[T](), shape...)
	if err != nil {
		return nil, err
	}
	if err := CopyIn(t, data); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Wrap makes a tensor of memory that is not Go's, or that is pinned, without a copy: mapped, of another library.
// strides counts elements; nil means row-major. The memory must stay until release, which may be nil, is called: once,
// on any goroutine. If Wrap fails it is not called.
func Wrap(dtype DType, shape, strides []int, data unsafe.Pointer, bytes int64, release func()) (*Tensor, error) {
	if strides != nil && len(strides) != len(shape) {
		return nil, invalid("expected %d strides, got %d", len(shape), len(strides))
	}
	var c call
	sizes, rank := dims(shape)
	steps, _ := dims(strides)
	var user cgo.Handle
	if release != nil {
		user = cgo.NewHandle(release)
	}
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error {
		return C.dl4go_wrap(nil, C.int32_t(dtype), rank, sizes, steps, data, C.int64_t(bytes), C.uintptr_t(user), &out)
	})
	if err != nil && release != nil {
		user.Delete()
	}
	return newTensor(out, err)
}

// DType is the type of the numbers.
func (t *Tensor) DType() DType {
	return DType(t.facts.dtype)
}

// Shape gives the dimensions.
func (t *Tensor) Shape() []int {
	shape := make([]int, t.facts.rank)
	for i := range shape {
		shape[i] = int(t.facts.dims[i])
	}
	return shape
}

// Len is the number of elements.
func (t *Tensor) Len() int {
	n := 1
	for _, d := range t.facts.dims[:t.facts.rank] {
		n *= int(d)
	}
	return n
}

// Clone makes a dense copy with memory of its own.
func (t *Tensor) Clone() (*Tensor, error) {
	var c call
	p := c.tensor(t)
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error { return C.dl4_tensor_clone(p, &out) })
	return newTensor(out, err)
}

// Share gives another reference to the same numbers, to be closed by itself.
func (t *Tensor) Share() (*Tensor, error) {
	p, err := t.use()
	if err != nil {
		return nil, err
	}
	defer t.done()
	C.dl4_retain(p)
	return newTensor((*C.dl4_tensor)(p), nil)
}

func typed[T Element](t *Tensor) error {
	if want := dtypeOf[T](); want != t.DType() {
		return &Error{
			Code: ErrShapeMismatch, Expected: t.DType().String(), Got: want.String(),
			Message: "dl4: the tensor is " + t.DType().String() + ", got a slice of " + want.String(),
		}
	}
	return nil
}

func start[T any](s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Pointer(&s[0])
}

// CopyIn copies all elements into a tensor, row-major.
func CopyIn[T Element](t *Tensor, from []T) error {
	done, err := copied(t, from, func(elements []T) { copy(elements, from) })
	if done || err != nil {
		return err
	}
	var c call
	p, data, size := c.tensor(t), start(from), C.int64_t(len(from))*C.int64_t(unsafe.Sizeof(*new(T)))
	return c.run(func() *C.dl4_error { return C.dl4_tensor_copy_in(p, data, size) })
}

// CopyOut copies all elements out of a tensor, row-major.
func CopyOut[T Element](t *Tensor, to []T) error {
	done, err := copied(t, to, func(elements []T) { copy(to, elements) })
	if done || err != nil {
		return err
	}
	var c call
	p, data, size := c.tensor(t), start(to), C.int64_t(len(to))*C.int64_t(unsafe.Sizeof(*new(T)))
	return c.run(func() *C.dl4_error { return C.dl4_tensor_copy_out(p, data, size) })
}

// copied copies without a call of the library, where elements are dense and as many as those outside.
func copied[T Element](t *Tensor, outside []T, f func(elements []T)) (bool, error) {
	if err := typed[T](t); err != nil || t.facts.dense == 0 || len(outside) != t.Len() {
		return false, err
	}
	if _, err := t.use(); err != nil {
		return false, err
	}
	defer t.done()
	f(unsafe.Slice((*T)(t.facts.data), len(outside)))
	return true, nil
}

// Data gives a copy of the elements, row-major.
func Data[T Element](t *Tensor) ([]T, error) {
	out := make([]T, t.Len())
	if err := CopyOut(t, out); err != nil {
		return nil, err
	}
	return out, nil
}

// UnsafeData gives the elements where they lie, without a copy. The slice is valid only as long as the tensor is
// neither closed nor collected: call Close, or [runtime.KeepAlive], after its last use.
func UnsafeData[T Element](t *Tensor) ([]T, error) {
	if err := typed[T](t); err != nil {
		return nil, err
	}
	if t.facts.dense == 0 {
		return nil, &Error{Code: ErrUnsupported, Message: "dl4: the elements do not lie one behind the other: use Data"}
	}
	p, err := t.use()
	if err != nil || p == nil {
		return nil, err
	}
	defer t.done()
	return unsafe.Slice((*T)(t.facts.data), t.Len()), nil
}
