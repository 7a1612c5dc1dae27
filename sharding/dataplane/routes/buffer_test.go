package routes

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// wanted counts the shards whose buffers have got a message.
type wanted struct{ shards []uint32 }

func (w *wanted) Wanted(shard uint32) { w.shards = append(w.shards, shard) }
func (w *wanted) FlushLater(uint32)   {}

// carrier takes as many messages as it has room for.
type carrier struct {
	Carrier
	room   int
	decode func(body string)
}

func (c *carrier) Decode(m *codec.Message) (mailbox.Envelope, error) {
	c.decode(string(m.Body))
	return mailbox.Envelope{Msg: string(m.Body)}, nil
}

func (c *carrier) Forward(uint32, uint64, *codec.Message, func() error) error {
	if c.room == 0 {
		return failure.ErrBufferFull
	}
	c.room--
	return nil
}

// newTable returns the routes of four shards, whose buffers take this many messages.
func newTable(countMax int) (*Table, *wanted) {
	t := New(Settings{
		Self: 1, Shards: 4, CountMax: countMax, BytesMax: 1 << 20, Carrier: &carrier{},
		PassesOnNothing: func() bool { return false },
	})
	w := &wanted{}
	t.SteeredBy(w)
	return t, w
}

// message returns a message of another node to an entity of shard 2.
func message(id string) *codec.Message { return &codec.Message{Shard: 2, ID: []byte(id), Origin: 9} }

// bufferedIDs returns the ids of what waits for the shard, in the order in which it goes out.
func bufferedIDs(b *Buffer) (ids []string) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	for _, p := range slices.Concat(b.Returned, b.Messages) {
		ids = append(ids, p.ID)
	}
	return ids
}

// What a node did not get goes before what came later, and only if nothing has gone to another node
// in between.
func TestTakeBackAfterTheSameNode(t *testing.T) {
	r, w := newTable(4)
	r.Slots[2].Store(&Route{Remote: 7})
	b := r.Buffering(2)
	if err := r.Hold(2, CopyOf(message("later"), nil)); err != nil {
		t.Fatal(err)
	}
	if r.TakeBack(8, message("of another")) {
		t.Error("a message to node 8 waits behind those to node 7")
	}
	if !r.TakeBack(7, message("first")) || !r.TakeBack(7, message("second")) {
		t.Error("messages that node 7 did not get are not taken back")
	}
	if got := bufferedIDs(b); !slices.Equal(got, []string{"first", "second", "later"}) {
		t.Errorf("%q wait", got)
	}
	if r.Limit.Count.Load() != 3 || !slices.Equal(w.shards, []uint32{2}) {
		t.Errorf("%d are counted, wanted %v", r.Limit.Count.Load(), w.shards)
	}
	r.set.Carrier.(*carrier).room = 1
	if r.SetRoute(2, &Route{Remote: 8}); !slices.Equal(bufferedIDs(b), []string{"second", "later"}) {
		t.Errorf("%q wait", bufferedIDs(b))
	}
	if r.TakeBack(7, message("too late")) {
		t.Error("a message to node 7 goes out behind one that has gone to node 8")
	}
}

// What comes back, from a lane or from the mailboxes of a closed shard, goes before what waits. With
// its defect planted it does not.
func TestWhatComesBackGoesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		back    func(*Table)
		planted defect.Defect
	}{
		"from a lane": {func(r *Table) {
			r.TakeBack(7, message("first"))
			r.TakeBack(7, message("second"))
		}, defect.ReturnedLast},
		"from mailboxes": {func(r *Table) {
			r.PutBack(2, []BufferedMessage{CopyOf(message("first"), nil), CopyOf(message("second"), nil)})
		}, defect.PutBackLast},
	} {
		for want, planted := range map[string]defect.Set{
			"[first second later]": {}, "[later first second]": defect.Of(c.planted),
		} {
			r, _ := newTable(4)
			r.set.Defects = planted
			r.Slots[2].Store(&Route{Remote: 7})
			b := r.Buffering(2)
			if err := r.Hold(2, CopyOf(message("later"), nil)); err != nil {
				t.Fatal(err)
			}
			c.back(r)
			if got := fmt.Sprint(bufferedIDs(b)); got != want {
				t.Errorf("%s: %s wait, want %s", name, got, want)
			}
		}
	}
}

// steered is a control plane that hears of entities with messages.
type steered struct{ entities.Control }

func (steered) Wake(*entities.Shard, string) {}

