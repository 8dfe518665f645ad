package dl4

import "testing"

// article is the article's dense model.
func article() *Session {
	g := must(NewGraph(nil))
	x := g.Input("x", Float32, -1, 28, 28)
	h := g.Add("Flatten", nil, x)
	h = g.Add("Dense", Attrs{"units": 128, "activation": "relu"}, h)
	y := g.Add("Dense", Attrs{"units": 10, "activation": "softmax"}, h)
	return must(NewSession(must(g.Build([]Node{x}, []Node{y})), nil))
}

func BenchmarkTensorsUsedAgain(b *testing.B) {
	s, in, out := article(), []*Tensor{line(1, 28, 28)}, []*Tensor{must(NewTensor(nil, Float32, 1, 10))}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if err := s.RunInto(background, in, out); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArraysInAndOut(b *testing.B) {
	s, pixels := article(), make([]float32, 28*28)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		x := must(FromSlice(pixels, 1, 28, 28))
		y := must(s.Run(background, x))[0]
		must(Data[float32](y))
		x.Close()
		y.Close()
	}
}
