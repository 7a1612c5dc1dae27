package replicated

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/remind"
)

// sweepMax bounds the first entries by time that a write looks at for those that lead to nothing.
const sweepMax = 8

// change makes changes, in their order, and takes away what leads to nothing at the front.
func change(tx *crdt.Tx, changes []remind.Change) error {
	if _, err := (table{}).View(tx.Reader()); err != nil {
		return err
	}
	m := table{}.Mutator(tx)
	for _, c := range changes {
		if err := changeOne(m, c); err != nil {
			return err
		}
	}
	return sweep(tx, m)
}

func changeOne(m *crdt.LWWMapTx[string, []byte], c remind.Change) error {
	name := nameOf(c.Key())
	var old remind.Reminder // Version 0: there is none, or a damaged one
	if b, ok := m.Get(name); ok {
		if r, err := decode(name, b); err == nil {
			old = r
		}
	}
	if c.If != 0 && old.Version != c.If {
		return nil
	}
	if old.Version != 0 && (c.Remove || !old.At.Equal(c.At)) {
		if err := m.Remove(timeOf(old.At, c.Key())); err != nil {
			return err
		}
	}
	if c.Remove {
		return m.Remove(name)
	}
	if err := m.Put(timeOf(c.At, c.Key()), nil); err != nil {
		return err
	}
	return m.Put(name, encode(c.Reminder))
}

func sweep(tx *crdt.Tx, m *crdt.LWWMapTx[string, []byte]) error {
	var stray []string
	seen := 0
	t, err := table{}.View(tx.Reader())
	if err != nil {
		return err
	}
	for entry := range entries(tx.Reader(), string(byTime)) {
		if seen++; seen > sweepMax {
			break
		}
		if at, name, ok := readTime(entry); !ok || !leads(t, at, name) {
			stray = append(stray, entry)
		}
	}
	for _, entry := range stray {
		if err := m.Remove(entry); err != nil {
			return err
		}
	}
	return nil
}

// leads reports whether an entry by time leads to a reminder, perhaps a damaged one.
func leads(t table, at time.Time, name string) bool {
	_, ok, err := lookUp(t, at, name)
	return ok || err != nil
}

// lookUp finds the reminder that an entry by time leads to.
func lookUp(t table, at time.Time, name string) (r remind.Reminder, ok bool, err error) {
	b, ok := t.Get(name)
	if !ok {
		return r, false, nil
	}
	if r, err = decode(name, b); err != nil {
		return r, false, err
	}
	return r, r.At.Equal(at), nil
}
