package dl4

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime/cgo"
	"unsafe"
)

// Trainer is a model being trained. One call at a time may use it.
type Trainer struct {
	*object
	metrics []string
}

// Event says when a progress function is called.
type Event int32

// The events of a fit, with what Step and Total of [Progress] count.
const (
	TrainBegin Event = C.DL4_TRAIN_BEGIN // the first epoch, from 0; epochs
	EpochBegin Event = C.DL4_EPOCH_BEGIN // the epoch, from 0; epochs
	BatchEnd   Event = C.DL4_BATCH_END   // batches done in this epoch; batches of an epoch, -1 if unknown
	EpochEnd   Event = C.DL4_EPOCH_END   // epochs done; epochs
	TrainEnd   Event = C.DL4_TRAIN_END   // epochs done; epochs
)

// Progress is how far a fit is. Metrics, at BatchEnd and EpochEnd, are the means over the epoch so far, in the order of
// [Trainer.MetricNames]; at EpochEnd those of validation follow, if there was one.
type Progress struct {
	Event       Event
	Step, Total int64
	Metrics     []float64
}

// What a progress function returns, or an error of its own.
var (
	Continue error                             // nil
	Stop     = errors.New("dl4: stop the fit") // ends the fit, which then succeeds
)

// History is what a fit noted, a value per epoch for each name: "epoch", "loss", "accuracy", "val_loss", ...
type History map[string][]float64

// UnmarshalJSON takes null, which JSON has for NaN and infinity, as NaN.
func (h *History) UnmarshalJSON(text []byte) error {
	var all map[string][]*float64
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*h = make(History, len(all))
	for name, values := range all {
		list := make([]float64, len(values))
		for i, v := range values {
			list[i] = math.NaN()
			if v != nil {
				list[i] = *v
			}
		}
		(*h)[name] = list
	}
	return nil
}

// NewTrainer makes a trainer of a model. Options are those of dl4_trainer_create: "optimizer", "loss", "metrics", ...
func NewTrainer(m *Model, options Attrs) (*Trainer, error) {
	var c call
	p, attrs := c.model(m), c.options(options)
	var out *C.dl4_trainer
	if err := c.run(func() *C.dl4_error { return C.dl4_trainer_create(p, attrs, &out) }); err != nil {
		return nil, err
	}
	t := &Trainer{object: newObject("Trainer", unsafe.Pointer(out))}
	for i := C.int64_t(0); i < C.dl4_port_count(unsafe.Pointer(out), C.DL4_METRICS); i++ {
		t.metrics = append(t.metrics, C.GoString(C.dl4_port_name(unsafe.Pointer(out), C.DL4_METRICS, i)))
	}
	return t, nil
}

func (c *call) trainer(t *Trainer) *C.dl4_trainer {
	return (*C.dl4_trainer)(c.object(t.object))
}

// MetricNames are the names of all metrics; the loss is the first.
func (t *Trainer) MetricNames() []string {
	return append([]string(nil), t.metrics...)
}

//export dl4goProgress
func dl4goProgress(user C.uintptr_t, event C.int32_t, step, total C.int64_t, metrics *C.double, n C.int64_t) C.int32_t {
	return answer(Stop, func() error {
		p := Progress{Event: Event(event), Step: int64(step), Total: int64(total)}
		if n > 0 {
			p.Metrics = append(p.Metrics, unsafe.Slice((*float64)(metrics), int(n))...)
		}
		return cgo.Handle(user).Value().(func(Progress) error)(p)
	})
}

// Fit trains for some epochs, and validates after each if valid is not nil. Options are those of dl4_trainer_fit:
// "epochs", "validation_split", "class_weight", "callbacks", ... progress, which may be nil, returns [Continue], [Stop]
// or an error, which Fit then returns. Where ctx ends the fit, all complete steps are kept, and with {"resume": true} the
// next one goes on there.
func (t *Trainer) Fit(
	ctx context.Context, train, valid *Dataset, options Attrs, progress func(Progress) error,
) (History, error) {
	var c call
	p, flag, attrs := c.trainer(t), c.cancel(ctx), c.options(options)
	data, validation := c.dataset(train), c.dataset(valid)
	var user cgo.Handle
	if progress != nil {
		user = cgo.NewHandle(func(at Progress) error {
			err := progress(at)
			if flag != nil && ctx.Err() != nil { // cancelled in there: not a step more
				C.dl4_cancel_trigger(flag)
			}
			return err
		})
		defer user.Delete()
	}
	text, err := c.blob(func(out **C.dl4_blob) *C.dl4_error {
		return C.dl4go_fit(p, data, validation, attrs, C.uintptr_t(user), flag, out)
	})
	if err != nil {
		return nil, err
	}
	var history History
	return history, json.Unmarshal(text, &history)
}

// Evaluate computes loss and metrics over a whole dataset, in the order of MetricNames.
func (t *Trainer) Evaluate(ctx context.Context, d *Dataset) ([]float64, error) {
	var c call
	p, flag, data := c.trainer(t), c.cancel(ctx), c.dataset(d)
	return c.metrics(t, func(out *C.double, limit C.int64_t, n *C.int64_t) *C.dl4_error {
		return C.dl4_trainer_evaluate(p, data, flag, out, limit, n)
	})
}

func (c *call) metrics(
	t *Trainer, f func(out *C.double, limit C.int64_t, n *C.int64_t) *C.dl4_error,
) ([]float64, error) {
	out := make([]float64, len(t.metrics)+1)
	var n C.int64_t
	err := c.run(func() *C.dl4_error { return f((*C.double)(&out[0]), C.int64_t(len(t.metrics)), &n) })
	if err != nil {
		return nil, err
	}
	return out[:len(t.metrics)], nil
}

