package crdt

// standaloneKey is the key of the one value in a store of its own.
const standaloneKey = "value"

// Standalone is a value with a store of its own, for use without a Replicator. It belongs to one
// goroutine; its views may be read by any.
type Standalone[V Value[V, T], T any] struct{ r *Replica }

// New returns an empty value whose events are named by origin, which no other value that is ever
// merged with it may use.
func New[V Value[V, T], T any](origin Origin) *Standalone[V, T] {
	return &Standalone[V, T]{r: NewReplica(origin, StoreOptions{})}
}

// Update changes the value and returns the group to Apply at the others. The group is nil if fn
// changed nothing: it need not be sent, and Apply does nothing with it. AppendGroup encodes it all
// the same. Timestamps are logical.
func (s *Standalone[V, T]) Update(fn func(T) error) (Group, error) { return s.UpdateAt(0, fn) }

// UpdateAt is Update with the wall time in nanoseconds that timestamps take.
func (s *Standalone[V, T]) UpdateAt(wall int64, fn func(T) error) (Group, error) {
	return s.r.Update(standaloneKey, wall, Mutate[V](fn), nil)
}

// Apply applies a group that another value's Update returned. Nothing is Duplicate: an Update that
// changed nothing returns it.
func (s *Standalone[V, T]) Apply(g Group) (Outcome, error) {
	if len(g) == 0 {
		return Duplicate, nil
	}
	return s.r.Apply(g, nil)
}

// Merge joins the state of another value: by its log when that reaches back, else as a whole.
func (s *Standalone[V, T]) Merge(o *Standalone[V, T]) error {
	from := o.r.st
	if gs, more, covered := from.Missing(s.r.st.clock, PayloadMax); covered && !more {
		for _, g := range gs {
			if _, err := s.r.Apply(g, nil); err != nil {
				return err
			}
		}
		return nil
	}
	var items []Item
	for it := range from.Snapshot().Items() {
		if !s.r.st.clock.Has(it.Dot) {
			items = append(items, *it)
		}
	}
	return s.r.Merge(from.clock, func(d Dot) bool { return from.live.index.Get(d) != nil }, items, nil)
}

// Value returns the immutable view of the present state.
func (s *Standalone[V, T]) Value() (V, error) { return ViewOf[V](s.r.st.View(standaloneKey)) }

// Replica returns the replica that holds the value.
func (s *Standalone[V, T]) Replica() *Replica { return s.r }
