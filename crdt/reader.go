package crdt

import "iter"

// Reader is an immutable view of one key, or of what lies under one path prefix of it. The zero Reader is empty.
type Reader struct{}

func (r Reader) Key() string                         { return "" }
func (r Reader) Items(prefix string) iter.Seq[*Item] { return func(func(*Item) bool) {} }
func (r Reader) At(path string) []*Item              { return nil }
func (r Reader) Under(prefix string) Reader          { return r }       // paths are then relative to it
func (r Reader) Rel(it *Item) string                 { return it.Path } // path of it relative to the reader's prefix
func (r Reader) Paths() int                          { return 0 }
func (r Reader) Len() int                            { return 0 }
func (r Reader) Empty() bool                         { return true }
func (r Reader) Digest() Digest                      { return Digest{} }
func (r Reader) CheckKind(k Kind) error              { return nil } // ErrTypeClash when it holds another kind
