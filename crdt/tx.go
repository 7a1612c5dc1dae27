package crdt

import (
	"fmt"
	"iter"
	"math"
	"slices"
)

// Tx is the mutations of one Update on one key. It sees its own writes. It, and everything read
// from it other than through Reader, is valid only while the update function runs. The first failed
// mutation fails the Update, whatever the function returns.
type Tx struct {
	*txCore
	serial uint64 // of the transaction that this handle belongs to
	prefix string // what paths are relative to
}

// txCore is what all handles of one transaction share. The next transaction of the Replica uses it
// again, with another serial.
type txCore struct {
	serial uint64 // 0: none is running
	st     any    // a *Store, see storeOf
	key    string
	origin Origin
	next   uint64 // seq of the next event
	wall   int64
	events Group
	err    error // of the first failed mutation

	counted string // the last countPath, of an earlier transaction too

	ks     keyItems // what reads see: the store's own, or an overlay of generation overlayGen
	synced int      // events that ks contains
}

// storeOf returns the store that a transaction reads. It is not to be seen, as the trees of bigOf are not.
func storeOf(c *txCore) *Store { return c.st.(*Store) }

// Origin returns the origin of the events that are being made.
func (t *Tx) Origin() Origin { return t.origin }

// Wall returns the wall time in nanoseconds that the caller of Update gave; 0 means that time is only logical.
func (t *Tx) Wall() int64 { return t.wall }

// Last returns the dot of the last event that was made, the zero Dot if none was. It costs nothing,
// where a look at the item makes the next reads see all that was written.
func (t *Tx) Last() Dot {
	if n := len(t.events); n > 0 && t.serial == t.txCore.serial {
		return t.events[n-1].Dot
	}
	return Dot{}
}

// Key returns the key that is being updated.
func (t *Tx) Key() string { return t.key }

// Under returns a handle of the same transaction whose paths are relative to prefix, for types that nest.
func (t *Tx) Under(prefix string) *Tx {
	return &Tx{txCore: t.txCore, serial: t.serial, prefix: t.prefix + prefix}
}

// Reader returns the state with the writes so far. It stays valid and never changes, which costs
// the next write a copy of the key's top.
func (t *Tx) Reader() Reader {
	ks := t.live()
	ks.handOut()
	return storeOf(t.txCore).live.view(ks).Under(t.prefix)
}

// Before returns the state without the writes of this transaction, for reads while the update
// function runs. It costs nothing.
func (t *Tx) Before() Reader {
	if t.serial != t.txCore.serial {
		return Reader{}
	}
	return storeOf(t.txCore).Peek(t.key).Under(t.prefix)
}

// peek is Reader for reads that end before the next write.
func (t *Tx) peek() Reader { return storeOf(t.txCore).live.view(t.live()).Under(t.prefix) }

// live is the state while the transaction runs, nothing afterwards.
func (t *Tx) live() keyItems {
	if t.serial != t.txCore.serial {
		return keyItems{}
	}
	return t.state()
}

// At returns the siblings at path, by dot, in a slice of the caller's own.
func (t *Tx) At(path string) []*Item { return slices.Clone(t.peek().At(path)) }

// Has reports whether anything lives at path.
func (t *Tx) Has(path string) bool { return t.peek().Has(path) }

// Items yields the items whose paths begin with prefix, by path and dot, as they are now: writes
// during the walk do not change it.
func (t *Tx) Items(prefix string) iter.Seq[*Item] { return t.Reader().Items(prefix) }

// Put makes an event that puts payload at path and drops the items that removes names, all of which the transaction
// must have observed. Siblings that removes does not name stay. Put takes the slice over.
func (t *Tx) Put(path, payload string, removes []Dot) error {
	return t.add(Event{Key: t.key, Path: t.join(path), Puts: true, Payload: payload, Removes: removes})
}

// Replace is Put that drops all siblings at path.
func (t *Tx) Replace(path, payload string) error {
	return t.Put(path, payload, t.dotsAt(path))
}

// dotsAt returns the dots of the siblings at path, and leaves a cursor there for the write that follows.
func (t *Tx) dotsAt(path string) []Dot {
	ks := t.live()
	if ks == (keyItems{}) {
		return nil
	}
	it, alone := oneFor(ks, t.join(path), &storeOf(t.txCore).live.keys.cursor)
	switch {
	case !alone:
		return dotsOf(ks.at(t.join(path)))
	case it == nil:
		return nil
	case t.events != nil:
		return []Dot{it.Dot}
	}
	// The usual update is one event that removes one item: make room for both at once.
	room := &struct {
		events  [1]Event
		removes [1]Dot
	}{removes: [1]Dot{it.Dot}}
	t.events = room.events[:0]
	return room.removes[:]
}

