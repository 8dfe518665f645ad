package dl4

import (
	"context"
	"reflect"
	"testing"
)

func TestStrings(t *testing.T) {
	given := []string{"a", "b\x00é", "", "\xff"}
	x, err := FromStrings(given, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	got, err := x.Strings()
	if err != nil || !reflect.DeepEqual(got, given) || x.DType() != String {
		t.Errorf("got %q of %s, %v", got, x.DType(), err)
	}
	if _, err := FromStrings(given, 3); err == nil {
		t.Error("expected a refusal of 4 strings for 3 elements")
	}
	numbers, _ := FromSlice([]float32{1}, 1)
	defer numbers.Close()
	if _, err := numbers.Strings(); err == nil {
		t.Error("expected a refusal of strings of numbers")
	}
	g, err := NewGraph(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	in := g.Input("x", String, -1, 1)
	out := g.Add("StringLookup", Attrs{"vocabulary": []string{"a", "b"}}, in)
	m, err := g.Build([]Node{in}, []Node{out})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := NewSession(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	y, err := s.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	defer y[0].Close()
	if ids, err := Data[int64](y[0]); err != nil || !reflect.DeepEqual(ids, []int64{1, 0, 0, 0}) {
		t.Errorf("got %v, %v", ids, err)
	}
}
