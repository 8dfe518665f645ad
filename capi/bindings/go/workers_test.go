package dl4

import (
	"math"
	"sync"
	"testing"
)

// ring sums over goroutines that meet in it, in the order of their ranks.
type ring struct {
	sync.Mutex
	parts   []any
	arrived int
	next    chan struct{}
}

func newRing(size int) *ring {
	return &ring{parts: make([]any, size), next: make(chan struct{})}
}

func (r *ring) wait() {
	r.Lock()
	next := r.next
	if r.arrived++; r.arrived == len(r.parts) {
		r.arrived, r.next = 0, make(chan struct{})
		close(next)
	}
	r.Unlock()
	<-next
}

func add[T float32 | int32](r *ring, rank int, values []T) {
	r.parts[rank] = append([]T(nil), values...)
	r.wait()
	for i := range values {
		values[i] = 0
		for _, part := range r.parts {
			values[i] += part.([]T)[i]
		}
	}
	r.wait()
}

func (r *ring) reduce(rank int) func(any) error {
	return func(values any) error {
		switch v := values.(type) {
		case []float32:
			add(r, rank, v)
		case []int32:
			add(r, rank, v)
		}
		return nil
	}
}

func TestWorkersTrainAsOne(t *testing.T) {
	models := []*Model{small(), nil, nil}
	for i := range models[1:] {
		models[1+i] = must(models[0].Clone())
	}
	r := newRing(2)
	train := func(rank int, together bool) {
		tr := must(NewTrainer(models[rank], Attrs{"optimizer": "adam", "loss": "mse"}))
		if together {
			check(t, tr.SetWorkers(rank, 2, r.reduce(rank)))
		}
		d := must(NewDataset(nil, []*Tensor{line(20, 4)}, []*Tensor{line(20, 3)}, nil, Attrs{"batch_size": 5}))
		must(tr.Fit(background, d, nil, Attrs{"epochs": 3}, nil))
		if together {
			check(t, tr.SetWorkers(0, 1, nil))
			must(tr.Evaluate(background, d))
		}
	}
	var both sync.WaitGroup
	for rank := 0; rank < 2; rank++ {
		both.Add(1)
		go func(rank int) {
			defer both.Done()
			train(rank, true)
		}(rank)
	}
	both.Wait()
	train(2, false)
	var weights [][]float32
	for _, m := range models {
		weights = append(weights, must(Data[float32](must(m.Weight("*")))))
	}
	equal(t, weights[1], weights[0])
	for i, w := range weights[2] {
		if math.Abs(float64(w-weights[0][i])) > 1e-5 {
			t.Fatalf("weight %d: got %v, want %v", i, weights[0][i], w)
		}
	}
}

func TestWorkersFail(t *testing.T) {
	tr, d := small20(nil)
	if err := tr.SetWorkers(0, 2, func(any) error { return errMine }); err != errMine {
		t.Fatalf("got %v", err)
	}
	if v := panics(func() { tr.SetWorkers(0, 2, func(any) error { panic(&errMine) }) }); v != any(&errMine) {
		t.Fatalf("got %v", v)
	}
	refused(t, tr.SetWorkers(2, 2, func(any) error { return nil }), ErrInvalidArgument)
	refused(t, tr.SetWorkers(0, 2, nil), ErrInvalidArgument)
	must(tr.Fit(background, d, nil, nil, nil)) // alone, as before

	r := newRing(2)
	lost := false
	var both sync.WaitGroup
	for rank := 0; rank < 2; rank++ {
		both.Add(1)
		go func(rank int) {
			defer both.Done()
			tr := must(NewTrainer(small(), Attrs{"optimizer": "sgd", "loss": "mse"}))
			sum := r.reduce(rank)
			check(t, tr.SetWorkers(rank, 2, func(values any) error {
				if lost {
					return errMine
				}
				return sum(values)
			}))
			r.wait()
			lost = rank == 0 || lost
			r.wait()
			if _, err := tr.Step([]*Tensor{line(2, 4)}, []*Tensor{line(2, 3)}, nil); err != errMine {
				t.Errorf("got %v", err)
			}
		}(rank)
	}
	both.Wait()
	equal(t, len(failures.by), 0)
}
