package crdt

// Kind names a data type; it is the first byte of every path of that type.
type Kind byte

// Kinds of this package. Users' own types take 0x80 and above.
const (
	KindGCounter    Kind = 1
	KindORSet       Kind = 2
	KindLWWRegister Kind = 3
	KindLWWMap      Kind = 4
)

// Value is what a data type offers: V is its immutable view, T its mutator. The zero value of V describes the type.
type Value[V, T any] interface {
	Kind() Kind
	View(Reader) (V, error)
	Mutator(*Tx) T
}

// Standalone is a value with a store of its own, for use without a Replicator.
type Standalone[V Value[V, T], T any] struct{ r *Replica }

// New returns an empty value whose events are named by origin.
func New[V Value[V, T], T any](origin Origin) *Standalone[V, T] {
	return &Standalone[V, T]{r: NewReplica(origin, StoreOptions{})}
}
func (s *Standalone[V, T]) Update(fn func(T) error) (Group, error)               { return s.UpdateAt(0, fn) }
func (s *Standalone[V, T]) UpdateAt(wall int64, fn func(T) error) (Group, error) { return nil, nil }
func (s *Standalone[V, T]) Apply(g Group) (Outcome, error)                       { return s.r.Apply(g, nil) }
func (s *Standalone[V, T]) Merge(o *Standalone[V, T]) error                      { return nil }
func (s *Standalone[V, T]) Value() (V, error)                                    { var v V; return v.View(Reader{}) }
func (s *Standalone[V, T]) Replica() *Replica                                    { return s.r }
