package crdt

// Changes collects what calls of Apply, Merge, Union and Update did. It accumulates until Reset.
// An item can be in Put and then in Dropped (a group that removes what it put): carry out puts before drops.
type Changes struct {
	Put     []*Item  // items that came to life, in order
	Dropped []*Item  // items that died, in order
	Keys    []string // keys touched, each once, in order of first touch
	Missing []Dot    // after Waiting: removed dots that the clock lacks, at most 64
}

// Reset empties the collection and keeps its memory.
func (c *Changes) Reset() { *c = Changes{} }
