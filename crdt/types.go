package crdt

import "iter"

type ORSet[E comparable] struct{ r Reader }

func (ORSet[E]) Kind() Kind                      { return KindORSet }
func (ORSet[E]) View(r Reader) (ORSet[E], error) { return ORSet[E]{r}, nil }
func (ORSet[E]) Mutator(t *Tx) *ORSetTx[E]       { return &ORSetTx[E]{} }
func (s ORSet[E]) Contains(e E) bool             { return false }
func (s ORSet[E]) Len() int                      { return 0 }
func (s ORSet[E]) All() iter.Seq[E]              { return func(func(E) bool) {} }

type ORSetTx[E comparable] struct{ tx *Tx }

func (s *ORSetTx[E]) Add(e E) error     { return nil }
func (s *ORSetTx[E]) Remove(e E) error  { return nil }
func (s *ORSetTx[E]) Clear() error      { return nil }
func (s *ORSetTx[E]) Contains(e E) bool { return false }
func (s *ORSetTx[E]) Len() int          { return 0 }
func (s *ORSetTx[E]) All() iter.Seq[E]  { return func(func(E) bool) {} }

type GCounter struct{}

func (GCounter) Kind() Kind                      { return KindGCounter }
func (GCounter) View(r Reader) (GCounter, error) { return GCounter{}, nil }
func (GCounter) Mutator(t *Tx) *GCounterTx       { return &GCounterTx{} }
func (c GCounter) Value() uint64                 { return 0 }

type GCounterTx struct{ tx *Tx }

func (c *GCounterTx) Increment(n uint64) error { return nil }
func (c *GCounterTx) Value() (uint64, error)   { return 0, nil }

// Timestamp orders writes of the last-writer types: by High (wall nanoseconds when made by a clock), then by Low (logical).
type Timestamp struct{ High, Low uint64 }

type LWWRegister[V any] struct{}

func (LWWRegister[V]) Kind() Kind                            { return KindLWWRegister }
func (LWWRegister[V]) View(r Reader) (LWWRegister[V], error) { return LWWRegister[V]{}, nil }
func (LWWRegister[V]) Mutator(t *Tx) *LWWRegisterTx[V]       { return &LWWRegisterTx[V]{} }
func (l LWWRegister[V]) Get() (v V, ok bool)                 { return }
func (l LWWRegister[V]) At() (v V, ts Timestamp, ok bool)    { return }

type LWWRegisterTx[V any] struct{ tx *Tx }

func (l *LWWRegisterTx[V]) Put(v V) error                         { return nil }
func (l *LWWRegisterTx[V]) PutAt(v V, ts Timestamp) (bool, error) { return false, nil } // false: it lost, nothing was written
func (l *LWWRegisterTx[V]) Remove() error                         { return nil }
func (l *LWWRegisterTx[V]) Get() (v V, ok bool)                   { return }
func (l *LWWRegisterTx[V]) At() (v V, ts Timestamp, ok bool)      { return }

type LWWMap[K comparable, V any] struct{ r Reader }

func (LWWMap[K, V]) Kind() Kind                            { return KindLWWMap }
func (LWWMap[K, V]) View(r Reader) (LWWMap[K, V], error)   { return LWWMap[K, V]{r}, nil }
func (LWWMap[K, V]) Mutator(t *Tx) *LWWMapTx[K, V]         { return &LWWMapTx[K, V]{} }
func (m LWWMap[K, V]) Get(k K) (v V, ok bool)              { return }
func (m LWWMap[K, V]) At(k K) (v V, ts Timestamp, ok bool) { return }
func (m LWWMap[K, V]) Len() int                            { return 0 }
func (m LWWMap[K, V]) All() iter.Seq2[K, V]                { return func(func(K, V) bool) {} }

type LWWMapTx[K comparable, V any] struct{ tx *Tx }

func (m *LWWMapTx[K, V]) Put(k K, v V) error                         { return nil }
func (m *LWWMapTx[K, V]) PutAt(k K, v V, ts Timestamp) (bool, error) { return false, nil } // false: it lost, nothing was written
func (m *LWWMapTx[K, V]) Remove(k K) error                           { return nil }
func (m *LWWMapTx[K, V]) Clear() error                               { return nil }
func (m *LWWMapTx[K, V]) Get(k K) (v V, ok bool)                     { return }
func (m *LWWMapTx[K, V]) At(k K) (v V, ts Timestamp, ok bool)        { return }
func (m *LWWMapTx[K, V]) Len() int                                   { return 0 }
func (m *LWWMapTx[K, V]) All() iter.Seq2[K, V]                       { return func(func(K, V) bool) {} }
