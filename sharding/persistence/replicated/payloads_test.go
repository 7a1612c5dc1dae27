package replicated

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/persistence"
)

// reads are the decoders of payloads. Each returns the payload of what it has read.
var reads = map[string]func(it *crdt.Item) (again string, err error){
	"record": func(it *crdt.Item) (string, error) {
		c, err := decode(crdt.Reader{}, it)
		if err != nil {
			return "", err
		}
		return c.encode()[0], nil
	},
	"mark": func(it *crdt.Item) (string, error) {
		m, err := decodeMark(it)
		return m.encode(), err
	},
	"rows": func(it *crdt.Item) (string, error) {
		r, err := decodeRows(it)
		return r.encode(), err
	},
	"head": func(it *crdt.Item) (string, error) {
		h, err := topOf([]*crdt.Item{it})
		return h.encode(), err
	},
	"intent": func(it *crdt.Item) (string, error) {
		s, err := readIntent(it)
		return s.encodeIntent(), err
	},
}

// payloads are examples of each kind.
func payloads() map[string][]string {
	token := singleton.FencingToken{Era: 1, Epoch: 2, Up: 3, Seq: 4}
	by := written{token: token, id: 5, after: 6, known: true}
	at := time.UnixMicro(1_700_000_000_000_001)
	s := seat{token: token, turn: 7}
	return map[string][]string{
		"record": {
			record{
				name: "added", version: 2, at: at, tags: []string{"a", "b"}, by: by, body: []byte("body"),
			}.encode()[0],
			record{at: at, deleted: true}.encode()[0],
		},
		"mark": {mark{number: 8, by: by}.encode(), mark{number: 9}.encode()},
		"rows": {
			rows{sweep: 64, number: 3, all: []row{{1, 2, 3, 1}, {1 << 60, 1, 1 << 40, 2}}}.encode(),
			rows{}.encode(),
		},
		"head":   {(&head{seat: s, from: 10}).encode()},
		"intent": {s.encodeIntent()},
	}
}

// What is stored does not change, and what format 1 has stored can be read.
func TestFormat(t *testing.T) {
	var samples []golden.Sample
	all := payloads()
	for _, kind := range slices.Sorted(maps.Keys(reads)) {
		for i, payload := range all[kind] {
			samples = append(samples, golden.Sample{
				Name: fmt.Sprintf("%s %d", kind, i), Bytes: []byte(payload), Want: payload,
				Read: func(b []byte) (any, error) { return reads[kind](&crdt.Item{Payload: string(b)}) },
			})
		}
		if len(all[kind]) == 0 {
			t.Errorf("there are no golden bytes of a %s", kind)
		}
	}
	entity := entityPath("id")
	for _, p := range []string{
		pathHead, pathIntent, pathRows, pathListed, entity + deletedSub, numbered(entity, eventSub, 258),
		part(numbered(entity, snapshotSub, 1), 2), numbered(entity, stateSub, 1), numbered(entity, forgottenSub, 1),
	} {
		samples = append(samples, golden.Sample{Name: "path", Bytes: []byte(p)})
	}
	golden.Formats(t, samples)
}

// A payload of a newer format is told apart from a damaged one.
func TestANewerFormat(t *testing.T) {
	newer := []byte(record{name: "added", at: time.UnixMicro(1)}.encode()[0])
	newer[1]++ // the format
	_, err := decode(crdt.Reader{}, &crdt.Item{Payload: string(newer)})
	if !strings.Contains(fmt.Sprint(err), persistence.ErrVersion.Error()) {
		t.Errorf("it is %v", err)
	}
}

// Any bytes are read as what they are the one form of, or not at all. Reading them takes memory
// in proportion to their number, whatever lengths they say.
func FuzzPayloads(f *testing.F) {
	for _, some := range payloads() { // order: any
		for _, payload := range some {
			f.Add([]byte(payload))
			f.Add([]byte(payload[:len(payload)/2]))
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		it := &crdt.Item{Path: string(payload), Payload: string(payload)}
		_, _ = asEvent(it.Path)
		for kind, read := range reads { // order: each for itself
			before := allocated()
			again, err := read(it)
			if most := uint64(1<<16 + 64*len(payload)); allocated()-before > most {
				t.Errorf("%s: %d bytes take more than %d", kind, len(payload), most)
			}
			if err == nil && again != it.Payload {
				t.Errorf("%s: %x is read as %x", kind, payload, again)
			}
		}
	})
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
