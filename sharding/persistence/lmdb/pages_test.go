package lmdb

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	disk "github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// everything asks for all events of the tests' type.
var everything = persistence.Query{Type: first.Type}

// A page without a hit does not end a query.
func TestPagesWithoutHits(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	var writes []persistence.Write
	for i := range 2*pageEntries + 1 {
		writes = append(writes, write(protocol.EntityID(fmt.Sprint(i)), 0, "x"))
	}
	last := &writes[len(writes)-1]
	last.Events[0].Tags = []string{"rare"}
	mustStore(t, s, writes...)
	q, n := everything, 0
	q.Tag = "rare"
	for r, err := range s.Events(t.Context(), q) {
		if n++; err != nil || r.Entity != last.Entity {
			t.Errorf("%v, %v", r.Entity, err)
		}
	}
	if n != 1 {
		t.Errorf("found %d events, want 1", n)
	}
}

// A page ends with the event that reaches its bytes. The next one goes on behind it.
func TestPageBytes(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	body := strings.Repeat("x", pageBytes/2+1)
	for i := range uint64(3) {
		mustStore(t, s, write("e", i, body))
	}
	at := uint64(0)
	for _, want := range []int{2, 1, 0} {
		p, err := s.page(everything, at)
		if err != nil || len(p.found) != want {
			t.Errorf("after %d a page has %d events, want %d: %v", at, len(p.found), want, err)
		}
		at = p.after
	}
}

// entering is a context that says when a query looks at it first, which is before its first page.
type entering struct {
	context.Context
	once    sync.Once
	entered chan struct{}
}

func (e *entering) Err() error {
	e.once.Do(func() { close(e.entered) })
	return e.Context.Err()
}

// A live query asks to be woken before it reads a page. Here it cannot ask yet, while an event comes:
// it finds the event in the page, for nothing wakes it.
func TestNoEventBetweenPageAndSleep(t *testing.T) {
	s := mustOpen(t, t.TempDir())
	s.feed.mu.Lock() // nothing asks to be woken
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	began, met := &entering{Context: ctx, entered: make(chan struct{})}, make(chan bool, 1)
	go func() {
		q := everything
		q.Live = true
		for _, err := range s.Events(began, q) {
			met <- err == nil
			return
		}
		met <- false
	}()
	<-began.entered
	s.putUnheard(t, write("e", 0, "1"))
	s.feed.mu.Unlock()
	if !<-met {
		t.Error("the query sleeps, and the event is there")
	}
}

// putUnheard stores a first write as a commit does, and wakes no query.
func (s *Store) putUnheard(t testing.TB, w persistence.Write) {
	t.Helper()
	var b batch
	err := s.read(t.Context(), first, func(v *disk.Moment) error { return b.append(v, first, w) })
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range b.events {
		number := uint64(i) + 1
		setNumber(b.rows[p.row], number)
		key := entryKey(p.typ, number)
		b.put(key, sealed(key, p.entry))
	}
	s.put(t, b.rows...)
}
