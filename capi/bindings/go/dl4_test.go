package dl4

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unsafe"
)

var background = context.Background()

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func refused(t *testing.T, err error, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, code) {
		t.Fatalf("got %v, want %v", err, code)
	}
	return e
}

// small is a model of four inputs and three outputs.
func small() *Model {
	g := must(NewGraph(nil))
	x := g.Input("x", Float32, -1, 4)
	h := g.Add("Dense", Attrs{"name": "hidden", "units": 5, "activation": "tanh"}, x)
	y := g.Add("Dense", Attrs{"name": "y", "units": 3}, h)
	return must(g.Build([]Node{x}, []Node{y}))
}

func line(shape ...int) *Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i)/float32(n) - 0.5
	}
	return must(FromSlice(v, shape...))
}

func small20(options Attrs) (*Trainer, *Dataset) {
	if options == nil {
		options = Attrs{"optimizer": "sgd", "loss": "mse"}
	}
	return must(NewTrainer(small(), options)),
		must(NewDataset(nil, []*Tensor{line(20, 4)}, []*Tensor{line(20, 3)}, nil, Attrs{"batch_size": 5}))
}

func roundTrip[T Element](t *testing.T, values ...T) {
	t.Helper()
	tensor := must(FromSlice(values, 2, 2))
	equal(t, must(Data[T](tensor)), values)
	equal(t, must(UnsafeData[T](tensor)), values)
	equal(t, tensor.DType(), dtypeOf[T]())
	check(t, CopyIn(tensor, values))
	_, err := Data[T](must(NewTensor(nil, other[T]())))
	refused(t, err, ErrShapeMismatch)
}

func other[T Element]() DType {
	if dtypeOf[T]() == Float32 {
		return Int32
	}
	return Float32
}

func TestTensorsOfEveryType(t *testing.T) {
	roundTrip(t, float32(0), -1.5, float32(math.Inf(1)), 1e-30)
	roundTrip(t, 0.5, -1e300, 2.5e-300, 1.0)
	roundTrip(t, int32(0), math.MinInt32, math.MaxInt32, 7)
	roundTrip(t, int64(0), math.MinInt64, math.MaxInt64, 7)
	roundTrip(t, uint8(0), 255, 1, 128)
	roundTrip(t, false, true, true, false)
	equal(t, must(Data[float32](must(FromSlice([]float32{2.5})))), []float32{2.5})
	equal(t, must(FromSlice([]float32{}, 0, 3)).Shape(), []int{0, 3})
	equal(t, Int64.String()+Bool.String()+DType(99).String(), "int64boolDType(99)")
}

func TestTensorsRefuse(t *testing.T) {
	_, err := FromSlice([]float32{1, 2, 3}, 2, 2)
	refused(t, err, ErrShapeMismatch)
	_, err = NewTensor(nil, DType(7), 1)
	refused(t, err, ErrUnsupported)
	_, err = NewTensor(nil, Float32, -1)
	refused(t, err, ErrInvalidArgument)
	refused(t, CopyOut(line(2), make([]float32, 3)), ErrShapeMismatch)
	refused(t, CopyIn(line(2), []int32{1, 2}), ErrShapeMismatch)
}

func TestTensorsShareMemory(t *testing.T) {
	a := line(2, 3)
	b := must(a.Share())
	must(UnsafeData[float32](a))[0] = 7
	equal(t, must(Data[float32](b))[0], float32(7))
	c := must(a.Clone())
	check(t, a.Close())
	must(UnsafeData[float32](b))[0] = 8
	equal(t, must(Data[float32](c))[0], float32(7))
}

