package shard

import (
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/sharding/linear"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A roster has what a map would have, whatever comes and goes.
func TestRosterAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRoster(rapid.Uint64().Draw(t, "seed"))
		model := map[protocol.EntityID]entity{}
		some := func(t *rapid.T, fn func(protocol.EntityID)) {
			from, n := rapid.IntRange(0, 1000).Draw(t, "from"), rapid.IntRange(1, 400).Draw(t, "n")
			for i := range n {
				fn(protocol.EntityID(strconv.Itoa(from + i)))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				e := entity{
					state:  entityState(rapid.IntRange(1, int(entityStateEnd)-1).Draw(t, "state")),
					wanted: rapid.Bool().Draw(t, "wanted"),
				}
				some(t, func(id protocol.EntityID) {
					r.set(id, e)
					model[id] = e
				})
			},
			"take out": func(t *rapid.T) {
				some(t, func(id protocol.EntityID) {
					r.set(id, entity{})
					delete(model, id)
				})
			},
			"take out half in a loop": func(t *rapid.T) {
				keep := true
				for id := range r.all() {
					if keep = !keep; !keep {
						r.set(id, entity{})
						delete(model, id)
					}
				}
			},
			"clear": func(*rapid.T) {
				r.clear()
				clear(model)
			},
			"": func(t *rapid.T) {
				if r.len != len(model) {
					t.Fatalf("%d entities, want %d", r.len, len(model))
				}
				listed := 0
				for id, e := range r.all() {
					if listed++; model[id] != e || r.of(id) != e {
						t.Fatalf("%q is listed as %v and found as %v, want %v", id, e, r.of(id), model[id])
					}
				}
				if listed != len(model) {
					t.Fatalf("%d are listed, want %d", listed, len(model))
				}
				if e := r.of("none"); e != (entity{}) {
					t.Fatalf("%v is there that never was", e)
				}
			},
		})
	})
}

// What is taken out makes room for what comes, so that a shard whose entities come and go does not grow.
func TestRosterUsesRowsAgain(t *testing.T) {
	r := newRoster(1)
	for i := range 100_000 {
		r.set(protocol.EntityID(strconv.Itoa(i)), entity{state: entityActive})
		if i >= 10 {
			r.set(protocol.EntityID(strconv.Itoa(i-10)), entity{})
		}
	}
	if r.made > 11 || r.rows.len > 12 || r.heads.len > 11 {
		t.Errorf("%d rows and %d chains for 11 entities", r.made, r.heads.len)
	}
}

// TestLargeRoster: entities are found by their ids, also where chains are divided by the tags; whether there was room
// for them before they came or not.
func TestLargeRoster(t *testing.T) {
	const n = 3 << linear.TagFrom
	for _, expected := range []int{0, n / 2, n} {
		r := newRoster(1)
		r.expect(expected)
		for i := range n {
			r.set(protocol.EntityID(strconv.Itoa(i)), entity{state: entityActive})
		}
		for i := range n / 2 {
			r.set(protocol.EntityID(strconv.Itoa(2*i)), entity{})
		}
		if r.heads.len != n || r.len != n/2 {
			t.Fatalf("%d chains for %d entities of %d that were expected", r.heads.len, r.len, expected)
		}
		for i := range n {
			if e := r.of(protocol.EntityID(strconv.Itoa(i))); (e.state == entityActive) != (i%2 == 1) {
				t.Fatalf("entity %d is %v", i, e)
			}
		}
	}
}

// TestBitsOfHashes: a bit that the tag has is that of the hash, as any other is.
func TestBitsOfHashes(t *testing.T) {
	r := newRoster(1)
	for i := range 100 {
		id := protocol.EntityID(strconv.Itoa(i))
		r.set(id, entity{state: entityActive})
		p := r.find(id)
		for bit := uint32(1); bit != 0; bit <<= 1 {
			if got, want := r.has(p.row, bit), uint32(p.hash)&bit != 0; got != want {
				t.Fatalf("bit %x of %x is %v", bit, p.hash, got)
			}
		}
	}
}

// A million entities may be in a shard. A row of one takes what the size of its id's head allows.
func TestRosterIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(row{}); size > 24 {
		t.Errorf("a row has %d bytes", size)
	}
	const n, most = 30_000, 30
	ids := make([]protocol.EntityID, n)
	for i := range ids {
		ids[i] = protocol.EntityID(strconv.Itoa(i))
	}
	var m [2]runtime.MemStats
	r := newRoster(1)
	runtime.ReadMemStats(&m[0])
	for _, id := range ids {
		r.set(id, entity{state: entityActive})
	}
	runtime.ReadMemStats(&m[1])
	if bytes := (m[1].TotalAlloc - m[0].TotalAlloc) / n; bytes > most {
		t.Errorf("%d bytes were taken for each of %d, want %d at most", bytes, n, most)
	}
	runtime.KeepAlive(&r)
}