// Step trains on one batch and gives its metrics. w, sample weights, may be empty or hold nil.
func (t *Trainer) Step(x, y, w []*Tensor) ([]float64, error) {
	return t.onBatch(x, y, w, true)
}

// Accumulate adds the gradients of one batch to those kept, and changes no weight.
func (t *Trainer) Accumulate(x, y, w []*Tensor) ([]float64, error) {
	return t.onBatch(x, y, w, false)
}

func (t *Trainer) onBatch(x, y, w []*Tensor, apply bool) ([]float64, error) {
	var c call
	p := c.trainer(t)
	in, nx := c.tensors(x)
	targets, ny := c.tensors(y)
	weights, nw := c.tensors(w)
	return c.metrics(t, func(out *C.double, limit C.int64_t, n *C.int64_t) *C.dl4_error {
		if apply {
			return C.dl4_trainer_step(p, in, nx, targets, ny, weights, nw, out, limit, n)
		}
		return C.dl4_trainer_accumulate(p, in, nx, targets, ny, weights, nw, out, limit, n)
	})
}

// Apply updates the weights by the mean of the gradients accumulated since the last update, then forgets them.
func (t *Trainer) Apply() error {
	var c call
	p := c.trainer(t)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_apply(p) })
}

// Gradient gives a copy of the mean accumulated gradient of a weight; "*" one flat block of all.
func (t *Trainer) Gradient(weight string) (*Tensor, error) {
	var c call
	p, name := c.trainer(t), c.text(weight)
	var out *C.dl4_tensor
	err := c.run(func() *C.dl4_error { return C.dl4_trainer_get_gradient(p, name, &out) })
	return newTensor(out, err)
}

// SetGradient sets the mean gradient of a weight, or with "*" of all, to v.
func (t *Trainer) SetGradient(weight string, v *Tensor) error {
	var c call
	p, name, value := c.trainer(t), c.text(weight), c.tensor(v)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_set_gradient(p, name, value) })
}

// AddGradient adds v to the mean gradient of a weight, or with "*" of all.
func (t *Trainer) AddGradient(weight string, v *Tensor) error {
	var c call
	p, name, value := c.trainer(t), c.text(weight), c.tensor(v)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_add_gradient(p, name, value) })
}

// ZeroGradients forgets the gradients accumulated since the last update.
func (t *Trainer) ZeroGradients() error {
	var c call
	p := c.trainer(t)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_zero_gradients(p) })
}

// Get reads a number: "learning_rate", "iterations", "epoch", "batch". It may be called by a progress function.
func (t *Trainer) Get(key string) (float64, error) {
	var c call
	p, key_ := c.trainer(t), c.text(key)
	var out C.double
	err := c.run(func() *C.dl4_error { return C.dl4_trainer_get_number(p, key_, &out) })
	return float64(out), err
}

// Set sets a number: "learning_rate", in a progress function too; "epoch" or "batch", where the next fit goes on.
func (t *Trainer) Set(key string, value float64) error {
	var c call
	p, key_ := c.trainer(t), c.text(key)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_set_number(p, key_, C.double(value)) })
}

//export dl4goReduce
func dl4goReduce(user C.uintptr_t, values unsafe.Pointer, n C.int64_t, dtype C.int32_t) C.int32_t {
	return answer(nil, func() error {
		reduce := cgo.Handle(user).Value().(func(any) error)
		if dtype == C.DL4_FLOAT32 {
			return reduce(unsafe.Slice((*float32)(values), int(n)))
		}
		return reduce(unsafe.Slice((*int32)(values), int(n)))
	})
}

// SetWorkers trains with size-1 other workers from now on, as dl4_trainer_set_workers says: each makes this call, with
// its rank, then the same calls at the same time. reduce sums values, a []float32 or []int32 in the library's memory, in
// place over all workers, to the same bits on each; an error of it is what the call under way returns. A nil reduce, with
// rank 0 and size 1, trains alone again.
func (t *Trainer) SetWorkers(rank, size int, reduce func(values any) error) error {
	var c call
	p := c.trainer(t)
	var user cgo.Handle
	if reduce != nil {
		user = cgo.NewHandle(reduce)
	}
	kept := false
	defer func() {
		if !kept && user != 0 { // it panicked, too
			user.Delete()
		}
	}()
	err := c.run(func() *C.dl4_error {
		return C.dl4go_set_workers(p, C.int64_t(rank), C.int64_t(size), C.uintptr_t(user))
	})
	kept = err == nil
	return err
}

// Save saves a checkpoint, atomically: model, optimizer, counters, random state, place in the epoch. It may be called
// by a progress function.
func (t *Trainer) Save(path string) error {
	var c call
	p, path_ := c.trainer(t), c.text(path)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_save(p, path_) })
}

// Bytes gives the bytes of a checkpoint that Save would write.
func (t *Trainer) Bytes() ([]byte, error) {
	var c call
	p := c.trainer(t)
	return c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_trainer_save_bytes(p, out) })
}

// Load loads a checkpoint into a trainer of the same model and options: what follows is what would have followed the
// save, bit for bit.
func (t *Trainer) Load(path string) error {
	var c call
	p, path_ := c.trainer(t), c.text(path)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_load(p, path_) })
}

// LoadBytes loads a checkpoint from the bytes of such a file.
func (t *Trainer) LoadBytes(data []byte) error {
	var c call
	p := c.trainer(t)
	content, size := bytesOf(data)
	return c.run(func() *C.dl4_error { return C.dl4_trainer_load_bytes(p, content, size) })
}
