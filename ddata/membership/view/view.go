package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/zeebo/xxh3"
)

// View is one link of the chain of views: it lists the members at one epoch. There is one view per
// epoch and cluster. A view that was handed out is never modified, neither by the machine nor by
// its receiver, and may be shared between goroutines.
//
// Invariants: Members is sorted by UID without duplicates; addresses are unique; at least one
// member is full; the UpNumbers of full members are unique and at most LastUp. Each member speaks
// Format, which is not below that of any earlier view of the chain.
type View struct {
	_          struct{}     `cbor:",toarray"`
	Format     format.Level // that all members write, see Writes
	Cluster    ClusterID
	Epoch      Epoch
	Parent     Hash     // hash of the view that this one was decided in; zero for a founding view
	Members    []Member // by UID
	LastUp     uint32   // the highest UpNumber ever assigned, so that none is used twice
	ConfigHash uint64   // what all members must have configured alike
	Founded    bool     // this view founds the cluster, or founds it anew after a cold start
	// of earlier views that may not be settled, by epoch, then by role; what a cold start has to
	// hear
	Unsettled []DiskSet
	VotersMax uint32   // how many of the oldest decide what comes next; 0 = all that are Up or Leaving
	Closing   bool     // the whole cluster shuts down: no node joins, nothing is handed over; ends with the cluster
	Era       Era      // of the cluster: the same in all its views
	Durable   []string // the patterns of durable keys, sorted
	Moving    []string // those that become durable next, sorted; none is in Durable
	Moves     uint16   // the number of the last move that was begun; goes on over foundings; 0: none yet
	Lines     Lines    // of the services that members offer
	Ages      *Ages    // which incarnations are over
}

// Hash is a 128-bit hash of the encoded view.
func (v *View) Hash() Hash {
	h := xxh3.Hash128(v.Append(nil))
	return h.Bytes()
}

// Same reports whether two views say the same.
func Same(a, b *View) bool { return a == b || a.Epoch == b.Epoch && a.Hash() == b.Hash() }

// Next returns an empty child of the view, to be filled with members.
func (v *View) Next(hash Hash) *View {
	return &View{
		Format: v.Format, Cluster: v.Cluster, Era: v.Era, Epoch: v.Epoch + 1, Parent: hash, LastUp: v.LastUp,
		ConfigHash: v.ConfigHash,
		VotersMax:  v.VotersMax, Closing: v.Closing, Durable: v.Durable, Moving: v.Moving, Moves: v.Moves,
		Lines: v.Lines, Ages: v.Ages,
	}
}

// Sort puts the members into the order of their uids.
func (v *View) Sort() {
	slices.SortFunc(v.Members, func(a, b Member) int { return cmp.Compare(a.UID, b.UID) })
}

// Member returns the member of that uid.
func (v *View) Member(u UID) (Member, bool) {
	i, ok := v.find(u)
	if !ok {
		return Member{}, false
	}
	return v.Members[i], true
}

// Has reports whether the uid is in the view.
func (v *View) Has(u UID) bool {
	_, ok := v.find(u)
	return ok
}

func (v *View) find(u UID) (int, bool) {
	ms, i := v.Members, 0
	for n := len(ms); i < n; { // written out: each heartbeat looks members up
		if mid := (i + n) / 2; ms[mid].UID < u {
			i = mid + 1
		} else {
			n = mid
		}
	}
	return i, i < len(ms) && ms[i].UID == u
}

// Full returns the full members, oldest first: their replicas count, and they may run things. The
// slice is the caller's.
func (v *View) Full() []Member { return firstByAge(v.Members, len(v.Members), Member.Full) }

// byAge compares the ages of full members: the older one is lower.
func byAge(a, b Member) int { return cmp.Compare(a.UpNumber, b.UpNumber) }

// firstByAge returns the oldest of those members that are meant, at most so many, oldest first.
func firstByAge(members []Member, most int, meant func(Member) bool) []Member {
	var ms []*Member
	for i := range members {
		if m := &members[i]; meant(*m) {
			ms = append(ms, m)
		}
	}
	slices.SortFunc(ms, func(a, b *Member) int { return byAge(*a, *b) })
	few := make([]Member, min(most, len(ms)))
	for i := range few {
		few[i] = *ms[i]
	}
	return few
}

// Voters returns the members that decide what comes after this view and grant leases in it, oldest
// first. They are the full members. If VotersMax is set, they are the oldest of these, and only as
// many leaving ones as are needed for the number. The slice is the caller's.
func (v *View) Voters() []Member {
	if !v.capped() {
		return v.Full()
	}
	most := int(v.VotersMax)
	ms := firstByAge(v.Members, most, func(m Member) bool { return m.Full() && m.Status != Leaving })
	if len(ms) < most {
		leaves := func(m Member) bool { return m.Status == Leaving }
		ms = append(ms, firstByAge(v.Members, most-len(ms), leaves)...)
		slices.SortFunc(ms, byAge)
	}
	return ms
}

// capped reports whether some full members do not vote.
func (v *View) capped() bool {
	if v.VotersMax == 0 {
		return false
	}
	full := 0
	for i := range v.Members {
		if v.Members[i].Full() {
			full++
		}
	}
	return full > int(v.VotersMax)
}

// Learners returns the members that are not full yet, by UID. The slice is the caller's.
func (v *View) Learners() []Member {
	var ls []Member
	for _, m := range v.Members {
		if !m.Full() {
			ls = append(ls, m)
		}
	}
	return ls
}

// ByRole returns the members that have the role, by UID. The slice is the caller's.
func (v *View) ByRole(role string) []Member {
	var ms []Member
	for _, m := range v.Members {
		if m.HasRole(role) {
			ms = append(ms, m)
		}
	}
	return ms
}

// Oldest returns the Up or Leaving member of the role with the lowest UpNumber: the place of
// singletons.
func (v *View) Oldest(role string) (Member, bool) {
	var oldest Member
	found := false
	for _, m := range v.Members {
		// founders that wait for MinMembers are full, with a number, and still Joining: nothing
		// runs on them yet
		if m.Status == Joining || !m.Full() || !m.HasRole(role) {
			continue
		}
		if !found || m.UpNumber < oldest.UpNumber {
			oldest, found = m, true
		}
	}
	return oldest, found
}

// Open reports whether MinMembers has been reached: some member is or was Up.
func (v *View) Open() bool {
	return slices.ContainsFunc(v.Members, func(m Member) bool { return m.Status != Joining })
}

// String prints the view in one line.
func (v *View) String() string {
	if v == nil {
		return "no view"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v/%v", v.Cluster, v.Epoch)
	if v.Format > format.Initial {
		fmt.Fprintf(&b, " format %d", v.Format)
	}
	if v.Founded {
		b.WriteString(" founded")
	}
	if v.Closing {
		b.WriteString(" closing")
	}
	b.WriteString(" {")
	for i, m := range v.Members {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(m.String())
	}
	b.WriteString("}")
	if len(v.Unsettled) > 0 {
		fmt.Fprintf(&b, " unsettled %v", v.Unsettled)
	}
	if len(v.Durable) > 0 {
		fmt.Fprintf(&b, " durable %q", Shown(v.Durable))
	}
	if len(v.Moving) > 0 {
		fmt.Fprintf(&b, " moving #%d %q", v.Moves, Shown(v.Moving))
	}
	b.WriteString(v.Lines.String())
	b.WriteString(v.Ages.String())
	return b.String()
}
