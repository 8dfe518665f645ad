package dl4

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/cgo"
	"unsafe"
)

// Dataset is batches to train on, or to predict. One call at a time may use it.
type Dataset struct {
	*object
}

// Batch is one batch of a [DatasetFunc]: a tensor for each input and each target, and sample weights, if there are any,
// for each target or nil. The tensors pass to the dataset, which closes them; keep one by [Tensor.Share].
type Batch struct {
	X, Y, W []*Tensor
}

// NewDataset makes a dataset of whole tensors, with the same number of rows. y and w may be empty, elements of w nil.
// Options are those of dl4_dataset_from_tensors: "batch_size", "shuffle", "seed", "drop_remainder". The dataset keeps
// the numbers alive by itself: the tensors may be closed.
func NewDataset(x *Context, inputs, targets, weights []*Tensor, options Attrs) (*Dataset, error) {
	var c call
	context, attrs := c.context(x), c.options(options)
	in, nx := c.tensors(inputs)
	y, ny := c.tensors(targets)
	w, nw := c.tensors(weights)
	var out *C.dl4_dataset
	err := c.run(func() *C.dl4_error {
		return C.dl4_dataset_from_tensors(context, in, nx, y, ny, w, nw, attrs, &out)
	})
	return newDataset(out, err)
}

// DatasetFunc makes a dataset of batches that a function gives, by their number in the epoch; [io.EOF] ends an epoch,
// any other error the call that asked. Options: "steps", the batches of an epoch, if they are known.
func DatasetFunc(x *Context, batch func(index int64) (Batch, error), options Attrs) (*Dataset, error) {
	var c call
	context, attrs := c.context(x), c.options(options)
	user := cgo.NewHandle(batch)
	var out *C.dl4_dataset
	err := c.run(func() *C.dl4_error { return C.dl4go_dataset(context, C.uintptr_t(user), attrs, &out) })
	if err != nil {
		user.Delete()
	}
	return newDataset(out, err)
}

// Adapt gives the attributes of a layer of this kind that has learned from the inputs of the dataset, which is read once:
// a vocabulary, limits of bins, mean and variance. config has the attributes that are not learned. x may be nil.
func (d *Dataset) Adapt(ctx context.Context, x *Context, kind string, config Attrs) (Attrs, error) {
	var c call
	context, flag, name, attrs := c.context(x), c.cancel(ctx), c.optional(kind), c.options(config)
	data := c.dataset(d)
	text, err := c.blob(func(out **C.dl4_blob) *C.dl4_error {
		return C.dl4_adapt(context, name, attrs, data, flag, out)
	})
	if err != nil {
		return nil, err
	}
	learned := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &learned); err != nil {
		return nil, err
	}
	out := Attrs{}
	for key, value := range learned {
		out[key] = value
	}
	return out, nil
}

func newDataset(p *C.dl4_dataset, err error) (*Dataset, error) {
	if err != nil {
		return nil, err
	}
	return &Dataset{newObject("Dataset", unsafe.Pointer(p))}, nil
}

func (c *call) dataset(d *Dataset) *C.dl4_dataset {
	if d == nil {
		return nil
	}
	return (*C.dl4_dataset)(c.object(d.object))
}

//export dl4goBatch
func dl4goBatch(user C.uintptr_t, index C.int64_t, x **C.dl4_tensor, nx C.int64_t, y **C.dl4_tensor, ny C.int64_t,
	w **C.dl4_tensor, nw C.int64_t,
) C.int32_t {
	return answer(io.EOF, func() error {
		b, err := cgo.Handle(user).Value().(func(int64) (Batch, error))(int64(index))
		if err != nil {
			return err
		}
		defer b.close()
		if len(b.X) != int(nx) || len(b.Y) != int(ny) || len(b.W) != 0 && len(b.W) != int(nw) {
			return &Error{
				Code: ErrInvalidArgument, Function: "DatasetFunc",
				Expected: fmt.Sprintf("%d, %d and 0 or %d tensors", nx, ny, nw),
				Got:      fmt.Sprintf("%d, %d and %d", len(b.X), len(b.Y), len(b.W)),
				Message: fmt.Sprintf("dl4: batch %d: expected %d inputs, %d targets and 0 or %d sample weights, got %d, %d, %d",
					index, nx, ny, nw, len(b.X), len(b.Y), len(b.W)),
			}
		}
		for _, part := range []struct {
			to   **C.dl4_tensor
			from []*Tensor
		}{{x, b.X}, {y, b.Y}, {w, b.W}} {
			if err := hand(part.to, part.from); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Batch) close() {
	for _, part := range [][]*Tensor{b.X, b.Y, b.W} {
		for _, t := range part {
			if t != nil {
				t.Close()
			}
		}
	}
}

// hand gives the library new references.
func hand(to **C.dl4_tensor, from []*Tensor) error {
	if len(from) == 0 {
		return nil
	}
	for i, slot := 0, unsafe.Slice(to, len(from)); i < len(from); i++ {
		if from[i] == nil {
			continue
		}
		p, err := from[i].use()
		if err != nil {
			return err
		}
		C.dl4_retain(p)
		slot[i] = (*C.dl4_tensor)(p)
		from[i].done()
	}
	return nil
}
