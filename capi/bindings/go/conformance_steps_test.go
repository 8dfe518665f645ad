package dl4

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
)

var steps = map[string]func(*runner, *step) error{
	"tensor": func(r *runner, s *step) error {
		t, err := makeTensor(s)
		return r.put(s, t, err)
	},
	"expect": (*runner).expect,
	"same": func(r *runner, s *step) error {
		a, b := of[*Tensor](r, s.Tensors[0]), of[*Tensor](r, s.Tensors[1])
		if a.DType() == String && b.DType() == String && reflect.DeepEqual(a.Shape(), b.Shape()) {
			if !reflect.DeepEqual(must(a.Strings()), must(b.Strings())) {
				return fmt.Errorf("%q and %q differ", must(a.Strings()), must(b.Strings()))
			}
			return nil
		}
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
	"weight": func(r *runner, s *step) error { return r.put(s, of[*Graph](r, s.Graph).Weight(s.Name), nil) },
	"gradients": func(r *runner, s *step) error {
		g := of[*Graph](r, s.Graph)
		return r.putNodes(s, g.Gradients(r.attrs(s), all[Node](r, s.Of), all[Node](r, s.By), all[Node](r, s.OutputGradients)))
	},
	"assign": func(r *runner, s *step) error {
		return r.put(s, of[*Graph](r, s.Graph).Assign(r.attrs(s), of[Node](r, s.Node), of[Node](r, s.From)), nil)
	},
	"update": func(r *runner, s *step) error {
		g := of[*Graph](r, s.Graph)
		return r.put(s, g.Update(r.attrs(s), all[Node](r, s.Of), all[Node](r, s.By), of[Node](r, s.LearningRate)), nil)
	},
	"after": func(r *runner, s *step) error {
		return r.put(s, of[*Graph](r, s.Graph).After(of[Node](r, s.Node), all[Node](r, s.In)...), nil)
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
	"stream": func(r *runner, s *step) error {
		stream, err := NewStream(of[*Session](r, s.Session), plain(s.Options))
		return r.put(s, stream, err)
	},
	"stream_run": func(r *runner, s *step) error {
		out, err := of[*Stream](r, s.Stream).Run(r.ctx(s), all[*Tensor](r, s.In)...)
		return r.putAll(s, out, err)
	},
	"stream_run_many": func(r *runner, s *step) error {
		out, err := RunMany(r.ctx(s), all[*Stream](r, s.Streams), s.Counts, all[*Tensor](r, s.In)...)
		return r.putAll(s, out, err)
	},
	"stream_fork": func(r *runner, s *step) error {
		fork, err := of[*Stream](r, s.Stream).Fork(plain(s.Options))
		return r.put(s, fork, err)
	},
	"stream_reset": func(r *runner, s *step) error {
		if s.Row != nil {
			return of[*Stream](r, s.Stream).ResetRow(*s.Row)
		}
		return of[*Stream](r, s.Stream).Reset()
	},
	"stream_next": func(r *runner, s *step) error {
		ids, err := of[*Stream](r, s.Stream).Next(r.ctx(s), plain(s.Options), nil, all[*Tensor](r, s.In)...)
		if err == nil && !reflect.DeepEqual(ids, s.Ids) {
			err = fmt.Errorf("want %v, got %v", s.Ids, ids)
		}
		return err
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
	"adapt": func(r *runner, s *step) error {
		config, err := of[*Dataset](r, s.Dataset).Adapt(r.ctx(s), nil, s.Kind, plain(s.Attrs))
		return r.put(s, config, err)
	},
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

var dtypes = map[string]DType{
	"float32": Float32, "float64": Float64, "int32": Int32, "int64": Int64, "uint8": Uint8,
	"bool": Bool, "float16": 7, "string": String,
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
	case String:
		v, err := texts(s.Values)
		if err != nil {
			return nil, err
		}
		return FromStrings(v, s.Shape...)
	}
	return NewTensor(nil, dtypes[s.DType], s.Shape...)
}

func texts(values []json.RawMessage) ([]string, error) {
	v := make([]string, len(values))
	for i, text := range values {
		if err := json.Unmarshal(text, &v[i]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func sameStrings(t *Tensor, values []json.RawMessage) error {
	want, err := texts(values)
	if err != nil {
		return err
	}
	got, err := t.Strings()
	if err == nil && !reflect.DeepEqual(got, want) {
		err = fmt.Errorf("want %q, got %q", want, got)
	}
	return err
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
