package replicated_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// play has a shard change its owners many times, from node to node. An owner that loses the shard is often
// cut off, and writes once more: that write is void, or counts. Where it counts, the owner may look for
// the outcome only many hostings later. Some entities keep their events, and others have them deleted. So
// rows are swept while some of them are needed.
type play struct {
	*parted
	t     *testing.T
	rng   *rand.Rand
	judge book
	calls sync.WaitGroup
	owner int // the node that has the shard
	token uint64
	held  []*heldCall

	bodies int // so far
}

// heldCall is a call that stands still before it looks for its outcome.
type heldCall struct {
	until uint64 // the token of the hosting after which it goes on
	goOn  chan struct{}
}

const (
	hostingsPlayed = 160
	heldLong       = manySeats + 10 // hostings
)

// late is what becomes of the write that an owner makes as it loses the shard.
type late int

const (
	none late = iota
	void
	counts
	lates
)

func newPlay(t *testing.T, seed uint64, mistakes ...func(*replicated.Store)) *play {
	p := &play{
		parted: startParted(t, mistakes...), t: t, rng: rand.New(rand.NewPCG(seed, 0)),
		judge: book{of: map[protocol.EntityID]*pages{}},
	}
	p.move(none)
	return p
}

// run plays, and returns what was wrong.
func (p *play) run() []error {
	for range hostingsPlayed {
		p.move(late(p.rng.IntN(int(lates))))
		if len(p.judge.wrongs()) > 0 {
			break
		}
	}
	for _, h := range p.held {
		close(h.goOn)
	}
	p.held = nil
	p.calls.Wait()
	p.move(none)
	return p.judge.wrongs()
}

// move has another node take the shard, read it, and write.
func (p *play) move(how late) {
	before, old := p.owner, hosting(p.token)
	p.owner = (p.owner + 1 + p.rng.IntN(2)) % len(p.stores)
	p.token++
	b, now := p.stores[p.owner], hosting(p.token)
	if how != none {
		p.lateWrite(before, old, how)
	}
	must(p.t, b.Fence(patience(p.t), now))
	p.wires.HealAll()
	p.read(b, now)
	for range 1 + p.rng.IntN(2) {
		id := p.entity()
		p.append(b, now, id, p.judge.end(id), p.body(), true)
	}
	for _, id := range []protocol.EntityID{"a", "b"} {
		if end := p.judge.end(id); end > 0 && p.rng.IntN(3) > 0 {
			p.judge.deletes(id, end)
			must(p.t, b.Delete(patience(p.t), now, id, end))
		}
	}
	p.held = p.release(p.held)
}

// release has calls go on whose time has come.
func (p *play) release(held []*heldCall) (rest []*heldCall) {
	for _, h := range held {
		if h.until > p.token {
			rest = append(rest, h)
			continue
		}
		close(h.goOn)
	}
	return rest
}

// entity is that of the next write: one whose events are deleted, or, seldom, one that keeps them.
func (p *play) entity() protocol.EntityID {
	if p.rng.IntN(6) == 0 {
		return "kept"
	}
	return []protocol.EntityID{"a", "b"}[p.rng.IntN(2)]
}

// lateWrite cuts the owner off, and has it write.
func (p *play) lateWrite(node int, old persistence.Hosting, how late) {
	a, b, id := p.stores[node], p.stores[p.owner], p.entity()
	for i, addr := range p.addrs {
		if i != node {
			p.wires.CutBoth(p.addrs[node], addr)
		}
	}
	end, body := p.judge.end(id), p.body()
	opposed := make(chan struct{})
	h := &heldCall{until: p.token + uint64([]int{0, 1, heldLong}[p.rng.IntN(3)]), goOn: make(chan struct{})}
	if how == counts {
		p.held = append(p.held, h)
		replicated.Reach(a, "opposed", func() {
			close(opposed)
			<-h.goOn
		})
		replicated.Reach(b, "announced", func() {
			p.wires.HealAll()
			select {
			case <-opposed:
			case <-patience(p.t).Done():
				p.t.Error("an owner has not found that it is opposed")
			}
		})
	}
	p.calls.Go(func() { p.append(a, old, id, end, body, false) })
	eventually(p.t, "the write of an owner that is cut off", func() bool { return a.HasBody(p.t, old, id, body) })
}

// body is one that no other event has.
func (p *play) body() string {
	p.bodies++
	return fmt.Sprint(p.bodies)
}

// append writes, and judges the answer. owns says that the hosting is the last one.
func (p *play) append(
	s *replicated.Store, h persistence.Hosting, id protocol.EntityID, after uint64, body string, owns bool,
) {
	refused, err := s.Append(patience(p.t), h, []persistence.Write{write(id, after, body)})
	switch {
	case owns && (err != nil || len(refused) > 0):
		p.judge.complain("the owner's write %v of %v: %v, refused %v", body, h.Token, err, refused)
	case len(refused) > 0, errors.Is(err, persistence.ErrFenced):
		p.judge.never(id, body, fmt.Sprintf("%v, refused %v", err, refused))
	case err == nil:
		p.judge.stored(id, after+1, body)
	}
}

