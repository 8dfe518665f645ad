package dl4

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// step is one step of a case of ../conformance.json; ../README.md says what each does.
type step struct {
	Do, To1                                             string
	To                                                  json.RawMessage
	Context, Graph, Layer, Model, Session, Trainer      string
	Dataset, Train, Valid, Object, Tensor, Cancel, Slot string
	Kind, Category, Name, Node, Path, Text, Bytes, Key  string
	Format, Weight, Weights, True, Pred, DType          string
	Size                                                int
	Shape                                               []int
	Values                                              []json.RawMessage
	Value                                               json.RawMessage
	Tolerance                                           *float64
	In, Out, Into, Tensors, Names, Contains, X, Y, W    []string
	Attrs, Call, Options                                map[string]json.RawMessage
	Attributes                                          []string
	Nodes                                               map[string][]*string
	Models                                              map[string]string
	Metrics                                             map[string]float64
	History                                             map[string][]float64
	Batches                                             []struct{ X, Y, W []string }
	At                                                  *struct {
		Event   Event
		Step    int64
		Stop    bool
		Trigger string
	}
	Error map[string]string
}

type flag struct {
	ctx    context.Context
	cancel context.CancelFunc
}

type runner struct {
	slots  map[string]any
	folder string
}

func TestConformance(t *testing.T) {
	path := filepath.Join("..", "conformance.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && os.Getenv("DL4_SOURCE") == "" {
		t.Skip("the cases are not part of this module")
	}
	check(t, err)
	var file struct {
		Cases []struct {
			Name  string
			Steps []json.RawMessage
		}
	}
	check(t, json.Unmarshal(text, &file))
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			r := &runner{map[string]any{}, t.TempDir()}
			for i, raw := range c.Steps {
				s, err := parsed(raw)
				if err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
				if err := r.check(s); err != nil {
					t.Fatalf("step %d, %s: %v", i, s.Do, err)
				}
			}
		})
	}
}

// parsed refuses a key that this runner does not know.
func parsed(raw json.RawMessage) (*step, error) {
	s := new(step)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(s)
	if len(s.To) > 0 && s.To[0] == '"' {
		err = json.Unmarshal(s.To, &s.To1)
	}
	return s, err
}

func (r *runner) check(s *step) error {
	f, known := steps[s.Do]
	if !known {
		return fmt.Errorf("no such step")
	}
	err := f(r, s)
	if g, ok := r.slots[s.Graph].(*Graph); ok {
		if first := g.TakeErr(); err == nil {
			err = first
		}
	}
	if s.Error == nil {
		return err
	}
	e, ok := err.(*Error)
	if !ok {
		return fmt.Errorf("want %v, got %v", s.Error, err)
	}
	got := map[string]string{
		"code": codeName(e.Code), "function": e.Function, "layer": e.Layer, "attribute": e.Attribute,
		"argument": e.Argument, "expected": e.Expected, "got": e.Got, "did_you_mean": e.DidYouMean,
	}
	for key, want := range s.Error {
		if got[key] != want {
			return fmt.Errorf("%s: want %q, got %q: %v", key, want, got[key], e)
		}
	}
	return nil
}

func codeName(c Code) string {
	for code, name := range map[Code]string{
		ErrInternal: "INTERNAL", ErrOutOfMemory: "OUT_OF_MEMORY", ErrInvalidArgument: "INVALID_ARGUMENT",
		ErrUnknownKind: "UNKNOWN_KIND", ErrNotFound: "NOT_FOUND", ErrCancelled: "CANCELLED",
		ErrShapeMismatch: "SHAPE_MISMATCH", ErrUnsupported: "UNSUPPORTED", ErrIO: "IO", ErrCorruptFile: "CORRUPT_FILE",
		ErrVersion: "VERSION", ErrBusy: "BUSY", ErrCallbackFailed: "CALLBACK_FAILED", ErrNumeric: "NUMERIC",
	} {
		if code == c {
			return "DL4_" + name
		}
	}
	return c.Error()
}

func of[T any](r *runner, name string) T {
	v, _ := r.slots[name].(T)
	return v
}

func all[T any](r *runner, names []string) []T {
	out := make([]T, len(names))
	for i, name := range names {
		out[i] = of[T](r, name)
	}
	return out
}

func (r *runner) put(s *step, v any, err error) error {
	if err == nil {
		r.slots[s.To1] = v
	}
	return err
}

