package dl4

// #include "shim.h"
import "C"

import (
	"encoding/json"
	"unsafe"
)

// Model is an architecture and its weights. Goroutines may read it at once; who writes it, a trainer too, is alone.
type Model struct {
	*object
}

// IO is an input or output of a model or session. -1 in a shape is free.
type IO struct {
	Name  string
	DType DType
	Shape []int
}

// Weight is what is known of a weight without its numbers.
type Weight struct {
	IO
	Trainable bool
}

func newModel(p *C.dl4_model, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	return &Model{newObject("Model", unsafe.Pointer(p))}, nil
}

func (c *call) model(m *Model) *C.dl4_model {
	if m == nil {
		return nil
	}
	return (*C.dl4_model)(c.object(m.object))
}

func bytesOf(data []byte) (unsafe.Pointer, C.int64_t) {
	if len(data) == 0 {
		data = []byte{0}
		return unsafe.Pointer(&data[0]), 0
	}
	return unsafe.Pointer(&data[0]), C.int64_t(len(data))
}

// LoadModel loads a model from a file. options may be nil.
func LoadModel(x *Context, path string, options Attrs) (*Model, error) {
	var c call
	context, path_, attrs := c.context(x), c.text(path), c.options(options)
	var out *C.dl4_model
	err := c.run(func() *C.dl4_error { return C.dl4_model_load(context, path_, attrs, &out) })
	return newModel(out, err)
}

// LoadModelBytes loads a model from the bytes of such a file.
func LoadModelBytes(x *Context, data []byte, options Attrs) (*Model, error) {
	var c call
	file, err := FromSlice(data, len(data))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	context, attrs, bytes := c.context(x), c.options(options), c.tensor(file)
	var out *C.dl4_model
	err = c.run(func() *C.dl4_error { return C.dl4_model_load_bytes(context, bytes, attrs, &out) })
	return newModel(out, err)
}

// Save saves the model to a safetensors file, atomically.
func (m *Model) Save(path string) error {
	var c call
	p, path_ := c.model(m), c.text(path)
	return c.run(func() *C.dl4_error { return C.dl4_model_save(p, path_, nil) })
}

// Bytes gives the bytes that Save would write.
func (m *Model) Bytes() ([]byte, error) {
	var c call
	p := c.model(m)
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_model_save_bytes(p, nil, out) })
}

// Clone makes a copy with weights of its own.
func (m *Model) Clone() (*Model, error) {
	var c call
	p := c.model(m)
	var out *C.dl4_model
	err := c.run(func() *C.dl4_error { return C.dl4_model_clone(p, &out) })
	return newModel(out, err)
}

// Inputs are the inputs, in the order that a session takes them.
func (m *Model) Inputs() ([]IO, error) {
	return m.ports(C.DL4_INPUTS)
}

// Outputs are the outputs, in the order that a session gives them.
func (m *Model) Outputs() ([]IO, error) {
	return m.ports(C.DL4_OUTPUTS)
}

// ports are the inputs, outputs or weights of an object.
func (o *object) ports(which C.int32_t) ([]IO, error) {
	p, err := o.use()
	if err != nil {
		return nil, err
	}
	defer o.done()
	return listed(int64(C.dl4_port_count(p, which)), func(i C.int64_t) (IO, error) {
		var c call
		shape, err := c.shape(func(sizes *C.int64_t, limit C.int64_t, rank *C.int32_t) *C.dl4_error {
			return C.dl4_port_shape(p, which, i, sizes, limit, rank)
		})
		return IO{C.GoString(C.dl4_port_name(p, which, i)), DType(C.dl4_port_dtype(p, which, i)), shape}, err
	})
}

// Weights are all weights, in the order of Keras's model.weights.
func (m *Model) Weights() ([]Weight, error) {
	ports, err := m.ports(C.DL4_WEIGHTS)
	if err != nil {
		return nil, err
	}
	weights := make([]Weight, len(ports))
	for i, port := range ports {
		var c call
		var trainable C.int32_t
		p, name := c.model(m), c.text(port.Name)
		if err := c.run(func() *C.dl4_error { return C.dl4_model_get_trainable(p, name, &trainable) }); err != nil {
			return nil, err
		}
		weights[i] = Weight{port, trainable != 0}
	}
	return weights, nil
}

func listed[T any](n int64, item func(C.int64_t) (T, error)) ([]T, error) {
	out := make([]T, n)
	for i := range out {
		var err error
		if out[i], err = item(C.int64_t(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Weight gives a copy of a weight, "dense/kernel"; "*" one flat block of all trainable weights.
func (m *Model) Weight(name string) (*Tensor, error) {
	var c call
	p, name_ := c.model(m), c.text(name)
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error { return C.dl4_model_get_weight(p, name_, &out) })
	return newTensor(out, err)
}

// SetWeight sets a weight to a copy of v; "*" all trainable ones from one flat block. Sessions that exist keep theirs.
func (m *Model) SetWeight(name string, v *Tensor) error {
	var c call
	p, name_, value := c.model(m), c.text(name), c.tensor(v)
	return c.run(func() *C.dl4_error { return C.dl4_model_set_weight(p, name_, value) })
}

// SetTrainable says of a layer's weights, of one weight, or with "*" of all, whether training changes them.
func (m *Model) SetTrainable(name string, yes bool) error {
	var c call
	p, name_ := c.model(m), c.text(name)
	return c.run(func() *C.dl4_error { return C.dl4_model_set_trainable(p, name_, truth(yes)) })
}

func truth(yes bool) C.int32_t {
	if yes {
		return 1
	}
	return 0
}

// CheckGradients compares the gradients of the outputs at inputs with differences, and gives the result as JSON: a
// check of layers of your own.
func (m *Model) CheckGradients(inputs []*Tensor, options Attrs) (json.RawMessage, error) {
	var c call
	p, attrs := c.model(m), c.options(options)
	in, n := c.tensors(inputs)
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_model_check_gradients(p, in, n, attrs, out) })
}
