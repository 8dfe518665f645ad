// Fashion trains a small convolutional network to tell clothes apart.
//
//	fashion FOLDER [EPOCHS]
//
// FOLDER holds t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz of Fashion-MNIST: the first 9,000 images are for
// training, the last 1,000 for the test. Ctrl-C ends the training; what was learned is kept.
package main

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"dl4.invalid/dl4"
)

const side, train, test = 28, 9000, 1000

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// read gives the bytes of a file past its header, which must be magic and the dimensions.
func read(folder, name string, header ...uint32) []byte {
	f := must(os.Open(filepath.Join(folder, name+".gz")))
	defer f.Close()
	data := must(io.ReadAll(must(gzip.NewReader(f))))
	size := 1
	for i, want := range header {
		if got := binary.BigEndian.Uint32(data[4*i:]); got != want {
			log.Fatalf("%s: expected %d at %d, got %d", name, want, 4*i, got)
		}
		if i > 0 {
			size *= int(want)
		}
	}
	if len(data) != 4*len(header)+size {
		log.Fatalf("%s: expected %d bytes, got %d", name, 4*len(header)+size, len(data))
	}
	return data[4*len(header):]
}

func tensors(folder string) (x, y [2]*dl4.Tensor) {
	pixels := read(folder, "t10k-images-idx3-ubyte", 2051, train+test, side, side)
	labels := read(folder, "t10k-labels-idx1-ubyte", 2049, train+test)
	images, classes := make([]float32, len(pixels)), make([]int32, len(labels))
	for i, p := range pixels {
		images[i] = float32(p) / 255
	}
	for i, l := range labels {
		classes[i] = int32(l)
	}
	const cut = train * side * side
	x[0] = must(dl4.FromSlice(images[:cut], train, side, side, 1))
	x[1] = must(dl4.FromSlice(images[cut:], test, side, side, 1))
	y[0], y[1] = must(dl4.FromSlice(classes[:train], train)), must(dl4.FromSlice(classes[train:], test))
	return x, y
}

func network() *dl4.Model {
	g := must(dl4.NewGraph(nil))
	x := g.Input("image", dl4.Float32, -1, side, side, 1)
	h := g.Add("Conv2D", dl4.Attrs{"filters": 16, "kernel_size": 3, "activation": "relu"}, x)
	h = g.Add("MaxPooling2D", dl4.Attrs{"pool_size": 2}, h)
	h = g.Add("Conv2D", dl4.Attrs{"filters": 32, "kernel_size": 3, "activation": "relu"}, h)
	h = g.Add("MaxPooling2D", dl4.Attrs{"pool_size": 2}, h)
	h = g.Add("Flatten", nil, h)
	y := g.Add("Dense", dl4.Attrs{"units": 10, "activation": "softmax"}, h)
	return must(g.Build([]dl4.Node{x}, []dl4.Node{y}))
}

func dataset(x, y *dl4.Tensor) *dl4.Dataset {
	return must(dl4.NewDataset(nil, []*dl4.Tensor{x}, []*dl4.Tensor{y}, nil, dl4.Attrs{"batch_size": 128}))
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: fashion FOLDER [EPOCHS]")
	}
	epochs := 10
	if len(os.Args) > 2 {
		epochs = must(strconv.Atoi(os.Args[2]))
	}
	x, y := tensors(os.Args[1])
	model := network()
	fmt.Println(must(model.Describe(dl4.Text)))

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	trainer := must(dl4.NewTrainer(model, dl4.Attrs{
		"optimizer": "Adam", "loss": "SparseCategoricalCrossentropy", "metrics": []string{"accuracy"},
	}))
	valid, begin := dataset(x[1], y[1]), time.Now()
	_, err := trainer.Fit(ctx, dataset(x[0], y[0]), valid, dl4.Attrs{"epochs": epochs}, func(p dl4.Progress) error {
		if p.Event == dl4.EpochEnd {
			fmt.Printf("epoch %2d/%d  loss %.4f  accuracy %.4f  validation loss %.4f  accuracy %.4f\n",
				p.Step, p.Total, p.Metrics[0], p.Metrics[1], p.Metrics[2], p.Metrics[3])
		}
		return nil
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	metrics := must(trainer.Evaluate(context.Background(), valid))
	fmt.Printf("test accuracy %.4f after %.1f s\n", metrics[1], time.Since(begin).Seconds())
}
