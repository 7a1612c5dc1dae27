package shardingtest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding"
)

// failing is a test that may fail.
type failing struct {
	mu       sync.Mutex
	texts    []string
	failed   bool
	cleanups []func()
}

func (f *failing) Helper() {}
func (f *failing) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, fmt.Sprintf(format, args...))
}
func (f *failing) Errorf(format string, args ...any) {
	f.Logf(format, args...)
	f.failed = true
}
func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}
func (f *failing) Failed() bool      { return f.failed }
func (f *failing) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }

// textOf runs a test that should fail, and returns what it says.
func textOf(t *testing.T, fn func(f *failing)) string {
	t.Helper()
	f, over := &failing{}, make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			for _, end := range f.cleanups {
				end()
			}
		}()
		fn(f)
	}()
	<-over
	if !f.failed {
		t.Error("it has not failed")
	}
	return strings.Join(f.texts, "\n")
}

// A test that fails tells what has happened.
func TestFailureTellsTheStory(t *testing.T) {
	both(t, func(t *testing.T) {
		text := textOf(t, func(f *failing) {
			k := New(f, sumType(new(int), nil))
			_ = k.Tell("a", add{1})
			f.Errorf("planned")
		})
		if !contains(text, "planned", "what happened:", "a is told shardingtest.add{N:1}", "a starts") {
			t.Error(text)
		}
	})
}

// A wrong type is refused with the reason.
func TestRefusedTypes(t *testing.T) {
	both(t, func(t *testing.T) {
		text := textOf(t, func(f *failing) {
			typ := sumType(nil, nil)
			typ.Shards = -1
			New(f, typ)
		})
		if !contains(text, "invalid entity type", "Shards") {
			t.Error(text)
		}
		if text := textOf(t, func(f *failing) { NewNode(f).Advance(-1) }); !contains(text, "time does not go back") {
			t.Error(text)
		}
		text = textOf(t, func(f *failing) { On(NewNode(f, "x"), sumType(nil, nil)) })
		if !contains(text, `the role of the type`) {
			t.Error(text)
		}
	})
}

// A handler that ends the test, as t.Fatal does, ends it.
func TestHandlersMayEndTheTest(t *testing.T) {
	text := textOf(t, func(f *failing) {
		typ := sumType(nil, nil)
		typ.New = func(*sharding.Context[command]) sharding.Entity[command] {
			return receives(func(*sharding.Context[command], command) error {
				f.Fatalf("planned")
				return nil
			})
		}
		k := New(f, typ)
		_ = k.Tell("a", add{1})
		f.Errorf("it went on")
	})
	if !contains(text, "planned", "is told") || contains(text, "it went on") {
		t.Error(text)
	}
}

// Entities that do not stop are told of.
func TestMoveThatDoesNotEnd(t *testing.T) {
	text := textOf(t, func(f *failing) {
		typ := sumType(new(int), nil)
		typ.New = func(*sharding.Context[command]) sharding.Entity[command] {
			return receives(func(c *sharding.Context[command], _ command) error {
				_, err := c.Await()
				return err
			})
		}
		typ.HandOff.StopTimeout, typ.HandOff.FinishTimeout = time.Hour, 3*time.Hour
		k := New(f, typ)
		_ = k.Tell("a", add{1})
		k.Move()
	})
	if !contains(text, "not all entities stopped in 5m0s", "deadline exceeded") {
		t.Error(text)
	}
}

// The kit runs in rapid's tests.
func TestRapid(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		k, want := New(r, sumType(new(int), nil)), 0
		r.Repeat(map[string]func(*rapid.T){
			"add": func(r *rapid.T) {
				n := rapid.IntRange(0, 9).Draw(r, "n")
				want += n
				if err := k.Tell("a", add{n}); err != nil {
					r.Fatal(err)
				}
			},
			"advance": func(r *rapid.T) { k.Advance(time.Second) },
			"": func(r *rapid.T) {
				if n, err := Ask(k, "a", total{}); n != want || err != nil {
					r.Fatalf("%d, %v, want %d", n, err, want)
				}
			},
		})
	})
}
