package dl4

// #include "shim.h"
import "C"

import (
	"context"
	"encoding/json"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// object is a reference to an object of the library. It is released when it is closed and no call uses it any more,
// so that Close may come from any goroutine, and from the collector.
type object struct {
	what     string
	p        unsafe.Pointer
	state    atomic.Int64 // 2 for each call that uses it, 1 if closed
	borrowed bool         // not ours to release
	bytes    int64        // of a tensor
}

// What tensors take lies where Go's collector does not see it, so it is told when that has doubled.
var held struct {
	sync.Mutex
	now, least int64 // least since it was told
}

func hold(bytes int64) {
	held.Lock()
	held.now += bytes
	if held.now < held.least {
		held.least = held.now
	}
	full := held.now-held.least > 256<<20 && held.now > 2*held.least
	if full {
		held.least = held.now
	}
	held.Unlock()
	if full {
		runtime.GC()
	}
}

func newObject(what string, p unsafe.Pointer) *object {
	o := &object{what: what, p: p}
	runtime.SetFinalizer(o, (*object).Close)
	return o
}

// Close releases the object once the calls that use it have ended. A second Close does nothing.
func (o *object) Close() error {
	for {
		s := o.state.Load()
		if s&1 != 0 {
			return nil
		}
		if o.state.CompareAndSwap(s, s|1) {
			runtime.SetFinalizer(o, nil)
			if s == 0 {
				o.release()
			}
			return nil
		}
	}
}

func (o *object) release() {
	if !o.borrowed {
		C.dl4_release(o.p)
		if o.bytes > 0 {
			hold(-o.bytes)
		}
	}
}

func (o *object) use() (unsafe.Pointer, error) {
	for {
		s := o.state.Load()
		if s&1 != 0 {
			return nil, invalid("the %s is closed", o.what)
		}
		if o.state.CompareAndSwap(s, s+2) {
			return o.p, nil
		}
	}
}

func (o *object) done() {
	if o.state.Add(-2) == 1 {
		o.release()
	}
}

// Format is one of the forms that Describe gives.
type Format int32

// The forms of a description: JSON, text for people, and, of a graph or model, a drawing in DOT.
const (
	JSON Format = C.DL4_FORMAT_JSON
	Text Format = C.DL4_FORMAT_TEXT
	DOT  Format = C.DL4_FORMAT_DOT
)

// Describe describes the object: Text of a graph or model is a summary in Keras's style, JSON its architecture.
func (o *object) Describe(format Format) (string, error) {
	var c call
	p := c.object(o)
	b, err := c.blob(func(out **C.dl4_blob) *C.dl4_error { return C.dl4_describe(p, C.int32_t(format), out) })
	return string(b), err
}

// call gathers the arguments of one call, and lets them go when it has ended. The first argument that cannot be passed
// makes run return its error without a call.
type call struct {
	err   error
	used  []*object
	refs_ *C.dl4_refs
	ctx   context.Context
	flag  *C.dl4_cancel
	stop  chan struct{}
	room  [6]*object
}

func (c *call) object(o *object) unsafe.Pointer {
	if o == nil || c.err != nil {
		return nil
	}
	p, err := o.use()
	if err != nil {
		c.err = err
		return nil
	}
	if c.used == nil {
		c.used = c.room[:0]
	}
	c.used = append(c.used, o)
	return p
}

// text passes a string in memory of Go's.
func (c *call) text(s string) *C.char {
	if c.err == nil && strings.IndexByte(s, 0) >= 0 {
		c.err = invalid("expected text without a zero byte, got %q", s)
	}
	return (*C.char)(unsafe.Pointer(&append([]byte(s), 0)[0]))
}

// optional passes NULL for an empty string.
func (c *call) optional(s string) *C.char {
	if s == "" {
		return nil
	}
	return c.text(s)
}

func (c *call) check(e *C.dl4_error) bool {
	if e != nil && c.err == nil {
		c.err = taken(e)
	} else if e != nil {
		C.dl4_release(unsafe.Pointer(e))
	}
	return c.err == nil
}

// json makes text of values, except of symbolic ones and models, which it gives to other.
func (c *call) json(values Attrs, other func(key string, value any)) *C.char {
	plain := make(map[string]any, len(values))
	for key, value := range values {
		switch value.(type) {
		case Node, []Node, *Model:
			other(key, value)
		default:
			plain[key] = value
		}
	}
	text, err := json.Marshal(plain)
	if err != nil && c.err == nil {
		c.err = invalid("attributes cannot be passed on: %v", err)
	}
	return c.text(string(text))
}

// options passes NULL for none.
func (c *call) options(values Attrs) *C.char {
	if len(values) == 0 || c.err != nil {
		return nil
	}
	return c.json(values, func(key string, _ any) {
		if c.err == nil {
			c.err = invalid("%q: expected a plain value, got a node or a model", key)
		}
	})
}

// config passes the attributes of a layer: text, and the models among them by refs.
func (c *call) config(values Attrs) *C.char {
	return c.withRefs(values, "a plain value or a model", func(key string, value any) bool {
		model, ok := value.(*Model)
		if !ok {
			return false
		}
		p, refs, key_ := (*C.dl4_model)(c.object(model.object)), c.refs(), c.text(key)
		if c.err == nil {
			c.check(C.dl4_refs_set_model(refs, key_, p))
		}
		return true
	})
}

// arguments passes those of a layer's call: text, and the nodes among them by refs.
func (c *call) arguments(values Attrs) *C.char {
	return c.withRefs(values, "a plain value or nodes", func(key string, value any) bool {
		nodes, ok := value.([]Node)
		if node, one := value.(Node); one {
			nodes, ok = []Node{node}, true
		}
		if !ok {
			return false
		}
		ids, refs, key_ := c.nodes(nil, nodes), c.refs(), c.text(key)
		if c.err == nil {
			c.check(C.dl4_refs_set_nodes(refs, key_, ids, C.int64_t(len(nodes))))
		}
		return true
	})
}

func (c *call) withRefs(values Attrs, expected string, set func(key string, value any) bool) *C.char {
	if len(values) == 0 || c.err != nil {
		return nil
	}
	if c.err = ready(); c.err != nil {
		return nil
	}
	return c.json(values, func(key string, value any) {
		if c.err == nil && !set(key, value) && c.err == nil {
			c.err = invalid("%q: expected %s, got a %T", key, expected, value)
		}
	})
}

// refs is made when there is something for it.
func (c *call) refs() *C.dl4_refs {
	if c.refs_ == nil && c.err == nil {
		c.check(C.dl4_refs_create(&c.refs_))
	}
	return c.refs_
}

// cancel makes a flag that the context triggers.
func (c *call) cancel(ctx context.Context) *C.dl4_cancel {
	if ctx.Done() == nil || c.err != nil {
		return nil
	}
	c.ctx = ctx
	if err := ctx.Err(); err != nil {
		c.err = &Error{Code: ErrCancelled, Message: "dl4: cancelled before it began", cause: err}
		return nil
	}
	if !c.check(C.dl4_cancel_create(&c.flag)) {
		return nil
	}
	flag, stop := c.flag, make(chan struct{})
	c.stop = stop
	C.dl4_retain(unsafe.Pointer(flag))
	go func() {
		select {
		case <-ctx.Done():
			C.dl4_cancel_trigger(flag)
		case <-stop:
		}
		C.dl4_release(unsafe.Pointer(flag))
	}()
	return flag
}

func (c *call) end() {
	for _, o := range c.used {
		o.done()
	}
	if c.refs_ != nil {
		C.dl4_release(unsafe.Pointer(c.refs_))
	}
	if c.stop != nil {
		close(c.stop)
		C.dl4_release(unsafe.Pointer(c.flag))
	}
}

// run makes the call if all its arguments are there. What a callback returned or panicked with comes back here.
func (c *call) run(f func() *C.dl4_error) error {
	if c.err == nil {
		c.err = ready()
	}
	var e *C.dl4_error
	if c.err == nil {
		e = f()
	}
	c.end()
	if c.err != nil || e == nil {
		return c.err
	}
	err := taken(e)
	if err.Code == ErrCancelled && c.ctx != nil {
		err.cause = c.ctx.Err()
	}
	if err.Code == ErrCallbackFailed {
		return failed(err)
	}
	return err
}

// blob makes the call and copies the bytes that it gives.
func (c *call) blob(f func(out **C.dl4_blob) *C.dl4_error) ([]byte, error) {
	var out *C.dl4_blob
	if err := c.run(func() *C.dl4_error { return f(&out) }); err != nil {
		return nil, err
	}
	defer C.dl4_release(unsafe.Pointer(out))
	size := int(C.dl4_blob_size(out))
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(C.dl4_blob_data(out))), size)...), nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
