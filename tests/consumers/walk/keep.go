// A network is described, saved and loaded.
package main

import (
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

func main() {
	g := must(dl4.NewGraph(nil))
	x := g.Input("x", dl4.Float32, -1, 2)
	model := must(g.Build([]dl4.Node{x}, []dl4.Node{g.Add("Dense", dl4.Attrs{"units": 3}, x)}))
	if err := model.Save("net.safetensors"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(must(must(dl4.LoadModel(nil, "net.safetensors", nil)).Describe(dl4.Text)))
}
