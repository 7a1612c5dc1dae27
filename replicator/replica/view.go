package replica

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Member is one member of a view, as far as replication is concerned.
type Member struct {
	ID       crdt.Origin
	UpNumber uint32 // age: the lowest is the oldest, which tidies up; else it only tells which to ask first
	Disk     uint64 // stable id of its directory; 0: it has none
}

// View is the membership that quorums count: the members that have the Replicator's role. The
// caller that hands it in does not modify it afterwards.
type View struct {
	Epoch    uint64
	Voters   []Member // counted, unreachable ones too
	Learners []Member // pushed to, never counted

	// Founded marks the first view of a cluster. After a cold start LastDisks names the disks of
	// the voters of each view that may not have been settled, oldest first, fewer sets than Epoch:
	// the durable space is settled only when a majority of each set has reported. None: a new
	// cluster.
	Founded   bool
	LastDisks [][]uint64

	// Durable names the durable keys on which the cluster has agreed, beside Config.DurableKeys,
	// and Moving those that become durable next, as patterns. Moves is the number of the last move
	// that was begun, at most crdt.MovesMax, and Move says that it is under way: also where none of the keys that
	// move is of this data, because every member takes part with all its data. Views that follow each other only add to
	// Durable what was Moving.
	Durable []string
	Moving  []string
	Moves   uint16
	Move    bool

	// Ending names incarnations that are over, and of which the members must agree what there is.
	// Ended names those of which they have: AgreedIn is the epoch of the view under which all its
	// members told so (effect.Effects.Retirable). Views that follow go on with Ended, and with
	// AgreedIn, until others are agreed on. 0: none yet. A retirement that begins later has a higher bound.
	Ending, Ended Retirement
	AgreedIn      uint64

	// Clean says that the disk of this replica, when it was started, held nothing of what Ended names but
	// what the members have agreed on, whether it has closed it or not.
	Clean bool
}

// String prints the view on one line, members by id.
func (v View) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "view %d voters %s", v.Epoch, peerNames(v.Voters))
	if len(v.Learners) > 0 {
		fmt.Fprintf(&b, " learners %s", peerNames(v.Learners))
	}
	if v.Founded {
		b.WriteString(" founded")
	}
	if len(v.LastDisks) > 0 {
		fmt.Fprintf(&b, " lastDisks %x", v.LastDisks)
	}
	if len(v.Durable) > 0 {
		fmt.Fprintf(&b, " durable %q", v.Durable)
	}
	if v.Move {
		fmt.Fprintf(&b, " moving %q", v.Moving)
	}
	if !v.Ending.Empty() {
		fmt.Fprintf(&b, " ending %v", v.Ending)
	}
	if !v.Ended.Empty() {
		fmt.Fprintf(&b, " ended %v since %d", v.Ended, v.AgreedIn)
	}
	return b.String()
}

func peerNames(ps []Member) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = wire.Short(p.ID)
	}
	return "[" + strings.Join(names, " ") + "]"
}

// Normal returns a copy of the view with members sorted by id and doubles dropped.
func (v View) Normal() View {
	v.Voters = sortedPeers(v.Voters)
	v.Learners = sortedPeers(v.Learners)
	v.Learners = slices.DeleteFunc(v.Learners, func(p Member) bool { return hasPeer(v.Voters, p.ID) })
	sets := v.LastDisks
	v.LastDisks = nil
	for _, set := range sets {
		if set = slices.Compact(slices.Sorted(slices.Values(set))); len(set) > 0 {
			v.LastDisks = append(v.LastDisks, set)
		}
	}
	return v
}

func sortedPeers(ps []Member) []Member {
	out := slices.Clone(ps)
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b Member) bool { return a.ID == b.ID })
}

func hasPeer(ps []Member, id crdt.Origin) bool {
	_, ok := slices.BinarySearchFunc(ps, id, func(p Member, id crdt.Origin) int { return cmp.Compare(p.ID, id) })
	return ok
}

// oldest returns the voter with the lowest up number, of several the one with the lowest id.
func (v View) oldest() (id crdt.Origin) {
	var up uint32
	for i, p := range v.Voters {
		if i == 0 || p.UpNumber < up {
			id, up = p.ID, p.UpNumber
		}
	}
	return id
}

// eldest returns the n oldest voters, or all where there are fewer, the oldest first. n is small.
func (v View) eldest(n int) []crdt.Origin {
	age := func(a, b Member) int { return cmp.Or(cmp.Compare(a.UpNumber, b.UpNumber), cmp.Compare(a.ID, b.ID)) }
	few := make([]Member, 0, n+1)
	for _, m := range v.Voters {
		if len(few) < n || age(m, few[n-1]) < 0 {
			i, _ := slices.BinarySearchFunc(few, m, age)
			few = slices.Insert(few, i, m)
			few = few[:min(n, len(few))]
		}
	}
	return idsOf(nil, few)
}

// Keeps reports whether all members of another view are members of this one. Both are Normal.
func (v View) Keeps(o View) bool {
	return !slices.ContainsFunc(o.MemberIDs(), func(id crdt.Origin) bool {
		return !hasPeer(v.Voters, id) && !hasPeer(v.Learners, id)
	})
}

// VoterIDs returns the ids of the voters, sorted.
func (v View) VoterIDs() []crdt.Origin { return idsOf(nil, v.Voters) }

// MemberIDs returns the ids of all members.
func (v View) MemberIDs() []crdt.Origin { return idsOf(idsOf(nil, v.Voters), v.Learners) }

func idsOf(ids []crdt.Origin, ps []Member) []crdt.Origin {
	ids = slices.Grow(ids, len(ps))
	for _, p := range ps {
		ids = append(ids, p.ID)
	}
	return ids
}