func (r *runner) putAll(s *step, list []*Tensor, err error) error {
	if err != nil || s.To == nil {
		return err
	}
	var names []string
	if err := json.Unmarshal(s.To, &names); err != nil {
		return err
	}
	for i, name := range names {
		r.slots[name] = list[i]
	}
	return nil
}

func plain(values map[string]json.RawMessage) Attrs {
	a := Attrs{}
	for key, v := range values {
		a[key] = v
	}
	return a
}

func (r *runner) attrs(s *step) Attrs {
	a := plain(s.Attrs)
	if s.Name != "" {
		a["name"] = s.Name
	}
	for key, name := range s.Models {
		a[key] = of[*Model](r, name)
	}
	return a
}

func (r *runner) ctx(s *step) context.Context {
	if s.Cancel == "" {
		return background
	}
	return of[flag](r, s.Cancel).ctx
}

func (r *runner) outputs(s *step, first Node) error {
	if first.graph == nil {
		return nil // the graph has the error
	}
	outs, err := first.Outputs()
	if err != nil {
		return err
	}
	var names []string
	if err := json.Unmarshal(s.To, &names); err != nil {
		return err
	}
	for i, name := range names {
		r.slots[name] = outs[i]
	}
	return nil
}

func (r *runner) call(s *step, l Layer) error {
	call := plain(s.Call)
	for key, names := range s.Nodes {
		nodes := make([]Node, len(names))
		for i, name := range names {
			if name != nil {
				nodes[i] = of[Node](r, *name)
			}
		}
		call[key] = nodes
	}
	return r.outputs(s, l.Call(call, all[Node](r, s.In)...))
}

var dtypes = map[string]DType{
	"float32": Float32, "float64": Float64, "int32": Int32, "int64": Int64, "uint8": Uint8,
	"bool": Bool, "float16": 7,
}

func parse[T Element](values []json.RawMessage, shape []int) (*Tensor, error) {
	v := make([]T, len(values))
	for i, text := range values {
		if err := json.Unmarshal(text, &v[i]); err != nil {
			return nil, err
		}
	}
	return FromSlice(v, shape...)
}

func makeTensor(s *step) (*Tensor, error) {
	switch dtypes[s.DType] {
	case Float32:
		return parse[float32](s.Values, s.Shape)
	case Float64:
		return parse[float64](s.Values, s.Shape)
	case Int32:
		return parse[int32](s.Values, s.Shape)
	case Int64:
		return parse[int64](s.Values, s.Shape)
	case Uint8:
		return parse[uint8](s.Values, s.Shape)
	case Bool:
		v := make([]bool, len(s.Values))
		for i := range v {
			v[i] = number(s.Values[i]) != 0
		}
		return FromSlice(v, s.Shape...)
	}
	return NewTensor(nil, dtypes[s.DType], s.Shape...)
}

// read gives the numbers as float64, and 2^53 is the largest that the cases have.
func read(t *Tensor) ([]float64, error) {
	switch t.DType() {
	case Float32:
		return floats(Data[float32](t))
	case Float64:
		return Data[float64](t)
	case Int32:
		return floats(Data[int32](t))
	case Int64:
		return floats(Data[int64](t))
	case Uint8:
		return floats(Data[uint8](t))
	}
	b, err := Data[bool](t)
	out := make([]float64, len(b))
	for i := range b {
		if b[i] {
			out[i] = 1
		}
	}
	return out, err
}

func floats[T float32 | int32 | int64 | uint8](v []T, err error) ([]float64, error) {
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out, err
}

func number(text json.RawMessage) float64 {
	var v float64
	if json.Unmarshal(text, &v) != nil {
		return math.NaN()
	}
	return v
}

func near(s *step, got, want []float64, otherwise float64) error {
	tolerance := otherwise
	if s.Tolerance != nil {
		tolerance = *s.Tolerance
	}
	if len(got) != len(want) {
		return fmt.Errorf("want %v, got %v", want, got)
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance*math.Max(1, math.Abs(want[i]))) {
			return fmt.Errorf("element %d: want %v, got %v", i, want[i], got[i])
		}
	}
	return nil
}

