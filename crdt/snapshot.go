package crdt

import "iter"

// Snapshot is the immutable state of a store at one moment. Any number of goroutines may read it.
type Snapshot struct{}

func (s *Snapshot) Keys(prefix string) iter.Seq[string]        { return func(func(string) bool) {} }
func (s *Snapshot) View(key string) Reader                     { return Reader{} }
func (s *Snapshot) Items() iter.Seq[*Item]                     { return func(func(*Item) bool) {} } // order: key, path, dot
func (s *Snapshot) ItemsFrom(key, path string) iter.Seq[*Item] { return func(func(*Item) bool) {} } // those from (key, path) on
func (s *Snapshot) Len() int                                   { return 0 }
func (s *Snapshot) KeyCount() int                              { return 0 }
func (s *Snapshot) Clock() *Clock                              { return &Clock{} }
func (s *Snapshot) Digest() Digest                             { return Digest{} }
func (s *Snapshot) Item(d Dot) (*Item, bool)                   { return nil, false }
func (s *Snapshot) Live(d Dot) bool                            { return false }