// read has an owner load all, and judges what it finds.
func (p *play) read(s *replicated.Store, h persistence.Hosting) {
	ids := []protocol.EntityID{"a", "b", "kept"}
	var reads []persistence.Read
	for _, id := range ids {
		reads = append(reads, persistence.Read{Entity: id})
	}
	found := make([][]persistence.Event, len(ids))
	ends, err := s.Load(patience(p.t), h, reads, func(i int, e persistence.Event) error {
		found[i] = append(found[i], e)
		return nil
	})
	must(p.t, err)
	for i, id := range ids {
		p.judge.loaded(id, ends[i], found[i])
	}
}

// book has what is known of the histories, and what is wrong.
type book struct {
	mu     sync.Mutex
	of     map[protocol.EntityID]*pages
	wrong  []error
	voids  int // writes that were said to have had no effect
	stores int // and to be stored
}

// pages are those of an entity.
type pages struct {
	events []string        // of which it is known that they count; "" where it is not known which
	never  map[string]bool // that were said to have had no effect
	asked  uint64          // the highest number up to which a deletion was asked for
}

func (b *book) page(id protocol.EntityID) *pages {
	if b.of[id] == nil {
		b.of[id] = &pages{never: map[string]bool{}}
	}
	return b.of[id]
}

func (b *book) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Errorf(format, args...))
}

func (b *book) wrongs() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong
}

// end is where a history ends, as far as is known.
func (b *book) end(id protocol.EntityID) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return uint64(len(b.page(id).events))
}

func (b *book) deletes(id protocol.EntityID, upTo uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.page(id).asked = max(b.page(id).asked, upTo)
}

// counts notes that an event is one of the history.
func (b *book) counts(id protocol.EntityID, seq uint64, body, who string) {
	p := b.page(id)
	for uint64(len(p.events)) < seq {
		p.events = append(p.events, "")
	}
	switch was := p.events[seq-1]; {
	case was != "" && was != body:
		b.wrong = append(b.wrong, fmt.Errorf("%s: event %d of %v is %s, and was %s", who, seq, id, body, was))
	case p.never[body]:
		b.wrong = append(b.wrong, fmt.Errorf("%s: event %d of %v is %s, which was said to have had no effect",
			who, seq, id, body))
	}
	p.events[seq-1] = body
}

func (b *book) stored(id protocol.EntityID, seq uint64, body string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stores++
	b.counts(id, seq, body, "an answer")
}

func (b *book) never(id protocol.EntityID, body, answer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.voids++
	p := b.page(id)
	p.never[body] = true
	for i, e := range p.events {
		if e == body {
			b.wrong = append(b.wrong, fmt.Errorf("event %d of %v is %s, and the answer was %s", i+1, id, body, answer))
		}
	}
}

func (b *book) loaded(id protocol.EntityID, end persistence.End, found []persistence.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page(id)
	if n := uint64(len(p.events)); end.Last < n || end.Deleted > p.asked ||
		end.Last != end.Deleted+uint64(len(found)) {
		b.wrong = append(b.wrong, fmt.Errorf("%v ends at %+v with %d events, %d are known, deleted up to %d",
			id, end, len(found), n, p.asked))
	}
	for _, e := range found {
		b.counts(id, e.Seq, string(e.Body), "a load")
	}
}

// Whatever owners were told of their writes is so, over many hostings, late calls, deletions and sweeps.
func TestManyHostings(t *testing.T) {
	p := newPlay(t, 1)
	if wrong := p.run(); len(wrong) > 0 {
		t.Error(errors.Join(wrong...))
	}
	if n := p.stores[0].Rows(t, hosting(p.token)); n > 2*manySeats {
		t.Errorf("%d rows are left of %d hostings", n, p.token)
	}
	if p.judge.stores < hostingsPlayed || p.judge.voids < hostingsPlayed/10 {
		t.Errorf("%d writes were stored, and %d void", p.judge.stores, p.judge.voids)
	}
}

func TestMistakesInManyHostings(t *testing.T) {
	for name, mistake := range map[string]func(*replicated.Store){
		"a sweep forgets a seat": replicated.Forgets, "an outcome is guessed": replicated.Guesses,
		"no second read": replicated.NoLook, "no rows": replicated.NoRows,
	} { // order: each has a cluster of its own
		t.Run(name, func(t *testing.T) {
			wrong := newPlay(t, 1, mistake).run()
			if len(wrong) == 0 {
				t.Error("not caught")
			}
			t.Log(errors.Join(wrong...))
		})
	}
}
