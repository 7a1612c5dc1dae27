package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/postgres"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func TestAppendAndLoad(t *testing.T) {
	s, h := open(t, newSchema()), hosting(1, 1)
	fence(t, s, h)
	odd := protocol.EntityID("a\x00\xff'")
	w := write(odd, 0, 7, "\x00one", "")
	w.Events[0].Tags = []string{"", "red\x00"}
	w.Events[1].At = time.Date(9999, 1, 1, 0, 0, 0, 1000, time.UTC)
	store(t, s, h, w, write("b", 0, 8, "b1"))
	store(t, s, h, write(odd, 2, 9, "three"))

	type got struct {
		I int
		E persistence.Event
	}
	var events []got
	reads := []persistence.Read{{Entity: odd}, {Entity: "none"}, {Entity: "b", After: 1}}
	ends, err := s.Load(t.Context(), h, reads, func(i int, e persistence.Event) error {
		e.Body = slices.Clone(e.Body)
		events = append(events, got{i, e})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []got{{0, w.Events[0]}, {0, w.Events[1]}, {0, write(odd, 2, 9, "three").Events[0]}}
	if fmt.Sprint(events) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", events, want)
	}
	if fmt.Sprint(ends) != "[{0 3} {0 0} {0 1}]" {
		t.Errorf("ends %v", ends)
	}
}

// A write that does not fit is refused, whatever it is, and the others of its call are stored.
func TestRefusals(t *testing.T) {
	s, h := open(t, newSchema()), hosting(1, 1)
	store(t, s, h, write("a", 0, 1, "a1"))
	big := write("big", 0, 2, "")
	big.Events[0].Body = make([]byte, persistence.BodyMax+1)
	refused, err := s.Append(t.Context(), h, []persistence.Write{
		big,
		write("a", 0, 3, "other"),
		write("b", 0, 4, "b1"),
		write("c", 1, 5, "gap"),
		write("d", math.MaxUint64, 6, "wrap"),
		write(protocol.EntityID(strings.Repeat("x", postgres.EntityMax+1)), 0, 7, "long"),
		write("a", 1, 8, "a2"),
	})
	if err != nil {
		t.Fatal(err)
	}
	wants := map[int]error{
		0: persistence.ErrTooLarge, 1: persistence.ErrConflict, 3: persistence.ErrConflict, 4: persistence.ErrConflict,
		5: persistence.ErrTooLarge,
	}
	for _, r := range refused {
		if !errors.Is(r.Err, wants[r.Index]) || wants[r.Index] == nil {
			t.Errorf("write %d: %v, want %v", r.Index, r.Err, wants[r.Index])
		}
		delete(wants, r.Index)
	}
	if len(wants) > 0 {
		t.Errorf("not refused: %v", wants)
	}
	if a, b := fmt.Sprint(load(t, s, h, "a")), fmt.Sprint(load(t, s, h, "b")); a != "[a1 a2]" || b != "[b1]" {
		t.Error(a, b)
	}
}

// A repeated write is stored once; another one in its place, or of a later hosting, is in conflict.
func TestRepeated(t *testing.T) {
	s, h := open(t, newSchema()), hosting(1, 1)
	for range 3 {
		store(t, s, h, write("a", 0, 1, "a1", "a2"), write("b", 0, 1, "b1"))
	}
	if err := s.Delete(t.Context(), h, "a", 9); err != nil {
		t.Fatal(err)
	}
	store(t, s, h, write("a", 0, 1, "a1", "a2"))
	later := hosting(1, 2)
	fence(t, s, later)
	for _, c := range []struct {
		h persistence.Hosting
		w persistence.Write
	}{{later, write("b", 0, 1, "b1")}, {later, write("b", 0, 2, "b1")}, {later, write("a", 0, 1, "a1", "a2")}} {
		refused, err := s.Append(t.Context(), c.h, []persistence.Write{c.w})
		if err != nil || len(refused) != 1 || !errors.Is(refused[0].Err, persistence.ErrConflict) {
			t.Error(refused, err)
		}
	}
	store(t, s, later, write("a", 2, 3, "a3"))
	ends, err := s.Load(t.Context(), later, []persistence.Read{{Entity: "a"}}, func(_ int, e persistence.Event) error {
		if e.Seq != 3 {
			t.Errorf("event %d", e.Seq)
		}
		return nil
	})
	if err != nil || ends[0] != (persistence.End{Deleted: 2, Last: 3}) {
		t.Error(ends, err)
	}
}

