package dl4

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

var errMine = errors.New("mine")

// panics gives what f panics with.
func panics(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestProgressFails(t *testing.T) {
	tr, d := small20(nil)
	for event := TrainBegin; event <= TrainEnd; event++ {
		_, err := tr.Fit(background, d, d, nil, func(p Progress) error {
			if p.Event == event {
				return errMine
			}
			return nil
		})
		if err != errMine {
			t.Fatalf("event %d: got %v", event, err)
		}
		v := panics(func() {
			tr.Fit(background, d, nil, nil, func(p Progress) error {
				if p.Event == event {
					panic(&errMine)
				}
				return nil
			})
		})
		if v != any(&errMine) {
			t.Fatalf("event %d: got %v", event, v)
		}
		if _, err := tr.Fit(background, d, nil, nil, nil); err != nil { // and the next one goes on
			t.Fatal(err)
		}
	}
	equal(t, len(failures.by), 0)
}

func TestProgressStopsAndReads(t *testing.T) {
	tr, d := small20(nil)
	var seen []float64
	h := must(tr.Fit(background, d, d, Attrs{"epochs": 9}, func(p Progress) error {
		check(t, tr.Set("learning_rate", 0.5))
		if p.Event == EpochEnd {
			equal(t, must(tr.Get("learning_rate")), 0.5)
			seen = append(seen, p.Metrics...)
			if p.Step == 2 {
				return Stop
			}
		}
		return nil
	}))
	equal(t, seen, []float64{h["loss"][0], h["val_loss"][0], h["loss"][1], h["val_loss"][1]})
	equal(t, h["epoch"], []float64{0, 1})
}

func batches(fail func() error) *Dataset {
	return must(DatasetFunc(nil, func(i int64) (Batch, error) {
		if i == 3 {
			if fail != nil {
				return Batch{}, fail()
			}
			return Batch{}, io.EOF
		}
		return Batch{X: []*Tensor{line(5, 4)}, Y: []*Tensor{line(5, 3)}, W: []*Tensor{nil}}, nil
	}, nil))
}

func TestDatasetOfAFunction(t *testing.T) {
	tr, _ := small20(nil)
	good, failing := batches(nil), batches(func() error { return errMine })
	h := must(tr.Fit(background, good, nil, Attrs{"epochs": 2}, nil))
	equal(t, len(h["loss"]), 2)
	_, err := tr.Fit(background, failing, nil, nil, nil)
	equal(t, err, errMine)
	_, err = tr.Fit(background, good, failing, nil, nil)
	equal(t, err, errMine)
	_, err = tr.Evaluate(background, failing)
	equal(t, err, errMine)
	_, err = must(NewSession(small(), nil)).Predict(background, failing)
	equal(t, err, errMine)
	equal(t, panics(func() { tr.Evaluate(background, batches(func() error { panic("mine") })) }), "mine")
	equal(t, len(must(tr.Evaluate(background, good))), 1)
	wrong := must(DatasetFunc(nil, func(int64) (Batch, error) { return Batch{X: []*Tensor{line(5, 4)}}, nil }, nil))
	_, err = tr.Evaluate(background, wrong)
	refused(t, err, ErrInvalidArgument)
	mine := line(5, 4)
	twice := must(DatasetFunc(nil, func(int64) (Batch, error) {
		return Batch{X: []*Tensor{mine}, Y: []*Tensor{line(5, 3)}}, nil
	}, Attrs{"steps": 2}))
	_, err = tr.Evaluate(background, twice)
	refused(t, err, ErrInvalidArgument)
}

func TestContextCancels(t *testing.T) {
	tr, d := small20(nil)
	ctx, cancel := context.WithCancel(background)
	_, err := tr.Fit(ctx, d, nil, Attrs{"epochs": 1 << 40}, func(p Progress) error {
		if p.Event == EpochEnd && p.Step == 3 {
			go cancel()
		}
		return nil
	})
	refused(t, err, ErrCancelled)
	equal(t, errors.Is(err, context.Canceled), true)
	_, err = tr.Evaluate(ctx, d)
	equal(t, errors.Is(err, context.Canceled) && errors.Is(err, ErrCancelled), true)
	_, err = must(NewSession(small(), nil)).Run(ctx, line(2, 4))
	refused(t, err, ErrCancelled)
	ctx, cancel = context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err = tr.Fit(ctx, d, nil, Attrs{"epochs": 1 << 40}, nil)
	equal(t, errors.Is(err, context.DeadlineExceeded), true)
	epoch := int(must(tr.Get("epoch")))
	h := must(tr.Fit(background, d, nil, Attrs{"epochs": epoch + 2, "resume": true}, nil))
	equal(t, len(h["loss"]), epoch+2)
}

// square is a layer x^2 with a scale as its weight.
var square = Kind{
	Doc: "scale * x^2", Weights: []string{"scale"},
	Shape: func(_ string, src [][]int) ([][]int, error) { return [][]int{src[0], {1}}, nil },
	Forward: func(_ string, src, dst []*Tensor) error {
		x, s := must(UnsafeData[float32](src[0])), must(UnsafeData[float32](src[1]))[0]
		for i, y := 0, must(UnsafeData[float32](dst[0])); i < len(x); i++ {
			y[i] = s * x[i] * x[i]
		}
		return nil
	},
	Backward: func(_ string, src, dst, diffDst, diffSrc []*Tensor) error {
		x, s, dy := must(Data[float32](src[0])), must(Data[float32](src[1]))[0], must(Data[float32](diffDst[0]))
		dx, ds := make([]float32, len(x)), float32(0)
		for i := range x {
			dx[i] = 2 * s * x[i] * dy[i]
			ds += x[i] * x[i] * dy[i]
		}
		if diffSrc[0] != nil {
			if err := CopyIn(diffSrc[0], dx); err != nil {
				return err
			}
		}
		if diffSrc[1] != nil {
			return CopyIn(diffSrc[1], []float32{ds})
		}
		return nil
	},
}

func ownModel(kind string) (*Model, error) {
	g := must(NewGraph(nil))
	x := g.Input("x", Float32, -1, 4)
	return g.Build([]Node{x}, []Node{g.Add(kind, Attrs{"name": "own", "config": "text"}, x)})
}

func TestKindsOfOurOwn(t *testing.T) {
	check(t, Register("layer", "GoSquare", square))
	m := must(ownModel("GoSquare"))
	equal(t, must(m.Weights())[0].Name, "own/scale")
	report := string(must(m.CheckGradients([]*Tensor{line(3, 4)}, nil)))
	equal(t, strings.Contains(report, "own/scale"), true)
	tr := must(NewTrainer(m, Attrs{"optimizer": "sgd", "loss": "mse"}))
	first := must(tr.Step([]*Tensor{line(3, 4)}, []*Tensor{line(3, 4)}, nil))[0]
	for i := 0; i < 20; i++ {
		must(tr.Step([]*Tensor{line(3, 4)}, []*Tensor{line(3, 4)}, nil))
	}
	equal(t, must(tr.Step([]*Tensor{line(3, 4)}, []*Tensor{line(3, 4)}, nil))[0] < first, true)
	refused(t, Register("layer", "GoNothing", Kind{}), ErrInvalidArgument)
	refused(t, Register("optimizer", "GoOptimizer", square), ErrInvalidArgument)
}

func TestKindsFail(t *testing.T) {
	var fail func(config string) error
	var kept *Tensor
	k := square
	k.Forward = func(config string, src, dst []*Tensor) error {
		kept = src[0]
		if err := fail(config); err != nil {
			return err
		}
		return square.Forward(config, src, dst)
	}
	k.Backward = func(string, []*Tensor, []*Tensor, []*Tensor, []*Tensor) error { return errMine }
	check(t, Register("layer", "GoFails", k))
	m := must(ownModel("GoFails"))
	s := must(NewSession(m, nil))
	fail = func(config string) error { return errors.New(config) }
	_, err := s.Run(background, line(2, 4))
	equal(t, err, errors.New("text"))
	fail = func(string) error { panic(errMine) }
	equal(t, panics(func() { s.Run(background, line(2, 4)) }), any(errMine))
	fail = func(string) error { return nil }
	must(s.Run(background, line(2, 4)))
	_, err = UnsafeData[float32](kept) // lent for the call only
	refused(t, err, ErrInvalidArgument)
	_, err = must(NewTrainer(m, Attrs{"optimizer": "sgd", "loss": "mse"})).Step([]*Tensor{line(3, 4)},
		[]*Tensor{line(3, 4)}, nil)
	equal(t, err, errMine)
	k.Shape = func(string, [][]int) ([][]int, error) { return nil, errMine }
	check(t, Register("layer", "GoShapeless", k))
	_, err = ownModel("GoShapeless")
	equal(t, err, errMine)
	k.Shape = func(string, [][]int) ([][]int, error) { return [][]int{make([]int, 9), {1}}, nil }
	check(t, Register("layer", "GoDeep", k))
	_, err = ownModel("GoDeep")
	refused(t, err, ErrInvalidArgument)
	equal(t, len(failures.by), 0)
}

func TestLogger(t *testing.T) {
	x := must(NewContext(nil))
	var mu sync.Mutex
	var lines []string
	check(t, x.SetLogger(Trace, func(level Level, message string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, message)
	}))
	run := func() {
		g := must(NewGraph(x))
		in := g.Input("x", Float32, -1, 4)
		m := must(g.Build([]Node{in}, []Node{g.Add("Dense", Attrs{"units": 3}, in)}))
		_, d := small20(nil)
		stop := Attrs{"class_name": "EarlyStopping", "config": Attrs{"monitor": "loss", "min_delta": 9, "verbose": 1}}
		tr := must(NewTrainer(m, Attrs{"optimizer": "sgd", "loss": "mse"}))
		must(tr.Fit(background, d, nil, Attrs{"epochs": 5, "callbacks": []Attrs{stop}}, nil))
	}
	run()
	equal(t, lines[len(lines)-1], "epoch 2: early stopping")
	heard := len(lines)
	check(t, x.SetLogger(Trace, nil))
	run()
	equal(t, len(lines), heard)
}
