package dl4_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"dl4.invalid/dl4"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A model of one layer whose weights are set by hand.
func sum() *dl4.Model {
	g := must(dl4.NewGraph(nil))
	x := g.Input("x", dl4.Float32, -1, 3)
	m := must(g.Build([]dl4.Node{x}, []dl4.Node{g.Add("Dense", dl4.Attrs{"units": 1, "kernel_initializer": "ones"}, x)}))
	return m
}

func Example() {
	session := must(dl4.NewSession(sum(), nil))
	x := must(dl4.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	y := must(session.Run(context.Background(), x))[0]
	fmt.Println(y.Shape(), must(dl4.Data[float32](y)))
	// Output: [2 1] [6 15]
}

func ExampleError() {
	g := must(dl4.NewGraph(nil))
	x := g.Input("x", dl4.Float32, -1, 3)
	_, err := g.Build([]dl4.Node{x}, []dl4.Node{g.Add("Dense", dl4.Attrs{"name": "last", "units": 0}, x)})
	var e *dl4.Error
	fmt.Println(errors.Is(err, dl4.ErrInvalidArgument), errors.As(err, &e), e.Layer, e.Attribute, e.Got)
	// Output: true true last units 0
}

func ExampleSession_RunInto() {
	session, ctx := must(dl4.NewSession(sum(), nil)), context.Background()
	x, y := must(dl4.NewTensor(nil, dl4.Float32, 1, 3)), must(dl4.NewTensor(nil, dl4.Float32, 1, 1))
	defer x.Close()
	defer y.Close()
	in, out := must(dl4.UnsafeData[float32](x)), must(dl4.UnsafeData[float32](y))
	for i := range in { // nothing is made or copied in here
		in[i] = 10
		if err := session.RunInto(ctx, []*dl4.Tensor{x}, []*dl4.Tensor{y}); err != nil {
			log.Fatal(err)
		}
		fmt.Println(out[0])
	}
	// Output:
	// 10
	// 20
	// 30
}

func ExampleTrainer_Fit() {
	trainer := must(dl4.NewTrainer(sum(), dl4.Attrs{"optimizer": "SGD", "loss": "mse"}))
	x := must(dl4.FromSlice([]float32{0, 0, 0}, 1, 3))
	y := must(dl4.FromSlice([]float32{0}, 1, 1))
	data := must(dl4.NewDataset(nil, []*dl4.Tensor{x}, []*dl4.Tensor{y}, nil, nil))
	history, err := trainer.Fit(context.Background(), data, nil, dl4.Attrs{"epochs": 100}, func(p dl4.Progress) error {
		if p.Event == dl4.EpochEnd && p.Step == 2 {
			return dl4.Stop
		}
		return nil
	})
	fmt.Println(history["loss"], err)
	// Output: [0 0] <nil>
}

func ExampleGraph_Layer() {
	g := must(dl4.NewGraph(nil))
	a, b := g.Input("a", dl4.Float32, -1, 4), g.Input("b", dl4.Float32, -1, 4)
	shared := g.Layer("Dense", dl4.Attrs{"units": 2})
	m := must(g.Build([]dl4.Node{a, b}, []dl4.Node{shared.Call(nil, a), shared.Call(nil, b)}))
	for _, w := range must(m.Weights()) {
		fmt.Println(w.Name, w.Shape)
	}
	// Output:
	// dense/kernel [4 2]
	// dense/bias [2]
}
