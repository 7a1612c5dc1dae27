package nodetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main(map[string]Program{
		"echo": func(_ context.Context, setup []byte) (Node, error) {
			if string(setup) == `"bad"` {
				return nil, errors.New("a bad setup")
			}
			return echo{}, nil
		},
	})
	goleak.VerifyTestMain(m)
}

// echo answers with what it got.
type echo struct{}

func (echo) Call(ctx context.Context, name string, in []byte) (any, error) {
	switch name {
	case "echo":
		return json.RawMessage(in), nil
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	case "write":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", tailBytes), "the end")
		return nil, nil
	}
	return nil, fmt.Errorf("no call %s", name)
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Calls run side by side, and a killed process answers none.
func TestCalls(t *testing.T) {
	ctx := limited(t)
	p := Start(t, "echo")
	if err := p.Setup(ctx, "good"); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- p.Call(ctx, "wait", nil, nil) }()
	var got string
	if err := p.Call(ctx, "echo", "hello", &got); err != nil || got != "hello" {
		t.Error(got, err)
	}
	if err := p.Call(ctx, "other", nil, nil); err == nil || !strings.Contains(err.Error(), "no call other") {
		t.Error(err)
	}
	if err := p.Call(ctx, "write", nil, nil); err != nil {
		t.Error(err)
	}
	p.Kill()
	if err := <-waiting; !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	if err := p.Call(ctx, "echo", "hello", &got); !errors.Is(err, ErrEnded) {
		t.Error(err)
	}
	if text := p.stderr.String(); len(text) > tailBytes || !strings.HasSuffix(text, "the end\n") {
		t.Errorf("%d bytes are kept, with %q at their end", len(text), text[max(0, len(text)-10):])
	}
}

// A paused process answers when it goes on.
func TestPause(t *testing.T) {
	ctx := limited(t)
	p := Start(t, "echo")
	if err := errors.Join(p.Setup(ctx, nil), p.Pause()); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() { answered <- p.Call(ctx, "echo", 1, nil) }()
	select {
	case err := <-answered:
		t.Fatal("a paused process answers", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := errors.Join(p.Resume(), <-answered); err != nil {
		t.Error(err)
	}
	p.Kill()
	if err := p.Pause(); err == nil {
		t.Error("a process that has ended is paused")
	}
}

// A program that does not begin says why, and so does one that there is not.
func TestFailures(t *testing.T) {
	ctx := limited(t)
	if err := Start(t, "echo").Setup(ctx, "bad"); err == nil || !strings.Contains(err.Error(), "a bad setup") {
		t.Error(err)
	}
	p := Start(t, "none")
	if err := p.Setup(ctx, nil); !errors.Is(err, ErrEnded) || !strings.Contains(p.stderr.String(), `no program "none"`) {
		t.Error(err, p.stderr.String())
	}
}
