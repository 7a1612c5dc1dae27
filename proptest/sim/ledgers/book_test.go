package ledgers

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// pages is a book that notes its complaints.
type pages struct {
	*book
	t      *testing.T
	checks []string
}

func newPages(t *testing.T) *pages {
	p := &pages{t: t}
	p.book = newBook("coterie/coordinator/T", func(check, _ string, _ ...any) { p.checks = append(p.checks, check) })
	return p
}

func termOf(of view.Era, epoch view.Epoch) protocol.Term { return protocol.Term{Era: of, Epoch: epoch} }

func homeOf(shard uint32, uid, seq uint64) home {
	return home{Shard: shard, UID: uid, Epoch: 1, Seq: seq}
}

// put stores an event of a term.
func (p *pages) put(by protocol.Term, id string, seq uint64, v any) {
	p.t.Helper()
	s, err := forms.Encode(v)
	if err != nil {
		p.t.Fatal(err)
	}
	p.stored(by, id, persistence.Event{Seq: seq, Name: s.Name, Version: s.Version, Body: s.Body})
}

func (p *pages) place(by protocol.Term, seq uint64, homes ...home) {
	p.t.Helper()
	p.put(by, "homes", seq, placed{term{Era: uint64(by.Era), Epoch: uint64(by.Epoch)}, homes})
}

func (p *pages) readHomes(by protocol.Term, homes ...home) {
	in := protocol.DidRead{}
	for _, h := range homes {
		in.Homes = append(in.Homes, h.entry())
	}
	p.read(protocol.StateRead{Kind: protocol.StateHomes, By: by}, in)
}

// Each rule that is broken is complained of, and a sound story is not.
func TestRules(t *testing.T) {
	one, two, later := termOf(5, 1), termOf(5, 2), termOf(6, 1)
	a, b := homeOf(1, 11, 1), homeOf(1, 12, 2)
	for name, c := range map[string]struct {
		do   func(p *pages)
		want string // empty: nothing is wrong
	}{
		"sound": {func(p *pages) {
			p.latest = one
			p.readHomes(one)
			p.place(one, 1, a, homeOf(3, 11, 7))
			p.told(5, a.entry())
			p.place(one, 2, b)
			p.place(one, 3, a) // repeated
			p.put(one, "regions", 1, registered{term{Era: 5}, []uint64{12, 11, 13}, []uint64{13}})
			p.latest = two
			p.readHomes(two, b, homeOf(3, 11, 7))
			p.read(protocol.StateRead{Kind: protocol.StateRegions, By: two},
				protocol.DidRead{Regions: []protocol.UID{11, 12}})
			p.latest = later
			p.readHomes(later)
			p.readHomes(two) // the answer comes when a later term may have written
		}, ""},
		"deposed": {func(p *pages) {
			p.latest = two
			p.place(one, 1, a)
		}, "no append after a later coordinator has read"},
		"gap":    {func(p *pages) { p.place(one, 2, a) }, "one history"},
		"twice":  {func(p *pages) { p.place(one, 1, a); p.place(one, 1, a) }, "one history"},
		"missed": {func(p *pages) { p.place(one, 1, a); p.readHomes(two) }, "a term reads what was written"},
		"outdated": {func(p *pages) {
			p.place(one, 1, a)
			p.place(one, 2, b)
			p.readHomes(two, a)
		}, "a term reads what was written"},
		"of before": {func(p *pages) {
			p.place(one, 1, a)
			p.readHomes(later, a)
		}, "a term reads what was written"},
		"regions": {func(p *pages) {
			p.read(protocol.StateRead{Kind: protocol.StateRegions, By: one},
				protocol.DidRead{Regions: []protocol.UID{1}})
		}, "a term reads what was written"},
		"unwritten": {func(p *pages) { p.told(5, a.entry()) }, "homes are written before they are told"},
		"elsewhere": {func(p *pages) {
			p.place(one, 1, a)
			p.told(6, a.entry())
		}, "homes are written before they are told"},
		"alien": {func(p *pages) {
			p.stored(one, "homes", persistence.Event{Seq: 1, Name: "moved", Version: 1})
		}, "ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPages(t)
			c.do(p)
			if c.want == "" && len(p.checks) > 0 || c.want != "" && !slices.Equal(p.checks, []string{c.want}) {
				t.Errorf("complaints %q, want %q", p.checks, c.want)
			}
		})
	}
}

// No load or change of ids comes after one of a later hosting, and none has no token. On the list of
// shards the hostings have no order.
func TestHostings(t *testing.T) {
	deposed := []string{"no ids of a deposed hosting"}
	for name, c := range map[string]struct {
		id   string
		do   []any
		want []string
	}{
		"in order":       {"ids/1", []any{loaded{term{Seq: 1}}, changed{By: term{Seq: 1}}, loaded{term{Seq: 2}}}, nil},
		"deposed change": {"ids/1", []any{loaded{term{Seq: 2}}, changed{By: term{Seq: 1}}}, deposed},
		"deposed load":   {"ids/1", []any{changed{By: term{Seq: 2}}, loaded{term{Seq: 1}}}, deposed},
		"no token":       {"ids/1", []any{changed{}}, []string{"nodes have tokens"}},
		"the list":       {"shards", []any{changed{By: term{Seq: 2}}, changed{By: term{Seq: 1}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPages(t)
			for i, v := range c.do {
				p.put(protocol.Term{}, c.id, uint64(i+1), v)
			}
			if !slices.Equal(p.checks, c.want) {
				t.Errorf("complaints %q, want %q", p.checks, c.want)
			}
		})
	}
}

// The ids of a shard are those that were added and not removed.
func TestIDs(t *testing.T) {
	p := newPages(t)
	text := func(ids ...string) (all [][]byte) {
		for _, id := range ids {
			all = append(all, []byte(id))
		}
		return all
	}
	p.put(protocol.Term{}, "ids/1", 1, loaded{term{Seq: 1}})
	p.put(protocol.Term{}, "ids/1", 2, changed{Added: text("a", "b"), By: term{Seq: 1}})
	p.put(protocol.Term{}, "ids/2", 1, changed{Added: text("c"), By: term{Seq: 1}})
	p.put(protocol.Term{}, "ids/1", 3, changed{Added: text("d"), Removed: text("a"), By: term{Seq: 1}})
	if got := p.set("ids/1"); len(got) != 2 || !got["b"] || !got["d"] || len(p.checks) > 0 {
		t.Errorf("the ids are %v, complaints %q", got, p.checks)
	}
}
