package crdt

import "iter"

// Range is a run of consecutive dots of one origin, both ends included.
type Range struct {
	Origin      Origin
	First, Last uint64
}

// Clock is a set of dots, kept per origin as intervals. The zero value is empty and ready to use.
// Methods that do not change it may be called concurrently.
type Clock struct{ rows []clockRow }

type clockRow struct {
	origin Origin
	base   uint64
}

func (c *Clock) Has(d Dot) bool                        { return false }
func (c *Clock) HasAll(ds []Dot) bool                  { return false }
func (c *Clock) Add(d Dot) bool                        { return false }
func (c *Clock) AddRange(o Origin, first, last uint64) {}
func (c *Clock) Join(o *Clock)                         {}
func (c *Clock) Includes(o *Clock) bool                { return false }
func (c *Clock) Equal(o *Clock) bool                   { return false }
func (c *Clock) Minus(o *Clock) *Clock                 { return nil }
func (c *Clock) Of(o Origin) *Clock                    { return nil }
func (c *Clock) Max(o Origin) uint64                   { return 0 }
func (c *Clock) Base(o Origin) uint64                  { return 0 }
func (c *Clock) Clone() *Clock                         { return nil }
func (c *Clock) Empty() bool                           { return len(c.rows) == 0 }
func (c *Clock) Len() uint64                           { return 0 }
func (c *Clock) Hash() [16]byte                        { return [16]byte{} }
func (c *Clock) Ranges() iter.Seq[Range]               { return func(func(Range) bool) {} }
func (c *Clock) String() string                        { return "" }