func TestMemoryOfOthersIsWrapped(t *testing.T) {
	owner := line(6) // memory that is not Go's
	p := unsafe.Pointer(&must(UnsafeData[float32](owner))[0])
	released := 0
	w := must(Wrap(Float32, []int{2, 2}, []int{1, 3}, p, 24, func() { released++ }))
	all := must(Data[float32](owner))
	equal(t, must(Data[float32](w)), []float32{all[0], all[3], all[1], all[4]})
	_, err := UnsafeData[float32](w)
	refused(t, err, ErrUnsupported)
	s := must(w.Share())
	w.Close()
	equal(t, released, 0)
	s.Close()
	equal(t, released, 1)
	_, err = Wrap(Float32, []int{7}, nil, p, 24, func() { released++ })
	refused(t, err, ErrShapeMismatch)
	_, err = Wrap(Float32, []int{7}, []int{}, p, 24, nil)
	refused(t, err, ErrInvalidArgument)
	equal(t, released, 1)
	owner.Close()
}

func TestErrorsHaveFacts(t *testing.T) {
	g := must(NewGraph(nil))
	x := g.Input("x", Float32, -1, 4)
	g.Add("Dense", Attrs{"name": "mine", "units": 0}, x)
	e := refused(t, g.Err(), ErrInvalidArgument)
	equal(t, []string{e.Layer, e.Attribute, e.Got}, []string{"mine", "units", "0"})
	_, err := g.Build([]Node{x}, []Node{x})
	equal(t, err, g.Err())
	equal(t, g.TakeErr(), err)
	g.Add("Densee", nil, x)
	equal(t, refused(t, g.TakeErr(), ErrUnknownKind).DidYouMean, "Dense")
	equal(t, errors.Is(err, ErrNotFound), false)
	g.Add("Dense", Attrs{"units": make(chan int)}, x)
	refused(t, g.TakeErr(), ErrInvalidArgument)
	g.Add("De\x00nse", nil, x)
	refused(t, g.TakeErr(), ErrInvalidArgument)
	g.Add("Dense", Attrs{"units": 2}, must(NewGraph(nil)).Input("", Float32, 1))
	refused(t, g.TakeErr(), ErrInvalidArgument)
	equal(t, ErrNotFound.Error()+Code(99).Error(), "dl4: not founddl4: code 99")
}

func TestNodes(t *testing.T) {
	g := must(NewGraph(must(NewContext(Attrs{"seed": 3}))))
	words := g.Input("words", Int32, -1, -1)
	e := g.Add("Embedding", Attrs{"input_dim": 5, "output_dim": 3, "mask_zero": true}, words)
	mask := must(e.Mask())
	equal(t, must(mask.DType()), Bool)
	equal(t, must(words.Mask()), Node{})
	lstm := g.Layer("LSTM", Attrs{"units": 4, "return_state": true})
	first := lstm.Call(nil, e)
	outs := must(first.Outputs())
	equal(t, len(outs), 3)
	second := lstm.Call(Attrs{"initial_state": outs[1:], "mask": mask}, e)
	equal(t, must(second.Shape()), []int{-1, 4})
	k := g.Constant("k", must(FromSlice([]float32{1, 2, 3, 4}, 4)))
	m := must(g.Build([]Node{words}, []Node{g.Add("Add", nil, second, k)}))
	equal(t, must(m.Inputs()), []IO{{"words", Int32, []int{-1, -1}}})
	_, err := Node{}.Shape()
	refused(t, err, ErrInvalidArgument)
	again := must(NewGraph(nil))
	check(t, again.MergeJSON([]byte(must(m.Describe(JSON)))))
	equal(t, len(must(must(again.Build(nil, nil)).Weights())), 4)
	g.Add("Dense", nil)
	_, err = first.Shape()
	equal(t, refused(t, err, ErrInvalidArgument).Attribute, "units")
}

func TestKindsAreCheckedAndRemoved(t *testing.T) {
	check(t, Check("optimizer", "Adam", Attrs{"beta_1": 0.5}))
	refused(t, Check("optimizer", "Adam", Attrs{"beta_1": 2}), ErrInvalidArgument)
	forward := func(string, []*Tensor, []*Tensor) error { return nil }
	check(t, Register("layer", "GoGone", Kind{Forward: forward}))
	check(t, Check("layer", "GoGone", nil))
	check(t, Unregister("layer", "GoGone"))
	refused(t, Check("layer", "GoGone", nil), ErrUnknownKind)
	refused(t, Unregister("layer", "GoGone"), ErrUnknownKind)
}

