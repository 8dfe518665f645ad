package dl4

// #include "shim.h"
import "C"

import (
	"runtime/cgo"
	"strconv"
	"sync"
)

// failure is what a callback returned or panicked with. It waits under the number that the callback answered, until the
// call ends with an error that has this number.
type failure struct {
	err      error
	panicked any
}

var failures = struct {
	sync.Mutex
	next int32
	by   map[int32]failure
}{by: map[int32]failure{}}

func keep(f failure) C.int32_t {
	failures.Lock()
	defer failures.Unlock()
	for {
		failures.next++
		if _, taken := failures.by[failures.next]; !taken && failures.next > C.DL4_STOP {
			failures.by[failures.next] = f
			return C.int32_t(failures.next)
		}
		if failures.next < 0 {
			failures.next = C.DL4_STOP
		}
	}
}

// failed gives what the callback returned, or panics with what it panicked with.
func failed(e *Error) error {
	number, err := strconv.ParseInt(e.Answer, 10, 32)
	if err != nil {
		return e
	}
	failures.Lock()
	f, known := failures.by[int32(number)]
	delete(failures.by, int32(number))
	failures.Unlock()
	if !known {
		return e
	}
	if f.panicked != nil {
		panic(f.panicked)
	}
	return f.err
}

// answer runs a callback and makes a number of its outcome; nothing unwinds the library's frames.
func answer(stop error, f func() error) (number C.int32_t) {
	ended := false
	defer func() {
		if ended {
			return
		}
		v := recover()
		if v == nil {
			panic("dl4: runtime.Goexit or panic(nil) in a callback of the library")
		}
		number = keep(failure{panicked: v})
	}()
	err := f()
	ended = true
	switch {
	case err == nil:
		return C.DL4_CONTINUE
	case err == stop:
		return C.DL4_STOP
	}
	return keep(failure{err: err})
}

//export dl4goRelease
func dl4goRelease(user C.uintptr_t) {
	h := cgo.Handle(user)
	release, _ := h.Value().(func())
	h.Delete()
	if release != nil {
		apart(release)
	}
}

// Level is that of a log message.
type Level int32

// The levels of log messages.
const (
	Trace   Level = C.DL4_LOG_TRACE
	Debug   Level = C.DL4_LOG_DEBUG
	Info    Level = C.DL4_LOG_INFO
	Warning Level = C.DL4_LOG_WARNING
	Failure Level = C.DL4_LOG_ERROR
)

//export dl4goLog
func dl4goLog(user C.uintptr_t, level C.int32_t, message *C.char) {
	fn, text := cgo.Handle(user).Value().(func(Level, string)), C.GoString(message)
	apart(func() { fn(Level(level), text) })
}

// apart runs a function that can't fail on a goroutine of its own and waits: a panic in it ends the process as any
// other panic does, and never unwinds the library's frames.
func apart(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	<-ended
}

// SetLogger gives messages from a level up to fn; nil means silence. fn runs on a goroutine of its own while the call
// that logs waits, and stays reachable until the process ends.
func (x *Context) SetLogger(min Level, fn func(level Level, message string)) error {
	var c call
	p := c.context(x)
	var user cgo.Handle
	if fn != nil {
		user = cgo.NewHandle(fn)
	}
	return c.run(func() *C.dl4_error { return C.dl4go_set_logger(p, C.int32_t(min), C.uintptr_t(user)) })
}
