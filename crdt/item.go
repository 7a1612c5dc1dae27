package crdt

import "fmt"

// Item is one live datum: a payload at a path of a key, put there by the event named Dot. It is immutable once made;
// its fields are strings, so that the ownership of the bytes is never in question.
type Item struct {
	Dot     Dot
	Key     string
	Path    string
	Payload string
}

// size estimates the encoded length of an item, its key aside, which items of one key share.
func (it *Item) size() int { return itemOverhead + len(it.Path) + len(it.Payload) }

// itemOverhead is the dot and the heads.
const itemOverhead = 16

func (it *Item) String() string {
	return fmt.Sprintf("%v %q %q=%q", it.Dot, it.Key, it.Path, it.Payload)
}

// Event is one change. It drops the items whose dots it Removes (all of them observed by its origin) and, when Puts
// is set, puts one item under its own dot. Its Removes may name dots under other paths of the key.
type Event struct {
	Dot     Dot
	Key     string
	Path    string
	Puts    bool   // false: the event only removes
	Payload string // of the put item
	Removes []Dot
}

// Group holds the events of one Update: consecutive dots of one origin, applied, persisted and shipped whole. A
// caller that hands a Group to a Store, or gets one from it, must not modify it afterwards.
type Group []Event

// First returns the dot of the first event, the zero Dot for an empty group.
func (g Group) First() Dot {
	if len(g) == 0 {
		return Dot{}
	}
	return g[0].Dot
}

// Last returns the dot of the last event, the zero Dot for an empty group.
func (g Group) Last() Dot {
	if len(g) == 0 {
		return Dot{}
	}
	return g[len(g)-1].Dot
}