func TestNodesOfAnotherGraphAreRefused(t *testing.T) {
	g, other := must(NewGraph(nil)), must(NewGraph(nil))
	y := g.Add("Dense", Attrs{"units": 1, "name": "d"}, g.Input("x", Float32, -1, 2))
	w, far := g.Weight("d/kernel"), other.Input("x", Float32, -1, 2)
	for _, wrong := range []Node{far, {}} {
		g.Gradients(nil, []Node{wrong}, []Node{w}, nil)
		refused(t, g.TakeErr(), ErrInvalidArgument)
		equal(t, g.Gradients(Attrs{"sum": true}, []Node{y}, []Node{w, wrong}, nil), make([]Node, 2))
		refused(t, g.TakeErr(), ErrInvalidArgument)
		g.Gradients(Attrs{"sum": true}, []Node{y}, []Node{w}, []Node{y, y})
		refused(t, g.TakeErr(), ErrInvalidArgument)
		g.Add("Dense", Attrs{"units": y}, y)
		refused(t, g.TakeErr(), ErrInvalidArgument)
		g.Assign(nil, w, wrong)
		refused(t, g.TakeErr(), ErrInvalidArgument)
		g.Update(Attrs{"optimizer": "SGD"}, []Node{w}, []Node{wrong}, Node{})
		refused(t, g.TakeErr(), ErrInvalidArgument)
		g.After(y, wrong)
		refused(t, g.TakeErr(), ErrInvalidArgument)
	}
}

func TestModelsAreLayers(t *testing.T) {
	inner := small()
	g := must(NewGraph(nil))
	x := g.Input("x", Float32, -1, 4)
	y := g.Add("Functional", Attrs{"name": "inner", "model": inner}, x)
	m := must(g.Build([]Node{x}, []Node{y}))
	equal(t, must(m.Weights())[0], Weight{IO{"inner/hidden/kernel", Float32, []int{4, 5}}, true})
	check(t, m.SetTrainable("*", false))
	equal(t, must(m.Weights())[0].Trainable, false)
}

func TestSavedAndLoaded(t *testing.T) {
	m := small()
	path := filepath.Join(t.TempDir(), "модель é.safetensors")
	check(t, m.Save(path))
	data := must(os.ReadFile(path))
	equal(t, must(m.Bytes()), data)
	x := line(2, 4)
	want := must(Data[float32](must(must(NewSession(m, nil)).Run(background, x))[0]))
	models := []*Model{must(LoadModel(nil, path, nil)), must(LoadModelBytes(nil, data, nil)), must(m.Clone())}
	for _, again := range models {
		equal(t, must(Data[float32](must(must(NewSession(again, nil)).Run(background, x))[0])), want)
	}
	_, err := LoadModel(nil, "/nowhere/m", nil)
	refused(t, err, ErrNotFound)
	_, err = LoadModelBytes(nil, nil, nil)
	refused(t, err, ErrCorruptFile)
	v := must(m.Weight("y/bias"))
	check(t, CopyIn(v, []float32{1, 2, 3}))
	check(t, m.SetWeight("y/bias", v))
	equal(t, must(Data[float32](must(m.Weight("y/bias")))), []float32{1, 2, 3})
}

func TestSessions(t *testing.T) {
	s := must(NewSession(small(), Attrs{"gradients": []string{"x"}}))
	equal(t, must(s.Outputs())[1].Name, "gradient of x")
	equal(t, must(s.Inputs())[0].Shape, []int{-1, 4})
	equal(t, must(s.OutputShape(0, []int{7, 4})), []int{7, 3})
	x, y := line(2, 4), must(NewTensor(nil, Float32, 2, 3))
	out := []*Tensor{y, nil}
	check(t, s.RunInto(background, []*Tensor{x}, out))
	equal(t, must(Data[float32](y)), must(Data[float32](must(s.Run(background, x))[0])))
	equal(t, out[1].Shape(), []int{2, 4})
	refused(t, s.RunInto(background, []*Tensor{x}, []*Tensor{x, nil}), ErrShapeMismatch)
	refused(t, s.RunInto(background, nil, make([]*Tensor, 2)), ErrInvalidArgument)
	refused(t, s.RunInto(background, []*Tensor{nil}, make([]*Tensor, 2)), ErrInvalidArgument)
	d := must(NewDataset(nil, []*Tensor{line(5, 4)}, nil, nil, Attrs{"batch_size": 2}))
	equal(t, must(s.Predict(background, d))[0].Shape(), []int{5, 3})
}

