package dl4

// #include "shim.h"
import "C"

import "unsafe"

// FromStrings makes a tensor of a copy of strings, row-major. Without a shape it is a scalar. Tensors of strings are
// read-only.
func FromStrings(data []string, shape ...int) (*Tensor, error) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	if n != len(data) {
		return nil, invalid("expected %d strings, as the shape has elements, got %d", n, len(data))
	}
	var bytes []byte
	offsets := make([]C.int64_t, len(data)+1)
	for i, s := range data {
		bytes = append(bytes, s...)
		offsets[i+1] = C.int64_t(len(bytes))
	}
	var c call
	sizes, rank := dims(shape)
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error {
		return C.dl4go_strings(rank, sizes, &offsets[0], start(bytes), C.int64_t(len(bytes)), &out)
	})
	return newTensor(out, err)
}

// Strings gives a copy of the elements of a tensor of strings, row-major.
func (t *Tensor) Strings() ([]string, error) {
	if t.DType() != String {
		return nil, &Error{
			Code: ErrShapeMismatch, Expected: t.DType().String(), Got: String.String(),
			Message: "dl4: the tensor is " + t.DType().String() + ", got a slice of " + String.String(),
		}
	}
	p, err := t.use()
	if err != nil {
		return nil, err
	}
	defer t.done()
	out := make([]string, t.Len())
	for i := range out {
		var bytes C.int64_t
		s := C.dl4_tensor_string((*C.dl4_tensor)(p), C.int64_t(i), &bytes)
		out[i] = string(unsafe.Slice((*byte)(unsafe.Pointer(s)), int(bytes)))
	}
	return out, nil
}
