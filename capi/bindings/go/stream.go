package dl4

// #include "shim.h"
import "C"

import (
	"context"
	"runtime/cgo"
	"unsafe"
)

// Stream is a sequence that goes on: a session is run step by step, and what its recurrent layers carry from step to
// step is kept here. One call at a time may use it; many streams may run one session at once.
type Stream struct {
	*object
	outputs, batch int
}

// NewStream makes a stream at the beginning of a sequence, of a session with the option "states". Options, which may be
// nil, are those of dl4_stream_create: "batch", "seed".
func NewStream(s *Session, options Attrs) (*Stream, error) {
	var c call
	p, attrs := (*C.dl4_session)(c.object(s.object)), c.options(options)
	var out *C.dl4_stream
	if err := c.run(func() *C.dl4_error { return C.dl4_stream_create(p, attrs, &out) }); err != nil {
		return nil, err
	}
	n, batch := int(C.dl4_port_count(unsafe.Pointer(out), C.DL4_OUTPUTS)), 1
	if given, some := options["batch"].(int); some {
		batch = given
	}
	return &Stream{newObject("Stream", unsafe.Pointer(out)), n, batch}, nil
}

// Fork makes a second stream that goes on from here. Options, which may be nil, are those of dl4_stream_fork: "seed".
func (s *Stream) Fork(options Attrs) (*Stream, error) {
	var c call
	p, attrs := c.stream(s), c.options(options)
	var out *C.dl4_stream
	if err := c.run(func() *C.dl4_error { return C.dl4_stream_fork(p, attrs, &out) }); err != nil {
		return nil, err
	}
	return &Stream{newObject("Stream", unsafe.Pointer(out)), s.outputs, s.batch}, nil
}

// RunMany runs the next steps of many streams of one session in one call, which is faster than a call for each. Row i
// of the inputs and outputs is that of streams[i], which takes steps[i] of the steps; nil: all take every step.
func RunMany(ctx context.Context, streams []*Stream, steps []int, inputs ...*Tensor) ([]*Tensor, error) {
	if len(streams) == 0 || (steps != nil && len(steps) != len(streams)) {
		return nil, invalid("RunMany: expected streams and as many numbers of steps, got %d and %d", len(streams), len(steps))
	}
	var c call
	list, flag := make([]*C.dl4_stream, len(streams)), c.cancel(ctx)
	for i, s := range streams {
		list[i] = c.stream(s)
	}
	counts := make([]C.int64_t, len(steps)+1)
	for i, n := range steps {
		counts[i] = C.int64_t(n)
	}
	given := &counts[0]
	if steps == nil {
		given = nil
	}
	in, n := c.tensors(inputs)
	out := make([]*Tensor, streams[0].outputs)
	slots, m := c.tensors(out)
	err := c.run(func() *C.dl4_error {
		return C.dl4_stream_run_many(&list[0], C.int64_t(len(list)), given, in, n, slots, m, flag)
	})
	if err := fill(out, slots, err); err != nil {
		return nil, err
	}
	return out, nil
}

// Next runs the next steps and draws the id that follows in each sequence from the model's logits. Options, which may
// be nil, are those of dl4_stream_next: "temperature", "top_k", "top_p", "stop", "from_logits". A mask, which may be nil,
// changes the logits [B, V], valid during the call, in place: an id of -infinity is not drawn.
func (s *Stream) Next(ctx context.Context, options Attrs, mask func(logits *Tensor) error, inputs ...*Tensor) ([]int, error) {
	var c call
	p, attrs, flag := c.stream(s), c.options(options), c.cancel(ctx)
	in, n := c.tensors(inputs)
	ids := make([]C.int64_t, s.batch)
	var user cgo.Handle
	if mask != nil {
		user = cgo.NewHandle(mask)
		defer user.Delete()
	}
	err := c.run(func() *C.dl4_error {
		return C.dl4go_next(p, in, n, attrs, C.uintptr_t(user), &ids[0], C.int64_t(len(ids)), flag)
	})
	if err != nil {
		return nil, err
	}
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out, nil
}

//export dl4goLogits
func dl4goLogits(user C.uintptr_t, logits *C.dl4_tensor) C.int32_t {
	return answer(nil, func() error {
		t := borrowed(logits)
		defer t.Close()
		return cgo.Handle(user).Value().(func(*Tensor) error)(t)
	})
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

// ResetRow restarts one of its sequences.
func (s *Stream) ResetRow(row int) error {
	var c call
	p := c.stream(s)
	return c.run(func() *C.dl4_error { return C.dl4_stream_reset_row(p, C.int64_t(row)) })
}

// Bytes saves where the stream stands: its states by name, as a safetensors file.
func (s *Stream) Bytes() ([]byte, error) {
	var c call
	p := c.stream(s)
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_stream_save_bytes(p, out) })
}

// LoadBytes goes on where another stream of the same model and batch stood.
func (s *Stream) LoadBytes(data []byte) error {
	var c call
	p := c.stream(s)
	content, size := bytesOf(data)
	return c.run(func() *C.dl4_error { return C.dl4_stream_load_bytes(p, content, size) })
}