func TestTrainer(t *testing.T) {
	tr, _ := small20(Attrs{"optimizer": "adam", "loss": "mse", "metrics": []string{"mae"}})
	equal(t, tr.MetricNames(), []string{"loss", "mae"})
	x, y := []*Tensor{line(6, 4)}, []*Tensor{line(6, 3)}
	before := must(tr.Step(x, y, nil))
	saved := must(tr.Bytes())
	after := must(tr.Step(x, y, nil))
	if after[0] >= before[0] {
		t.Errorf("loss went from %v to %v", before[0], after[0])
	}
	check(t, tr.LoadBytes(saved))
	equal(t, must(tr.Step(x, y, nil)), after)
	path := filepath.Join(t.TempDir(), "checkpoint")
	check(t, tr.Save(path))
	check(t, tr.Load(path))
	must(tr.Accumulate(x, y, []*Tensor{line(6)}))
	gradient := must(tr.Gradient("*"))
	equal(t, gradient.Shape(), []int{4*5 + 5 + 5*3 + 3})
	check(t, tr.AddGradient("*", gradient))
	check(t, tr.Apply())
	check(t, tr.ZeroGradients())
	refused(t, tr.Apply(), ErrInvalidArgument)
	equal(t, must(tr.Get("iterations")), 3.0)
	check(t, tr.Set("learning_rate", 0.5))
	equal(t, must(tr.Get("learning_rate")), 0.5)
	_, err := tr.Get("speed")
	refused(t, err, ErrNotFound)
	var h History
	check(t, h.UnmarshalJSON([]byte(`{"loss": [1.5, null]}`)))
	equal(t, h["loss"][0], 1.5)
	equal(t, math.IsNaN(h["loss"][1]), true)
}

func TestStreams(t *testing.T) {
	g := must(NewGraph(nil))
	x := g.Input("x", Float32, -1, -1, 3)
	m := must(g.Build([]Node{x}, []Node{g.Add("LSTM", Attrs{"units": 2, "return_sequences": true}, x)}))
	s := must(NewSession(m, Attrs{"states": true}))
	equal(t, len(must(s.Outputs())), 3)
	stream, steps := must(NewStream(s, nil)), must(Data[float32](line(1, 4, 3)))
	all := must(Data[float32](must(stream.Run(background, line(1, 4, 3)))[0]))
	check(t, stream.Reset())
	first := must(FromSlice(steps[:6], 1, 2, 3))
	must(stream.Run(background, first))
	place := must(stream.Bytes())
	rest, out := must(FromSlice(steps[6:], 1, 2, 3)), []*Tensor{must(NewTensor(nil, Float32, 1, 2, 2))}
	check(t, stream.RunInto(background, []*Tensor{rest}, out))
	equal(t, must(Data[float32](out[0])), all[4:])
	other := must(NewStream(s, nil))
	check(t, other.LoadBytes(place))
	equal(t, must(Data[float32](must(other.Run(background, rest))[0])), all[4:])
	refused(t, other.LoadBytes(nil), ErrCorruptFile)
	refused(t, other.RunInto(background, []*Tensor{line(1, 2)}, out), ErrShapeMismatch)
	_, err := NewStream(must(NewSession(m, nil)), nil)
	refused(t, err, ErrUnsupported)
	_, err = NewStream(s, Attrs{"batches": 2})
	equal(t, refused(t, err, ErrInvalidArgument).Attribute, "batches")
	check(t, other.Close())
	refused(t, other.Reset(), ErrInvalidArgument)
}

