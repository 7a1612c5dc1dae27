package crdt

import "iter"

// Replica is a store that makes events: what a space of a Replicator and a standalone value are made of.
type Replica struct{ st *Store }

func NewReplica(origin Origin, o StoreOptions) *Replica { return &Replica{st: NewStore(o)} }
func (r *Replica) Origin() Origin                       { return 0 }
func (r *Replica) Seq() uint64                          { return 0 }
func (r *Replica) Store() *Store                        { return r.st } // for reading; change it through the Replica only
// Update runs fn on a Tx of the key and applies what it wrote as one group; wall is the time in nanoseconds that timestamps may use.
// An error of fn, or a panic in it, means that nothing happened. A nil Group and nil error: fn changed nothing.
func (r *Replica) Update(key string, wall int64, fn func(*Tx) error, ch *Changes) (Group, error) {
	return nil, nil
}
func (r *Replica) Apply(g Group, ch *Changes) (Outcome, error) { return r.st.Apply(g, ch) }
func (r *Replica) Merge(donor *Clock, live func(Dot) bool, items []Item, ch *Changes) error {
	return nil
}
func (r *Replica) MergeDiff(donor *Clock, absent []Dot, items []Item, ch *Changes) error { return nil }
func (r *Replica) Union(items []Item, ch *Changes)                                       {}
func (r *Replica) Load(clock *Clock, digest Digest, items iter.Seq[Item]) error          { return nil }
