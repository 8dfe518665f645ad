package dl4

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// Programs that must end in a way of their own are this one again, told by DL4_TEST what to do.
func TestMain(m *testing.M) {
	switch os.Getenv("DL4_TEST") {
	case "exit":
		tr, d := small20(nil)
		running := make(chan bool)
		go tr.Fit(background, d, nil, Attrs{"epochs": 1 << 40}, func(p Progress) error {
			if p.Event == EpochEnd && p.Step == 10 {
				close(running)
			}
			return nil
		})
		<-running
		os.Exit(0)
	case "version":
		_, err := NewGraph(nil)
		fmt.Print(err)
		os.Exit(0)
	case "goexit":
		tr, d := small20(nil)
		go tr.Fit(background, d, nil, nil, func(Progress) error { runtime.Goexit(); return nil })
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

func again(what string, env ...string) (string, string, error) {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "DL4_TEST="+what), env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	return out.String(), errs.String(), err
}

func TestTheProgramEndsWhileObjectsLive(t *testing.T) {
	out, errs, err := again("exit")
	equal(t, []any{out, errs, err}, []any{"", "", nil})
}

func TestGoexitInACallbackEndsTheProgram(t *testing.T) {
	_, errs, err := again("goexit")
	equal(t, err != nil && strings.Contains(errs, "runtime.Goexit"), true)
}

func TestALibraryOfAnotherMajorVersionIsRefused(t *testing.T) {
	folder := t.TempDir()
	source, library := filepath.Join(folder, "two.c"), filepath.Join(folder, "two.so")
	check(t, os.WriteFile(source, []byte(`
int dl4_version(void) { return 2000003; }`), 0o600))
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatal(string(out), err)
	}
	out, errs, err := again("version", "LD_PRELOAD="+library)
	equal(t, []any{out, errs, err},
		[]any{"dl4: this package is made for version 1 of the library, found 2.0.3", "", nil})
}

func TestClosedObjectsAreRefused(t *testing.T) {
	m := small()
	s, x := must(NewSession(m, nil)), line(2, 4)
	check(t, m.Close())
	check(t, m.Close())
	_, err := m.Weights()
	refused(t, err, ErrInvalidArgument)
	_, err = m.Inputs()
	refused(t, err, ErrInvalidArgument)
	must(s.Run(background, x)) // it has what it needs
	check(t, x.Close())
	_, err = s.Run(background, x)
	equal(t, refused(t, err, ErrInvalidArgument).Message, "dl4: the Tensor is closed")
	_, err = UnsafeData[float32](x)
	refused(t, err, ErrInvalidArgument)
	_, err = x.Share()
	refused(t, err, ErrInvalidArgument)
	check(t, s.Close())
	_, err = s.Run(background, line(2, 4))
	refused(t, err, ErrInvalidArgument)
	_, err = s.Outputs()
	refused(t, err, ErrInvalidArgument)
}

func pages() (n int) {
	text := must(os.ReadFile("/proc/self/statm"))
	fmt.Sscan(strings.Fields(string(text))[1], &n)
	return n
}

// Finalizers run in an order of the collector's, between objects that are closed in one of chance.
func TestManyObjectsInRandomOrder(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	torture := func(n int) {
		for made := 0; made < n; {
			m := small()
			tr := must(NewTrainer(m, Attrs{"optimizer": "adam", "loss": "mse"}))
			x, y := line(5, 4), line(5, 3)
			d := must(NewDataset(nil, []*Tensor{x}, []*Tensor{y}, nil, nil))
			f := batches(nil)
			must(tr.Fit(background, d, f, nil, nil))
			s := must(NewSession(m, nil))
			out := must(s.Run(background, x))[0]
			things := []interface{ Close() error }{m, tr, x, y, d, f, s, out, must(NewContext(nil)), must(m.Clone())}
			r.Shuffle(len(things), func(i, k int) { things[i], things[k] = things[k], things[i] })
			for _, thing := range things[:r.Intn(len(things))] {
				thing.Close()
			}
			if made += len(things) + 6; made%50 == 0 {
				runtime.GC()
			}
		}
		for i := 0; i < 3; i++ {
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
	}
	torture(3000)
	before := pages()
	torture(10000)
	if grown := pages() - before; grown > 4000 {
		t.Errorf("%d pages are left", grown)
	}
}

func TestDroppedTensorsAreCollectedForWhatTheyTake(t *testing.T) {
	before := pages()
	filler := make([]float32, 4<<20)
	for i := 0; i < 300; i++ {
		check(t, CopyIn(must(NewTensor(nil, Float32, len(filler))), filler))
	}
	if grown := (pages() - before) * 4096; grown > 2<<30 {
		t.Errorf("%d bytes are left", grown)
	}
}

func TestErrorsLeaveNothing(t *testing.T) {
	tr, d := small20(nil)
	node := must(NewGraph(nil)).Input("x", Float32, 1)
	fail := func(n int) {
		for i := 0; i < n; i++ {
			node.graph.Add("Dense", Attrs{"units": -1}, node)
			refused(t, node.graph.TakeErr(), ErrInvalidArgument)
			_, err := tr.Fit(background, d, nil, nil, func(Progress) error { return errMine })
			equal(t, err, errMine)
			line(100, 100).Close()
		}
		runtime.GC()
	}
	fail(1000)
	before := pages()
	fail(5000)
	if grown := pages() - before; grown > 2000 {
		t.Errorf("%d pages are left", grown)
	}
}

func TestOneSessionOnManyGoroutines(t *testing.T) {
	s, x := must(NewSession(small(), nil)), line(2, 4)
	want := must(Data[float32](must(s.Run(background, x))[0]))
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			out := make([]*Tensor, 1)
			for k := 0; k < 200; k++ {
				if err := s.RunInto(background, []*Tensor{x}, out); err != nil {
					t.Error(err)
					return
				}
				if got := must(Data[float32](out[0])); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		}()
	}
	all.Wait()
}

func TestCloseWhileOthersRun(t *testing.T) {
	for i := 0; i < 50; i++ {
		s, x := must(NewSession(small(), nil)), line(2, 4)
		var all sync.WaitGroup
		for k := 0; k < 4; k++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for {
					if _, err := s.Run(background, x); err != nil {
						refused(t, err, ErrInvalidArgument)
						return
					}
				}
			}()
		}
		time.Sleep(time.Millisecond)
		s.Close()
		all.Wait()
	}
}

func TestASecondCallerIsRefused(t *testing.T) {
	tr, d := small20(nil)
	_, other := small20(nil)
	_, err := tr.Fit(background, d, nil, nil, func(p Progress) error {
		if p.Event != BatchEnd {
			return nil
		}
		inside := make(chan error)
		go func() {
			_, err := tr.Evaluate(background, other)
			inside <- err
		}()
		refused(t, <-inside, ErrBusy)
		_, err := tr.Step([]*Tensor{line(2, 4)}, []*Tensor{line(2, 3)}, nil)
		return err
	})
	refused(t, err, ErrBusy)
}