// A message that finds the mailbox of its entity full stays before the later ones of that entity,
// even if there is room again while the buffer is flushed. Other entities do not wait for it.
func TestNothingOvertakesAFullMailbox(t *testing.T) {
	r, _ := newTable(9)
	run := entities.New(entities.Settings{
		Scheduler: scheduler.Goroutines{}, Log: slog.New(slog.DiscardHandler), MailboxMax: 1, MailboxBytes: 1 << 20,
		Held: mailbox.NewHeldBytes(1<<20, nil),
	}, func() []*entities.Shard { return nil })
	run.SteeredBy(steered{})
	s := entities.NewShard(run, 2, protocol.Token{})
	var handled []any
	turns := map[string]*mailbox.Turn{"a": {}, "b": {}}
	handle := func(id string) {
		e := s.Find(id)
		e.Begin()
		for ok, _ := e.Refill(turns[id], 1); ok && turns[id].Taken() > 0; {
			env, _, _ := turns[id].Next()
			handled = append(handled, env.Msg)
		}
	}
	r.set.Carrier.(*carrier).decode = func(body string) {
		if body == "b1" {
			handle("a")
		}
	}
	b := r.Buffering(2)
	for _, body := range []string{"a1", "a2", "b1", "a3"} {
		m := message(body[:1])
		m.Body = []byte(body)
		if err := r.Hold(2, CopyOf(m, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if r.SetRoute(2, &Route{Local: s}) || !slices.Equal(bufferedIDs(b), []string{"a", "a"}) {
		t.Fatalf("%q wait", bufferedIDs(b))
	}
	for !r.Flush(2) {
		handle("a")
	}
	handle("a")
	handle("b")
	if !slices.Equal(handled, []any{"a1", "a2", "a3", "b1"}) {
		t.Errorf("handled in the order %q", handled)
	}
}

// What a mailbox held goes before all that waits, and the region looks for a home.
func TestPutBackIsWanted(t *testing.T) {
	r, w := newTable(1)
	if err := r.Hold(2, CopyOf(message("later"), nil)); err != ErrChanged {
		t.Fatal(err)
	}
	if err := r.Hold(2, CopyOf(message("later"), nil)); err != nil {
		t.Fatal(err)
	}
	w.shards = nil
	if r.PutBack(2, nil); len(w.shards) != 0 {
		t.Errorf("for nothing, %v are wanted", w.shards)
	}
	r.PutBack(2, []BufferedMessage{CopyOf(message("first"), nil), CopyOf(message("second"), nil)})
	if got := bufferedIDs(r.Buffering(2)); !slices.Equal(got, []string{"first", "second", "later"}) {
		t.Errorf("%q wait", got)
	}
	if !slices.Equal(w.shards, []uint32{2}) || r.Limit.Count.Load() != 3 {
		t.Errorf("wanted %v, %d are counted", w.shards, r.Limit.Count.Load())
	}
}

// A message of another node that comes to wait just when the lane opens looks again: those that come
// after it find the lane open. Own messages wait for the route.
func TestNothingWaitsBehindAnOpenLane(t *testing.T) {
	r, _ := newTable(9)
	r.Buffering(2)
	s := &entities.Shard{}
	p := CopyOf(message("a"), r.Lanes[2].Load())
	r.Lanes[2].Store(s)
	if err := r.Hold(2, p); err != ErrChanged {
		t.Errorf("it waits while the lane is open: %v", err)
	}
	if err := r.Hold(2, BufferedMessage{ID: "own", Size: BufferedOverhead}); err != nil {
		t.Error(err)
	}
	if err := r.Hold(2, CopyOf(message("refused"), s)); err != nil {
		t.Errorf("what the lane has refused does not wait: %v", err)
	}
}

// noSink takes any answer.
type noSink struct{}

func (noSink) Accept(any) error    { return nil }
func (noSink) Decode([]byte) error { return nil }

// A question that never left does not end with the node that it was for.
func TestAQuestionThatWasTakenBackOutlivesTheNode(t *testing.T) {
	r, _ := newTable(4)
	a := asks.NewTable(4, time.Minute, func() time.Duration { return 0 }, scheduler.Goroutines{})
	r.set.Asks = a
	_, id, err := a.Begin(noSink{})
	if err != nil {
		t.Fatal(err)
	}
	r.Slots[2].Store(&Route{Remote: 7})
	a.Sent(id, 7)
	m := message("a")
	m.Kind, m.Origin, m.Call = codec.Ask, r.set.Self, id
	if !r.TakeBack(7, m) {
		t.Fatal("it is not taken back")
	}
	a.Sweep(func(node uint64) bool { return node == 7 })
	if !a.Answer(id, nil, nil) {
		t.Error("it has ended with the node")
	}
}
