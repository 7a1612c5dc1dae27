package builds

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// The builds of a world with several.
var (
	First  = format.Range{Min: format.Initial, Max: format.Initial}
	Second = format.Range{Min: format.Initial, Max: format.Initial + 1}
	Third  = format.Range{Min: format.Initial + 1, Max: format.Initial + 2}
)

// Fleet is the builds of all processes of a world.
type Fleet struct {
	several bool
	rs      random.Streams
	of      map[uint64]format.Range // by the uid of the process
	next    map[int]format.Range    // of the slots on which a build was refused
	raised  map[int]bool            // the slots on which the cluster has refused the second
	between map[int]bool            // of these, the slots whose disks the third does not read

	// Refused is how many processes ended because of the formats that they speak.
	Refused uint64
}

// New returns the fleet of a world, of several builds or of one.
func New(several bool, rs random.Streams) *Fleet {
	return &Fleet{several: several, rs: rs, of: map[uint64]format.Range{}, next: map[int]format.Range{},
		raised: map[int]bool{}, between: map[int]bool{}}
}

// Start draws what an operator starts on a slot. late: most nodes have been upgraded by now. running: there
// is a cluster, which refuses what does not fit it. healed: all that is started from now on is the second, unless
// that was refused.
func (f *Fleet) Start(slot int, uid uint64, late, running, healed bool) format.Range {
	f.of[uid] = format.Build()
	if f.several {
		f.of[uid] = f.draw(slot, uid, late, running, healed)
	}
	return f.of[uid]
}

func (f *Fleet) draw(slot int, uid uint64, late, running, healed bool) format.Range {
	r := f.rs.Stream("build", uid)
	if next, refused := f.next[slot]; refused {
		return next
	}
	switch {
	case healed:
		return Second
	case running && r.IntN(6) == 0:
		return Third
	case late:
		return random.Pick(r, First, Second, Second, Second, Second, Second, Second)
	}
	return random.Pick(r, First, First, Second)
}

// Upgrade takes the end of a process for one because of its formats, if that is what it is: the second
// build comes to its slot, or the third, if the second was refused: all members have been of the third at one
// time, and raised the level. It reports whether it was so, and another build is all that it takes.
func (f *Fleet) Upgrade(slot int, uid uint64, why error) bool {
	var refused *membership.RefusedError
	if !errors.Is(why, format.ErrUnspoken) &&
		!(errors.As(why, &refused) && refused.Reason == bootstrap.ReasonFormat) {
		return false
	}
	f.Refused++
	f.raised[slot] = f.raised[slot] || refused != nil && f.of[uid] == Second
	if f.between[slot] = f.raised[slot] && refused == nil && f.of[uid] == Third; f.between[slot] {
		return false
	}
	if f.next[slot] = Second; f.of[uid] == Second {
		f.next[slot] = Third
	}
	return true
}

// Outgrown reports whether no build fits a slot: it was away while the cluster went over two of them. The one
// that its disk fits is refused by the cluster, and the other one does not read the disk. The operator gives it an
// empty one.
func (f *Fleet) Outgrown(slot int) bool { return f.between[slot] }

// Outdated reports whether a process is of several builds, and not of the second.
func (f *Fleet) Outdated(uid uint64) bool { return f.several && f.of[uid] != Second }

// Unspoken names a member of a view that does not speak its level, or that the view lists with another
// range than its own; empty: there is none.
func (f *Fleet) Unspoken(v *view.View) string {
	for _, m := range v.Members {
		if of := f.of[uint64(m.UID)]; !of.Contains(v.Format) || m.Formats != of {
			return fmt.Sprintf("%v is of a build that speaks %v, and is listed by %v with %v", m.UID, of, v, m.Formats)
		}
	}
	return ""
}

// Unraised says that all members of a view speak more than its level; empty: they do not.
func Unraised(v *view.View) string {
	if l := view.Spoken(v.Members); l > v.Format {
		return fmt.Sprintf("all members speak level %d, and the view is %v", l, v)
	}
	return ""
}
