package allocation

// External leaves the choice to an outside client, which says in replicated data at which address a
// shard shall live. A shard of which it says nothing, or names an address at which no region is,
// goes to the region that asked for it first, and stays where it is.
type External struct{}

var (
	_ Strategy = External{}
	_ Needy    = External{}
)

// Needs implements Needy.
func (External) Needs() Needs { return Needs{Locations: true} }

// Allocate implements Strategy.
func (External) Allocate(requester UID, s ShardID, a *Allocations) (UID, bool) {
	if r := a.at(a.Location(s)); r != nil && !r.Leaving {
		return r.UID, true
	}
	if a.May(requester) {
		return requester, true
	}
	return LeastShard{}.Allocate(requester, s, a) // no region asked, or a proxy did
}

// Rebalance implements Strategy.
func (External) Rebalance(a *Allocations, inProgress []ShardID) []ShardID {
	moving := map[ShardID]bool{}
	for _, s := range inProgress {
		moving[s] = true
	}
	var out []ShardID
	for _, g := range a.staying() {
		for _, s := range a.ShardsOf(g.UID) {
			if r := a.at(a.Location(s)); r != nil && !r.Leaving && r.UID != g.UID && !moving[s] {
				out = append(out, s)
			}
		}
	}
	return out
}

// at is the region at an address; nil: none.
func (a *Allocations) at(addr string) *Region {
	if addr == "" {
		return nil
	}
	if a.byAddr == nil {
		a.byAddr = map[string]int{}
		for i, r := range a.Regions {
			a.byAddr[r.Addr] = i
		}
	}
	if i, ok := a.byAddr[addr]; ok {
		return &a.Regions[i]
	}
	return nil
}
