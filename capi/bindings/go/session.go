package dl4

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// Session is a model made ready to run, with the weights it had at that moment. It is immutable: any number of
// goroutines may run it at once.
type Session struct {
	*object
	outputs int
}

// NewSession makes a session. Options, which may be nil, are those of dl4_session_create: "training", "gradients", ...
func NewSession(m *Model, options Attrs) (*Session, error) {
	var c call
	p, attrs := c.model(m), c.options(options)
	var out *C.dl4_session
	if err := c.run(func() *C.dl4_error { return C.dl4_session_create(p, attrs, &out) }); err != nil {
		return nil, err
	}
	n := int(C.dl4_port_count(unsafe.Pointer(out), C.DL4_OUTPUTS))
	return &Session{newObject("Session", unsafe.Pointer(out)), n}, nil
}

// Inputs are the inputs, in the order that Run takes them.
func (s *Session) Inputs() ([]IO, error) {
	return s.ports(C.DL4_INPUTS)
}

// Outputs are the outputs, in the order that Run gives them; those of gradients come last.
func (s *Session) Outputs() ([]IO, error) {
	return s.ports(C.DL4_OUTPUTS)
}

// OutputShape gives the shape of output i for inputs of these shapes; nothing is run.
func (s *Session) OutputShape(i int, inputs ...[]int) ([]int, error) {
	ranks, all := make([]C.int32_t, len(inputs)+1), []int{}
	for k, shape := range inputs {
		ranks[k] = C.int32_t(len(shape))
		all = append(all, shape...)
	}
	var c call
	p, flat := (*C.dl4_session)(c.object(s.object)), (*C.int64_t)(nil)
	if len(all) > 0 {
		flat, _ = dims(all)
	}
	return c.shape(func(sizes *C.int64_t, limit C.int64_t, rank *C.int32_t) *C.dl4_error {
		return C.dl4_session_output_shape(p, &ranks[0], flat, C.int64_t(len(inputs)), C.int64_t(i), sizes, limit, rank)
	})
}

// Run runs the model and gives new tensors. RunInto spares making them.
func (s *Session) Run(ctx context.Context, inputs ...*Tensor) ([]*Tensor, error) {
	out := make([]*Tensor, s.outputs)
	if err := s.RunInto(ctx, inputs, out); err != nil {
		return nil, err
	}
	return out, nil
}

// RunInto runs the model into tensors of the caller's, one for each output, of the right type and shape, overlapping no
// input and no other output. A slot that is nil gets a new tensor. After an error tensors may be half written.
func (s *Session) RunInto(ctx context.Context, inputs, outputs []*Tensor) error {
	var c call
	p, flag := (*C.dl4_session)(c.object(s.object)), c.cancel(ctx)
	in, n := c.tensors(inputs)
	slots, m := c.tensors(outputs)
	err := c.run(func() *C.dl4_error { return C.dl4_session_run(p, in, n, slots, m, flag) })
	return fill(outputs, slots, err)
}

// Predict runs the model over a whole dataset, in order, and joins the outputs along their first axis.
func (s *Session) Predict(ctx context.Context, d *Dataset) ([]*Tensor, error) {
	out := make([]*Tensor, s.outputs)
	var c call
	p, flag, data := (*C.dl4_session)(c.object(s.object)), c.cancel(ctx), c.dataset(d)
	slots, n := c.tensors(out)
	err := c.run(func() *C.dl4_error { return C.dl4_session_predict(p, data, flag, slots, n) })
	if err := fill(out, slots, err); err != nil {
		return nil, err
	}
	return out, nil
}

// fill makes tensors of the slots that the library filled.
func fill(out []*Tensor, slots **C.dl4_tensor, err error) error {
	if err != nil || len(out) == 0 {
		return err
	}
	for i, p := range unsafe.Slice(slots, len(out)) {
		if out[i] == nil {
			out[i], _ = newTensor(p, nil)
		}
	}
	return nil
}