// Each call of a hosting is refused after a later one of its shard, and of no other shard.
func TestFence(t *testing.T) {
	s, before, after := open(t, newSchema()), hosting(1, 1), hosting(1, 2)
	store(t, s, before, write("a", 0, 1, "a1"))
	store(t, s, hosting(2, 1), write("z", 0, 1, "z1"))
	fence(t, s, after)
	fence(t, s, after)
	for name, call := range map[string]func() error{
		"Fence": func() error { return s.Fence(t.Context(), before) },
		"Append": func() error {
			_, err := s.Append(t.Context(), before, []persistence.Write{write("a", 1, 2, "a2")})
			return err
		},
		"nothing": func() error { _, err := s.Append(t.Context(), before, nil); return err },
		"Load": func() error {
			_, err := s.Load(t.Context(), before, []persistence.Read{{Entity: "a"}}, nothing)
			return err
		},
		"Delete": func() error { return s.Delete(t.Context(), before, "a", 1) },
	} {
		if err := call(); !errors.Is(err, persistence.ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
	}
	store(t, s, hosting(2, 1), write("z", 1, 2, "z2"))
	store(t, s, after, write("a", 1, 1, "a2"))
}

// Owners that fence each other, and processes of another number of shards, append to the same
// entities at one time. No event that was answered is lost, none is there twice, none in part.
func TestOwnersAtOneTime(t *testing.T) {
	const owners, entities, each = 6, 3, 60
	s := open(t, newSchema())
	var mu sync.Mutex
	answered := map[string]bool{}
	var all sync.WaitGroup
	for owner := range owners {
		all.Go(func() {
			ids := uint64(0)
			h := hosting(protocol.ShardID(owner%2), uint64(owner))
			for i := range each {
				if i%20 == owner { // takes over, now and then
					h.Token.Epoch++
				}
				var reads []persistence.Read
				for e := range entities {
					reads = append(reads, persistence.Read{Entity: protocol.EntityID(fmt.Sprint(e))})
				}
				ends, err := s.Load(t.Context(), h, reads, nothing)
				var writes []persistence.Write
				var texts []string
				for e := range ends {
					ids++
					text := fmt.Sprintf("%d %v %d", owner, h.Token, ids)
					writes = append(writes, write(reads[e].Entity, ends[e].Last, ids, text, text))
					texts = append(texts, text)
				}
				var refused []persistence.Refusal
				if err == nil {
					refused, err = s.Append(t.Context(), h, writes)
				}
				if err != nil {
					if !errors.Is(err, persistence.ErrFenced) {
						t.Error(err)
					}
					h.Token.Epoch++
					continue
				}
				for _, r := range refused {
					texts[r.Index] = ""
				}
				mu.Lock()
				for e, text := range texts {
					if text != "" {
						answered[fmt.Sprint(e, " ", text)] = true
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	last := hosting(0, math.MaxUint64)
	last.Token.Epoch = math.MaxUint64
	found := map[string]int{}
	for e := range entities {
		for _, text := range load(t, s, last, protocol.EntityID(fmt.Sprint(e))) {
			found[fmt.Sprint(e, " ", text)]++
		}
	}
	for text, n := range found {
		if n != 2 || !answered[text] {
			t.Errorf("%q is there %d times, answered: %v", text, n, answered[text])
		}
	}
	if len(found) != len(answered) || len(found) < each {
		t.Errorf("%d found, %d answered", len(found), len(answered))
	}
}

// Fence waits for a call of an earlier hosting that has taken effect and is not committed.
func TestFenceWaitsForWrites(t *testing.T) {
	dsn, schema := suite.Server(t).DSN(), newSchema()
	s, h := open(t, schema), hosting(1, 1)
	fence(t, s, h)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enter := "SELECT * FROM " + quoted(schema) + ".enter($1, 1, $2, 0)"
	if _, err := tx.Exec(t.Context(), enter, []byte(h.Type), h.Token.Bytes()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.Fence(ctx, hosting(1, 2)); err == nil || errors.Is(err, persistence.ErrFenced) {
		t.Fatalf("Fence beside an open write: %v", err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	fence(t, s, hosting(1, 2))
}

// What was changed in the store is noticed, with entity and sequence number.
func TestDamage(t *testing.T) {
	dsn := suite.Server(t).DSN()
	for name, sql := range map[string]string{
		"body":    `UPDATE @.events SET body = 'x' WHERE seq = 2`,
		"name":    `UPDATE @.events SET name = 'x' WHERE seq = 2`,
		"at":      `UPDATE @.events SET at = 0 WHERE seq = 2`,
		"version": `UPDATE @.events SET version = 9 WHERE seq = 2`,
		"tags":    `UPDATE @.events SET tags = 'x' WHERE seq = 2`,
		"gap":     `DELETE FROM @.events WHERE seq = 2`,
		"entity":  `DELETE FROM @.events WHERE entity = 'a'; UPDATE @.events SET entity = 'a' WHERE entity = 'b'`,
	} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema()
			s, h := open(t, schema), hosting(1, 1)
			store(t, s, h, write("a", 0, 1, "a1", "a2", "a3"), write("b", 0, 2, "b1"))
			exec(t, dsn, strings.ReplaceAll(sql, "@", quoted(schema)))
			_, err := s.Load(t.Context(), h, []persistence.Read{{Entity: "a"}}, func(_ int, e persistence.Event) error {
				if e.Seq > 1 {
					t.Errorf("event %d came after the damage", e.Seq)
				}
				return nil
			})
			if !errors.Is(err, persistence.ErrDamaged) || !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The error of a callback comes back as it is, and the connection is of use again.
func TestErrorOfEach(t *testing.T) {
	s, h := open(t, newSchema()), hosting(1, 1)
	store(t, s, h, write("a", 0, 1, "a1", "a2"))
	broken := errors.New("broken")
	for range 50 { // more than there are connections
		_, err := s.Load(t.Context(), h, []persistence.Read{{Entity: "a"}}, func(int, persistence.Event) error {
			return broken
		})
		if err != broken {
			t.Fatal(err)
		}
	}
}

// A call of more than one statement stores all of it, in its order.
func TestLargeCall(t *testing.T) {
	const large = 5
	s, h := open(t, newSchema()), hosting(1, 1)
	body := strings.Repeat("x", 15<<20)
	var writes []persistence.Write
	for i := range large {
		writes = append(writes, write(protocol.EntityID(fmt.Sprint(i)), 0, uint64(i), body))
	}
	writes = append(writes, write("gap", 3, 10, "gap"))
	refused, err := s.Append(t.Context(), h, writes)
	if err != nil || len(refused) != 1 || refused[0].Index != large {
		t.Fatal(refused, err)
	}
	store(t, s, h, writes[:large]...) // repeated
	for i := range large {
		if got := load(t, s, h, writes[i].Entity); len(got) != 1 || got[0] != body {
			t.Errorf("entity %d has %d events", i, len(got))
		}
	}
}