func TestStreamsForkRunTogetherAndDraw(t *testing.T) {
	g := must(NewGraph(nil))
	ids := g.Input("ids", Int32, -1, -1)
	x := g.Add("GRU", Attrs{"units": 5, "return_sequences": true}, g.Add("Embedding", Attrs{"input_dim": 7, "output_dim": 4}, ids))
	m := must(g.Build([]Node{ids}, []Node{g.Add("Dense", Attrs{"units": 7}, x)}))
	s := must(NewSession(m, Attrs{"states": true}))
	prompt := must(FromSlice([]int32{1, 2}, 1, 2))
	one, same := must(NewStream(s, Attrs{"seed": 3})), must(NewStream(s, Attrs{"seed": 3}))
	options := Attrs{"temperature": 2, "top_k": 5, "top_p": 0.9}
	drawn := must(one.Next(background, options, nil, prompt))
	equal(t, must(same.Next(background, options, nil, prompt)), drawn)
	fork := must(one.Fork(nil))
	equal(t, must(fork.Next(background, nil, nil, prompt)), must(one.Next(background, nil, nil, prompt)))
	onlySix := func(logits *Tensor) error {
		for i := range must(UnsafeData[float32](logits))[:6] {
			must(UnsafeData[float32](logits))[i] = float32(math.Inf(-1))
		}
		return nil
	}
	equal(t, must(one.Next(background, nil, onlySix, prompt)), []int{6})
	no := errors.New("no grammar")
	_, err := one.Next(background, nil, func(*Tensor) error { return no }, prompt)
	equal(t, err, no)
	_, err = one.Next(background, Attrs{"top_p": 2}, nil, prompt)
	refused(t, err, ErrInvalidArgument)

	both := must(FromSlice([]int32{1, 2, 3, 4}, 2, 2))
	a, b := must(NewStream(s, nil)), must(NewStream(s, nil))
	y := must(Data[float32](must(RunMany(background, []*Stream{a, b}, []int{2, 1}, both))[0]))
	equal(t, len(y), 28)
	equal(t, y[21:], make([]float32, 7))
	_, err = RunMany(background, []*Stream{a}, []int{1, 2}, both)
	refused(t, err, ErrInvalidArgument)
	rows := must(NewStream(s, Attrs{"batch": 2}))
	equal(t, len(must(rows.Next(background, Attrs{"temperature": 0}, nil, both))), 2)
	check(t, rows.ResetRow(1))
	refused(t, rows.ResetRow(2), ErrInvalidArgument)
}

func TestLayersOfTwoGraphs(t *testing.T) {
	a, b := must(NewGraph(nil)), must(NewGraph(nil))
	x, y := a.Input("x", Float32, -1, 4), b.Input("y", Float32, -1, 4)
	dense := a.Layer("Dense", Attrs{"units": 2})
	one := must(a.Build([]Node{x}, []Node{dense.Call(nil, x)}))
	two := must(b.Build([]Node{y}, []Node{b.Share(dense, "again").Call(nil, y)}))
	check(t, one.SetWeight("dense/bias", must(FromSlice([]float32{1, 2}, 2))))
	equal(t, must(Data[float32](must(two.Weight("again/bias")))), []float32{1, 2})
	equal(t, b.Share(Layer{}, ""), Layer{})
}

func TestRegistry(t *testing.T) {
	layers := must(Kinds("layer"))
	equal(t, len(layers) > 100, true)
	categories := must(Kinds(""))
	equal(t, categories[0], "activation")
	_, err := Registry("layer", "Densee")
	equal(t, refused(t, err, ErrUnknownKind).DidYouMean, "Dense")
	equal(t, len(must(BuildInfo())) > 2, true)
	equal(t, Version()[:2], "1.")
	loss := must(Measure(nil, "loss", "mse", nil, line(4, 1), line(4, 1), nil))
	equal(t, must(Data[float32](loss)), []float32{0})
	x := must(NewContext(Attrs{"threads": 1}))
	check(t, x.SetSeed(3))
	check(t, x.Trim())
	_, err = NewContext(Attrs{"threads": 0})
	equal(t, refused(t, err, ErrInvalidArgument).Attribute, "threads")
}
