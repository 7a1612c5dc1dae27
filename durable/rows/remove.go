package rows

import (
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/durable"
)

// removeBatch is how many rows one transaction of Remove deletes.
const removeBatch = 50_000

// Removed counts what Remove did.
type Removed struct {
	Keys  int
	Items int
}

// Remove removes all items of the keys that match, and leaves a table whose clock and digest are
// right. No other goroutine may use the table meanwhile.
//
// Each transaction is one event of origin, which must be a new random one: that its dot is in the
// clock and the items are not tells the other replicas that they were removed. To delete rows alone
// would leave a clock that says nothing new with a digest that differs, which the others repair by
// bringing everything back. A table that does not verify is refused and not touched; an error later
// on leaves what was removed until then.
func Remove(t durable.Table, origin crdt.Origin, match func(key string) bool) (Removed, error) {
	var out Removed
	if _, err := Verify(t); err != nil {
		return out, err
	}
	h, err := loadHead(t)
	if err != nil || h.clock == nil {
		return out, err
	}
	if h.clock.Max(origin) > 0 {
		return out, fmt.Errorf("%w: %v has events in the table already", crdt.ErrOwnFuture, origin)
	}
	victims, keys, err := find(t, h, match)
	out.Keys = keys
	for len(victims) > 0 && err == nil {
		n := min(len(victims), removeBatch)
		if err = removeSome(t, &h, origin, victims[:n]); err == nil {
			out.Items += n
		}
		victims = victims[n:]
	}
	return out, err
}

// victim is a row to be deleted, and what it added to the digest.
type victim struct {
	dot  crdt.Dot
	hash crdt.Digest
}

func find(t durable.Table, h head, match func(key string) bool) (victims []victim, keys int, err error) {
	matched := map[string]bool{}
	err = eachItem(t, h, func(it crdt.Item, _ durable.Row) error {
		yes, known := matched[it.Key]
		if !known {
			yes = match(it.Key)
			matched[it.Key] = yes
			if yes {
				keys++
			}
		}
		if yes {
			victims = append(victims, victim{it.Dot, crdt.HashItem(digestSeed, &it)})
		}
		return nil
	})
	return victims, keys, err
}

// removeSome is one event and one transaction.
func removeSome(t durable.Table, h *head, origin crdt.Origin, victims []victim) error {
	next := *h
	next.clock = h.clock.Clone()
	next.clock.AddRange(origin, 1, h.clock.Max(origin)+1)
	rows := make([]durable.Row, 0, len(victims)+1)
	for _, v := range victims {
		rows = append(rows, durable.Row{Key: itemKey(nil, v.dot)})
		next.digest = next.digest.Minus(v.hash)
	}
	answer := make(chan error, 1)
	t.Commit(append(rows, durable.Row{Key: headKey, Value: next.append(nil)}), func(err error) { answer <- err })
	err := <-answer
	if err == nil {
		*h = next
	}
	return err
}
