package journaled

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/persistence/history"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// changed is the event that names were added and removed. No name is in both. Names are bytes, because
// a text of CBOR could not have all of them.
type changed struct {
	Added, Removed [][]byte
	By             history.StoredToken
}

// loaded is the event that the set was loaded. Nothing that was on its way before takes effect after
// it, because its sequence number is gone.
type loaded struct{ By history.StoredToken }

// whole is a snapshot of a set of ids.
type whole struct {
	IDs [][]byte
	By  history.StoredToken
}

// wholeList is a snapshot of the list of shards: those on it, and those that were taken off it, each
// with the token by which it was.
type wholeList struct {
	On, Off     [][]byte
	OnBy, OffBy []history.StoredToken
}

// set is what a history comes to. In a set of ids the token is one for all of them. On the list each
// shard has its own, also when it was taken off: its hostings are ordered, and those of two shards are
// nothing to each other.
type set struct {
	latest singleton.FencingToken // of a set of ids
	of     map[string]bool        // false: taken off the list
	by     map[string]singleton.FencingToken
}

func newSet() *set { return &set{of: map[string]bool{}, by: map[string]singleton.FencingToken{}} }

// names are those in the set, in order.
func (s *set) names() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		if s.of[name] {
			names = append(names, name)
		}
	}
	return names
}

var events = schema.CBOR(schema.Type[any]("changed", changed{}), schema.Type[any]("loaded", loaded{}))

// ids is the form of the set of one shard.
var ids = history.Form[*set]{
	Events:    events,
	Snapshots: schema.CBOR(schema.Type[any]("ids", whole{})),
	Empty:     newSet,
	Apply:     (*set).applyIDs,
	Whole: func(s *set) any {
		return whole{namesOf(s.names()), history.StoredTokenOf(s.latest)}
	},
	Token: func(event any) singleton.FencingToken {
		switch e := event.(type) {
		case changed:
			return e.By.Fence()
		case loaded:
			return e.By.Fence()
		}
		return singleton.FencingToken{}
	},
	Latest: func(s *set) singleton.FencingToken { return s.latest },
}

func (s *set) applyIDs(event any) {
	by := history.StoredToken{}
	switch e := event.(type) {
	case changed:
		by = e.By
		s.change(e)
	case loaded:
		by = e.By
	case whole:
		by = e.By
		s.change(changed{Added: e.IDs})
	}
	if t := by.Fence(); s.latest.Less(t) {
		s.latest = t
	}
}

func (s *set) change(c changed) {
	for _, name := range c.Added {
		s.of[string(name)] = true
	}
	for _, name := range c.Removed {
		delete(s.of, string(name))
	}
}

// shards is the form of the list.
var shards = history.Form[*set]{
	Events:    events,
	Snapshots: schema.CBOR(schema.Type[any]("shards", wholeList{})),
	Empty:     newSet,
	Apply:     (*set).applyList,
	Whole:     func(s *set) any { return s.list() },
}

func (s *set) applyList(event any) {
	switch e := event.(type) {
	case changed:
		s.put(e.Added, true, func(int) history.StoredToken { return e.By })
		s.put(e.Removed, false, func(int) history.StoredToken { return e.By })
	case wholeList:
		s.put(e.On, true, func(i int) history.StoredToken { return e.OnBy[i] })
		s.put(e.Off, false, func(i int) history.StoredToken { return e.OffBy[i] })
	}
}

// put notes shards that were put on the list or taken off it. A later token stands, whatever came
// first. A tool has none, and changes what is there.
func (s *set) put(names [][]byte, on bool, by func(i int) history.StoredToken) {
	for i, name := range names {
		switch t := by(i).Fence(); {
		case t.IsZero():
		case t.Less(s.by[string(name)]):
			continue
		default:
			s.by[string(name)] = t
		}
		s.of[string(name)] = on
	}
}

func (s *set) list() (w wholeList) {
	for _, name := range slices.Sorted(maps.Keys(s.of)) {
		by := history.StoredTokenOf(s.by[name])
		if s.of[name] {
			w.On, w.OnBy = append(w.On, []byte(name)), append(w.OnBy, by)
		} else {
			w.Off, w.OffBy = append(w.Off, []byte(name)), append(w.OffBy, by)
		}
	}
	return w
}

func namesOf(names []string) [][]byte {
	out := make([][]byte, 0, len(names))
	for _, name := range names {
		out = append(out, []byte(name))
	}
	return out
}
