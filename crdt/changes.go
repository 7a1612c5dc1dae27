package crdt

// changesMissingMax is how many missing dots a Waiting outcome reports at most.
const changesMissingMax = 64

// Changes collects what calls of Apply, Merge, Union, Update and SetLiving did, for rows to persist
// and for subscriptions. It accumulates until Reset. An item can be in Put and then in Dropped (a
// group that removes what it put): carry out puts before drops.
type Changes struct {
	Put     []*Item  // items that came to life, in order
	Dropped []*Item  // items that died, in order
	Keys    []string // keys that may read differently, each once, in order of first touch
	Missing []Dot    // after Waiting: removed dots that the clock lacks, at most 64

	seen map[string]struct{} // the set of Keys, once they are many
}

// changesScanMax is how many keys are searched one by one before a set is worth its memory.
const changesScanMax = 8

// Reset empties the collection and keeps its memory. What was collected before must not be in use
// any more.
func (c *Changes) Reset() {
	clear(c.Put) // let go of the items
	clear(c.Dropped)
	clear(c.Keys)
	clear(c.seen)
	c.Put, c.Dropped, c.Keys, c.Missing = c.Put[:0], c.Dropped[:0], c.Keys[:0], c.Missing[:0]
}

// put notes an item that came to life; hidden says that no reader is shown it.
func (c *Changes) put(it *Item, hidden bool) {
	if c != nil {
		c.Put = append(c.Put, it)
		c.touchUnless(hidden, it.Key)
	}
}

// drop notes an item that died; hidden says that no reader was shown it.
func (c *Changes) drop(it *Item, hidden bool) {
	if c != nil {
		c.Dropped = append(c.Dropped, it)
		c.touchUnless(hidden, it.Key)
	}
}

func (c *Changes) touchUnless(hidden bool, key string) {
	if !hidden {
		c.touch(key)
	}
}

// touchKey notes a key that reads differently although no item of it came or went.
func (c *Changes) touchKey(key string) {
	if c != nil {
		c.touch(key)
	}
}

func (c *Changes) touch(key string) {
	n := len(c.Keys)
	if n > 0 && c.Keys[n-1] == key {
		return
	}
	if n < changesScanMax {
		for _, k := range c.Keys {
			if k == key {
				return
			}
		}
		c.Keys = append(c.Keys, key)
		return
	}
	if c.seen == nil {
		c.seen = make(map[string]struct{}, 2*n)
	}
	if len(c.seen) == 0 {
		for _, k := range c.Keys {
			c.seen[k] = struct{}{}
		}
	}
	if _, ok := c.seen[key]; !ok {
		c.seen[key] = struct{}{}
		c.Keys = append(c.Keys, key)
	}
}