func (t *Tx) join(path string) string {
	if t.prefix == "" {
		return path
	}
	return t.prefix + path
}

// Drop makes an event that drops the items that removes names and puts nothing; with no dots it
// makes none. Path says where the items are, for the log's reader only. Drop takes the slice over.
func (t *Tx) Drop(path string, removes []Dot) error {
	for len(removes) > RemovesMax {
		if err := t.add(Event{Key: t.key, Path: t.join(path), Removes: removes[:RemovesMax:RemovesMax]}); err != nil {
			return err
		}
		removes = removes[RemovesMax:]
	}
	if len(removes) == 0 {
		return t.Err()
	}
	return t.add(Event{Key: t.key, Path: t.join(path), Removes: removes})
}

// Remove drops every observed item at path and reports whether there was one.
func (t *Tx) Remove(path string) (bool, error) {
	removes := t.dotsAt(path)
	return len(removes) > 0, t.Drop(path, removes)
}

// RemoveAll drops every observed item whose path begins with prefix, hidden ones too, and returns
// how many there were. RemoveAll("") empties the key.
func (t *Tx) RemoveAll(prefix string) (int, error) {
	var removes []Dot
	for it := range t.live().scan(t.prefix + prefix) {
		removes = append(removes, it.Dot)
	}
	return len(removes), t.Drop(prefix, removes)
}

func dotsOf(items []*Item) []Dot {
	if len(items) == 0 {
		return nil
	}
	dots := make([]Dot, len(items))
	for i, it := range items {
		dots[i] = it.Dot
	}
	return dots
}

// Err returns why the transaction takes no more mutations, nil when it does: what a mutator returns
// that changes nothing.
func (t *Tx) Err() error {
	if t.serial != t.txCore.serial {
		return ErrTxDone
	}
	return t.err
}

// add checks an event and makes it the transaction's next.
func (t *Tx) add(e Event) error {
	if err := t.Err(); err != nil {
		return err
	}
	c := t.txCore
	e.Dot = Dot{Origin: c.origin, Seq: c.next}
	if c.err = c.checkEvent(&e); c.err != nil {
		return c.err
	}
	c.events = append(c.events, e)
	c.next++
	return nil
}

func (c *txCore) checkEvent(e *Event) error {
	if len(c.events) == EventsMax {
		return fmt.Errorf("%w: key %q: more than %d changes in one update; spread them over several",
			ErrTooLarge, c.key, EventsMax)
	}
	if len(e.Path) > PathMax { // in the terms of the caller, whose element or key it is
		return fmt.Errorf("%w: key %q: an element or map key takes %d bytes, encoded and with the keys of the maps "+
			"around it, at most %d; "+
			"keep it as a value under a short key", ErrTooLarge, c.key, len(e.Path)-1, ElementMax)
	}
	if err := e.check(); err != nil {
		return err
	}
	for _, d := range e.Removes {
		if !storeOf(c).clock.Has(d) && c.made(d) == nil {
			return fmt.Errorf("%w: key %q: update removes %v, which it has not observed", ErrMalformed, c.key, d)
		}
	}
	return nil
}

// made returns the event of this transaction named d, nil when it is not one.
func (c *txCore) made(d Dot) *Event {
	if len(c.events) == 0 || d.Origin != c.origin || d.Seq < c.events[0].Dot.Seq || d.Seq >= c.next {
		return nil
	}
	return &c.events[d.Seq-c.events[0].Dot.Seq]
}

// state returns what reads see. The overlay with the own writes is made when a read first follows a write.
func (c *txCore) state() keyItems {
	for ; c.synced < len(c.events); c.synced++ {
		c.overlay(&c.events[c.synced])
	}
	return c.ks
}

// overlayGen marks an overlay that no reader has been given. No state of a store has it.
const overlayGen = math.MaxUint64

func (c *txCore) overlay(e *Event) {
	ks := c.ks.state(c.key, overlayGen, &storeOf(c).live.keys.stamps)
	c.ks = keyItems{more: ks}
	for _, d := range e.Removes {
		if old := c.find(d); old != nil {
			dropItem(ks, old, nil)
			ks.leave(old)
		}
	}
	if e.Puts {
		it := &Item{Dot: e.Dot, Key: c.key, Path: e.Path, Payload: e.Payload}
		putItem(ks, it, nil, nil)
		ks.enter(it)
	}
}

// find returns the item named d while the overlay holds it.
func (c *txCore) find(d Dot) *Item {
	path := ""
	if e := c.made(d); e != nil {
		path = e.Path
	} else if it := storeOf(c).live.index.Get(d); it != nil && it.Key == c.key {
		path = it.Path
	} else {
		return nil
	}
	for _, it := range c.ks.at(path) {
		if it.Dot == d {
			return it
		}
	}
	return nil
}
