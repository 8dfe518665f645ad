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
	Format, Weight, Weights, True, Pred, DType, From    string
	Stream, Config                                      string
	Streams                                             []string
	Size                                                int
	Row                                                 *int
	Shape, Counts, Ids                                  []int
	Values                                              []json.RawMessage
	Value                                               json.RawMessage
	Tolerance                                           *float64
	In, Out, Into, Tensors, Names, Contains, X, Y, W    []string
	Of, By                                              []string
	Attrs, Call, Options                                map[string]json.RawMessage
	Attributes                                          []string
	Nodes                                               map[string][]*string
	OutputGradients                                     []string `json:"output_gradients"`
	LearningRate                                        string   `json:"learning_rate"`
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
	for key, v := range of[Attrs](r, s.Config) {
		a[key] = v
	}
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
	return r.putNodes(s, outs)
}

func (r *runner) putNodes(s *step, list []Node) error {
	var names []string
	if err := json.Unmarshal(s.To, &names); err != nil {
		return err
	}
	for i, name := range names {
		r.slots[name] = list[i]
	}
	return nil
}

func (r *runner) arguments(s *step) Attrs {
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
	return call
}

func (r *runner) call(s *step, l Layer) error {
	return r.outputs(s, l.Call(r.arguments(s), all[Node](r, s.In)...))
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
	if t.DType() == String {
		return sameStrings(t, s.Values)
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