func (r *runner) expect(s *step) error {
	t := of[*Tensor](r, s.Tensor)
	if t.DType().String() != s.DType || fmt.Sprint(t.Shape()) != fmt.Sprint(s.Shape) {
		return fmt.Errorf("want %s %v, got %s %v", s.DType, s.Shape, t.DType(), t.Shape())
	}
	got, err := read(t)
	want := make([]float64, len(s.Values))
	for i := range want {
		want[i] = number(s.Values[i])
	}
	if err != nil {
		return err
	}
	return near(s, got, want, 1e-5)
}

func (r *runner) metrics(s *step, values []float64, err error) error {
	if err != nil {
		return err
	}
	got := map[string]float64{}
	for i, name := range of[*Trainer](r, s.Trainer).MetricNames() {
		got[name] = values[i]
	}
	for name, want := range s.Metrics {
		v, known := got[name]
		if !known {
			return fmt.Errorf("no metric %s in %v", name, got)
		}
		if err := near(s, []float64{v}, []float64{want}, 1e-5); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (r *runner) fit(s *step) error {
	h, err := of[*Trainer](r, s.Trainer).Fit(r.ctx(s), of[*Dataset](r, s.Train), of[*Dataset](r, s.Valid),
		plain(s.Options), func(p Progress) error {
			if s.At == nil || p.Event != s.At.Event || p.Step != s.At.Step {
				return nil
			}
			if s.At.Trigger != "" {
				f := of[flag](r, s.At.Trigger)
				f.cancel()
			}
			if s.At.Stop {
				return Stop
			}
			return nil
		})
	if err != nil {
		return err
	}
	for name, want := range s.History {
		if err := near(s, h[name], want, 1e-5); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (r *runner) batches(s *step) error {
	d, err := DatasetFunc(nil, func(i int64) (Batch, error) {
		if i == int64(len(s.Batches)) {
			return Batch{}, io.EOF
		}
		b := Batch{}
		for _, part := range []struct {
			to    *[]*Tensor
			names []string
		}{{&b.X, s.Batches[i].X}, {&b.Y, s.Batches[i].Y}, {&b.W, s.Batches[i].W}} {
			for _, t := range all[*Tensor](r, part.names) {
				shared, err := t.Share()
				if err != nil {
					return b, err
				}
				*part.to = append(*part.to, shared)
			}
		}
		return b, nil
	}, plain(s.Options))
	return r.put(s, d, err)
}

func (r *runner) load(s *step) error {
	path := filepath.Join(r.folder, s.Path)
	data := of[[]byte](r, s.Bytes)
	switch {
	case s.Trainer != "" && s.Path != "":
		return of[*Trainer](r, s.Trainer).Load(path)
	case s.Trainer != "":
		return of[*Trainer](r, s.Trainer).LoadBytes(data)
	case s.Path != "":
		m, err := LoadModel(nil, path, plain(s.Options))
		return r.put(s, m, err)
	}
	m, err := LoadModelBytes(nil, data, plain(s.Options))
	return r.put(s, m, err)
}

func (r *runner) save(s *step) error {
	var thing interface {
		Save(string) error
		Bytes() ([]byte, error)
	} = of[*Model](r, s.Model)
	if s.Trainer != "" {
		thing = of[*Trainer](r, s.Trainer)
	}
	if s.Path != "" {
		return thing.Save(filepath.Join(r.folder, s.Path))
	}
	data, err := thing.Bytes()
	return r.put(s, data, err)
}

func (r *runner) describe(s *step) error {
	format := map[string]Format{"json": JSON, "text": Text, "dot": DOT}[s.Format]
	text, err := of[interface {
		Describe(Format) (string, error)
	}](r, s.Object).Describe(format)
	if err != nil {
		return err
	}
	for _, part := range s.Contains {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q is not in %s", part, text)
		}
	}
	return r.put(s, text, nil)
}

type attribute struct {
	Name     string
	Required bool
}

type described struct{ Attributes []attribute }

func (r *runner) registry(s *step) error {
	text, err := Registry(s.Category, s.Name)
	if err != nil {
		return err
	}
	var kinds map[string]map[string]described
	if err := json.Unmarshal(text, &kinds); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, a := range kinds[s.Category][s.Name].Attributes {
		names[a.Name] = true
	}
	for _, name := range s.Attributes {
		if !names[name] {
			return fmt.Errorf("no attribute %s in %v", name, names)
		}
	}
	return nil
}

// Null for every attribute of every layer: taken, or refused by the name of that attribute or of a missing one.
func (r *runner) nulls(s *step) error {
	var known struct {
		Layer map[string]described
		Every described `json:"every_layer"`
	}
	if err := json.Unmarshal(must(Registry("layer", "")), &known); err != nil {
		return err
	}
	for kind, facts := range known.Layer {
		given := map[string]json.RawMessage{}
		if text, ok := s.Attrs[kind]; ok {
			if err := json.Unmarshal(text, &given); err != nil {
				return err
			}
		}
		allowed := map[string]bool{}
		for _, a := range facts.Attributes {
			allowed[a.Name] = a.Required && given[a.Name] == nil
		}
		for _, a := range append(facts.Attributes, known.Every.Attributes...) {
			g, attrs := must(NewGraph(nil)), plain(given)
			attrs[a.Name] = nil
			g.Layer(kind, attrs)
			if e, failed := g.Err().(*Error); failed && e.Attribute != a.Name && !allowed[e.Attribute] {
				return fmt.Errorf("%s.%s: %v", kind, a.Name, e)
			}
			g.Close()
		}
	}
	return nil
}

var steps = map[string]func(*runner, *step) error{
	"tensor": func(r *runner, s *step) error {
		t, err := makeTensor(s)
		return r.put(s, t, err)
	},
	"expect": (*runner).expect,
	"same": func(r *runner, s *step) error {
		a, b := of[*Tensor](r, s.Tensors[0]), of[*Tensor](r, s.Tensors[1])
		if a.DType() != b.DType() || !reflect.DeepEqual(a.Shape(), b.Shape()) ||
			!reflect.DeepEqual(must(read(a)), must(read(b))) {
			return fmt.Errorf("%v and %v differ", must(read(a)), must(read(b)))
		}
		return nil
	},
	"context": func(r *runner, s *step) error {
		x, err := NewContext(plain(s.Options))
		return r.put(s, x, err)
	},
	"graph": func(r *runner, s *step) error {
		g, err := NewGraph(of[*Context](r, s.Context))
		return r.put(s, g, err)
	},
	"input": func(r *runner, s *step) error {
		return r.put(s, of[*Graph](r, s.Graph).Input(s.Name, dtypes[s.DType], s.Shape...), nil)
	},
	"constant": func(r *runner, s *step) error {
		return r.put(s, of[*Graph](r, s.Graph).Constant(s.Name, of[*Tensor](r, s.Tensor)), nil)
	},
	"layer": func(r *runner, s *step) error {
		return r.put(s, of[*Graph](r, s.Graph).Layer(s.Kind, r.attrs(s)), nil)
	},
	"call": func(r *runner, s *step) error { return r.call(s, of[Layer](r, s.Layer)) },
	"add": func(r *runner, s *step) error {
		g := of[*Graph](r, s.Graph)
		if s.Call == nil && s.Nodes == nil {
			return r.outputs(s, g.Add(s.Kind, r.attrs(s), all[Node](r, s.In)...))
		}
		return r.call(s, g.Layer(s.Kind, r.attrs(s)))
	},
	"merge_json": func(r *runner, s *step) error {
		return of[*Graph](r, s.Graph).MergeJSON(json.RawMessage(of[string](r, s.Text)))
	},
	"shape": func(r *runner, s *step) error {
		shape, err := of[Node](r, s.Node).Shape()
		if err == nil && fmt.Sprint(shape) != fmt.Sprint(s.Shape) {
			err = fmt.Errorf("want %v, got %v", s.Shape, shape)
		}
		return err
	},
	"mask": func(r *runner, s *step) error {
		m, err := of[Node](r, s.Node).Mask()
		return r.put(s, m, err)
	},
	"build": func(r *runner, s *step) error {
		m, err := of[*Graph](r, s.Graph).Build(all[Node](r, s.In), all[Node](r, s.Out))
		return r.put(s, m, err)
	},
	"weights": func(r *runner, s *step) error {
		names := []string{}
		for _, w := range must(of[*Model](r, s.Model).Weights()) {
			names = append(names, w.Name)
		}
		if !reflect.DeepEqual(names, s.Names) {
			return fmt.Errorf("want %v, got %v", s.Names, names)
		}
		return nil
	},
	"get_weight": func(r *runner, s *step) error {
		w, err := of[*Model](r, s.Model).Weight(s.Name)
		return r.put(s, w, err)
	},
	"set_weight": func(r *runner, s *step) error {
		return of[*Model](r, s.Model).SetWeight(s.Name, of[*Tensor](r, s.Tensor))
	},
	"set_trainable": func(r *runner, s *step) error {
		return of[*Model](r, s.Model).SetTrainable(s.Name, number(s.Value) != 0)
	},
	"clone": func(r *runner, s *step) error {
		m, err := of[*Model](r, s.Model).Clone()
		return r.put(s, m, err)
	},
	"save": (*runner).save,
	"load": (*runner).load,
	"text": func(r *runner, s *step) error { return r.put(s, s.Text, nil) },
	"write": func(r *runner, s *step) error {
		return os.WriteFile(filepath.Join(r.folder, s.Path), []byte(of[string](r, s.Text)), 0o600)
	},
	"cut":      func(r *runner, s *step) error { return r.put(s, of[[]byte](r, s.Bytes)[:s.Size], nil) },
	"describe": (*runner).describe,
	"session": func(r *runner, s *step) error {
		session, err := NewSession(of[*Model](r, s.Model), plain(s.Options))
		return r.put(s, session, err)
	},
	"run": func(r *runner, s *step) error {
		session := of[*Session](r, s.Session)
		if s.Into != nil {
			return session.RunInto(r.ctx(s), all[*Tensor](r, s.In), all[*Tensor](r, s.Into))
		}
		out, err := session.Run(r.ctx(s), all[*Tensor](r, s.In)...)
		return r.putAll(s, out, err)
	},
	"predict": func(r *runner, s *step) error {
		out, err := of[*Session](r, s.Session).Predict(r.ctx(s), of[*Dataset](r, s.Dataset))
		return r.putAll(s, out, err)
	},
	"measure": func(r *runner, s *step) error {
		out, err := Measure(nil, s.Category, s.Kind, plain(s.Attrs), of[*Tensor](r, s.True), of[*Tensor](r, s.Pred),
			of[*Tensor](r, s.Weights))
		return r.put(s, out, err)
	},
	"dataset": func(r *runner, s *step) error {
		d, err := NewDataset(nil, all[*Tensor](r, s.X), all[*Tensor](r, s.Y), all[*Tensor](r, s.W), plain(s.Options))
		return r.put(s, d, err)
	},
	"batches": (*runner).batches,
	"trainer": func(r *runner, s *step) error {
		t, err := NewTrainer(of[*Model](r, s.Model), plain(s.Options))
		return r.put(s, t, err)
	},
	"step": func(r *runner, s *step) error {
		v, err := of[*Trainer](r, s.Trainer).Step(all[*Tensor](r, s.X), all[*Tensor](r, s.Y), all[*Tensor](r, s.W))
		return r.metrics(s, v, err)
	},
	"accumulate": func(r *runner, s *step) error {
		v, err := of[*Trainer](r, s.Trainer).Accumulate(all[*Tensor](r, s.X), all[*Tensor](r, s.Y), all[*Tensor](r, s.W))
		return r.metrics(s, v, err)
	},
	"apply": func(r *runner, s *step) error { return of[*Trainer](r, s.Trainer).Apply() },
	"gradient": func(r *runner, s *step) error {
		v, err := of[*Trainer](r, s.Trainer).Gradient(s.Weight)
		return r.put(s, v, err)
	},
	"fit": (*runner).fit,
	"evaluate": func(r *runner, s *step) error {
		v, err := of[*Trainer](r, s.Trainer).Evaluate(r.ctx(s), of[*Dataset](r, s.Dataset))
		return r.metrics(s, v, err)
	},
	"get": func(r *runner, s *step) error {
		v, err := of[*Trainer](r, s.Trainer).Get(s.Key)
		if err != nil {
			return err
		}
		return near(s, []float64{v}, []float64{number(s.Value)}, 1e-7)
	},
	"set": func(r *runner, s *step) error { return of[*Trainer](r, s.Trainer).Set(s.Key, number(s.Value)) },
	"cancel": func(r *runner, s *step) error {
		ctx, cancel := context.WithCancel(background)
		return r.put(s, flag{ctx, cancel}, nil)
	},
	"trigger": func(r *runner, s *step) error {
		f := of[flag](r, s.Cancel)
		f.cancel()
		return nil
	},
	"release": func(r *runner, s *step) error {
		err := r.slots[s.Slot].(io.Closer).Close()
		delete(r.slots, s.Slot)
		return err
	},
	"registry":        (*runner).registry,
	"null_attributes": (*runner).nulls,
}
