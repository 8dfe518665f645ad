package dl4

// #include "shim.h"
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// Kind is a layer, loss or metric of your own. Its functions run on the goroutine that made the call, on several at
// once where several run sessions. The tensors that they are given are valid during the call, row-major: take them by
// [UnsafeData]. config is the attribute of that name.
type Kind struct {
	Doc     string   // what it does, for readers of the registry
	Outputs int      // outputs of a layer; 0 stands for 1
	Weights []string // names of a layer's weights

	// Shape gives the shapes of the outputs, then of the weights, for sources of these shapes; -1 is free. nil: every
	// output has the shape of the last source.
	Shape func(config string, src [][]int) ([][]int, error)
	// Forward computes every element of dst from src: the inputs, then the weights; of a loss or metric y_true and
	// y_pred. A dst that is not needed is nil.
	Forward func(config string, src, dst []*Tensor) error
	// Backward computes every element of diffSrc, the gradients of src, from those of dst. A diffSrc that is not needed
	// is nil. Without Backward the kind can't be trained through.
	Backward func(config string, src, dst, diffDst, diffSrc []*Tensor) error
}

// Register adds a kind of your own to a category, "layer", "loss" or "metric". It is used by its name as any other, until
// [Unregister]; a name that is added again is replaced for what is made from then on.
func Register(category, name string, k Kind) error {
	if k.Forward == nil {
		return invalid("kind %s: expected a Forward, got nil", name)
	}
	options := Attrs{}
	if k.Doc != "" {
		options["doc"] = k.Doc
	}
	if k.Outputs != 0 {
		options["outputs"] = k.Outputs
	}
	if len(k.Weights) > 0 {
		options["weights"] = k.Weights
	}
	var c call
	category_, name_, attrs := c.text(category), c.text(name), c.options(options)
	user := cgo.NewHandle(&k)
	err := c.run(func() *C.dl4_error {
		return C.dl4go_registry_add(category_, name_, attrs, C.int(truth(k.Shape != nil)), C.int(truth(k.Backward != nil)),
			C.uintptr_t(user))
	})
	if err != nil {
		user.Delete()
	}
	return err
}

// Unregister removes a kind that [Register] added. Models that have it work on.
func Unregister(category, name string) error {
	var c call
	category_, name_ := c.text(category), c.text(name)
	return c.run(func() *C.dl4_error { return C.dl4_registry_remove(category_, name_) })
}

// Check refuses the attributes of a kind that the library would refuse, without making anything of it.
func Check(category, name string, attrs Attrs) error {
	var c call
	category_, name_, config := c.text(category), c.text(name), c.options(attrs)
	return c.run(func() *C.dl4_error { return C.dl4_registry_check(category_, name_, config) })
}

//export dl4goShape
func dl4goShape(user C.uintptr_t, config *C.char, ranks *C.int32_t, sizes *C.int64_t, nSrc C.int64_t,
	outRanks *C.int32_t, outSizes *C.int64_t, nOut C.int64_t,
) C.int32_t {
	return answer(nil, func() error {
		src, at := make([][]int, nSrc), 0
		for i := range src {
			src[i] = make([]int, unsafe.Slice(ranks, int(nSrc))[i])
			for k := range src[i] {
				src[i][k] = int(*(*C.int64_t)(unsafe.Add(unsafe.Pointer(sizes), 8*at)))
				at++
			}
		}
		k := cgo.Handle(user).Value().(*Kind)
		out, err := k.Shape(C.GoString(config), src)
		if err != nil {
			return err
		}
		if len(out) != int(nOut) {
			return invalid("Shape: expected %d shapes, got %d", nOut, len(out))
		}
		for i, shape := range out {
			if len(shape) > C.DL4_MAX_RANK {
				return invalid("Shape: expected at most %d dimensions, got %d", C.DL4_MAX_RANK, len(shape))
			}
			unsafe.Slice(outRanks, int(nOut))[i] = C.int32_t(len(shape))
			for d, size := range shape {
				unsafe.Slice(outSizes, C.DL4_MAX_RANK*int(nOut))[C.DL4_MAX_RANK*i+d] = C.int64_t(size)
			}
		}
		return nil
	})
}

func lent(list **C.dl4_tensor, n C.int64_t) []*Tensor {
	out := make([]*Tensor, n)
	for i := range out {
		out[i] = borrowed(unsafe.Slice(list, int(n))[i])
	}
	return out
}

// returned ends the use of tensors that were lent.
func returned(lists ...[]*Tensor) {
	for _, list := range lists {
		for _, t := range list {
			if t != nil {
				t.Close()
			}
		}
	}
}

//export dl4goForward
func dl4goForward(user C.uintptr_t, config *C.char, src **C.dl4_tensor, nSrc C.int64_t, dst **C.dl4_tensor,
	nDst C.int64_t,
) C.int32_t {
	return answer(nil, func() error {
		in, out := lent(src, nSrc), lent(dst, nDst)
		defer returned(in, out)
		return cgo.Handle(user).Value().(*Kind).Forward(C.GoString(config), in, out)
	})
}

//export dl4goBackward
func dl4goBackward(user C.uintptr_t, config *C.char, src **C.dl4_tensor, nSrc C.int64_t, dst, diffDst **C.dl4_tensor,
	nDst C.int64_t, diffSrc **C.dl4_tensor,
) C.int32_t {
	return answer(nil, func() error {
		in, out, diffOut, diffIn := lent(src, nSrc), lent(dst, nDst), lent(diffDst, nDst), lent(diffSrc, nSrc)
		defer returned(in, out, diffOut, diffIn)
		return cgo.Handle(user).Value().(*Kind).Backward(C.GoString(config), in, out, diffOut, diffIn)
	})
}
