package nodetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

// Program begins what a process does. setup is the value of Start in JSON. ctx ends with the test.
type Program func(ctx context.Context, setup []byte) (Node, error)

// Node is what runs in a process.
type Node interface {
	// Call answers a call of the test: in is its value in JSON. Calls run side by side.
	Call(ctx context.Context, name string, in []byte) (out any, err error)
}

// Main runs a program if this process was started for it, and does not return then. A TestMain calls
// it first.
func Main(programs map[string]Program) {
	name, is := os.LookupEnv(variable)
	if !is {
		return
	}
	program := programs[name]
	if program == nil {
		fmt.Fprintf(os.Stderr, "nodetest: TestMain lists no program %q\n", name)
		os.Exit(1)
	}
	if err := serve(program, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "nodetest:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// server answers the calls of a test.
type server struct {
	mu  sync.Mutex // of out
	out *json.Encoder
}

// serve runs a program until in ends.
func serve(program Program, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	requests, s := json.NewDecoder(in), &server{out: json.NewEncoder(out)}
	var node Node
	for {
		var r request
		if err := requests.Decode(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if r.Name != setup {
			go func() {
				v, err := node.Call(ctx, r.Name, r.In)
				s.answer(r.ID, v, err)
			}()
			continue
		}
		var err error
		node, err = program(ctx, r.In)
		s.answer(r.ID, nil, err)
		if err != nil {
			return err
		}
	}
}

func (s *server) answer(id uint64, v any, err error) {
	a := answer{ID: id}
	if err == nil {
		a.Out, err = json.Marshal(v)
	}
	if err != nil {
		a.Error = err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(a) // the test has gone, if it fails
}
