// Xor describes a network, trains it on exclusive or, runs and saves it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dl4.invalid/dl4"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	cases, answers := []float32{0, 0, 0, 1, 1, 0, 1, 1}, []float32{0, 1, 1, 0}

	g := must(dl4.NewGraph(nil)) // describe: layers called on symbolic values
	in := g.Input("x", dl4.Float32, -1, 2)
	h := g.Add("Dense", dl4.Attrs{"units": 8, "activation": "tanh"}, in)
	out := g.Add("Dense", dl4.Attrs{"units": 1, "activation": "sigmoid"}, h)
	model := must(g.Build([]dl4.Node{in}, []dl4.Node{out}))

	x := must(dl4.FromSlice(cases, 4, 2)) // train
	y := must(dl4.FromSlice(answers, 4, 1))
	data := must(dl4.NewDataset(nil, []*dl4.Tensor{x}, []*dl4.Tensor{y}, nil, nil))
	rate := dl4.Attrs{"learning_rate": 0.05}
	adam := dl4.Attrs{"class_name": "Adam", "config": rate}
	how := dl4.Attrs{"loss": "BinaryCrossentropy", "optimizer": adam}
	trainer := must(dl4.NewTrainer(model, how))
	must(trainer.Fit(ctx, data, nil, dl4.Attrs{"epochs": 300}, nil))

	session := must(dl4.NewSession(model, nil)) // run and save
	p := must(dl4.Data[float32](must(session.Run(ctx, x))[0]))
	path := filepath.Join(must(os.MkdirTemp("", "xor")), "xor.safetensors")
	if err := model.Save(path); err != nil {
		log.Fatal(err)
	}
	wrong := 0
	for i, answer := range answers {
		fmt.Printf("%g xor %g = %.3f\n", cases[2*i], cases[2*i+1], p[i])
		if (p[i] > 0.5) != (answer > 0.5) {
			wrong++
		}
	}
	again := must(dl4.NewSession(must(dl4.LoadModel(nil, path, nil)), nil))
	q := must(dl4.Data[float32](must(again.Run(ctx, x))[0]))
	if fmt.Sprint(p) != fmt.Sprint(q) {
		log.Fatal("the model answers differently after saving and loading")
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		log.Fatal(err)
	}
	os.Exit(wrong)
}
