package entities

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Idle entities are many.
func TestEntityIsSmall(t *testing.T) {
	var e Entity
	if size := unsafe.Sizeof(e); size > 192 { // the size class, which has its objects at the begin of cache lines
		t.Errorf("an entity has %d bytes", size)
	}
}

// heard is what the control plane hears, in order.
type heard struct {
	Control
	words []string
}

func (h *heard) Wake(_ *Shard, id string)          { h.words = append(h.words, "wake "+id) }
func (h *heard) EntityStopped(_ *Shard, id string) { h.words = append(h.words, "stopped "+id) }

// The machine hears that an incarnation is over before it hears that messages wait for the next one:
// the other way round it would stop the entity that it has just woken.
func TestTheEndIsHeardBeforeTheNextStart(t *testing.T) {
	h := &heard{}
	r := &Runtime{control: h}
	s := NewShard(r, 1, protocol.Token{})
	e := s.AddLocked("a")
	e.Begin()
	if ok, _ := e.Refill(9); !ok {
		t.Fatal("it does not start")
	}
	if v, _ := e.Push(mailbox.Envelope{Msg: "late"}, 0, 9); v != mailbox.Accepted {
		t.Fatal(v)
	}
	e.end(r)
	if want := []string{"stopped a", "wake a"}; !slices.Equal(h.words, want) || s.Find("a") != e {
		t.Errorf("heard %q, want %q", h.words, want)
	}
	h.words = nil
	e.Begin()
	for ok := true; ok; ok, _ = e.Refill(9) {
		for e.Taken() > 0 {
			e.Next()
		}
	}
	e.end(r)
	if !slices.Equal(h.words, []string{"stopped a"}) || s.Find("a") != nil {
		t.Errorf("heard %q of an entity without messages", h.words)
	}
}
