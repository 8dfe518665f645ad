package dl4

// #include "shim.h"
import "C"

import (
	"context"
	"unsafe"
)

// Stream is a sequence that goes on: a session is run step by step, and what its recurrent layers carry from step to
// step is kept here. One call at a time may use it; many streams may run one session at once.
type Stream struct {
	*object
	outputs int
}

// NewStream makes a stream at the beginning of a sequence, of a session with the option "states". Options, which may be
// nil, are those of dl4_stream_create: "batch".
func NewStream(s *Session, options Attrs) (*Stream, error) {
	var c call
	p, attrs := (*C.dl4_session)(c.object(s.object)), c.options(options)
	var out *C.dl4_stream
	if err := c.run(func() *C.dl4_error { return C.dl4_stream_create(p, attrs, &out) }); err != nil {
		return nil, err
	}
	n := int(C.dl4_port_count(unsafe.Pointer(out), C.DL4_OUTPUTS))
	return &Stream{newObject("Stream", unsafe.Pointer(out)), n}, nil
}

func (c *call) stream(s *Stream) *C.dl4_stream {
	return (*C.dl4_stream)(c.object(s.object))
}

// Run runs the next steps, at least one, and gives new tensors for the model's outputs. After an error the stream is
// where it was.
func (s *Stream) Run(ctx context.Context, inputs ...*Tensor) ([]*Tensor, error) {
	out := make([]*Tensor, s.outputs)
	if err := s.RunInto(ctx, inputs, out); err != nil {
		return nil, err
	}
	return out, nil
}

// RunInto runs the next steps into tensors of the caller's, as [Session.RunInto] does.
func (s *Stream) RunInto(ctx context.Context, inputs, outputs []*Tensor) error {
	var c call
	p, flag := c.stream(s), c.cancel(ctx)
	in, n := c.tensors(inputs)
	slots, m := c.tensors(outputs)
	err := c.run(func() *C.dl4_error { return C.dl4_stream_run(p, in, n, slots, m, flag) })
	return fill(outputs, slots, err)
}

// Reset goes back to the beginning of a sequence: all states are zeros.
func (s *Stream) Reset() error {
	var c call
	p := c.stream(s)
	return c.run(func() *C.dl4_error { return C.dl4_stream_reset(p) })
}

// Bytes saves where the stream stands: its states by name, as a safetensors file.
func (s *Stream) Bytes() ([]byte, error) {
	var c call
	p := c.stream(s)
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_stream_save_memory(p, out) })
}

// LoadBytes goes on where another stream of the same model and batch stood.
func (s *Stream) LoadBytes(data []byte) error {
	var c call
	p := c.stream(s)
	content, size := bytesOf(data)
	return c.run(func() *C.dl4_error { return C.dl4_stream_load_memory(p, content, size) })
}
